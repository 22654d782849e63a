"""Your own problems and algorithms: a module's, once a person has named the module.

A specification consists of names and numbers, and nothing in it can import anything. A plugin is a
module that the person who starts a run gives at the command line (``--plugin mine``) or loads
(:func:`load_plugin`); its problems and algorithms can then be named like the library's, and with
their module where a short name is taken (``"mine:Momentum"``):

- a problem is a public function with the arguments ``horizon``, ``trials`` and ``streams`` (the
  seed of the random numbers) and the return annotation ``Problem``; its other arguments are those
  that a ``[[problems]]`` table may give;
- an algorithm is a public dataclass with ``init`` and ``step``; its fields are the parameters,
  and a rule of :mod:`surefoot.algorithms.toolkit` has the tunings that it marks.

The address of a cell that uses one of them includes a hash of the module's file and of the files
beside it that it imports.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
import typing
from collections.abc import Iterable
from dataclasses import is_dataclass
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, NamedTuple

from surefoot.core.algorithm import is_algorithm_class
from surefoot.core.errors import SurefootError
from surefoot.experiments.players import ALGORITHMS_BY_NAME, FULL_NAMES
from surefoot.experiments.problems import GIVEN, PROBLEMS, ProblemEntry
from surefoot.problems import Problem


class PluginError(SurefootError, ValueError):
    """A plugin that cannot be used; the message says what is wrong with it."""


class Plugin(NamedTuple):
    """A module whose problems and algorithms can be named.

    Attributes:
        name: of the module.
        folder: that it is imported from.
        digest: hash of its files, in hexadecimal.
        problems: names of its problems.
        algorithms: names of its algorithms.
    """

    name: str
    folder: str
    digest: str
    problems: tuple[str, ...]
    algorithms: tuple[str, ...]

    @property
    def mark(self) -> str:
        """Name and hash, as the cells that use the plugin have them."""
        return f"{self.name} {self.digest[:16]}"


_LOADED: dict[str, Plugin] = {}


def loaded() -> tuple[Plugin, ...]:
    """Return the plugins of this process, in the order in which they were loaded."""
    return tuple(_LOADED.values())


def mark_of(name: str) -> str:
    """Return name and hash of the plugin that a full name begins with; empty without one.

    >>> mark_of("paper_toy")
    ''
    """
    module, colon, _ = name.rpartition(":")
    return _LOADED[module].mark if colon else ""


def load_plugin(module: str, folder: str | Path = ".") -> Plugin:
    """Import a module and make its problems and algorithms known by their names.

    Args:
        module: its dotted name, the path of its file, or an import string such as
            ``"mine:Momentum"``.
        folder: where its file is looked for beside what is installed.

    Raises:
        PluginError: it cannot be found or imported, or has nothing to name.
    """
    module, _, wanted = module.partition(":") if ":" in Path(module).name else (module, "", "")
    if (path := Path(module)).suffix == ".py":
        folder, module = path.parent, path.stem
    if module not in _LOADED:
        _LOADED[module] = _load(module, Path(folder).resolve())
    plugin = _LOADED[module]
    if wanted and wanted not in (*plugin.problems, *plugin.algorithms):
        have = ", ".join((*plugin.problems, *plugin.algorithms))
        raise PluginError(f"plugin '{module}' has no {wanted!r}: it has {have}")
    return plugin


def _load(name: str, folder: Path) -> Plugin:
    module = _import(name, folder)
    exported = getattr(module, "__all__", None)
    public = {
        n: value
        for n, value in vars(module).items()
        if (n in exported if exported else _is_own(value, module) and n[0] != "_")
    }
    rules = {
        n: value
        for n, value in public.items()
        if inspect.isclass(value) and is_dataclass(value) and is_algorithm_class(value)
    }
    made = {n: value for n, value in public.items() if _returns_problem(value)}
    file = Path(str(module.__file__))
    if not made and not rules:
        raise PluginError(
            f"plugin '{name}' must have a problem (a function with horizon, trials and streams "
            "that is annotated to return a Problem) or an algorithm (a dataclass with init and "
            f"step), got neither in '{file}'"
        )
    home = file.resolve().parents[name.count(".") + (file.name == "__init__.py")]
    plugin = Plugin(name, str(home), _hash_files(name, home), tuple(made), tuple(rules))
    for short, function in made.items():
        _check_arguments(function, f"{name}.{short}")
        entry = ProblemEntry(f"{name}:{short}", function, plugin=plugin.mark)
        PROBLEMS[entry.name] = entry
        PROBLEMS.setdefault(short, entry)
    for short, rule in rules.items():
        ALGORITHMS_BY_NAME[f"{name}:{short}"] = rule
        if ALGORITHMS_BY_NAME.setdefault(short, rule) is rule:
            FULL_NAMES[short] = f"{name}:{short}"
    return plugin


def _import(name: str, folder: Path) -> ModuleType:
    """Return the module in a folder, or else the installed one, of a dotted name."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise PluginError(f"a plugin must be the name of a module or a file of it, got {name!r}")
    place = folder.joinpath(*name.split("."))
    file = next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file()), None)
    # Behind what is installed: a file here that is called like a module of another library must
    # not stand in its way.
    if file is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.split(".")[0] == error.name.split(".")[0]:
            raise PluginError(f"there is no module '{name}' in '{folder}' or installed") from error
        raise PluginError(f"plugin '{name}' cannot be imported: {error}") from error
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise PluginError(f"plugin '{name}' cannot be imported: {told}") from error
    if module.__file__ is None:
        raise PluginError(f"plugin '{name}' must be a module with a file, got {module!r}")
    if file is not None and Path(module.__file__).resolve() != file:
        raise PluginError(
            f"plugin '{file}' must be called otherwise: '{name}' is a module that is in use"
        )
    return module


