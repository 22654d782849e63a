"""An algorithm in a live loop: ask and tell, a reason for each action, a journal, a replay."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
