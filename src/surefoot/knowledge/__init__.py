"""Certified regions: convex sets of next actions that are certainly feasible."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
