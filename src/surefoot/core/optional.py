"""Optional dependencies, imported when first needed; a missing one is one clear sentence."""

import importlib
from types import ModuleType

from surefoot.core.errors import SurefootError


class MissingExtraError(SurefootError, ImportError):
    """An optional dependency is not installed."""


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    Args:
        module: dotted name, e.g. ``"matplotlib.pyplot"``.
        extra: the extra of surefoot that installs it, e.g. ``"plot"``.
        purpose: what it is needed for, as the subject of the sentence.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs {module.split('.')[0]}, which is not installed: "
            f"pip install 'surefoot[{extra}]'"
        ) from error
