r"""From the log of a plant to its description: every number with its origin.

The steps are those of an engineer with a year of log: which set points were held, whether values at
one set point say that a column is missing, a constant per column, a start that is safe in the worst
context. What a log cannot say is said in the end.

Constants of a log are lower bounds (:mod:`surefoot.problems.calibration.columns`). They are
multiplied by a factor, and written down as estimates, with the rows they are from. The start's
margin follows from the constants as they are written, so that it is no further guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, SurefootError, suggest
from surefoot.core.types import FloatArray
from surefoot.problems.calibration.columns import (
    ColumnConstants,
    UnexplainedError,
    explain_by_contexts,
    find_columns,
)
from surefoot.problems.calibration.missing import Repeats, compare_repeats, label_groups
from surefoot.problems.calibration.plant_log import LogColumn, PlantLog
from surefoot.problems.calibration.start_margin import (
    Evidence,
    StartMargin,
    choose_start,
    find_margin,
)
from surefoot.problems.plant.description import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    PolicyDescription,
    RiseDescription,
)
from surefoot.problems.plant.durations import duration_text

__all__ = ["LogRequest", "MissingColumnError", "PlantOfLog", "plant_of_log"]

_RECOVERIES = 3
_ROWS = 5
_FOLLOWS = 0.9  # of the variance of a set point: then the contexts have set it


class MissingColumnError(SurefootError):
    """A log whose values move by something that it does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """What somebody wants of a log, beside its columns.

    Attributes:
        bound: the limit.
        sense: whether the value must be "at_most" or "at_least" the bound.
        meter_error: by how much a reading, as it is logged, may be off.
        round_minutes: the length of a round; None for the usual time between two rows.
        name: of the plant.
        journal: the path of its journal; None for none.
        role: "filter" or "learner".
        factor: by which constants of the log are multiplied.
        ranges: of actuators and contexts, by name; default: as in the log.
        steps: of actuators, by name: set points are whole multiples.
        start: the safe set points, in the order of the actuators; None for those of the log that
            are furthest inside.
        given: constants that are known, per actuator or context, by name.
        accept_spread: whether a column may be missing, its effect taken as an error of the meter.
        settling: the shortest round in which a reading has settled; None if nobody tested it.
    """

    bound: float
    sense: Literal["at_most", "at_least"]
    meter_error: float
    round_minutes: float | None = None
    name: str = "plant"
    journal: str | None = None
    role: Literal["filter", "learner"] = "filter"
    factor: float = 2.0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    start: tuple[float, ...] | None = None
    given: Mapping[str, float] = field(default_factory=dict)
    accept_spread: bool = False
    settling: float | None = None

    def __post_init__(self) -> None:
        checks.nonnegative(meter_error=self.meter_error)
        checks.above(1.0, factor=self.factor)
        checks.nonnegative(**{f"constant {name}": value for name, value in self.given.items()})
        checks.positive(**{f"step {name}": value for name, value in self.steps.items()})
        if not math.isfinite(self.bound):
            raise checks.invalid("bound", "a finite number", self.bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantOfLog:
    """A plant as a log describes it.

    Attributes:
        description: the plant.
        repeats: what values at one action say.
        columns: the constants of the log, without the factor; None where all of them were given.
        start: how far inside the start is.
        not_proved: what the description takes on trust, a clause each.
    """

    description: PlantDescription
    repeats: Repeats
    columns: ColumnConstants | None
    start: StartMargin
    not_proved: tuple[str, ...]


def plant_of_log(
    log: PlantLog,
    request: LogRequest,
    *,
    report: Callable[[str], None] = lambda _: None,
    on_step: Callable[[str], None] = lambda _: None,
) -> PlantOfLog:
    """Return the plant that a log describes.

    Args:
        log: the log.
        request: the limit, the meter, and what is known beside the log.
        report: is given a line after each step.
        on_step: is told how far the longest of them is.

    Raises:
        MissingColumnError: if something that is not in the log moves the limit.
        InvalidValueError: if the log shows no constants, or no start.
    """
    columns = _check(log, request)
    for line in _describe_rows(log):
        report(line)
    minutes = _round_of(log, request)
    repeats, error = _look_for_columns(log, request, report)
    found = _find_constants(log, request, error.value, report, on_step)
    constants = _constants_of(log, request, found)
    for column, constant in constants.items():
        report(f"{column:<12}{_say_constant(columns[column], log.limit, constant)}")
    actuators = tuple(_actuator(column, request) for column in log.actuators)
    contexts = tuple(_context(column, request) for column in log.contexts)
    x, start = _find_start(log, request, error.value, constants, actuators, contexts)
    actuators = tuple(
        ActuatorDescription(a.name, a.unit, a.low, a.high, value, step=a.step)
        for a, value in zip(actuators, x.tolist(), strict=True)
    )
    margin = _start_constant(log, contexts, start)
    set_points = ", ".join(f"{a.name} {a.start:.6g}" for a in actuators)
    report(f"{'start':<12}{set_points}: {margin.value:g} {log.limit.unit} inside ({margin.why})")
    limit = LimitDescription(
        log.limit.name,
        log.limit.unit,
        request.bound,
        request.sense,
        meter_error=error,
        start_margin=margin,
        steepness={a.name: constants[a.name] for a in actuators},
        rise={c.name: RiseDescription(per=constants[c.name]) for c in contexts},
    )
    plant = PlantDescription(
        name=request.name,
        round_minutes=minutes,
        actuators=actuators,
        limits=(limit,),
        contexts=contexts,
        journal=request.journal,
        role=request.role,
        policy=_policy(constants, bool(contexts)),
    )
    return PlantOfLog(
        description=plant,
        repeats=repeats,
        columns=found,
        start=start,
        not_proved=tuple(_not_proved(plant, log, is_settled=request.settling is not None)),
    )


# --- what is asked for ----------------------------------------------------------------------------


def _check(log: PlantLog, request: LogRequest) -> dict[str, LogColumn]:
    """Return the columns by name, after comparing what is asked for with them."""
    columns = {column.name: column for column in (*log.actuators, *log.contexts)}
    actuators = {column.name: column for column in log.actuators}
    asked: tuple[tuple[str, Iterable[str], Mapping[str, LogColumn]], ...] = (
        ("range", request.ranges, columns),
        ("constant", request.given, columns),
        ("step", request.steps, actuators),
    )
    for what, names, allowed in asked:
        for name in names:
            if name not in allowed:
                raise InvalidValueError(
                    f"{what} must be that of a column, got {name!r}{suggest(name, allowed)}"
                )
    for name, (low, high) in request.ranges.items():
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            got = f"{low:g}:{high:g}"
            raise InvalidValueError(f"range {name} must be a least and a larger number, got {got}")
    if len(log.lines) < _ROWS * len(columns):
        raise InvalidValueError(
            f"the log must have at least {_ROWS} rows per column, {_ROWS * len(columns)} for "
            f"{len(columns)} column{'s'[: len(columns) != 1]}, got {len(log.lines)}"
        )
    if request.start is not None and len(request.start) != len(log.actuators):
        every = ", ".join(actuators)
        got = ", ".join(f"{value:g}" for value in request.start)
        raise InvalidValueError(f"start must be a number for each of {every}, got {got}")
    for column in columns.values():
        if np.ptp(column.values) == 0 and column.name not in request.given:
            raise InvalidValueError(
                f"{column.name} was always {column.values[0]:g} {column.unit}: the log says "
                f"nothing of it; leave it out, or give its constant: --constant {column.name}="
                f"NUMBER, in {log.limit.unit} per {column.unit}"
            )
    return columns


def _describe_rows(log: PlantLog) -> Iterator[str]:
    gaps = ""
    if log.gaps:
        gaps = f", {log.gaps} left out for gaps (at most {log.longest_gap} in a row)"
    words = [f"{len(log.lines)} rows{gaps}", f"limit {log.limit.name} in {log.limit.unit}"]
    for what, columns in (("actuators", log.actuators), ("contexts", log.contexts)):
        names = ", ".join(f"{each.name} in {each.unit}" for each in columns)
        words.append(f"{what} {names or 'none'}")
    yield f"{log.file}: {'; '.join(words)}"
    if log.backward is not None:
        yield f"            the time does not go on at line {log.backward}: no neighbours there"


def _round_of(log: PlantLog, request: LogRequest) -> float:
    """Return the length of a round, in which a reading settles."""
    needed, usual = request.settling, log.interval
    if request.round_minutes is not None:
        checks.positive(round=request.round_minutes)
        if needed is not None and request.round_minutes < needed:
            raise InvalidValueError(
                f"round must be at least {needed:.3g} min, four time constants of the step test, "
                f"for a reading to have settled, got {request.round_minutes:g} min"
            )
        return request.round_minutes
    if usual is None:
        raise InvalidValueError(
            'say how long a round is: --round "15 min", or which column has the times: --time'
        )
    return usual if needed is None else max(usual, float(math.ceil(needed)))


# --- is a column missing? -------------------------------------------------------------------------


def _look_for_columns(
    log: PlantLog, request: LogRequest, report: Callable[[str], None]
) -> tuple[Repeats, PlantConstant]:
    """Return what repeats say, and the error of the meter."""
    x, unit = log.x, f" {log.limit.unit}"
    grid = [request.steps.get(column.name, 0.0) for column in log.actuators]
    cells = np.column_stack(
        [
            np.round(values / step) if step else values
            for values, step in zip(x.T, grid, strict=True)
        ]
    )
    groups = label_groups(cells)
    repeats = compare_repeats(
        x,
        log.limit.values,
        log.c,
        error=request.meter_error,
        actions=groups,
        times=log.minutes,
    )
    count = int(groups.max()) + 1
    report(f"{'held':<12}{count} actions, {len(x) / count:.3g} rows each")
    if repeats.finding is None:
        report(f"{'columns':<12}{_say_nothing_missing(repeats, unit, request.meter_error)}")
        return repeats, PlantConstant(request.meter_error)
    why = repeats.explain(log.limit.name, unit, "lines", log.lines)
    if not request.accept_spread:
        raise MissingColumnError(
            f"{why}; name its column with --contexts, or the plant had not settled (--step-test "
            "says how long it takes), or the meter drifts (--accept-spread takes it as an error "
            "of the meter)"
        )
    spread = max(repeats.spread, repeats.difference) / 2
    error = PlantConstant(
        _round_up(max(spread, request.meter_error)),
        "estimated",
        f"half of how far values at one action are apart in {log.file}, for want of a column",
    )
    report(f"{'columns':<12}{why}: taken as an error of the meter, {error.value:g}{unit}")
    return repeats, error


def _say_nothing_missing(repeats: Repeats, unit: str, error: float) -> str:
    if not repeats.repeats:
        return "no action was held or repeated, so that a missing column would not be noticed"
    p = f"p = {repeats.p:.3f}" if repeats.pairs else "none of them neighbours in time"
    left = f"{repeats.repeats} repeats deviate by {repeats.deviation:.3g}{unit}, {p}"
    if repeats.is_slow:
        return f"{left}: something moves them slowly, but by no more than the meter may be off"
    return f"none found missing ({left})"


# --- constants ------------------------------------------------------------------------------------


def _find_constants(
    log: PlantLog,
    request: LogRequest,
    error: float,
    report: Callable[[str], None],
    on_step: Callable[[str], None],
) -> ColumnConstants | None:
    """Return the least constants of the columns that move; None where all are given.

    Given ones are compared with the log, too, which may contradict them.
    """
    columns = [*log.actuators, *log.contexts]
    moving = [k for k, column in enumerate(columns) if np.ptp(column.values) > 0]
    given = {
        at: request.given[columns[k].name]
        for at, k in enumerate(moving)
        if columns[k].name in request.given
    }
    if not moving:
        return None
    z = np.column_stack([columns[k].values for k in moving])
    try:
        found = find_columns(z, log.limit.values, error, given=given, on_step=on_step)
    except UnexplainedError as unexplained:
        raise InvalidValueError(_say_unexplained(log, request, unexplained)) from unexplained
    if all(column.name in request.given for column in columns):
        return None
    if found.rows < len(log.lines):
        report(f"{'constants':<12}from {found.rows} of the rows, drawn; all pairs of them")
    followers = explain_by_contexts(log.x, log.c)
    for column, share in zip(log.actuators, followers, strict=True):
        if share > _FOLLOWS:
            report(
                f"            {column.name} followed the contexts ({100 * share:.0f} % of its "
                "variance): what cancels has little trace in the log; vary it by itself"
            )
    if len(moving) == len(columns):
        return found
    nowhere = {k: None for k in range(len(columns)) if k not in moving}
    return _spread_out(found, moving, nowhere)


def _say_unexplained(log: PlantLog, request: LogRequest, found: UnexplainedError) -> str:
    """Return which constants that are given the log contradicts, by which lines."""
    first, second = log.lines[list(found.rows)].tolist()
    columns = [*log.actuators, *log.contexts]
    given = ", ".join(
        f"{c.name}={request.given[c.name]:g}" for c in columns if c.name in request.given
    )
    return (
        f"--constant {given} must explain {log.file}, got lines {first} and {second}, in which "
        f"{log.limit.name} is {found.apart:.6g} {log.limit.unit} apart, and nothing else explains "
        "it: a constant is too small"
    )


def _spread_out(
    found: ColumnConstants, moving: list[int], nowhere: Mapping[int, None]
) -> ColumnConstants:
    """Return the constants with those of the columns that rest, which are given, in between."""
    size = len(moving) + len(nowhere)
    place = {k: at for at, k in enumerate(moving)}
    return ColumnConstants(
        constants=np.array([found.constants[place[k]] if k in place else 0.0 for k in range(size)]),
        proofs=tuple(found.proofs[place[k]] if k in place else None for k in range(size)),
        likes=tuple(
            tuple(moving[j] for j in found.likes[place[k]]) if k in place else ()
            for k in range(size)
        ),
        are_slopes=tuple(k in place and found.are_slopes[place[k]] for k in range(size)),
        are_faint=tuple(k in place and found.are_faint[place[k]] for k in range(size)),
        rows=found.rows,
    )


def _constants_of(
    log: PlantLog, request: LogRequest, found: ColumnConstants | None
) -> dict[str, PlantConstant]:
    """Return the constant of every column, with its origin."""
    columns = [*log.actuators, *log.contexts]
    constants = {}
    for k, column in enumerate(columns):
        if column.name in request.given:
            constants[column.name] = PlantConstant(request.given[column.name])
            continue
        assert found is not None
        least = float(found.constants[k])
        why = f"{request.factor:g} x {least:.3g}, "
        pair = found.proofs[k]
        if found.are_faint[k]:
            why += f"1 % of all that {log.file} shows, which shows no effect"
        elif found.are_slopes[k]:
            why += f"the slope of a plane through {log.file}, which no two rows show"
        elif found.likes[k]:
            names = " and ".join(columns[j].name for j in found.likes[k])
            why += f"all that {names} may have done as well: {log.file} cannot tell them apart"
        elif pair is not None:
            first, second = log.lines[list(pair)].tolist()
            why += f"lines {first} and {second} of {log.file}"
        else:
            why += f"with the other columns of {log.file}"
        constants[column.name] = PlantConstant(_round_up(request.factor * least), "estimated", why)
    return constants


def _say_constant(column: LogColumn, limit: LogColumn, constant: PlantConstant) -> str:
    why = constant.why or constant.origin
    return f"{constant.value:g} {limit.unit} per {column.unit} ({why})"


def _policy(constants: Mapping[str, PlantConstant], has_contexts: bool) -> PolicyDescription:
    """Return the policy: to recover where a recovery has something to enlarge."""
    if all(constant.origin != "estimated" for constant in constants.values()):
        return PolicyDescription()
    return PolicyDescription("recover", _RECOVERIES, "retreat" if has_contexts else "hold")


# --- ranges and the start -------------------------------------------------------------------------


def _range(column: LogColumn, request: LogRequest) -> tuple[float, float]:
    if column.name in request.ranges:
        return request.ranges[column.name]
    low, high = float(column.values.min()), float(column.values.max())
    if step := request.steps.get(column.name):
        low, high = math.ceil(low / step - 1e-9) * step, math.floor(high / step + 1e-9) * step
    if not low < high:
        raise InvalidValueError(
            f"range {column.name} must be given, got {low:g} to {high:g} {column.unit} in the log: "
            f"--range {column.name}=LOW:HIGH"
        )
    return low, high


def _actuator(column: LogColumn, request: LogRequest) -> ActuatorDescription:
    low, high = _range(column, request)
    step = request.steps.get(column.name)
    return ActuatorDescription(column.name, column.unit, low, high, low, step=step)


def _context(column: LogColumn, request: LogRequest) -> ContextDescription:
    return ContextDescription(column.name, column.unit, *_range(column, request))


def _find_start(
    log: PlantLog,
    request: LogRequest,
    error: float,
    constants: Mapping[str, PlantConstant],
    actuators: tuple[ActuatorDescription, ...],
    contexts: tuple[ContextDescription, ...],
) -> tuple[FloatArray, StartMargin]:
    """Return the start, and how far inside it is in the worst context."""
    sign = 1.0 if request.sense == "at_most" else -1.0
    evidence = Evidence(
        log.x,
        log.c,
        sign * (log.limit.values - request.bound) + error,
        np.array([constants[each.name].value for each in actuators]),
        np.array([constants[each.name].value for each in contexts]),
    )
    low, high = (np.array([getattr(a, end) for a in actuators]) for end in ("low", "high"))
    box = tuple(np.array([getattr(c, end) for c in contexts]) for end in ("low", "high"))
    if request.start is None:
        start = choose_start(evidence, low, high, (box[0], box[1]))
        steps = [each.step for each in actuators]
        start = np.array(
            [
                float(np.clip(round(value / step) * step, a, b)) if step else value
                for value, step, a, b in zip(start.tolist(), steps, low, high, strict=True)
            ]
        )
    else:
        start = np.array(request.start, dtype=np.float64)
        for each, value in zip(actuators, request.start, strict=True):
            if not each.low <= value <= each.high:
                raise InvalidValueError(
                    f"start must be in the range of {each.name}, {each.low:g} to {each.high:g} "
                    f"{each.unit}, got {value:g}: --range {each.name}=LOW:HIGH changes it"
                )
    margin = find_margin(evidence, start, *box)
    if not _round_down(margin.margin) > 2 * error:
        raise InvalidValueError(_say_no_start(log, request, margin, contexts, error))
    return start, margin


def _say_no_start(
    log: PlantLog,
    request: LogRequest,
    margin: StartMargin,
    contexts: tuple[ContextDescription, ...],
    error: float,
) -> str:
    where = "".join(
        f", {each.name} = {value:.4g} {each.unit}"
        for each, value in zip(contexts, margin.context.tolist(), strict=True)
    )
    advice = "set points further inside, with --start"
    if contexts and margin.cost.max() > 0:
        worst = contexts[int(margin.cost.argmax())]
        advice += f", or a smaller --range {worst.name}=LOW:HIGH, which costs most"
    which = "the start" if request.start else "every start of the log"
    return (
        f"{which} must be more than {2 * error:.3g} {log.limit.unit}, two errors of the meter, "
        f"inside the limit in every context, got {margin.margin:.3g} by line "
        f"{log.lines[margin.row]}{where}: give {advice}"
    )


def _start_constant(
    log: PlantLog, contexts: tuple[ContextDescription, ...], start: StartMargin
) -> PlantConstant:
    where = " and ".join(
        f"{each.name} {value:.4g}"
        for each, value in zip(contexts, start.context.tolist(), strict=True)
    )
    why = f"line {log.lines[start.row]} of {log.file} and the constants"
    if where:
        why += f", worst at {where}"
    return PlantConstant(_round_down(start.margin), "estimated", why)


# --- what is not proved ---------------------------------------------------------------------------


def _not_proved(plant: PlantDescription, log: PlantLog, *, is_settled: bool) -> Iterator[str]:
    """Yield what a description takes on trust, a clause each."""
    limit = plant.limits[0]
    own = (".meter_error", ".start_margin")
    numbers = [path for path in plant.estimates if not path.endswith(own)]
    if numbers:
        s = "s are estimates" if len(numbers) > 1 else " is an estimate"
        yield f"{len(numbers)} constant{s}, what a log shows times a factor"
    yield f"the start's margin, which rests on {'them' if numbers else 'the constants'}"
    if limit.meter_error.origin == "estimated":
        yield "the meter's error, which stands for a column that is missing"
    yield from _beyond(plant, log)
    if plant.contexts:
        ends = ", ".join(f"{c.name} {c.low:g} to {c.high:g} {c.unit}" for c in plant.contexts)
        yield f"the start, which is played there, while a context is out of range ({ends})"
    shape = "convex" if limit.sense == "at_most" else "concave"
    yield f"that {limit.name} is {shape} in the set points, which nothing has tested"
    if not is_settled:
        length = duration_text(plant.round_minutes)
        yield f"that it has settled after {length}, which a --step-test would show"


def _beyond(plant: PlantDescription, log: PlantLog) -> Iterator[str]:
    """Yield which ranges go beyond the log, those with the same end together."""
    columns = {column.name: column.values for column in (*log.actuators, *log.contexts)}
    ends = [(each.name, each.unit, each.low, each.high) for each in plant.actuators]
    ends += [(each.name, each.unit, each.low, each.high) for each in plant.contexts]
    unseen: dict[str, list[str]] = {}
    for name, unit, low, high in ends:
        least, largest = float(columns[name].min()), float(columns[name].max())
        if low < least:
            unseen.setdefault(f"below {least:g} {unit}", []).append(name)
        if high > largest:
            unseen.setdefault(f"above {largest:g} {unit}", []).append(name)
    for where, names in unseen.items():
        yield f"{', '.join(names)} {where}, which the log has never seen"


# --- rounding -------------------------------------------------------------------------------------


def _round_up(value: float) -> float:
    """Return a number with four digits that is not smaller.

    >>> _round_up(0.0228139), _round_up(2.0)
    (0.02282, 2.0)
    """
    short = float(f"{value:.3e}")
    return short if short >= value else float(f"{value + 10.0 ** (_exponent(value) - 3):.3e}")


def _round_down(value: float) -> float:
    """Return a number with three digits that is not larger.

    >>> _round_down(2.9176), _round_down(2.0)
    (2.91, 2.0)
    """
    short = float(f"{value:.2e}")
    return short if short <= value else float(f"{value - 10.0 ** (_exponent(value) - 2):.2e}")


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0
