"""What is promised: feasibility, regret from what was played, regret in advance; premises."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
