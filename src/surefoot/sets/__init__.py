"""Closed convex sets: ``project``, ``contains``, ``minimize_linear``, and oracles about them."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
