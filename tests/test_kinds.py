"""Kinds of knowledge are named by knowledge, proposers and rules; others ask questions."""

import ast
import importlib
import inspect
import pkgutil
import tomllib
from pathlib import Path

import pytest

import surefoot.knowledge
from surefoot.core.parameters import Declared
from surefoot.knowledge import Anchor, ContextKind, Knowledge, Region

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "surefoot"

MAY_NAME = {"knowledge", "proposers", "rules"}
CHECKER = ("controller", "check")  # the standard library only: it knows kinds as words of a file

BASES = (Knowledge, Region, ContextKind, Anchor)
SHARED = {"anchor", "context", "ramp", "region"}
"""Modules of knowledge that are not of one kind, though a kind may be defined there."""


def classes():
    """Yield the classes of the package, each with its module."""
    for module in pkgutil.iter_modules(surefoot.knowledge.__path__):
        content = importlib.import_module(f"surefoot.knowledge.{module.name}")
        for found in vars(content).values():
            if inspect.isclass(found) and found.__module__ == content.__name__:
                yield module.name, found


def is_kind(found):
    """Return whether a class is a kind of knowledge, region, context, anchor, memory, ..."""
    if issubclass(found, BASES):
        return found not in BASES
    is_set = issubclass(found, Declared) and hasattr(found, "project")
    return is_set or found.__name__.endswith(("Memory", "Certificate"))


KINDS = {found.__name__ for _, found in classes() if is_kind(found)}
MODULES = {name for name, found in classes() if is_kind(found)} - SHARED


def kinds_in(source):
    """Return the kinds that a module names, each with its line."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Name):
            names = [node.id]
        elif isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name.rpartition(".")[2] for alias in node.names]
        found |= {f"line {node.lineno}: {name}" for name in names if name in KINDS}
    return sorted(found)


def modules():
    """Return the modules that may name no kind, by their paths in the package."""
    paths = {path.relative_to(PACKAGE): path for path in sorted(PACKAGE.rglob("*.py"))}
    parts = {path.as_posix(): (path.parts, whole) for path, whole in paths.items()}
    return {
        name: path
        for name, (steps, path) in parts.items()
        if steps[0] not in MAY_NAME and steps[:2] != CHECKER
    }


def test_the_set_of_kinds_is_that_of_the_package():
    assert {"LipschitzHull", "HullRegion", "HullMemory", "HullCertificate"} <= KINDS
    assert {"AnnouncedDrift", "StandingAnchor", "Choices", "Together", "UnknownConstant"} <= KINDS
    assert not KINDS & {"Knowledge", "Region", "Anchor", "Errors", "Estimate", "Reading"}


@pytest.mark.parametrize(
    "source",
    [
        "from surefoot.knowledge import Choices as G",
        "import surefoot.knowledge as k\nk.Curvature(beta=1.0)",
        "isinstance(x, AverageLimit)",
        "def f(x: HullMemory) -> None: ...",
    ],
)
def test_a_kind_is_found_wherever_it_is_named(source):
    assert len(kinds_in(source)) == 1


@pytest.mark.parametrize("name", sorted(modules()))
def test_no_module_outside_of_knowledge_and_rules_names_a_kind(name):
    assert kinds_in(modules()[name].read_text(encoding="utf-8")) == []


def test_the_contract_forbids_the_module_of_every_kind():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    (contract,) = [c for c in contracts if c["name"] == "a kind of knowledge is asked, not named"]
    assert contract["forbidden_modules"] == ["surefoot.knowledge.*"]
    allowed = {each.rpartition(".")[2] for each in contract["ignore_imports"]}
    assert not allowed & MODULES
