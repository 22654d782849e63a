"""The specification of an experiment: which problems, which algorithms, how long, how often.

Plain data, written in TOML (:mod:`surefoot.experiments.toml`). Building what it describes checks
it: every table by its declared parameters, every problem by its function, every player by its
constructor. All mistakes are reported at once, each with the path of its key.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Any, NamedTuple, cast, get_args

from surefoot.core.algorithm import constructors_of
from surefoot.core.checks import invalid
from surefoot.core.constants import Constants
from surefoot.core.errors import SurefootError, suggest
from surefoot.core.optional import MissingExtraError
from surefoot.core.parameters import (
    Declaration,
    Declared,
    Parameter,
    anything,
    choice,
    count,
    declare,
    parameters_of,
)
from surefoot.core.toml import KeyPath, path_text
from surefoot.experiments.build import (
    ALGORITHMS_BY_NAME,
    FULL_NAMES,
    PROBLEMS,
    YOUR_OWN,
    Amount,
    ProblemEntry,
    build_player,
    mark_of,
    plain_parameters_of,
    plain_values,
    takes_base,
    unknown,
)
from surefoot.experiments.record import PlayerTable, ProblemTable, RecordingTable
from surefoot.games import Engine
from surefoot.problems import Problem
from surefoot.problems.costs import Adversarial


class Mistake(NamedTuple):
    """One mistake in a specification.

    Attributes:
        path: the keys that lead to it; may be empty.
        message: what is wrong, without the path.
        line: where it is in the file; None without a line.
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
        self.mistakes: list[Mistake] = sorted(mistakes, key=lambda m: m.line or 0)
        super().__init__("\n".join(map(self._sentence, self.mistakes)))

    def _sentence(self, mistake: Mistake) -> str:
        where = self.name if mistake.line is None else f"{self.name}:{mistake.line}"
        return ": ".join(part for part in (where, path_text(mistake.path), mistake.message) if part)

    def __reduce__(self) -> tuple[object, ...]:
        return SpecError, (self.name, self.mistakes)


class Mistakes(list[Mistake]):
    """The mistakes of a specification."""

    def add(self, path: KeyPath, message: str) -> None:
        """Add one, without its line."""
        self.append(Mistake(path, message))

    def read(
        self, declarations: Mapping[str, Parameter], table: object, path: KeyPath
    ) -> dict[str, Any]:
        """Return the valid values of a table; add the mistakes of the others."""
        if not isinstance(table, Mapping):
            self.add(path, f"must be a table, got {table!r:.60}")
            return {}
        for key in table:
            if key not in declarations:
                self.add((*path, key), f"unknown key{suggest(key, declarations)}")
        values = {}
        for name, parameter in declarations.items():
            if name in table:
                try:
                    values[name] = parameter.check(table[name])
                except ValueError as error:
                    self.add((*path, name), str(error).removeprefix(f"{name} "))
            elif parameter.is_required:
                self.add((*path, name), "is missing")
        return values


CHEAP = 1_000_000
"""Numbers of one trial up to which a problem is tried at its longest horizon."""

# --- the tables -----------------------------------------------------------------------------------


def _line(rule: str, pattern: str, default: object = MISSING) -> Declaration:
    """Declare a line of text."""

    def read(name: str, value: object) -> str:
        if isinstance(value, str) and value.isprintable() and re.fullmatch(pattern, value):
            return value
        raise invalid(name, rule, value)

    return declare("word", rule, read, default)


def _word(default: object = MISSING) -> Declaration:
    return _line("text in quotes", r".+", default)


def _label() -> Declaration:
    return _line("a line of at most 100 characters, no space at its ends", r"\S(.{,98}\S)?", None)


def _list_of(rule: str, least: int | None = None, default: object = None) -> Declaration:
    """Declare a list that is not empty: of words, or of whole numbers."""

    def fits(part: object) -> bool:
        if least is None:
            return isinstance(part, str)
        return isinstance(part, int) and not isinstance(part, bool) and part >= least

    def read(name: str, value: object) -> list[object]:
        if not isinstance(value, list | tuple) or not value or not all(map(fits, value)):
            raise invalid(name, rule, value)
        return list(value)

    return declare("any", rule, read, default)


