"""Your own problems and algorithms: a module's, once a person has named the module.

A specification consists of names and numbers, and nothing in it can import anything. A plugin is a
module that the person who starts a run gives at the command line (``--plugin mine``) or loads
(:func:`load_plugin`); its problems and algorithms can then be named like the library's:

- a problem is a public function with the arguments ``horizon``, ``trials`` and ``streams`` (the
  seed of the random numbers) and the return annotation ``Problem``; its other arguments are those
  that a ``[[problems]]`` table may give;
- an algorithm is a public dataclass with ``init`` and ``step``; its fields are the parameters,
  and a rule of :mod:`surefoot.algorithms.toolkit` has the tunings that it marks.

The address of a cell that uses one of them includes a hash of the module's code and of the modules
beside it that it imports.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, NamedTuple

from surefoot.core.algorithm import is_algorithm_class
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.experiments.players import ALGORITHMS_BY_NAME
from surefoot.experiments.problems import PROBLEMS, ProblemEntry, ProblemRow
from surefoot.experiments.sources import code_hash
from surefoot.problems import Problem

from pydantic import Field, create_model  # isort: skip  once the tables have found it

__all__ = ["Plugin", "PluginError", "checked_problem", "load_plugin", "loaded", "mark_of"]

_GIVEN = ("horizon", "trials", "streams")
_TAKEN = ("name", "label")


class PluginError(SurefootError, ValueError):
    """A plugin that cannot be used; the message says what is wrong with it."""


class Plugin(NamedTuple):
    """A module whose problems and algorithms can be named.

    Attributes:
        name: of the module.
        file: where it was found.
        digest: hash of its code, in hexadecimal.
        problems: names of its problems.
        algorithms: names of its algorithms.
    """

    name: str
    file: str
    digest: str
    problems: tuple[str, ...]
    algorithms: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The folder that the module is imported from."""
        depth = self.name.count(".") + (Path(self.file).name == "__init__.py")
        return Path(self.file).parents[depth]

    @property
    def mark(self) -> str:
        """Name and hash, as the cells that use the plugin have them."""
        return f"{self.name} {self.digest[:16]}"


_LOADED: dict[str, Plugin] = {}


def loaded() -> tuple[Plugin, ...]:
    """Return the plugins of this process, in the order in which they were loaded."""
    return tuple(_LOADED.values())


def mark_of(kind: Literal["problems", "algorithms"], name: str) -> str | None:
    """Return name and hash of the plugin that a problem or an algorithm is from, if any.

    >>> mark_of("problems", "paper_toy") is None
    True
    """
    return next((p.mark for p in _LOADED.values() if name in getattr(p, kind)), None)


def load_plugin(module: str, folder: str | Path = ".") -> Plugin:
    """Import a module and make its problems and algorithms known by their names.

    Args:
        module: its dotted name, or the path of its file.
        folder: where its file is looked for before anything that is installed.

    Raises:
        PluginError: it cannot be found or imported, has nothing to name, or a name that is taken.
    """
    path = Path(module)
    if path.suffix == ".py":
        folder, module = path.parent, path.stem
    if module in _LOADED:
        return _LOADED[module]
    found = _imported(module, Path(folder).resolve())
    file = Path(str(found.__file__))
    made, rules = _problems(found), _algorithms(found)
    if not made and not rules:
        raise PluginError(
            f"plugin '{module}' must have a problem (a function with horizon, trials and streams "
            "that is annotated to return a Problem) or an algorithm (a dataclass with init and "
            f"step), got neither in '{file}'"
        )
    for kind, names, known in (
        ("problem", made, PROBLEMS),
        ("algorithm", rules, ALGORITHMS_BY_NAME),
    ):
        for name in names:
            if name in known:
                raise PluginError(
                    f"plugin '{module}' must name its {kind}s otherwise than those that are known, "
                    f"got {name!r}"
                )
    PROBLEMS.update(made)
    ALGORITHMS_BY_NAME.update(rules)
    plugin = Plugin(module, str(file), code_hash(module, file), tuple(made), tuple(rules))
    _LOADED[module] = plugin
    return plugin


# --- importing ------------------------------------------------------------------------------------


