"""Convex constraints, ``g(x) <= 0`` feasible: a value, a subgradient, and their constants."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
