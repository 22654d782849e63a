"""``surefoot calibrate``: which guarantees apply, before the first round."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli._calibrate_plant import PlantOptions, calibrate_plant
from surefoot.cli._exit import UsageError
from surefoot.cli._output import Json, argument, option, show
from surefoot.cli.options import Plugins, Settings, build_named_problem, load_plugins, read_pair

if TYPE_CHECKING:
    from surefoot.problems.calibration import Calibration, Offer


def _plant(metavar: str, about: str, *names: str) -> Any:
    """Return an option of a plant file."""
    return option(metavar, f"Plant file: {about}", *names)


def calibrate(
    problem: Annotated[
        str | None, argument("PROBLEM", "A problem from `surefoot list problems`; optional.")
    ] = None,
    settings: Settings = None,
    constants: Annotated[
        list[str] | None,
        option("NAME=NUMBER", "A constant, see above; may be given more than once.", "--constant"),
    ] = None,
    horizon: Annotated[int, option("N", "Number of rounds.", min=1)] = 10_000,
    log: Annotated[
        Path | None, option("FILE.csv", "A log, from which constants are bounded from below.")
    ] = None,
    actions: Annotated[
        str | None, option("COLUMNS", "Of the log: the actions, with commas between them.")
    ] = None,
    g: Annotated[str | None, option("COLUMN", "Of the log: the values of g.", "--g")] = None,
    slopes: Annotated[
        str | None, option("COLUMNS", "Of the log: slopes of g, in the order of the actions.")
    ] = None,
    context: Annotated[
        str | None, option("COLUMNS", "Of the log: what else g depends on, such as a temperature.")
    ] = None,
    limit: Annotated[
        str | None, _plant("COLUMN", "what must keep a limit; units are in brackets.")
    ] = None,
    at_most: Annotated[
        float | None, _plant("NUMBER", "the limit, if values may not exceed it.")
    ] = None,
    at_least: Annotated[
        float | None, _plant("NUMBER", "the limit, if values may not be below.")
    ] = None,
    meter_error: Annotated[
        float | None, _plant("NUMBER", "by how much a reading, as it is logged, may be off.")
    ] = None,
    actuators: Annotated[
        str | None, _plant("COLUMNS", "the set points, with commas between them.")
    ] = None,
    contexts: Annotated[
        str | None, _plant("COLUMNS", "what else moves the limit, such as the weather.")
    ] = None,
    time: Annotated[str | None, _plant("COLUMN", "the times of the rows.")] = None,
    gaps: Annotated[
        str, _plant("refuse|skip", "rows in which a cell has no number: refuse them, or skip them.")
    ] = "refuse",
    step_test: Annotated[
        Path | None, _plant("FILE.csv", "the test of one step, for the time constant.")
    ] = None,
    step: Annotated[
        list[str] | None, _plant("NAME=NUMBER", "set points are whole multiples of it.")
    ] = None,
    factor: Annotated[
        float, _plant("NUMBER", "by which constants of the log are multiplied.")
    ] = 2.0,
    round_: Annotated[
        str | None,
        _plant(
            "TIME", 'the length of a round, such as "15 min"; default: as in the log.', "--round"
        ),
    ] = None,
    range_: Annotated[
        list[str] | None,
        _plant("NAME=LOW:HIGH", "the range of a column; default: as in the log.", "--range"),
    ] = None,
    start: Annotated[
        str | None, _plant("NUMBERS", "the safe set points, in the order of the actuators.")
    ] = None,
    role: Annotated[
        str, _plant("filter|learner", "whether set points are proposed, or costs reported.")
    ] = "filter",
    accept_spread: Annotated[
        bool,
        typer.Option(
            "--accept-spread",
            help="Plant file: take the effect of a missing column as an error of the meter.",
        ),
    ] = False,
    write: Annotated[Path | None, _plant("FILE.toml", "write the plant file.")] = None,
    plugin: Plugins = None,
    json: Json = False,
) -> None:
    """Show which guarantees apply, before the first round is played.

    For a problem of the library: its constants with their origins, and what each theorem promises
    with them; constants that you give replace the problem's. Without a problem: from your constants
    only, of which R is required, and G_g and start_slack are the most useful. For each guarantee
    that does not apply, the output names the constants that are missing. The usual ones are

      R                 radius of a ball that contains the feasible set
      G_f               largest norm of a cost gradient
      G_g               largest norm of a subgradient of g on the ball
      start_slack       lower bound on -g at the start
      start_reach       largest distance from the start to a point of the ball
      sigma             smallest norm of a subgradient where g = -epsilon
      epsilon           the level epsilon in the definition of sigma
      F                 largest difference of a cost between two points
      D_g               largest absolute value of a constraint on the ball
      rows              number of constraints of which g is the maximum
      strong_convexity  modulus of strong convexity of the costs
      beta              smoothness constant of each constraint; linear: 0
      value_error       largest error of an observed g
      slope_error       largest error of an observed subgradient
      drift             largest change of g from a round to the next

    From a log: lower bounds on G_g and beta with the rounds that prove them, noise from actions
    that were repeated, and whether g depends on something that is not in the log. The header
    names the columns (x1, x2, g, s1, s2, c), or options do. Constants may be value_error,
    slope_error and G_c, a bound on the change of g per unit of context.

    A plant file from a log, with --limit: whether a column is missing (exit code 1, and nothing is
    written), a constant for each column with the rows that it is from, a start that is safe in the
    worst context, and what is not proved. --constant NAME=NUMBER gives the constant of a column,
    in units of the limit per unit of the column.

    Examples:
      surefoot calibrate paper_toy --horizon 20000
      surefoot calibrate random_polytope --set dimension=5 --set rows=12
      surefoot calibrate --constant R=0.9 --constant G_g=1.45 --constant start_slack=0.4
      surefoot calibrate --log loads.csv --actions pump,heater --g level --context temperature
      surefoot calibrate --log year.csv --limit "hot spot [degC]" --at-most 27 --meter-error 0.25
        --actuators "fan [%],chiller [%]" --contexts "outside [degC],IT load [MW]" --time time
        --write plant.toml
    """
    load_plugins(plugin)
    numbers = dict(read_pair("--constant", pair) for pair in constants or [])
    columns = {"actions": actions, "slopes": slopes, "context": context}
    if log is not None and (problem is not None or settings):
        raise UsageError(f"--log needs no problem, got {problem or settings!r} (a space?)")
    described = PlantOptions(
        log=log or Path(),
        limit=limit,
        at_most=at_most,
        at_least=at_least,
        meter_error=meter_error,
        actuators=actuators,
        contexts=contexts,
        time=time,
        gaps=gaps,
        step_test=step_test,
        steps=step or [],
        factor=factor,
        round=round_,
        ranges=range_ or [],
        start=start,
        constants=constants or [],
        role=role,
        accept_spread=accept_spread,
        write=write,
        json=json,
    )
    of_a_log = any((g, *columns.values()))
    if described.is_plant:
        if log is None:
            raise UsageError("a plant file is written from a log: --log FILE.csv")
        if of_a_log:
            raise UsageError(
                "--actions, --g, --slopes and --context go without a plant file: it "
                "has --actuators, --limit and --contexts"
            )
        calibrate_plant(described)
        return
    if log is not None:
        _calibrate_log(log, g, columns, numbers, json)
        return
    if of_a_log:
        raise UsageError("--actions, --g, --slopes and --context need --log")
    calibration = _find_offers(problem, settings, horizon, numbers)
    show(json, _as_data(calibration), [str(calibration)])


def _calibrate_log(
    log: Path, g: str | None, columns: dict[str, str | None], numbers: dict[str, Any], json: bool
) -> None:
    """Print the bounds on the constants that follow from a log."""
    from surefoot.problems.calibration import from_log, read_log

    if not log.is_file():
        raise UsageError(f"'{log}' is not a file: give a log with a header, as CSV")
    allowed = ("value_error", "slope_error", "G_c")
    if strangers := sorted(set(numbers) - set(allowed)):
        raise UsageError(f"--constant must be one of {', '.join(allowed)}, got {strangers[0]}")
    choices = {
        what: names.replace(", ", ",").split(",") for what, names in columns.items() if names
    }
    rounds = read_log(log, g=g, **choices)
    errors = rounds.errors | numbers
    bounds = from_log(rounds.x, rounds.g, rounds.s, context=rounds.context, **errors)
    data = {"log": log, "columns": rounds.columns, **dataclasses.asdict(bounds)}
    show(json, data, [f"{log}: {rounds.columns}", str(bounds), "round n is line n + 1 of the file"])


def _find_offers(
    problem: str | None, settings: list[str] | None, horizon: int, numbers: dict[str, Any]
) -> Calibration:
    from surefoot import calibrate as calibrate_problem
    from surefoot.core.plain import build
    from surefoot.problems.calibration import calibrate_constants

    if problem is not None:
        return calibrate_problem(
            build_named_problem(problem, settings, horizon), horizon=horizon, **numbers
        )
    if settings:
        raise UsageError("--set needs a problem")
    if not numbers:
        raise UsageError(
            "name a problem (`surefoot list problems` has them), or give constants, R among them"
        )
    return calibrate_constants(build({"class": "Constants", **numbers}, "constants"), horizon)


def _as_data(calibration: Calibration) -> dict[str, Any]:
    constants = calibration.constants
    return {
        "horizon": calibration.horizon,
        "probes": len(calibration.probes),
        "radius": calibration.radius,
        "notes": calibration.notes,
        "constants": {
            name: {"value": vars(constants)[name], "origin": origin}
            for name, origin in constants.origins.items()
        },
        "proved": [_offer(offer) for offer in calibration.proved],
        "only_if": [_offer(offer) for offer in calibration.only_if],
        "missing": [
            {"name": offer.name, "because": offer.missing} for offer in calibration.missing
        ],
    }


def _offer(offer: Offer) -> dict[str, Any]:
    hidden = {"standing", "tuned", "missing"}
    return {name: value for name, value in offer._asdict().items() if name not in hidden}
