"""``surefoot calibrate``: which guarantees apply, before the first round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from surefoot.cli._exit import Debug, UsageError
from surefoot.cli._output import Json, argument, option, say, say_json
from surefoot.cli.options import Plugins, Settings, build_named_problem, load_plugins

if TYPE_CHECKING:
    from surefoot.problems.calibration import Calibration, Offer


Number: TypeAlias = float | None


def _as(name: str, about: str) -> Any:
    return option("NUMBER", about, name)


def calibrate(
    problem: Annotated[
        str | None, argument("PROBLEM", "A problem from `surefoot list problems`; optional.")
    ] = None,
    settings: Settings = None,
    horizon: Annotated[int, option("N", "Number of rounds.", min=1)] = 10_000,
    R: Annotated[Number, _as("--R", "Radius of a ball that contains the feasible set.")] = None,
    G_f: Annotated[Number, _as("--G-f", "Largest norm of a cost gradient.")] = None,
    G_g: Annotated[Number, _as("--G-g", "Largest norm of a subgradient of g on the ball.")] = None,
    start_slack: Annotated[Number, _as("--start-slack", "Lower bound on -g at the start.")] = None,
    start_reach: Annotated[
        Number, _as("--start-reach", "Largest distance from the start to a point of the ball.")
    ] = None,
    sigma: Annotated[
        Number, _as("--sigma", "Smallest norm of a subgradient where g = -epsilon.")
    ] = None,
    epsilon: Annotated[
        Number, _as("--epsilon", "The level epsilon in the definition of sigma.")
    ] = None,
    F: Annotated[Number, _as("--F", "Largest difference of a cost between two points.")] = None,
    D_g: Annotated[
        Number, _as("--D-g", "Largest absolute value of a constraint on the ball.")
    ] = None,
    rows: Annotated[
        Number, _as("--rows", "Number of constraints of which g is the maximum.")
    ] = None,
    strong_convexity: Annotated[
        Number, _as("--strong-convexity", "Modulus of strong convexity of the costs.")
    ] = None,
    beta: Annotated[
        Number, _as("--beta", "Largest curvature of any one constraint; linear: 0.")
    ] = None,
    value_error: Annotated[Number, _as("--value-error", "Largest error of an observed g.")] = None,
    slope_error: Annotated[
        Number, _as("--slope-error", "Largest error of an observed subgradient.")
    ] = None,
    drift: Annotated[
        Number, _as("--drift", "Largest change of g from a round to the next.")
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
    load_plugins(plugin)
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
    from surefoot.problems.calibration import calibrate_constants

    if problem is not None:
        return calibrate_problem(
            build_named_problem(problem, settings, horizon), horizon=horizon, **numbers
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
