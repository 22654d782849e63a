"""The plant file: a plant in engineering units, for Python, the service and every command."""

from surefoot.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
