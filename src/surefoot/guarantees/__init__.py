"""Guarantees: feasibility, observed regret, regret in advance; and their premises."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
