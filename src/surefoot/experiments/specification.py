"""Mistakes of a specification in plain words, each with the path of its key."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any, NamedTuple, TypeAlias

from surefoot.core.algorithm import constructors_of
from surefoot.core.checks import invalid
from surefoot.core.constants import Constants
from surefoot.core.errors import SurefootError
from surefoot.core.optional import MissingExtraError
from surefoot.core.parameters import (
    Declared,
    Parameter,
    anything,
    choice,
    count,
    declare,
    number,
    parameters_of,
)
from surefoot.experiments.build import (
    ALGORITHMS_BY_NAME,
    BLOCK,
    FULL_NAMES,
    PROBLEMS,
    ProblemEntry,
    build_player,
    plain_parameters_of,
    plain_values,
    takes_base,
)
from surefoot.experiments.record import read_value
from surefoot.problems import Problem
from surefoot.problems.costs import Adversarial

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and places in lists that lead to a value."""

MOST = 100
"""Report at most this many; a file with more mistakes is probably the wrong file."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Mistake(NamedTuple):
    """One mistake in a specification.

    Attributes:
        path: the keys that lead to it; may be empty.
        message: what is wrong, without the path.
        line: where it is in the file; None where no line is to blame.
    """

    path: KeyPath
    message: str
    line: int | None = None


class SpecError(SurefootError, ValueError):
    """A specification that cannot be used; lists everything that is wrong, one per line.

    Attributes:
        name: of the file.
        mistakes: in the order of the file.
    """

    def __init__(self, name: str, mistakes: Sequence[Mistake]) -> None:
        self.name = name
        self.mistakes = sorted(mistakes, key=lambda m: m.line or 0)
        lines = [self._sentence(m) for m in self.mistakes[:MOST]]
        if len(mistakes) > MOST:
            lines.append(f"{name}: and {len(mistakes) - MOST} more of the like")
        super().__init__("\n".join(lines))

    def _sentence(self, mistake: Mistake) -> str:
        where = self.name if mistake.line is None else f"{self.name}:{mistake.line}"
        return ": ".join(part for part in (where, written(mistake.path), mistake.message) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpecError, (self.name, self.mistakes)


def written(path: KeyPath) -> str:
    """Return a path as one writes it.

    Example:
        >>> written(("algorithms", 0, "tuning"))
        'algorithms[0].tuning'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{key_text(step)}" for step in path)
    return text.removeprefix(".")


def key_text(key: str) -> str:
    """Return a key as TOML writes it, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else json.dumps(key)


def nearest(word: object, words: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown word: the nearest one, or all there are."""
    words = list(words)
    # Capitals are easily got wrong, and difflib takes them for other letters.
    folded = {w.casefold(): w for w in reversed(words)}
    close = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {folded[close[0]]!r}?"
    return f"; known: {', '.join(words)}" if words else ""


def unknown(what: str, word: str, words: Iterable[str], hint: str = "") -> str:
    """Return a sentence about a word that is not known, with the nearest that is.

    Args:
        what: the kind of word.
        word: the one that is not known.
        words: those that are.
        hint: what else may help.
    """
    shown = repr(word) if len(word) <= 60 else f"{word[:57]!r}..."
    return f"unknown {what} {shown}{nearest(word, words)}" + (f" ({hint})" if hint else "")


LARGEST = 2_000_000_000
"""Numbers in the streams of a cell: 16 GB of them."""

MOST_CELLS = 1_000_000
"""Cells of a specification: their places alone take a gigabyte."""

CHEAP = 1_000_000
"""Numbers of one trial up to which a problem is built at its longest horizon, to be tried."""

YOUR_OWN = "for your own give --plugin MODULE"
"""How a problem or an algorithm that the library does not have can be named."""

Mistakes = list[Mistake]


# --- the tables -----------------------------------------------------------------------------------


def _line(rule: str, pattern: str, default: Any = MISSING) -> Any:
    """Declare a line of text."""

    def read(name: str, value: Any) -> str:
        if (
            not isinstance(value, str)
            or not value.isprintable()
            or not re.fullmatch(pattern, value)
        ):
            raise invalid(name, rule, value)
        return value

    return declare("word", rule, read, default)


def _word(default: Any = MISSING) -> Any:
    return _line("text in quotes", r".+", default)


def _label() -> Any:
    return _line("a line of at most 100 characters, no space at its ends", r"\S(.{,98}\S)?", None)


