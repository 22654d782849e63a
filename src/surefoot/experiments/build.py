"""What a specification may name, and how it becomes a problem and a player; plugins.

A specification consists of names and numbers. It may use only the names listed here and those of
plugins that a person loads, so nothing in a file can import, open or run anything. The function of
a problem defines its arguments: by its signature, its docstring and its checks. A parameter of an
algorithm is declared beside its field.

A plugin is a module that the person who starts a run gives at the command line (``--plugin mine``)
or loads (:func:`load_plugin`). Its problems and algorithms can then be named like the library's, or
with their module if a short name is taken (``"mine:Momentum"``):

- a problem is a public function with the arguments ``horizon``, ``trials`` and ``streams`` (the
  seed of the random numbers) and the return annotation ``Problem``; its other arguments are those
  that a ``[[problems]]`` table may give;
- an algorithm is a public dataclass with ``init`` and ``step``; its fields are the parameters,
  and a rule of :mod:`surefoot.core.algorithm` has the tunings that it marks.

The address of a cell that uses one of them includes a hash of the module's file and of the files
beside it that it imports.
"""

import hashlib
import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass, replace
from functools import partial
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, get_type_hints

import numpy as np

from surefoot import problems
from surefoot.core.algorithm import call_constructor
from surefoot.core.checks import finite_or_none
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError, suggest
from surefoot.core.lazy import public_names
from surefoot.core.parameters import Declared, Parameter, Read, number, parameters_of, parts_of
from surefoot.core.types import Player, needs_of
from surefoot.experiments.record import PlayerTable, PluginMark, ProblemTable, Sourced, from_plain
from surefoot.guarantees import Tuned, unpack
from surefoot.problems import Problem
from surefoot.rules import ALGORITHMS, domain_of

BLOCK = 30
"""Trials that are played at once, as one array program. Fixed, so that the result of a trial does
not depend on the number of trials."""

GIVEN = ("horizon", "trials", "streams", "block")
"""Arguments of a problem that the cell gives."""


class ProblemEntry(NamedTuple):
    """A problem that a specification may name.

    Attributes:
        name: as cells have it.
        make: the function.
        hidden: arguments that a specification does not give.
    """

    name: str
    make: Callable[..., Problem]
    hidden: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A sentence that describes the problem."""
        first = (inspect.getdoc(self.make) or f"{self.name}.").split("\n")[0]
        sentence = first.removeprefix("Return ")
        return sentence[0].upper() + sentence[1:]

    @property
    def about(self) -> dict[str, str]:
        """The descriptions of its arguments in the docstring, by name."""
        lines = re.findall(r"^\s+(\w+): (.+?)\.?$", inspect.getdoc(self.make) or "", re.MULTILINE)
        return dict(lines)

    def arguments(self) -> dict[str, Parameter]:
        """Return the arguments that a specification may give, by name."""
        hints = get_type_hints(self.make)
        return {
            name: Parameter(
                name,
                "any",
                "",
                ... if p.default is p.empty else p.default,
                _reader(hints.get(name, object)),
            )
            for name, p in inspect.signature(self.make).parameters.items()
            if name not in (*GIVEN, *self.hidden)
        }

    def complete(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return all of its arguments: these values, and defaults for the others."""
        return {
            name: argument.check(values[name]) if name in values else argument.default
            for name, argument in self.arguments().items()
        }

    def build(
        self,
        arguments: Mapping[str, object],
        horizon: int,
        trials: int,
        streams: int,
        block: int = 0,
    ) -> Problem:
        """Return the problem with the streams of one block of trials.

        Args:
            arguments: all that a specification may give.
            horizon: rounds.
            trials: how many of the block's runs.
            streams: seed of the block's streams.
            block: which block, from 0; only the published streams use it.

        Raises:
            InvalidValueError: the function rejects its arguments, or returns another problem.
        """
        cell_values = {"horizon": horizon, "trials": trials, "streams": streams, "block": block}
        parameters = inspect.signature(self.make).parameters
        result = self.make(**arguments, **{n: v for n, v in cell_values.items() if n in parameters})
        problem = check_problem(result, self.name, trials)
        if problem.costs.horizon < horizon:
            raise InvalidValueError(
                f"{self.name} must return costs of {horizon} rounds, got {problem.costs.horizon}"
            )
        return problem


