"""Which guarantees apply before a run: constants with their origins, and what they buy."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
