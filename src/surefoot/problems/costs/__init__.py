"""Convex costs, one for each round."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