def _hash_files(name: str, folder: Path) -> str:
    """Return a hash of a module's file, and of those in its folder that it imports."""
    installed = {"site-packages", "dist-packages"} & set(folder.parts)
    finder = ModuleFinder(path=[] if installed else [str(folder)])
    if not installed:
        finder.import_hook(name)
    found: Iterable[Any] = finder.modules.values()
    files = {str(module.__file__) for module in found if module.__file__}
    digest = hashlib.sha256()
    for path in sorted(files | {str(sys.modules[name].__file__)}):
        data = Path(path).read_bytes()
        digest.update(f"{Path(path).name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


# --- what a module has ----------------------------------------------------------------------------


def _is_own(value: object, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def _returns_problem(value: object) -> bool:
    if not inspect.isfunction(value):
        return False
    try:
        return typing.get_type_hints(value).get("return") is Problem
    except (NameError, TypeError, AttributeError):
        return False  # a name that only type checkers know


def _check_arguments(make: Any, title: str) -> None:
    """Refuse a problem whose arguments a file cannot give."""
    arguments, hints = inspect.signature(make).parameters, typing.get_type_hints(make)
    if missing := [given for given in GIVEN[:3] if given not in arguments]:
        raise PluginError(f"problem {title} must have the argument {missing[0]!r}")
    for name, argument in arguments.items():
        if name in GIVEN:
            continue
        if name in ("name", "label") or argument.kind not in (
            argument.KEYWORD_ONLY,
            argument.POSITIONAL_OR_KEYWORD,
        ):
            raise PluginError(
                f"the arguments of problem {title} must be keywords other than name and label, "
                f"got {str(argument)!r}"
            )
        if not _is_plain(hints.get(name)):
            raise PluginError(
                f"{name} of problem {title} must be annotated as int, float, bool, str or "
                f"a Literal of these, got {str(argument)!r}"
            )


def _is_plain(kind: Any) -> bool:
    """Return whether an annotation stands for what a TOML file has."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return all(isinstance(part, (int, str)) for part in parts)
    if origin in (typing.Union, UnionType):
        return all(part is NoneType or _is_plain(part) for part in parts)
    return kind in (int, float, bool, str)
