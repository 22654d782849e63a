"""Problems: costs, a constraint, its constants, a strictly feasible start."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
