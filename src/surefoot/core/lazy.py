"""Packages whose names load when they are used.

The stub beside such a package, ``__init__.pyi``, lists every public name with the module that has
it. Type checkers and editors read the stub, and so does :func:`attach`: there is one list.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from surefoot.core.errors import suggest


def read_names(package: str) -> dict[str, str]:
    """Return the names that a package imports, in their order, with their modules.

    They are those of its stub, if it has one. Nothing is imported.

    >>> read_names("surefoot.rules")["PFS"]
    'surefoot.rules.pfs'
    """
    folder = Path(__file__).parents[1].joinpath(*package.split(".")[1:])
    stub = folder / "__init__.pyi"
    path = stub if stub.exists() else folder / "__init__.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def public_names(module: ModuleType) -> dict[str, Any]:
    """Load and return what a module exports, by name."""
    return {name: getattr(module, name) for name in module.__all__}


def attach(
    package: str, explain: Callable[[str], str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package with a stub.

    Args:
        package: its name.
        explain: from a missing name to the end of the sentence; by default the nearest name of the
            package.
    """
    homes = read_names(package)

    def get(name: str) -> Any:
        if name not in homes and importlib.util.find_spec(f"{package}.{name}") is not None:
            raise AttributeError(name)  # Python then imports the module
        if name not in homes:
            end = suggest(name, homes) if explain is None else explain(name)
            sentence = f"module {package!r} has no attribute {name!r}{end}"
            raise AttributeError(sentence, name=name, obj=sys.modules[package])
        home = homes[name]
        if home == package:  # ``from package import part``: the part itself
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes), sorted(homes)
