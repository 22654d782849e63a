"""Checks that any algorithm must pass."""