def _list_of(rule: str, least: int | None = None, default: Any = None) -> Any:
    """Declare a list that is not empty: of words, or of whole numbers."""

    def fits(part: Any) -> bool:
        if least is None:
            return isinstance(part, str)
        return isinstance(part, int) and not isinstance(part, bool) and part >= least

    def read(name: str, value: Any) -> list[Any]:
        if not isinstance(value, list | tuple) or not value or not all(map(fits, value)):
            raise invalid(name, rule, value)
        return list(value)

    return declare("any", rule, read, default)


def _horizons(default: Any = MISSING) -> Any:
    return _list_of("a list of whole numbers >= 1", 1, default)


def _table(default: Any = None) -> Any:
    """Declare a table, whose keys are checked elsewhere."""

    def read(name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise invalid(name, "a table", value)
        return dict(value)

    return declare("any", "a table", read, default)


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


class Recording(Declared):
    """What is stored about the rounds; sums, extremes and counts always cover all of them.

    Attributes:
        every: keep every so many rounds of a path; totals only unless given.
        actions: of how many trials the actions are kept too.
        horizons: keep paths of the games of these lengths only; of all unless given.
    """

    every: int | None = count(default=None)
    actions: int = count(0, default=0)
    horizons: list[int] | None = _horizons(None)

    def of(self, horizon: int) -> dict[str, int | None]:
        """Return what is kept of games of this length, as plain data."""
        if self.every is None or (self.horizons is not None and horizon not in self.horizons):
            return {"every": None, "actions": 0}
        return {"every": self.every, "actions": self.actions}


class AlgorithmRow(Declared):
    """A row: an algorithm with its tuning or its parameters, and what it plays.

    Attributes:
        name: class of the algorithm.
        tuning: one of its theorem-tuned constructors.
        options: keyword options of that constructor.
        parameters: its parameters instead, each a number or an amount.
        base: the algorithm inside it, where it has one.
        constants: replace constants of the problems in the theorem of this row.
        label: what tables and figures call it; name and tuning unless given.
        only: labels of the problems it plays; all unless given.
        horizons: its own, instead of the experiment's.
        trials: its own, if fewer than the experiment's.
    """

    name: str = _word()
    tuning: str | None = _word(None)
    options: dict[str, Any] | None = _table()
    parameters: dict[str, Any] | None = _table()
    base: dict[str, Any] | None = _table()
    constants: dict[str, Any] | None = _table()
    label: str | None = _label()
    only: list[str] | None = _list_of("a list of labels of problems")
    horizons: list[int] | None = _horizons(None)
    trials: int | None = count(default=None)

    @property
    def title(self) -> str:
        """The label, or else name and tuning."""
        return self.label or (self.name if self.tuning is None else f"{self.name}.{self.tuning}")

    def plays(self, problem: str) -> bool:
        """Return whether the row plays the problem of this title."""
        return self.only is None or problem in self.only

    def plain(self) -> dict[str, Any]:
        """Return what is played as plain data, without labels."""
        return _plain_player({n: getattr(self, n) for n in (*BASE_KEYS, "constants")})


BASE_KEYS = ("name", "tuning", "options", "parameters", "base")
"""The keys of an algorithm inside another one."""


def _plain_player(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a player as its cells have it: full names, and no keys that were not given."""
    plain = {k: _as_floats(v) for k, v in table.items() if v is not None}
    plain["name"] = FULL_NAMES.get(plain["name"], plain["name"])
    return plain | ({"base": _plain_player(plain["base"])} if "base" in plain else {})


def _as_floats(value: Any) -> Any:
    """Return numbers as floats, so that 1 and 1.0 are the same cell."""
    if isinstance(value, Mapping):
        return {key: _as_floats(part) for key, part in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """A problem with its arguments.

    Attributes:
        name: by which cells know it.
        label: what tables and figures call it.
        trials: at most so many trials of this problem; as many as the rest if None.
        arguments: all of them, plain data.
        sample: it, for one trial of a few rounds.
    """

    name: str
    label: str
    trials: int | None
    arguments: dict[str, Any]
    sample: Problem = field(compare=False)

    @property
    def title(self) -> str:
        """What tables and figures call it."""
        return self.label

    def plain(self) -> dict[str, Any]:
        """Return name and arguments as plain data, all arguments given."""
        return {"name": self.name, "arguments": self.arguments}


class ProblemKeys(Declared):
    """What every ``[[problems]]`` table accepts besides the problem's own arguments.

    Attributes:
        name: which problem.
        label: what tables and figures call it; the name unless given.
        trials: at most so many trials of this problem, if fewer than the rest.
    """

    name: str = _word()
    label: str | None = _label()
    trials: int | None = count(default=None)


class Spec(Declared):
    """An experiment; made by :func:`build_spec` or read from TOML.

    Attributes:
        name: letters, digits, - and _; also the folder of the results.
        seed: root of all random numbers.
        trials: runs of each cell.
        horizons: numbers of rounds.
        engine: what plays; chosen for each cell unless given.
        recording: what is kept of the rounds beside totals.
        problems: the rows of problems.
        algorithms: the rows of algorithms.
        data: all of it as it was given, plain.
    """

    name: str = _line("letters, digits, - and _, at most 64", "[A-Za-z0-9][A-Za-z0-9_-]{,63}")
    seed: int = count(0, default=0)
    trials: int = count(default=30)
    horizons: list[int] = _horizons()
    engine: str = choice("auto", "loop", "batch", "kernel", "scan", default="auto")
    recording: Recording = anything("a table", default=Recording())
    problems: Sequence[ProblemRow] = anything("a list of tables")
    algorithms: Sequence[AlgorithmRow] = anything("a list of tables")
    data: Mapping[str, Any] = anything("a table")


def trials_of(*asked: int | None) -> int:
    """Return the fewest trials that a specification, a problem and a row ask for."""
    return min(trials for trials in asked if trials is not None)


# --- reading --------------------------------------------------------------------------------------


def build_spec(data: Mapping[str, Any], name: str = "specification") -> Spec:
    """Return the experiment that plain data describe.

    Args:
        data: as a TOML file has it.
        name: for messages.

    Raises:
        SpecError: with all mistakes, each with the path of its key.

    Example:
        >>> spec = build_spec({
        ...     "name": "small",
        ...     "horizons": [100, 400],
        ...     "problems": [{"name": "paper_toy"}],
        ...     "algorithms": [{"name": "PFS", "tuning": "anytime"}],
        ... })
        >>> spec.algorithms[0].title, spec.trials
        ('PFS.anytime', 30)
    """
    found: Mistakes = []
    top = _read_table(Spec, data, (), found, hidden=("data",))
    trials, horizons = top.get("trials", 30), top.get("horizons", [1])
    recording = Recording(**_read_table(Recording, top.get("recording", {}), ("recording",), found))
    tables = {
        kind: _read_list(top.get(kind), (kind,), found)
        for kind in ("problems", "algorithms")
        if kind in top
    }
    rows, problems = {}, {}
    for i, table in enumerate(tables.get("algorithms", ())):
        read = _read_table(AlgorithmRow, table, ("algorithms", i), found)
        if "name" in read:
            rows[i] = AlgorithmRow(**read)
    longest = max([*horizons, *(T for row in rows.values() for T in row.horizons or ())])
    for i, table in enumerate(tables.get("problems", ())):
        problem = _read_problem(table, ("problems", i), longest, found)
        if problem is not None:
            problems[i] = problem
    titles = [str(t.get("label", t.get("name"))) for t in tables.get("problems", ()) if t]
    _Checks(trials, horizons, recording, problems, rows, titles, found).check_all()
    if found:
        raise SpecError(name, found)
    top |= {"recording": recording, "data": dict(data)}
    return Spec(**top | {"problems": [*problems.values()], "algorithms": [*rows.values()]})


def _read_table(
    kind: type[Declared],
    table: object,
    path: KeyPath,
    found: Mistakes,
    hidden: Collection[str] = (),
    own: Collection[str] = (),
) -> dict[str, Any]:
    """Return the values of a table that are right; add what is wrong with the others.

    Args:
        kind: declares its keys.
        table: plain data.
        path: where it is.
        found: the mistakes.
        hidden: declared, and not to be given.
        own: further keys, which are read elsewhere.
    """
    if not isinstance(table, Mapping):
        found.append(Mistake(path, f"must be a table, got {table!r:.60}"))
        return {}
    wanted = {n: p for n, p in parameters_of(kind).items() if n not in hidden}
    for key in table:
        if key not in wanted and key not in own:
            found.append(Mistake((*path, key), f"unknown key{nearest(key, [*wanted, *own])}"))
    values = {}
    for name, parameter in wanted.items():
        if name in table:
            try:
                values[name] = parameter.check(table[name])
            except ValueError as error:
                found.append(Mistake((*path, name), str(error).removeprefix(f"{name} ")))
        elif parameter.is_required:
            found.append(Mistake((*path, name), "is missing"))
    return values


def _read_list(value: object, path: KeyPath, found: Mistakes) -> list[dict[str, Any]]:
    """Return the tables of a list, an empty one for each that is none."""
    if not isinstance(value, list | tuple) or not value:
        found.append(Mistake(path, f"must be a list of tables, got {value!r:.60}"))
        return []
    for i, table in enumerate(value):
        if not isinstance(table, Mapping):
            found.append(Mistake((*path, i), f"must be a table, got {table!r:.60}"))
    return [dict(table) if isinstance(table, Mapping) else {} for table in value]


def _read_problem(
    table: dict[str, Any], path: KeyPath, longest: int, found: Mistakes
) -> ProblemRow | None:
    """Return the row of a problem, built for a trial; None if something is wrong with it."""
    name, before = table.get("name"), len(found)
    entry = PROBLEMS.get(name) if isinstance(name, str) else None
    if entry is None:
        # Its own keys are not known, so nothing can be said about them.
        if table:
            _read_table(ProblemKeys, table, path, found, own=table.keys())
        if isinstance(name, str):
            found.append(Mistake((*path, "name"), unknown("problem", name, PROBLEMS, YOUR_OWN)))
        return None
    arguments = entry.arguments()
    read = _read_table(ProblemKeys, table, path, found, own=arguments.keys())
    for n, argument in arguments.items():
        if n not in table and argument.default is ...:
            found.append(Mistake((*path, n), "is missing"))
        elif n in table:
            try:
                read_value(argument.kind, table[n], n)
            except ValueError as error:
                found.append(Mistake((*path, n), str(error).removeprefix(f"{n} ")))
    if len(found) > before:
        return None
    complete = entry.complete({n: table[n] for n in arguments if n in table})
    sample = _try_problem(entry, complete, longest, path, found)
    if sample is None:
        return None
    label = read.get("label") or read["name"]
    return ProblemRow(entry.name, label, read.get("trials"), complete, sample)


def _try_problem(
    entry: ProblemEntry, arguments: dict[str, Any], longest: int, path: KeyPath, found: Mistakes
) -> Problem | None:
    """Return a problem for one trial; add what its function says against its arguments."""
    try:
        sample = entry.build(arguments, 1, 1, 0)
        if longest * sample.costs.dimension <= CHEAP and sample.costs.dimension <= 100:
            sample = entry.build(arguments, longest, 1, 0)
        return sample
    except MissingExtraError:
        raise
    except Exception as error:  # the function is anybody's, and what it says is the mistake
        key, _, rest = str(error).partition(" ")
        if key in arguments:
            found.append(Mistake((*path, key), rest))
        else:
            kind = "" if isinstance(error, SurefootError) else f"{type(error).__name__}: "
            found.append(Mistake(path, f"{kind}{error}"))
        return None


# --- checking what must fit together --------------------------------------------------------------


@dataclass(frozen=True)
class _Checks:
    """What is right of a specification, rows by their places in the file; adds to ``found``."""

    trials: int
    horizons: list[int]
    recording: Recording
    problems: dict[int, ProblemRow]
    rows: dict[int, AlgorithmRow]
    titles: list[str]
    found: Mistakes

    def add(self, path: KeyPath, words: str) -> None:
        self.found.append(Mistake(path, words))

    def check_all(self) -> None:
        self._check_labels("problems", self.problems)
        self._check_labels("algorithms", self.rows)
        self._check_recording()
        for i, row in self.rows.items():
            path = ("algorithms", i)
            self._check_trials(row.trials, path)
            for k, title in enumerate(row.only or ()):
                if title not in self.titles:
                    self.add((*path, "only", k), unknown("problem", title, self.titles))
            # An amount rises or falls with the horizon, so the ends stand for all between them.
            horizons = row.horizons or self.horizons
            sample = next((p.sample for p in self.problems.values() if row.plays(p.title)), None)
            player = {n: getattr(row, n) for n in (*BASE_KEYS, "constants")}
            if player["tuning"] is player["parameters"] is None and self._is_mistyped(path):
                continue
            ends = sorted({min(horizons), max(horizons)})
            self.found.extend(check_player(player, path, ends, sample))
        for i, problem in self.problems.items():
            self._check_trials(problem.trials, ("problems", i))
            self._check_problem(problem, ("problems", i))
        cells = sum(
            len(set(horizons)) * math.ceil(trials / BLOCK)
            for problem in self.problems.values()
            for horizons, trials in self._games(problem)
        )
        if cells > MOST_CELLS:
            words = f"has {cells:,} cells (problem, algorithm, horizon and block of {BLOCK} trials)"
            self.add((), f"{words}; {MOST_CELLS:,} are allowed")

    def _is_mistyped(self, path: KeyPath) -> bool:
        return any(m.path[:-1] == path and "unknown key" in m.message for m in self.found)

    def _games(self, problem: ProblemRow) -> Iterator[tuple[list[int], int]]:
        """Yield horizons and trials of each row that plays a problem."""
        for row in self.rows.values():
            if row.plays(problem.title):
                trials = trials_of(self.trials, problem.trials, row.trials)
                yield row.horizons or self.horizons, trials

    def _check_labels(self, kind: str, rows: Mapping[int, ProblemRow | AlgorithmRow]) -> None:
        seen: set[str] = set()
        for i, row in rows.items():
            if row.title in seen:
                words = f"the label {row.title!r} is taken: give each of the {kind} its own"
                self.add((kind, i), words)
            seen.add(row.title)

    def _check_recording(self) -> None:
        played = {T for row in self.rows.values() for T in row.horizons or ()} | {*self.horizons}
        for i, horizon in enumerate(self.recording.horizons or ()):
            if horizon not in played:
                path = ("recording", "horizons", i)
                self.add(path, f"nothing is played for {horizon} rounds")
        if self.recording.every is None and self.recording.actions:
            words = "keeps nothing without every: set every = 1 or more"
            self.add(("recording", "actions"), words)

    def _check_trials(self, trials: int | None, path: KeyPath) -> None:
        if trials is not None and trials > self.trials:
            words = f"must be at most the experiment's {self.trials}, got {trials}"
            self.add((*path, "trials"), words)

    def _check_problem(self, problem: ProblemRow, path: KeyPath) -> None:
        """Check what a problem offers to the rows that play it."""
        games = list(self._games(problem))
        trials = max((t for _, t in games), default=1)
        rounds = max((max(horizons) for horizons, _ in games), default=1)
        costs = problem.sample.costs
        if isinstance(costs, Adversarial) and trials > 1:
            words = "its costs answer the actions, so all its trials are the same"
            self.add(path, f"{words}: set trials = 1 in its table")
        numbers = rounds * min(trials, BLOCK) * costs.dimension
        if numbers > LARGEST:
            words = f"{rounds} rounds of {min(trials, BLOCK)} trials need {8e-9 * numbers:.0f} GB"
            self.add(path, f"{words} of memory; {8e-9 * LARGEST:.0f} are allowed")


# --- checking players -----------------------------------------------------------------------------


def check_player(
    row: dict[str, Any], path: KeyPath, horizons: Sequence[int], problem: Problem | None
) -> Mistakes:
    """Return the mistakes of a player: names, parameters, options, base and constants.

    Args:
        row: its keys; None for one that is not given.
        path: where it is.
        horizons: at which its amounts are tried.
        problem: on which it is tried; None where there is none to try it on.
    """
    name, tuning, parameters = row["name"], row.get("tuning"), row.get("parameters")
    rule = ALGORITHMS_BY_NAME.get(name)
    if rule is None:
        return [Mistake((*path, "name"), unknown("algorithm", name, ALGORITHMS_BY_NAME, YOUR_OWN))]
    if tuning is not None and parameters is not None:
        return [Mistake((*path, "parameters"), "stand beside a tuning: keep one of the two")]
    if tuning is None and parameters is None:
        tunings, names = ", ".join(constructors_of(rule)), ", ".join(plain_parameters_of(rule))
        return [Mistake(path, f"needs a tuning ({tunings}) or parameters ({names})")]
    if tuning is not None and tuning not in constructors_of(rule):
        words = unknown(f"tuning of {rule.__name__}", tuning, constructors_of(rule))
        return [Mistake((*path, "tuning"), words)]
    found = _check_base(row, rule, path, horizons, problem)
    if tuning is not None:
        wanted, given, key = (
            parameters_of(getattr(rule, tuning)),
            row.get("options") or {},
            "options",
        )
        owner = f"option of {rule.__name__}.{tuning}"
    else:
        key, given, wanted = "parameters", parameters, plain_parameters_of(rule)
        owner = f"parameter of {name}"
        if row.get("options"):
            found.append(Mistake((*path, "options"), "belong to a tuning, and there is none"))
    found += _check_values(given or {}, wanted, (*path, key), owner, horizons)
    found += _check_constants(row, path)
    if not found and parameters is not None and problem is not None:
        found += _try_building(row, path, horizons, problem)
    return found


def _check_base(
    row: dict[str, Any],
    rule: type[Any],
    path: KeyPath,
    horizons: Sequence[int],
    problem: Problem | None,
) -> Mistakes:
    """Return the mistakes of the algorithm inside another one."""
    base, here = row.get("base"), (*path, "base")
    tuning = row.get("tuning")
    takes = takes_base(rule, tuning)
    if base is None:
        needs = takes and tuning is None
        return [Mistake(path, f"{row['name']} needs a base: an algorithm inside it")] * needs
    if not takes:
        owner = f"{rule.__name__}.{tuning} chooses its own"
        return [Mistake(here, owner if tuning else f"{row['name']} has no algorithm inside it")]
    found: Mistakes = []
    read = _read_table(AlgorithmRow, base, here, found, hidden=_NOT_OF_BASE)
    if "name" not in read:
        return found
    if tuning is not None and base.get("tuning") is None and base.get("parameters"):
        words = f"needs a tuning, not parameters: {rule.__name__}.{tuning} rests on its guarantee"
        found.append(Mistake((*here, "parameters"), words))
    return found + check_player(read, here, horizons, problem)


_NOT_OF_BASE = ("constants", "label", "only", "horizons", "trials")


def _check_values(
    given: Mapping[str, Any],
    wanted: Mapping[str, Parameter],
    path: KeyPath,
    owner: str,
    horizons: Sequence[int],
) -> Mistakes:
    """Return unknown names, missing ones, and values that break their declarations."""
    found: Mistakes = []
    for name, value in given.items():
        here = (*path, name)
        if name not in wanted:
            hints = {
                "domain": "is put in from the problem",
                "base": "stands beside the parameters, not among them",
            }
            found.append(Mistake(here, hints.get(name) or unknown(owner, name, wanted)))
            continue
        before = len(found)
        if isinstance(value, Mapping):
            _read_table(Amount, value, here, found)
        for horizon in horizons if len(found) == before else ():
            try:
                wanted[name].check(plain_values({name: value}, wanted, horizon)[name])
            except (ValueError, TypeError, ArithmeticError) as error:
                found.append(Mistake(here, str(error).removeprefix(f"{name} ")))
                break
    missing = [n for n, parameter in wanted.items() if parameter.is_required and n not in given]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        found.append(Mistake(path, f"{' and '.join(missing)} {verb} missing"))
    return found


def _check_constants(row: dict[str, Any], path: KeyPath) -> Mistakes:
    given, here = row.get("constants"), (*path, "constants")
    if not given:
        return []
    if row.get("parameters") is not None and not _has_tuning(row.get("base")):
        return [Mistake(here, "are for a theorem, and parameters need none")]
    known = parameters_of(Constants)
    wanted = {name: known[name]._replace(default=None) for name in Constants.names()}
    found = _check_values(given, wanted, here, "constant", [1])
    sigma, G_g = given.get("sigma"), given.get("G_g")
    if not found and sigma is not None and G_g is not None and sigma > G_g:
        found.append(Mistake((*here, "sigma"), f"must be at most G_g = {G_g:g}, got {sigma!r}"))
    return found


def _has_tuning(base: Mapping[str, Any] | None) -> bool:
    return base is not None and (base.get("tuning") is not None or _has_tuning(base.get("base")))


def _try_building(
    row: dict[str, Any], path: KeyPath, horizons: Sequence[int], problem: Problem
) -> Mistakes:
    """Return what a constructor says of its parameters together, or of its base."""
    for horizon in horizons:
        try:
            build_player(_plain_player(row), problem, horizon)
        except (ValueError, TypeError, ArithmeticError) as error:
            first, _, rest = str(error).partition(" ")
            if first in row["parameters"]:
                return [Mistake((*path, "parameters", first), rest)]
            if first == "base":
                return [Mistake((*path, "base"), rest)]
    return []
