"""Comparing runs: what differs, where and why they part, and what it amounts to."""
