"""``surefoot calibrate``: which guarantees apply, before the first round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from surefoot.cli._exit import UsageError
from surefoot.cli._output import Json, argument, option, show
from surefoot.cli.options import Plugins, Settings, build_named_problem, load_plugins, read_pair

if TYPE_CHECKING:
    from surefoot.problems.calibration import Calibration, Offer


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
    plugin: Plugins = None,
    json: Json = False,
) -> None:
    """Show which guarantees apply, before the first round is played.

    For a problem of the library: its constants with their origins, and what each theorem promises
    with them; given constants replace the problem's own. Without a problem: from your constants
    alone, of which R is required, and G_g and start_slack are the most useful. For each guarantee
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
      beta              largest curvature of any one constraint; linear: 0
      value_error       largest error of an observed g
      slope_error       largest error of an observed subgradient
      drift             largest change of g from a round to the next

    Examples:
      surefoot calibrate paper_toy --horizon 20000
      surefoot calibrate random_polytope --set dimension=5 --set rows=12
      surefoot calibrate --constant R=0.9 --constant G_g=1.45 --constant start_slack=0.4
    """
    load_plugins(plugin)
    numbers = dict(read_pair("--constant", pair) for pair in constants or [])
    try:
        found = _found(problem, settings, horizon, numbers)
    except ValueError as error:
        raise UsageError(str(error)) from error
    show(json, _as_data(found), [str(found)])


def _found(
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
    if "R" not in numbers:
        raise UsageError(
            "name a problem (`surefoot list problems` has them), or give constants, R among them"
        )
    return calibrate_constants(build({"class": "Constants", **numbers}, "constants"), horizon)


def _as_data(found: Calibration) -> dict[str, Any]:
    constants = found.constants
    return {
        "horizon": found.horizon,
        "asked": len(found.probes),
        "radius": found.radius,
        "notes": found.notes,
        "constants": {
            name: {"value": vars(constants)[name], "origin": origin}
            for name, origin in constants.origins.items()
        },
        "proved": [_offer(offer) for offer in found.proved],
        "only_if": [_offer(offer) for offer in found.only_if],
        "missing": [{"name": offer.name, "because": offer.missing} for offer in found.missing],
    }


def _offer(offer: Offer) -> dict[str, Any]:
    hidden = {"standing", "tuned", "missing"}
    return {name: value for name, value in offer._asdict().items() if name not in hidden}
