"""Games: an algorithm against a problem, with one trace; regret, violations, fitted rates."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
