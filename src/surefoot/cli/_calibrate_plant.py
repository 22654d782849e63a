"""`surefoot calibrate --log FILE --limit COLUMN`: from the log of a plant to its file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from surefoot.cli._exit import UsageError
from surefoot.cli._output import say, show, stage
from surefoot.cli.options import read_pair

if TYPE_CHECKING:
    from surefoot.problems.calibration import LogRequest, PlantLog, PlantOfLog, StepTest

__all__ = ["PlantOptions", "calibrate_plant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantOptions:
    """The options of the command, as they were typed."""

    log: Path
    limit: str | None
    at_most: float | None
    at_least: float | None
    meter_error: float | None
    actuators: str | None
    contexts: str | None
    time: str | None
    gaps: str
    step_test: Path | None
    steps: Sequence[str]
    factor: float
    round: str | None
    ranges: Sequence[str]
    start: str | None
    constants: Sequence[str]
    role: str
    accept_spread: bool
    write: Path | None
    json: bool

    @property
    def is_plant(self) -> bool:
        """Whether one of them is there, so that a plant file is meant."""
        texts = (self.limit, self.actuators, self.contexts, self.time, self.round, self.start)
        others = (self.at_most, self.at_least, self.meter_error, self.step_test, self.write)
        has_one = any(each is not None for each in (*texts, *others))
        usual = (self.gaps, self.factor, self.role) == ("refuse", 2.0, "filter")
        return has_one or not usual or bool(self.steps or self.ranges or self.accept_spread)


def calibrate_plant(options: PlantOptions) -> None:
    """Print what a log says of a plant, step by step, and write its file."""
    from surefoot.problems.calibration import plant_of_log, read_plant_log
    from surefoot.problems.plant import PlantFileError, plant_data, write_plant

    _check_files(options)
    gaps = _word("gaps", options.gaps, ("refuse", "skip"))
    log = read_plant_log(
        options.log,
        limit=options.limit,
        actuators=_names(options.actuators),
        contexts=_names(options.contexts),
        time=options.time,
        gaps="skip" if gaps == "skip" else "refuse",
    )
    request, test = _request(options, log), None
    if options.step_test is not None:
        test, line = _read_test(options.step_test, options, log)
        request = replace(request, settling=test.settling)
        if not options.json:
            say(line)
    what = f"comparing {len(log.lines):,} rows of {log.file}"
    with stage(what) as status:

        def report(line: str) -> None:
            if not options.json:
                status.stop()  # its line would be broken
                say(line)
                status.start()

        found = plant_of_log(
            log, request, report=report, on_step=lambda how: status.update(f"{what}: {how}")
        )
    plant = found.description
    try:
        text = write_plant(plant)
    except PlantFileError as error:
        raise UsageError(
            f"a plant file cannot say it: {error.mistakes[0].partition(': ')[2]}"
        ) from error
    if options.write is not None:
        options.write.write_text(text, encoding="utf-8")
    data = {
        "log": options.log,
        "plant": plant_data(plant),
        "not_proved": found.not_proved,
        "step_test": None if test is None else test._asdict(),
        "written": options.write,
    }
    show(options.json, data, _closing(options.write, found))


# --- options --------------------------------------------------------------------------------------


def _check_files(options: PlantOptions) -> None:
    for path in (options.log, options.step_test):
        if path is not None and not path.is_file():
            raise UsageError(f"'{path}' is not a file: give a log with a header, as CSV")
    if options.write is not None and options.write.exists():
        raise UsageError(f"'{options.write}' exists already: --write must name a new file")
    if options.write is not None and not options.write.parent.is_dir():
        raise UsageError(f"'{options.write.parent}' is not a folder, in which --write must be")


def _request(options: PlantOptions, log: PlantLog) -> LogRequest:
    """Return what is asked of the log; one sentence for what is missing."""
    from surefoot.problems.calibration import LogRequest

    unit = log.limit.unit
    if (options.at_most is None) == (options.at_least is None):
        got = "neither" if options.at_most is None else "both"
        raise UsageError(f"say what the limit is, in {unit}: --at-most or --at-least, got {got}")
    if options.meter_error is None:
        raise UsageError(
            f"say by how much a reading of {log.limit.name} may be off, in {unit}: --meter-error"
        )
    sense: Literal["at_most", "at_least"] = "at_most"
    bound = options.at_most
    if options.at_least is not None:
        sense, bound = "at_least", options.at_least
    assert bound is not None
    _number(f"--{sense.replace('_', '-')}", bound)
    name = "plant" if options.write is None else options.write.stem
    role = _word("role", options.role, ("filter", "learner"))
    if not (math.isfinite(options.meter_error) and options.meter_error >= 0):
        raise UsageError(f"--meter-error must be a number >= 0, got {options.meter_error:g}")
    return LogRequest(
        bound=bound,
        sense=sense,
        meter_error=options.meter_error,
        round_minutes=None if options.round is None else _minutes(options.round),
        name=name,
        journal=f"{name}.jsonl",
        role="learner" if role == "learner" else "filter",
        factor=options.factor,
        ranges=dict(_read_range(text) for text in _split_all(options.ranges)),
        steps=dict(_read_number("--step", text) for text in _split_all(options.steps)),
        start=None if options.start is None else _read_start(options.start),
        given=dict(_read_number("--constant", text) for text in _split_all(options.constants)),
        accept_spread=options.accept_spread,
    )


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _split_all(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from _names(text)


def _word(name: str, value: str, words: tuple[str, ...]) -> str:
    if value not in words:
        raise UsageError(f"--{name} must be {' or '.join(words)}, got {value!r}")
    return value


def _minutes(text: str) -> float:
    from surefoot.problems.plant.durations import parse_duration

    seconds = parse_duration(text)
    if seconds is None or seconds <= 0:
        raise UsageError(f'--round must be a time such as "15 min", got {text!r}')
    return float(seconds / 60)


def _read_number(option: str, text: str) -> tuple[str, float]:
    name, value = read_pair(option, text)
    return name, _number(f"{option} {name}", value)


def _read_range(text: str) -> tuple[str, tuple[float, float]]:
    name, equals, ends = text.partition("=")
    low, colon, high = ends.partition(":")
    if not equals or not colon:
        raise UsageError(f"--range must be NAME=LOW:HIGH, got {text!r}")
    where = f"--range {name.strip()}"
    return name.strip(), (_number(where, low), _number(where, high))


def _read_start(text: str) -> tuple[float, ...]:
    return tuple(_number("--start", word) for word in text.split(","))


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        raise UsageError(f"{name} must be a number, got {value!r}")
    return number


# --- what is said ---------------------------------------------------------------------------------


def _read_test(path: Path, options: PlantOptions, log: PlantLog) -> tuple[StepTest, str]:
    """Return the step test, and what it means, in a line."""
    from surefoot.problems.calibration import read_step_test

    assert options.meter_error is not None
    column, test = read_step_test(path, log, error=options.meter_error, time=options.time)
    shortest = math.ceil(test.settling)
    line = (
        f"{path.name}: {log.limit.name} has a time constant of {test.estimate:.3g} min after a "
        f"step of {column.name} (1.5 x {test.least:.3g}): a reading has settled in rounds of "
        f'--round "{shortest} min" or more, and in shorter ones nothing is proved'
    )
    return test, line


def _closing(path: Path | None, found: PlantOfLog) -> Iterator[str]:
    """Yield what is not proved, and what holds if an estimate is wrong."""
    plant = found.description
    limit, policy = plant.limits[0], plant.policy
    yield "not written: name a file with --write" if path is None else f"written: {path}"
    yield f"Not proved: {'; '.join(found.not_proved)}."
    if policy.on_contradiction == "recover":
        yield (
            f"If constants are wrong, but the meter's error and the start's margin are right: at "
            f"most {policy.recoveries + 1} measured rounds violate the limit by more than "
            f"{2 * limit.meter_error.value:.3g} {limit.unit} ({policy.recoveries} recoveries)."
        )
