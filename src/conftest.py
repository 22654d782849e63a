"""Collect the doctests of an adapter where its host is installed, and mark them as host tests."""

import importlib.util
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parent / "surefoot" / "adapters"


def is_adapter(path: Path) -> bool:
    """Whether a file is the adapter of a host, which has the name of the host."""
    return path.parent == ADAPTERS and not path.name.startswith("_")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out an adapter whose host is missing: importing it is refused."""
    missing = is_adapter(collection_path) and not importlib.util.find_spec(collection_path.stem)
    return True if missing else None


@pytest.hookimpl(tryfirst=True)  # before pytest drops what the marks leave out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what needs a host to `make test-all`."""
    for item in items:
        if is_adapter(item.path):
            item.add_marker(pytest.mark.hosts)