def _reader(kind: type) -> Read:
    """Return a function that reads a value of a file by the annotation of an argument."""
    return lambda name, value: from_plain(kind, value, name)


# --- unknown names --------------------------------------------------------------------------------

YOUR_OWN = "for your own give --plugin MODULE"
"""How a problem or an algorithm that the library does not have can be named."""


def unknown(what: str, word: str, words: Iterable[str], hint: str = "") -> str:
    """Return a sentence about an unknown word, with the nearest known one.

    Args:
        what: the kind of word.
        word: the unknown one.
        words: the known ones.
        hint: further help.
    """
    return f"unknown {what} {word!r:.60}{suggest(word, words)}" + (f" ({hint})" if hint else "")


# --- problems -------------------------------------------------------------------------------------


def check_problem(result: object, title: str, trials: int) -> Problem:
    """Return the result of a user's function, if it is a problem of so many trials."""
    if not isinstance(result, Problem):
        raise InvalidValueError(f"{title} must return a Problem, got {type(result).__name__}")
    if (result.costs.runs or 1) != trials:
        raise InvalidValueError(
            f"{title} must return costs of {trials} runs, an axis behind that of the rounds, "
            f"got {result.costs.runs or 'none'}"
        )
    return result


# --- the paper's toy, also on the published streams -----------------------------------------------


def _toy(make: Callable[..., Problem], about: str) -> Callable[..., Problem]:
    """Return a toy as a specification may name it: on seeded streams, or the published ones."""

    def toy(
        horizon: int, trials: int, streams: int, block: int, published: int | None = None
    ) -> Problem:
        if published is None:
            return make(horizon, trials, streams=streams)
        if published not in (0, 1):
            raise InvalidValueError(f"published must be 0 or 1, got {published}")
        longest = max(problems.HORIZONS)
        if horizon > longest:
            raise InvalidValueError(
                f"published must not be given for more than {longest} rounds, which its streams "
                f"have, got {published} for {horizon}"
            )
        # One generator draws trial after trial: a later block is what comes after earlier ones.
        first = BLOCK * block
        whole = make(horizon, first + trials, published)
        return replace(whole, costs=whole.costs.run(slice(first, first + trials)))

    toy.__doc__ = f"""Return {about}.

    Args:
        published: 0 or 1: the streams of the published regret or violation script, 20,000 rounds.
    """
    return toy


_PAPER = "the paper's toy: quadratic costs around random targets, a square, the best inside"
_BINDING = "the paper's toy with its targets moved: the best action is a corner of the square"

PROBLEMS: dict[str, ProblemEntry] = {
    entry.name: entry
    for entry in (
        ProblemEntry("paper_toy", _toy(problems.paper_toy, _PAPER)),
        ProblemEntry("binding_toy", _toy(problems.binding_toy, _BINDING)),
        ProblemEntry("random_polytope", problems.random_polytope),
        ProblemEntry("rotated_box", problems.rotated_box),
        ProblemEntry("ellipsoid", problems.ellipsoid),
        ProblemEntry("spectral_ball", problems.spectral_ball),
        ProblemEntry("fair_logistic", problems.fair_logistic),
        # Their seed is only that of the streams, which the specification has.
        ProblemEntry("adversarial_cube", problems.adversarial_cube, hidden=("seed",)),
        ProblemEntry("slow_start", problems.slow_start),
        ProblemEntry("thin_box", problems.thin_box, hidden=("seed",)),
        ProblemEntry("portfolio", problems.portfolio),
        ProblemEntry("changing_halfspaces", problems.changing_halfspaces),
    )
}
"""By name; a new problem joins here."""


