"""``surefoot calibrate``: which guarantees apply, before the first round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli._exit import Debug, UsageError
from surefoot.cli._output import Json, say, say_json
from surefoot.cli._problem import Plugins, Settings, problem_named, use

if TYPE_CHECKING:
    from surefoot.calibration import Calibration, Offer

__all__ = ["calibrate"]


def _constant(name: str, about: str) -> Any:
    return typer.Option(f"--{name.replace('_', '-')}", metavar="NUMBER", help=about)


def calibrate(
    problem: Annotated[
        str | None,
        typer.Argument(
            metavar="PROBLEM", help="A problem from `surefoot list problems`; optional."
        ),
    ] = None,
    settings: Settings = None,
    horizon: Annotated[int, typer.Option(min=1, metavar="N", help="Number of rounds.")] = 10_000,
    R: Annotated[
        float | None, _constant("R", "Radius of a ball that contains the feasible set.")
    ] = None,
    G_f: Annotated[float | None, _constant("G_f", "Largest norm of a cost gradient.")] = None,
    G_g: Annotated[
        float | None, _constant("G_g", "Largest norm of a subgradient of g on the ball.")
    ] = None,
    start_slack: Annotated[
        float | None, _constant("start_slack", "Lower bound on -g at the start.")
    ] = None,
    start_reach: Annotated[
        float | None,
        _constant("start_reach", "Largest distance from the start to a point of the ball."),
    ] = None,
    sigma: Annotated[
        float | None, _constant("sigma", "Smallest norm of a subgradient where g = -epsilon.")
    ] = None,
    epsilon: Annotated[
        float | None, _constant("epsilon", "The level epsilon in the definition of sigma.")
    ] = None,
    F: Annotated[
        float | None, _constant("F", "Largest difference of a cost between two points.")
    ] = None,
    D_g: Annotated[
        float | None, _constant("D_g", "Largest absolute value of a constraint on the ball.")
    ] = None,
    rows: Annotated[
        float | None, _constant("rows", "Number of constraints of which g is the maximum.")
    ] = None,
    strong_convexity: Annotated[
        float | None, _constant("strong_convexity", "Modulus of strong convexity of the costs.")
    ] = None,
    beta: Annotated[
        float | None, _constant("beta", "Largest curvature of any one constraint; linear: 0.")
    ] = None,
    value_error: Annotated[
        float | None, _constant("value_error", "Largest error of an observed g.")
    ] = None,
    slope_error: Annotated[
        float | None, _constant("slope_error", "Largest error of an observed subgradient.")
    ] = None,
    drift: Annotated[
        float | None, _constant("drift", "Largest change of g from a round to the next.")
    ] = None,
    plugin: Plugins = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show which guarantees apply, before the first round is played.

    For a problem of the library: its constants with their origins, and what each theorem promises
    with them; constants given as options replace the problem's own. Without a problem: from your
    constants alone, of which --R is required, and --G-g and --start-slack are the most useful. For
    each guarantee that does not apply, the output names the constants that are missing.

    Examples:
      surefoot calibrate paper_toy --horizon 20000
      surefoot calibrate random_polytope --set dimension=5 --set rows=12
      surefoot calibrate --R 0.9 --G-g 1.45 --start-slack 0.4 --horizon 2000
    """
    use(plugin)
    given = {
        "R": R,
        "G_f": G_f,
        "G_g": G_g,
        "sigma": sigma,
        "epsilon": epsilon,
        "start_slack": start_slack,
        "start_reach": start_reach,
        "F": F,
        "D_g": D_g,
        "rows": rows,
        "strong_convexity": strong_convexity,
        "beta": beta,
        "value_error": value_error,
        "slope_error": slope_error,
        "drift": drift,
    }
    numbers: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        found = _found(problem, settings, horizon, numbers)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if json:
        say_json(_as_data(found))
    else:
        say(str(found))


def _found(
    problem: str | None, settings: list[str] | None, horizon: int, numbers: dict[str, Any]
) -> Calibration:
    from surefoot import Constants
    from surefoot import calibrate as calibrate_problem
    from surefoot.calibration import calibrate_constants

    if problem is not None:
        return calibrate_problem(
            problem_named(problem, settings, horizon), horizon=horizon, **numbers
        )
    if settings:
        raise UsageError("--set needs a problem")
    if "R" not in numbers:
        raise UsageError(
            "name a problem (`surefoot list problems` has them), or give numbers, --R among them"
        )
    return calibrate_constants(Constants(**numbers), horizon)


def _as_data(found: Calibration) -> dict[str, Any]:
    constants = found.constants
    return {
        "horizon": found.horizon,
        "asked": len(found.probes),
        "radius": found.radius,
        "notes": found.notes,
        "constants": {
            name: {"value": getattr(constants, name), "origin": origin}
            for name, origin in constants.origins.items()
        },
        "proved": [_offer(offer) for offer in found.proved],
        "only_if": [_offer(offer) for offer in found.only_if],
        "missing": [{"name": offer.name, "because": offer.missing} for offer in found.missing],
    }


def _offer(offer: Offer) -> dict[str, Any]:
    shown = ("name", "kind", "constraint", "regret", "regret_if", "rests_on")
    return {name: getattr(offer, name) for name in shown}
