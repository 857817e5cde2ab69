"""Plugins that fail on purpose, one fault a module."""
