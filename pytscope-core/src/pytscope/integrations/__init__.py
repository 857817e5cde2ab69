"""Doors to the packages that plug pytscope into training frameworks."""
