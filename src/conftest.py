"""Collect doctests from the modules that tests import; those of an adapter where its host is."""

import importlib
import importlib.util
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent
ADAPTERS = SOURCES / "surefoot" / "adapters"


def is_adapter(path: Path) -> bool:
    """Whether a file is the adapter of a host, which has the name of the host."""
    return path.parent == ADAPTERS and not path.name.startswith("_")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out an adapter whose host is missing: importing it is refused."""
    missing = is_adapter(collection_path) and not importlib.util.find_spec(collection_path.stem)
    return True if missing else None


def pytest_collect_file(file_path: Path) -> None:
    """Import the package of a module as Python does.

    Pytest would import the module once more when its package has done so, and put it over a
    function of the same name (``level_bundle``, ``shift``).
    """
    if file_path.suffix == ".py" and file_path.parent != SOURCES:
        importlib.import_module(".".join(file_path.parent.relative_to(SOURCES).parts))


@pytest.hookimpl(tryfirst=True)  # before pytest drops what the marks leave out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what needs a host to `make test-all`."""
    for item in items:
        if is_adapter(item.path):
            item.add_marker(pytest.mark.hosts)