def _imported(name: str, folder: Path) -> ModuleType:
    """Return the module in a folder, or else the installed one, of a dotted name."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise PluginError(f"a plugin must be the name of a module or a file of it, got {name!r}")
    place = folder.joinpath(*name.split("."))
    file = next((f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file()), None)
    # Behind what is installed: a file here that is called like a module of another library must
    # not stand in its way. Its neighbours are found all the same.
    if file is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    there = sys.modules.get(name)
    if file is not None and there is not None:
        if Path(str(there.__file__)).resolve() == file:
            return there
        raise PluginError(
            f"plugin '{file}' must be called otherwise: '{name}' is a module that is in use"
        )
    try:
        if file is None or "." in name:
            module = importlib.import_module(name)
        else:
            spec = importlib.util.spec_from_file_location(name, file)
            assert spec is not None  # a file that ends in .py has a loader
            assert spec.loader is not None
            module = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        sys.modules.pop(name, None)
        if error.name is not None and name.split(".")[0] == error.name.split(".")[0]:
            raise PluginError(f"there is no module '{name}' in '{folder}' or installed") from error
        raise PluginError(f"plugin '{name}' cannot be imported: {error}") from error
    except Exception as error:
        sys.modules.pop(name, None)
        told = f"{type(error).__name__}: {error}"
        raise PluginError(f"plugin '{name}' cannot be imported: {told}") from error
    if getattr(module, "__file__", None) is None:
        raise PluginError(f"plugin '{name}' must be a module with a file, got {module!r}")
    return module


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield what a module defines, and what it exports by ``__all__``."""
    exported = getattr(module, "__all__", ())
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
        if name in exported or (own and not exported):
            yield name, value


# --- what a module has ----------------------------------------------------------------------------


def _algorithms(module: ModuleType) -> dict[str, type[Any]]:
    return {
        name: value
        for name, value in _public(module)
        if inspect.isclass(value) and is_dataclass(value) and is_algorithm_class(value)
    }


def _problems(module: ModuleType) -> dict[str, ProblemEntry]:
    found = {}
    for name, value in _public(module):
        if not inspect.isfunction(value):
            continue
        hints = _hints(value)
        if hints.get("return") is Problem:
            title = f"{module.__name__}.{name}"
            model = _model(value, name, title, hints)
            found[name] = ProblemEntry(model, partial(_build, title, value))
    return found


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}  # a name that only type checkers know


def _model(
    make: Callable[..., Any], name: str, title: str, hints: Mapping[str, Any]
) -> type[ProblemRow]:
    """Return the table of a problem: what its function takes beside lengths and seed."""
    arguments = inspect.signature(make).parameters
    missing = [given for given in _GIVEN if given not in arguments]
    if missing:
        raise PluginError(f"problem {title} must have the argument {missing[0]!r}")
    about = dict(re.findall(r"^\s+(\w+): (.+)$", inspect.getdoc(make) or "", re.MULTILINE))
    own: dict[str, Any] = {"name": (Literal[name], ...)}
    for argument in arguments.values():
        if argument.name in _GIVEN:
            continue
        if argument.name in _TAKEN or argument.kind in (
            argument.VAR_KEYWORD,
            argument.VAR_POSITIONAL,
            argument.POSITIONAL_ONLY,
        ):
            raise PluginError(
                f"the arguments of problem {title} must be keywords other than "
                f"{' and '.join(_TAKEN)}, got {str(argument)!r}"
            )
        kind = hints.get(argument.name)
        if not _is_plain(kind):
            raise PluginError(
                f"{argument.name} of problem {title} must be annotated as int, float, bool, str or "
                f"a Literal of these, got {str(argument)!r}"
            )
        words = about.get(argument.name, "")
        required = argument.default is argument.empty
        default: Any = ... if required else argument.default
        own[argument.name] = (kind, Field(default=default, description=words))
    model: type[ProblemRow] = create_model(
        name,
        __base__=ProblemRow,
        __doc__=(inspect.getdoc(make) or f"{title}.").strip().split("\n")[0],
        **own,
    )
    return model


def _is_plain(kind: Any) -> bool:
    """Return whether an annotation stands for what a TOML file has."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return all(isinstance(part, (int, str)) for part in parts)
    if origin in (typing.Union, UnionType):
        return all(part is NoneType or _is_plain(part) for part in parts)
    return kind in (int, float, bool, str)


def _build(
    title: str,
    make: Callable[..., Any],
    horizon: int,
    trials: int,
    streams: int,
    block: int,
    **arguments: Any,
) -> Problem:
    made = make(horizon=horizon, trials=trials, streams=streams, **arguments)
    problem = checked_problem(made, title, trials)
    if problem.costs.horizon < horizon:
        raise InvalidValueError(
            f"{title} must return costs of {horizon} rounds, got {problem.costs.horizon}"
        )
    return problem


def checked_problem(made: Any, title: str, trials: int) -> Problem:
    """Return what a function of the user's has made, if it is a problem of so many trials."""
    if not isinstance(made, Problem):
        raise InvalidValueError(f"{title} must return a Problem, got {type(made).__name__}")
    if (made.costs.runs or 1) != trials:
        raise InvalidValueError(
            f"{title} must return costs of {trials} runs, an axis behind that of the rounds, "
            f"got {made.costs.runs or 'none'}"
        )
    return made