def _horizons(default: object = MISSING) -> Declaration:
    return _list_of("a list of whole numbers >= 1", 1, default)


def _table(default: object = None) -> Declaration:
    """Declare a table, whose keys are checked elsewhere."""

    def read(name: str, value: object) -> dict[str, object]:
        if not isinstance(value, Mapping):
            raise invalid(name, "a table", value)
        return dict(value)

    return declare("any", "a table", read, default)


class Recording(Declared):
    """What is stored of the rounds; sums, extremes and counts always cover all of them.

    Attributes:
        every: keep every so many rounds of a path; totals only unless given.
        actions: of how many trials the actions are kept too.
        horizons: keep paths of the games of these lengths only; of all unless given.
    """

    every: int | None = count(default=None)
    actions: int = count(0, default=0)
    horizons: list[int] | None = _horizons(None)

    def of(self, horizon: int) -> RecordingTable:
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
        horizons: instead of the experiment's.
        trials: if fewer than the experiment's.
    """

    name: str = _word()
    tuning: str | None = _word(None)
    options: dict[str, object] | None = _table()
    parameters: dict[str, object] | None = _table()
    base: dict[str, object] | None = _table()
    constants: dict[str, object] | None = _table()
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

    def table(self) -> dict[str, object]:
        """Return the keys of its player that the file has, unchanged."""
        values = {name: vars(self)[name] for name in (*BASE_KEYS, "constants")}
        return {name: value for name, value in values.items() if value is not None}

    def plain(self) -> PlayerTable:
        """Return what is played as plain data, without labels."""
        return _plain_player(self.table())


BASE_KEYS = ("name", "tuning", "options", "parameters", "base")
"""The keys of an algorithm inside another one."""


def _plain_player(table: Mapping[str, Any]) -> PlayerTable:
    """Return a player as its cells have it: full names, hashes of plugins, numbers as floats."""
    plain = {key: _as_floats(value) for key, value in table.items() if value is not None}
    name = FULL_NAMES.get(table["name"], table["name"])
    plain.update(name=name, **mark_of(name))
    if "base" in plain:
        plain["base"] = _plain_player(table["base"])
    return cast(PlayerTable, plain)


def _as_floats(value: object) -> object:
    """Return numbers as floats, so that 1 and 1.0 are the same cell."""
    if isinstance(value, Mapping):
        return {key: _as_floats(part) for key, part in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


class ProblemKeys(Declared):
    """What every ``[[problems]]`` table accepts besides the problem's arguments.

    Attributes:
        name: which problem.
        label: what tables and figures call it; the name unless given.
        trials: at most so many trials of this problem, if fewer than the rest.
    """

    name: str = _word()
    label: str | None = _label()
    trials: int | None = count(default=None)

    @property
    def title(self) -> str:
        """What tables and figures call it."""
        return self.label or self.name


class ProblemRow(ProblemKeys):
    """A problem with its arguments, by the name that cells use.

    Attributes:
        arguments: all of them, plain data.
        sample: the problem for one trial of a few rounds.
    """

    arguments: dict[str, object] = anything("a table")
    sample: Problem = anything("a problem")

    def plain(self) -> ProblemTable:
        """Return name and arguments as plain data, all arguments given."""
        return {"name": self.name, "arguments": self.arguments, **mark_of(self.name)}


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
    engine: str = choice(*get_args(Engine), default="auto")
    recording: Recording = anything("a table", default=Recording())
    problems: Sequence[ProblemRow] = anything("a list of tables")
    algorithms: Sequence[AlgorithmRow] = anything("a list of tables")
    data: Mapping[str, Any] = anything("a table")


def trials_of(*limits: int | None) -> int:
    """Return the fewest trials that a specification, a problem and a row ask for."""
    return min(trials for trials in limits if trials is not None)


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
    mistakes, declarations = Mistakes(), parameters_of(Spec)
    del declarations["data"]
    top = mistakes.read(declarations, data, ())
    values = mistakes.read(parameters_of(Recording), top.get("recording", {}), ("recording",))
    recording = Recording(**values)
    problems = _read_list(top, "problems", mistakes)
    rows = {}
    for i, table in enumerate(_read_list(top, "algorithms", mistakes)):
        values_of_row = mistakes.read(parameters_of(AlgorithmRow), table, ("algorithms", i))
        if "name" in values_of_row:
            rows[i] = AlgorithmRow(**values_of_row)
    horizons = top.get("horizons", [1])
    longest = max([*horizons, *(T for row in rows.values() for T in row.horizons or ())])
    built = {
        i: row
        for i, table in enumerate(problems)
        if (row := read_problem(table, ("problems", i), longest, mistakes)) is not None
    }
    titles = [str(table.get("label", table.get("name"))) for table in problems if table]
    _Checks(top.get("trials", 30), horizons, recording, built, rows, titles, mistakes).check_all()
    if mistakes:
        raise SpecError(name, mistakes)
    top |= {"recording": recording, "data": dict(data)}
    return Spec(**top | {"problems": [*built.values()], "algorithms": [*rows.values()]})


def _read_list(top: Mapping[str, object], kind: str, mistakes: Mistakes) -> list[dict[str, object]]:
    """Return the tables of a list, an empty one in place of anything else."""
    value = top.get(kind, ())
    if kind in top and (not isinstance(value, list | tuple) or not value):
        mistakes.add((kind,), f"must be a list of tables, got {value!r:.60}")
    tables = value if isinstance(value, list | tuple) else ()
    for i, table in enumerate(tables):
        if not isinstance(table, Mapping):
            mistakes.add((kind, i), f"must be a table, got {table!r:.60}")
    return [dict(table) if isinstance(table, Mapping) else {} for table in tables]


def read_problem(
    table: Mapping[str, object], path: KeyPath, longest: int, mistakes: Mistakes
) -> ProblemRow | None:
    """Return the row of a problem, built for a trial; None if something is wrong with it."""
    name, before, keys = table.get("name"), len(mistakes), parameters_of(ProblemKeys)
    entry = PROBLEMS.get(name) if isinstance(name, str) else None
    if entry is None:
        if table:  # its arguments are unknown, so they cannot be checked
            mistakes.read(keys, {key: table[key] for key in keys if key in table}, path)
        if isinstance(name, str):
            mistakes.add((*path, "name"), unknown("problem", name, PROBLEMS, YOUR_OWN))
        return None
    values = mistakes.read(keys | entry.arguments(), table, path)
    if len(mistakes) > before:
        return None
    arguments = entry.complete({key: value for key, value in table.items() if key not in keys})
    sample = _try_problem(entry, arguments, longest, path, mistakes)
    if sample is None:
        return None
    return ProblemRow(
        name=entry.name,
        label=values.get("label") or values["name"],
        trials=values.get("trials"),
        arguments=arguments,
        sample=sample,
    )


def _try_problem(
    entry: ProblemEntry,
    arguments: dict[str, object],
    longest: int,
    path: KeyPath,
    mistakes: Mistakes,
) -> Problem | None:
    """Return a problem for one trial; add what its function rejects."""
    try:
        sample = entry.build(arguments, 1, 1, 0)
        if longest * sample.costs.dimension <= CHEAP and sample.costs.dimension <= 100:
            sample = entry.build(arguments, longest, 1, 0)
        return sample
    except MissingExtraError:
        raise
    except Exception as error:  # the function may be a user's, and its error is the mistake
        key, _, rest = str(error).partition(" ")
        kind = "" if isinstance(error, SurefootError) else f"{type(error).__name__}: "
        is_argument = key in arguments
        mistakes.add(
            (*path, key) if is_argument else path, rest if is_argument else f"{kind}{error}"
        )
        return None


# --- checking what must fit together --------------------------------------------------------------


@dataclass(frozen=True)
class _Checks:
    """The valid parts of a specification, by their places in the file; adds to ``mistakes``."""

    trials: int
    horizons: list[int]
    recording: Recording
    problems: dict[int, ProblemRow]
    rows: dict[int, AlgorithmRow]
    titles: list[str]
    mistakes: Mistakes

    def check_all(self) -> None:
        self._check_labels("problems", self.problems)
        self._check_labels("algorithms", self.rows)
        self._check_recording()
        for i, row in self.rows.items():
            path = ("algorithms", i)
            self._check_trials(row.trials, path)
            for k, title in enumerate(row.only or ()):
                if title not in self.titles:
                    self.mistakes.add((*path, "only", k), unknown("problem", title, self.titles))
            # An amount is monotone in the horizon, so the ends stand for all between them.
            horizons = row.horizons or self.horizons
            sample = next((p.sample for p in self.problems.values() if row.plays(p.title)), None)
            ends = sorted({min(horizons), max(horizons)})
            mistyped = any(
                m.path[:-1] == path and "unknown key" in m.message for m in self.mistakes
            )
            if (row.tuning, row.parameters) != (None, None) or not mistyped:
                PlayerChecks(ends, sample, self.mistakes).check(row.table(), path)
        for i, problem in self.problems.items():
            self._check_trials(problem.trials, ("problems", i))
            self._check_problem(problem, ("problems", i))

    def _check_labels(self, kind: str, rows: Mapping[int, ProblemRow | AlgorithmRow]) -> None:
        titles: set[str] = set()
        for i, row in rows.items():
            if row.title in titles:
                words = f"the label {row.title!r} is taken: labels of {kind} must differ"
                self.mistakes.add((kind, i), words)
            titles.add(row.title)

    def _check_recording(self) -> None:
        played = {T for row in self.rows.values() for T in row.horizons or ()} | {*self.horizons}
        for i, horizon in enumerate(self.recording.horizons or ()):
            if horizon not in played:
                path = ("recording", "horizons", i)
                self.mistakes.add(path, f"nothing is played for {horizon} rounds")
        if self.recording.every is None and self.recording.actions:
            words = "keeps nothing without every: set every = 1 or more"
            self.mistakes.add(("recording", "actions"), words)

    def _check_trials(self, trials: int | None, path: KeyPath) -> None:
        if trials is not None and trials > self.trials:
            words = f"must be at most the experiment's {self.trials}, got {trials}"
            self.mistakes.add((*path, "trials"), words)

    def _check_problem(self, problem: ProblemRow, path: KeyPath) -> None:
        """Check what a problem offers to the rows that play it."""
        games = [
            trials_of(self.trials, problem.trials, row.trials)
            for row in self.rows.values()
            if row.plays(problem.title)
        ]
        if isinstance(problem.sample.costs, Adversarial) and max(games, default=1) > 1:
            words = "its costs answer the actions, so all its trials are the same"
            self.mistakes.add(path, f"{words}: set trials = 1 in its table")


# --- checking players -----------------------------------------------------------------------------


@dataclass(frozen=True)
class PlayerChecks:
    """Find the mistakes of a player: names, parameters, options, base and constants.

    Attributes:
        horizons: at which its amounts are tried.
        problem: on which it is tried; None if no problem is valid.
        mistakes: to which new ones are added.
    """

    horizons: Sequence[int]
    problem: Problem | None
    mistakes: Mistakes

    def check(self, row: Mapping[str, Any], path: KeyPath) -> None:
        """Add the mistakes of the keys that were given, at a path."""
        name, tuning, mistakes, before = (
            row["name"],
            row.get("tuning"),
            self.mistakes,
            len(self.mistakes),
        )
        rule = ALGORITHMS_BY_NAME.get(name)
        if rule is None:
            mistakes.add((*path, "name"), unknown("algorithm", name, ALGORITHMS_BY_NAME, YOUR_OWN))
        elif tuning is not None and "parameters" in row:
            mistakes.add(
                (*path, "parameters"), "must not be given with a tuning: keep one of the two"
            )
        elif tuning is None and "parameters" not in row:
            tunings, names = ", ".join(constructors_of(rule)), ", ".join(plain_parameters_of(rule))
            mistakes.add(path, f"needs a tuning ({tunings}) or parameters ({names})")
        elif tuning is not None and tuning not in constructors_of(rule):
            words = unknown(f"tuning of {rule.__name__}", tuning, constructors_of(rule))
            mistakes.add((*path, "tuning"), words)
        else:
            self._check_base(row, rule, path)
            if tuning is not None:
                key, owner = "options", f"option of {rule.__name__}.{tuning}"
                declarations = parameters_of(getattr(rule, tuning))
            else:
                key, owner, declarations = (
                    "parameters",
                    f"parameter of {name}",
                    plain_parameters_of(rule),
                )
                if row.get("options"):
                    mistakes.add((*path, "options"), "belong to a tuning, and none is given")
            self._check_values(row.get(key) or {}, declarations, (*path, key), owner)
            self._check_constants(row, path)
            if len(mistakes) == before and tuning is None and self.problem is not None:
                self._try_player(row, path, self.problem)

    def _check_base(self, row: Mapping[str, Any], rule: type, path: KeyPath) -> None:
        """Add the mistakes of the algorithm inside another one."""
        base_path, tuning = (*path, "base"), row.get("tuning")
        takes = takes_base(rule, tuning)
        if "base" not in row:
            if takes and tuning is None:
                self.mistakes.add(path, f"{row['name']} needs a base: an algorithm inside it")
            return
        if not takes:
            owner = f"{rule.__name__}.{tuning} chooses its base"
            self.mistakes.add(
                base_path, owner if tuning else f"{row['name']} has no algorithm inside it"
            )
            return
        keys = {name: p for name, p in parameters_of(AlgorithmRow).items() if name in BASE_KEYS}
        values = self.mistakes.read(keys, row["base"], base_path)
        base = {name: value for name, value in values.items() if value is not None}
        if "name" not in base:
            return
        if tuning is not None and "tuning" not in base and base.get("parameters"):
            why = f"{rule.__name__}.{tuning} assumes its guarantee"
            self.mistakes.add((*base_path, "parameters"), f"needs a tuning, not parameters: {why}")
        self.check(base, base_path)

    def _check_values(
        self,
        values: Mapping[str, object],
        declarations: Mapping[str, Parameter],
        path: KeyPath,
        owner: str,
    ) -> None:
        """Add unknown names, missing ones, and values that break their declarations."""
        for name, value in values.items():
            value_path, before = (*path, name), len(self.mistakes)
            if name not in declarations:
                self.mistakes.add(
                    value_path, _MISPLACED.get(name) or unknown(owner, name, declarations)
                )
                continue
            if isinstance(value, Mapping):
                self.mistakes.read(parameters_of(Amount), value, value_path)
            for horizon in self.horizons if len(self.mistakes) == before else ():
                try:
                    declarations[name].check(
                        plain_values({name: value}, declarations, horizon)[name]
                    )
                except (ValueError, TypeError, ArithmeticError) as error:
                    self.mistakes.add(value_path, str(error).removeprefix(f"{name} "))
                    break
        if missing := [n for n, one in declarations.items() if one.is_required and n not in values]:
            verb = "is" if len(missing) == 1 else "are"
            self.mistakes.add(path, f"{' and '.join(missing)} {verb} missing")

    def _check_constants(self, row: Mapping[str, Any], path: KeyPath) -> None:
        constants, constants_path, before = (
            row.get("constants"),
            (*path, "constants"),
            len(self.mistakes),
        )
        if not constants:
            return
        if "parameters" in row and not _has_tuning(row.get("base")):
            self.mistakes.add(constants_path, "belong to a theorem, and parameters have none")
            return
        parameters = parameters_of(Constants)
        declarations = {name: parameters[name]._replace(default=None) for name in Constants.names()}
        self._check_values(constants, declarations, constants_path, "constant")
        sigma, G_g = constants.get("sigma"), constants.get("G_g")
        if len(self.mistakes) == before and sigma is not None and G_g is not None and sigma > G_g:
            self.mistakes.add(
                (*constants_path, "sigma"), f"must be at most G_g = {G_g:g}, got {sigma!r}"
            )

    def _try_player(self, row: Mapping[str, Any], path: KeyPath, problem: Problem) -> None:
        """Add what a constructor rejects of its parameters together, or of its base."""
        for horizon in self.horizons:
            try:
                build_player(_plain_player(row), problem, horizon)
            except (ValueError, TypeError, ArithmeticError) as error:
                first, _, rest = str(error).partition(" ")
                if first in row["parameters"] or first == "base":
                    key = ("base",) if first == "base" else ("parameters", first)
                    self.mistakes.add((*path, *key), rest)
                    return


_MISPLACED = {
    "domain": "is taken from the problem",
    "base": "belongs beside the parameters, not among them",
}
"""Messages for names that are not parameters."""


def _has_tuning(base: Mapping[str, Any] | None) -> bool:
    return base is not None and (base.get("tuning") is not None or _has_tuning(base.get("base")))
