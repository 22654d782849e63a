"""README, the pages and ``surefoot.__all__`` agree on the public names."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

import surefoot
from surefoot.core.optional import MissingExtraError

ROOT = Path(__file__).parents[1]
ROOMS = {path.stem for path in Path(surefoot.__file__).parent.iterdir()}
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


@cache
def text_of(page):
    """Return a page."""
    return page.read_text(encoding="utf-8")


def imports_of(page):
    """Return what the code of a page imports from the library: pairs of a module and a name."""
    for block in re.findall(r"^```python\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "surefoot":
                yield from ((node.module, alias.name) for alias in node.names)


def is_public(module, name):
    """Return whether a module has a name for users: all, exported, its own, or a module in it."""
    try:
        home = importlib.import_module(module)
    except MissingExtraError:  # of a host: where that is, this is tested
        return True
    value = getattr(home, name, None)
    own = value is not None and getattr(value, "__module__", module) == module
    is_package = hasattr(home, "__path__")
    is_module = is_package and importlib.util.find_spec(f"{module}.{name}") is not None
    return name in ("*", *getattr(home, "__all__", ())) or own or is_module


# A file of the library imports more than a user does: tests/test_contributing.py plays these.
FOR_USERS = [page for page in PAGES if page.stem != "CONTRIBUTING"]


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: page.stem)
def test_a_page_imports_public_names_only(page):
    for module, name in set(imports_of(page)):
        assert not re.search(r"(^|\.)_", f"{module}.{name}"), f"{module}.{name} is private"
        assert is_public(module, name), f"{module} has no {name} for users"


def test_every_name_at_the_top_is_explained_on_a_page():
    words = set(re.findall(r"\w+", " ".join(map(text_of, PAGES))))
    assert set(surefoot.__all__) <= words


def test_a_page_that_takes_a_name_from_the_top_takes_one_that_is_there():
    for page in PAGES:
        found = set(re.findall(r"`surefoot\.(\w+)", text_of(page)))
        assert found <= ROOMS | set(surefoot.__all__), page.name
