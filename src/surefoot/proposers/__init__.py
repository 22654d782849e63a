"""Proposers: leaders, descent, averaging, any algorithm, any person."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