def build_problem(
    problem: ProblemTable, horizon: int, trials: int, streams: int, block: int
) -> Problem:
    """Return a problem that a cell names, with the streams of one block of trials.

    Args:
        problem: ``name`` and ``arguments``, plain data, all arguments given.
        horizon: rounds.
        trials: how many of the block's runs.
        streams: seed of the block's streams (:func:`surefoot.experiments.cells.stream_seed`).
        block: which block, from 0.

    Example:
        >>> toy = {"name": "paper_toy", "arguments": {"published": 0}}
        >>> build_problem(toy, 2, 1, streams=7, block=0).costs.targets[0, 0].round(4)
        array([-0.363 , -0.0476])
    """
    return PROBLEMS[problem["name"]].build(problem["arguments"], horizon, trials, streams, block)


ALGORITHMS_BY_NAME: dict[str, type[Any]] = {
    rule.__name__: rule for rule in ALGORITHMS if not needs_of(rule).agents
}
"""The algorithms that play a problem by themselves, by name; those of plugins join them."""

FULL_NAMES: dict[str, str] = {}
"""The names of plugins' algorithms with their module, ``mine:Momentum``, by the short ones."""

Parameters: TypeAlias = dict[str, Sourced]
"""Every number of an algorithm, with its origin."""


def plain_parameters_of(rule: type[Any]) -> dict[str, Parameter]:
    """Return the parameters of an algorithm that a file may give; ``rows`` may be left out.

    Example:
        >>> {n: p.rule for n, p in plain_parameters_of(ALGORITHMS_BY_NAME["PFS"]).items()}
        {'eta': 'a finite number > 0', 'rho': 'a finite number >= 0'}
    """
    return {
        name: parameter._replace(default=None) if name == "rows" else parameter
        for name, parameter in parameters_of(rule).items()
        if parameter.is_plain and name not in ("domain", "base")
    }


def takes_base(rule: type[Any], tuning: str | None) -> bool:
    """Return whether a rule, or one of its tuned constructors, has an algorithm inside."""
    if tuning is None:
        return "base" in parameters_of(rule)
    return "base" in inspect.signature(getattr(rule, tuning)).parameters


class Amount(Declared):
    """A number that depends on the horizon T: ``times * T^power``, then cut.

    Attributes:
        times: factor.
        power: power of the horizon.
        at_most: upper limit.
        at_least: lower limit.
    """

    times: float = number(default=1.0)
    power: float = number(default=0.0)
    at_most: float | None = number(default=None)
    at_least: float | None = number(default=None)

    def at(self, horizon: int) -> float:
        """Return the number at a horizon."""
        try:
            amount: float = self.times * float(horizon) ** self.power
        except OverflowError:
            amount = math.copysign(math.inf, self.times)
        most = math.inf if self.at_most is None else self.at_most
        return max(min(amount, most), -math.inf if self.at_least is None else self.at_least)


def amount_at(value: object, horizon: int) -> Any:
    """Return an amount at a horizon; a number, a word or a switch is itself at every horizon.

    Example:
        >>> amount_at({"times": 9.0, "power": -0.5, "at_most": 0.45}, 2_500)
        0.18
    """
    return Amount(**value).at(horizon) if isinstance(value, Mapping) else value


def build_player(
    algorithm: PlayerTable, problem: Problem, horizon: int
) -> tuple[Player | Tuned[Player], Parameters, Constants]:
    """Return an algorithm for a problem, every number that went into it, and its constants.

    Args:
        algorithm: ``name`` with ``tuning`` and ``options``, or with ``parameters``; ``base`` where
            it has one, and ``constants`` to replace some of the problem's. Plain data.
        problem: what it will play.
        horizon: rounds.

    Returns:
        The player, with its guarantee where a theorem tunes it; its parameters, each with its
        origin: the theorem's name, "specification", "default" or "problem"; and the constants, in
        which those that the specification replaced have the origin "given".

    Raises:
        InvalidValueError: a theorem does not apply, or a constructor rejects a value.

    Example:
        >>> from surefoot.problems import paper_toy
        >>> toy = paper_toy(horizon=100, trials=1)
        >>> row = {"name": "PFS", "parameters": {"eta": {"power": -0.5}, "rho": 0.25}}
        >>> player, parameters, _ = build_player(row, toy, 100)
        >>> parameters["eta"], parameters["domain.radius"]
        (Sourced(value=0.1, origin='specification'), Sourced(value=1.0, origin='problem'))
    """
    constants = problem.constants
    if algorithm.get("constants"):
        constants = constants.with_origin("given", **algorithm["constants"])
    player, parameters = _build_player(algorithm, problem, constants, horizon)
    return player, parameters, constants


