"""Frozen values that flow between the stages. Nothing here does I/O."""
