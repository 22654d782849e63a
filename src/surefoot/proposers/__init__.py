"""What learns: leaders, descent, averaging, any algorithm, any person. Each proposes an action."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