def _build_player(
    algorithm: PlayerTable, problem: Problem, constants: Constants, horizon: int
) -> tuple[Player | Tuned[Player], Parameters]:
    rule = ALGORITHMS_BY_NAME[algorithm["name"]]
    place = domain_of(rule, problem.domain, problem.benchmark.region, algorithm.get("tuning"))
    if algorithm.get("tuning") is not None:
        make = constructor_of(algorithm, horizon)
        tuned = call_constructor(make, constants, horizon, place)
        parameters = numbers_of(tuned.algorithm, tuned.guarantee.name)
        # The origin of the file's values is the file, of the others the theorem.
        return tuned, parameters | _list_options(algorithm, horizon)
    values = plain_values(algorithm.get("parameters") or {}, plain_parameters_of(rule), horizon)
    origins = {"rows": "problem"} | dict.fromkeys(values, "specification")
    context: dict[str, object] = {"domain": place, "rows": problem.constraint.rows}
    parameters = {}
    if "base" in algorithm:
        inner, theirs = _build_player(algorithm["base"], problem, constants, horizon)
        context["base"] = unpack(inner)[0]
        parameters = {f"base.{n}": v for n, v in theirs.items()}
    settled = {name: context[name] for name in parameters_of(rule) if name in context}
    player = rule(**settled | values)
    numbers = numbers_of(player, "default", skip=("base",))
    # A pair has its parameters in its parts.
    return player, parameters | {
        n: Sourced(v, origins.get(n.rpartition(".")[2], o)) for n, (v, o) in numbers.items()
    }


def constructor_of(algorithm: PlayerTable, horizon: int) -> Callable[..., Tuned[Player]]:
    """Return a theorem-tuned constructor with its options at a horizon."""
    rule, tuning = ALGORITHMS_BY_NAME[algorithm["name"]], algorithm["tuning"]
    make, base = getattr(rule, tuning), algorithm.get("base")
    options = plain_values(algorithm.get("options") or {}, parameters_of(make), horizon)
    if base is not None:
        options["base"] = constructor_of(base, horizon)
    return partial(make, **options)


def plain_values(
    values: Mapping[str, object], declarations: Mapping[str, Parameter], horizon: int
) -> dict[str, object]:
    """Return values as a constructor takes them, amounts at a horizon."""

    def read(name: str, value: object) -> object:
        at = amount_at(value, horizon)
        whole = isinstance(at, float) and (isinstance(value, Mapping) or at.is_integer())
        return int(at) if whole and declarations[name].form == "whole" else at

    return {name: read(name, value) for name, value in values.items()}


def _list_options(algorithm: PlayerTable, horizon: int) -> Parameters:
    """Return the options of a tuned row and of its base."""
    options = algorithm.get("options") or {}
    numbers = {
        n: Sourced(_number(amount_at(v, horizon)), "specification") for n, v in options.items()
    }
    if "base" not in algorithm:
        return numbers
    return numbers | {f"base.{n}": v for n, v in _list_options(algorithm["base"], horizon).items()}


def numbers_of(owner: Any, origin: str, skip: tuple[str, ...] = ()) -> Parameters:
    """Return the numbers in a dataclass and in its parts; those of a domain are the problem's."""
    numbers: Parameters = {}
    for name, value in parts_of(owner, shown=True).items():
        if value is None or name in skip:
            continue
        source = "problem" if name == "domain" else origin
        if parts_of(value) or is_dataclass(value):
            numbers[name] = Sourced(type(value).__name__, source)
            numbers |= {f"{name}.{n}": v for n, v in numbers_of(value, source).items()}
        else:
            numbers[name] = Sourced(_number(value), source)
    return numbers


def _number(value: object) -> float | str | None:
    """Return a number, None if it is not finite, or words for another value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, np.number)):
        return finite_or_none(value)
    if isinstance(value, np.ndarray):
        shape = " x ".join(map(str, value.shape))
        return f"{shape} numbers from {value.min():g} to {value.max():g}"
    return str(value)


class PluginError(InvalidValueError):
    """A plugin that cannot be used; the message says why."""


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


_LOADED: dict[str, Plugin] = {}


def list_plugins() -> tuple[Plugin, ...]:
    """Return the plugins of this process, in the order in which they were loaded."""
    return tuple(_LOADED.values())


def mark_of(name: str) -> PluginMark:
    """Return the mark of the plugin that a full name begins with; nothing without one.

    >>> mark_of("paper_toy")
    {}
    """
    module, colon, _ = name.rpartition(":")
    return {"plugin": f"{module} {_LOADED[module].digest[:16]}"} if colon else {}


def load_plugin(module: str, folder: str | Path = ".") -> Plugin:
    """Import a module and register its problems and algorithms by their names.

    Args:
        module: its dotted name, or the path of its file.
        folder: where its file is searched, beside installed packages.

    Raises:
        PluginError: it cannot be found or imported, or has nothing to name.
    """
    if (path := Path(module)).suffix == ".py":
        folder, module = path.parent, path.stem
    if module not in _LOADED:
        _LOADED[module] = _load(module, Path(folder).resolve())
    return _LOADED[module]


def _load(name: str, folder: Path) -> Plugin:
    module = _import(name, folder)
    public = (
        public_names(module)
        if vars(module).get("__all__")
        else {n: v for n, v in vars(module).items() if _is_own(v, module) and n[0] != "_"}
    )
    rules = {
        n: value
        for n, value in public.items()
        if inspect.isclass(value) and is_dataclass(value) and issubclass(value, Player)
    }
    functions = {n: value for n, value in public.items() if _returns_problem(value)}
    file = Path(str(module.__file__))
    if not functions and not rules:
        raise PluginError(
            f"plugin '{name}' must have a problem (a function with horizon, trials and streams "
            "that is annotated to return a Problem) or an algorithm (a dataclass with init and "
            f"step), got neither in '{file}'"
        )
    home = file.resolve().parents[name.count(".") + (file.name == "__init__.py")]
    plugin = Plugin(name, str(home), _hash_files(name, home), tuple(functions), tuple(rules))
    for short, function in functions.items():
        _check_arguments(function, f"{name}.{short}")
        entry = ProblemEntry(f"{name}:{short}", function)
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
    # After installed packages: a file with the name of another library's module must not hide it.
    if file is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        module = importlib.import_module(name)
    except Exception as error:
        missing = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        if name.split(".")[0] == missing.split(".")[0]:
            raise PluginError(f"there is no module '{name}' in '{folder}' or installed") from error
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"plugin '{name}' cannot be imported: {reason}") from error
    if module.__file__ is None:
        raise PluginError(f"plugin '{name}' must be a module with a file, got {module!r}")
    if file is not None and Path(module.__file__).resolve() != file:
        raise PluginError(
            f"plugin '{file}' must have another name: '{name}' is a module that is in use"
        )
    return module


def _hash_files(name: str, folder: Path) -> str:
    """Return a hash of a module's file, and of those in its folder that it imports."""
    installed = {"site-packages", "dist-packages"} & set(folder.parts)
    finder = ModuleFinder(path=[] if installed else [str(folder)])
    if not installed:
        finder.import_hook(name)
    files = {str(file) for m in finder.modules.values() if (file := vars(m)["__file__"])}
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
        return get_type_hints(value).get("return") is Problem
    except (NameError, TypeError, AttributeError):
        return False  # a name that only type checkers know


def _check_arguments(make: Any, title: str) -> None:
    """Reject a problem whose arguments a file cannot give."""
    arguments = inspect.signature(make).parameters
    if missing := [argument for argument in GIVEN[:3] if argument not in arguments]:
        raise PluginError(f"problem {title} must have the argument {missing[0]!r}")
    keywords = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    for name, argument in arguments.items():
        if name in ("name", "label") or argument.kind not in keywords:
            raise PluginError(
                f"the arguments of problem {title} must be keywords other than name and label, "
                f"got {str(argument)!r}"
            )
