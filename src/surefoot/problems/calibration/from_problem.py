"""Calibrate from a problem and a strictly feasible point, or from constants only.

The constraint is queried around the point, and no query leaves the feasible set.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import to_numpy
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, ArrayLike, CostStream, Number, Set
from surefoot.knowledge import Errors, find_radius
from surefoot.problems.calibration.log_constants import Pairs
from surefoot.problems.calibration.offers import Calibration, Conditions, Probe, offers_for
from surefoot.problems.constraints import (
    Constraint,
    ConstraintStream,
    FunctionConstraint,
    JaxConstraint,
)
from surefoot.problems.problem import Problem, benchmark_of
from surefoot.sets import Ball

__all__ = ["calibrate", "calibrate_constants"]

_ROUNDS = 16  # of a cost stream without a bound, whose gradients are evaluated


class _Case(NamedTuple):
    """The input of a calibration, in one form."""

    query: Callable[[Array], tuple[Number, Array]]
    start: Array
    domain: Ball
    constants: Constants
    constraint: Constraint | None = None
    changing: bool = False
    gradients: Callable[[Array], list[Array]] | None = None
    horizon: int | None = None

    def conditions(self, horizon: int) -> Conditions:
        g = self.constraint
        linear = g is not None and not g.row_curvatures(self.domain).any()
        region = None if g is None else g.region
        return Conditions(horizon, self.domain, region, linear, self.changing)


def calibrate(
    problem: Problem | Constraint | ConstraintStream | Callable[[Array], tuple[Number, Array]],
    start: ArrayLike | None = None,
    domain: Ball | None = None,
    *,
    horizon: int | None = None,
    cost_gradient: Callable[[Array], Array] | None = None,
    probes: int = 8,
    factor: float = 2.0,
    seed: int = 0,
    within: Set | None = None,
    **given: float,
) -> Calibration:
    r"""Return which guarantees apply, before a single round is played.

    Constants come from the structure of the problem, from what is given, and from the start: its
    slack :math:`\alpha = -g(x_1)` gives sigma by the local form (*). If :math:`G_g` is known,
    the constraint is also queried at a few points within :math:`\alpha/G_g` of the start. All of
    them are certainly feasible, so a live system may be queried. The answers can contradict what
    is given, which is an error, but they prove no bound. A constant that is still missing is
    estimated as a factor times the largest value observed, and labelled as an estimate: no
    guarantee that needs it counts as proved.

    **Sensors that err.** With ``value_error`` and ``slope_error`` among what is given, the slack of
    the start is what is left of it in the worst case, probes stay where the true g is certainly at
    most 0, and only theorems that allow for the errors count. Where values have noise of standard
    deviation :math:`\sigma`, let the function return means of k readings: with probability
    :math:`1 - \delta` those of n points all err by at most
    :math:`\sigma\sqrt{2\ln(2n/\delta)/k}`, the ``value_error`` to give.

    Args:
        problem: a problem; or a constraint; or a function from an action to g and one subgradient.
        start: the first action, if not the problem's.
        domain: a ball that contains the feasible set, if not the problem's.
        horizon: number of rounds; default: all rounds of the problem's costs.
        cost_gradient: from an action to the gradient of a typical cost, for an estimate of G_f.
        probes: the number of points to query, besides the start.
        factor: the factor for estimates.
        seed: for the directions of the probes.
        within: a box or another set that no probe may leave; the start must be in it.
        given: constants that are true of your problem, by name: ``G_g=2.0``, ``G_f=10.0``; also the
            bounds ``value_error`` and ``slope_error`` on the errors of the answers.

    Raises:
        InvalidValueError: if the answers contradict G_g or the convexity of g.

    Example:
        >>> from surefoot import problems
        >>> result = calibrate(problems.paper_toy(20_000, trials=1))
        >>> result.best.constraint, result.constants.origins["G_g"]
        ('g <= 0 in every round', 'derived')
        >>> mine = calibrate(lambda x: (float(x[0]) - 1.0, np.array([1.0, 0.0])), [0.0, 0.0],
        ...                  Ball(2.0), horizon=100, G_g=1.0, cost_gradient=lambda x: x - 3)
        >>> {offer.name: offer.standing for offer in mine.offers}["CertifiedPFS.default"]
        'proved'
        >>> {offer.name: offer.assumes for offer in mine.only_if}["PFS.anytime"]
        ('G_f',)
    """
    checks.positive_int(probes, "probes")
    checks.above(1.0, factor=factor)
    case = _read_case(problem, start, domain, given)
    boundary: object = within
    if boundary is not None and not (isinstance(boundary, Set) and boundary.contains(case.start)):
        raise checks.invalid("within", f"a set that holds the start {case.start!r}", within)
    if cost_gradient is not None:
        checks.function(cost_gradient=cost_gradient)
        case = case._replace(gradients=lambda x: [cost_gradient(x)])
    rounds = case.horizon if horizon is None else horizon
    if rounds is None:
        raise InvalidValueError("horizon must be given without a cost stream, got None")
    checks.check_horizon(rounds)

    first = _ask(case.query, case.start)
    constants = _add_start(case, first, given)
    errors = Errors(value=constants.value_error or 0.0, slope=constants.slope_error or 0.0)
    radius = certified_radius(first, constants, case.domain, errors)
    answers = [first]
    if radius > 0:
        answers += look_around(case.query, case.start, radius, probes, seed, within)
    elif first.value < 0:
        constants = _drop_slack(constants)
    if wrong := find_contradiction(answers, constants, errors):
        raise InvalidValueError(f"the answers contradict what is given: {wrong}")
    constants = _add_estimates(constants, answers, case.gradients, factor)
    return Calibration(
        constants=constants,
        horizon=rounds,
        offers=offers_for(constants, case.conditions(rounds)),
        probes=tuple(answers),
        radius=radius,
        notes=(*_notes(constants, answers, radius, errors), *_shape(case, answers)),
    )


def _drop_slack(constants: Constants) -> Constants:
    """Return the constants without a slack below the rounding of g or the errors of sensors."""
    if constants.G_g is None or constants.origins["G_g"] == "estimated":
        return constants
    local = constants.origins.get("sigma") == "local"
    dropped = {"sigma": None, "epsilon": None} if local else {}
    return constants.with_origin("derived", start_slack=0.0, **dropped)


def calibrate_constants(constants: Constants, horizon: int) -> Calibration:
    """Return which guarantees the given constants allow, without a problem to query.

    The geometry of the feasible set is unknown, so methods that project onto it do not apply. The
    start is anywhere in the ball unless ``start_reach`` bounds the distance to its points, and its
    slack gives sigma by the local form (*).

    Args:
        constants: the numbers.
        horizon: number of rounds.

    Example:
        >>> result = calibrate_constants(Constants(R=1.0, G_g=2.0, start_slack=0.5), 1000)
        >>> result.best.name, result.constants.start_reach
        ('LeaderFollower.default', 2.0)
    """
    checks.check_horizon(horizon)
    constants = constants.complete(2 * constants.R)
    conditions = Conditions(horizon, Ball(constants.R), None, linear=False, changing=False)
    offers = offers_for(constants, conditions)
    return Calibration(constants=constants, horizon=horizon, offers=offers)


def _read_case(
    problem: Any, start: Array | None, domain: Ball | None, given: dict[str, float]
) -> _Case:
    # R is the radius of the domain.
    strangers = sorted(set(given) - set(Constants.names()) | ({"R"} & set(given)))
    if strangers:
        raise InvalidValueError(
            f"given must name constants other than R, got {', '.join(strangers)}"
        )
    if isinstance(problem, Problem):
        costs, g = problem.costs, problem.constraint
        if start is not None or domain is not None:
            x1 = problem.start if start is None else start
            ball = problem.domain if domain is None else domain
            problem = Problem.of(costs, g, ball, x1, infeasible_start=True)
        whole, x1, ball, constants = (
            problem.benchmark,
            problem.start,
            problem.domain,
            problem.constants,
        )
        changing, gradients = isinstance(g, ConstraintStream), _stream_gradients(costs)
        return _Case(whole.query, x1, ball, constants, whole, changing, gradients, costs.horizon)
    if start is None or not isinstance(domain, Ball):
        raise InvalidValueError(
            "start and domain must be given without a Problem: a strictly feasible point "
            f"and a Ball that holds the feasible set, got {start!r} and {domain!r}"
        )
    x1 = checks.to_vector(start, "start")
    if isinstance(problem, (Constraint, ConstraintStream)):
        whole = benchmark_of(problem)
        constants = whole.constants(domain, x1)
        constants = constants.with_origin(
            "derived", D_g=problem.value_bound(domain, x1), rows=problem.rows
        )
        changing = isinstance(problem, ConstraintStream)
        return _Case(whole.query, x1, domain, constants, whole, changing)
    checks.function(problem=problem)
    return _Case(problem, x1, domain, Constants(R=float(domain.radius)))


def _stream_gradients(costs: CostStream) -> Callable[[Array], list[Array]]:
    """Return the gradients of some rounds at a point, of one run if there are several."""
    one = costs.run(0)
    rounds = np.unique(np.linspace(0, costs.horizon - 1, _ROUNDS).astype(int)).tolist()
    return lambda x: [one.gradient(t, x) for t in rounds]


def _add_start(case: _Case, first: Probe, given: dict[str, float]) -> Constants:
    """Add the start to the given constants, and what follows from it."""
    constants = case.constants.with_origin("given", **given) if given else case.constants
    if constants.F is not None and "G_f" in given and "F" not in given:
        constants = constants.with_origin("derived", F=None)  # it followed from another G_f
    # Rounded up: it bounds a distance from above.
    reach = case.domain.reach(case.start) * (1 + 2.0**-50)
    # The true g may exceed the reported value by all of its error.
    return constants.complete(reach, value=first.value + (constants.value_error or 0.0))


def _add_estimates(
    constants: Constants,
    probes: list[Probe],
    gradients: Callable[[Array], list[Array]] | None,
    factor: float,
) -> Constants:
    """Estimate the missing constants from the answers, labelled as estimates."""
    steepest = max(probe.slope_norm for probe in probes)
    if constants.G_g is None and steepest > 0:
        guesses = {"G_g": max(factor * steepest, constants.sigma or 0.0)}
        if constants.D_g is None:
            guesses["D_g"] = abs(probes[0].value) + guesses["G_g"] * constants.reach
        constants = constants.with_origin("estimated", **guesses)
    if constants.G_f is not None or gradients is None:
        return constants
    vectors = [checks.to_vector(v, "cost_gradient") for p in probes for v in gradients(p.point)]
    G_f = factor * max(float(np.linalg.norm(v)) for v in vectors)
    if not G_f > 0:
        return constants
    constants = constants.with_origin("estimated", G_f=G_f)
    return (
        constants
        if constants.F is not None
        else constants.with_origin("estimated", F=2 * constants.R * G_f)
    )


def _shape(case: _Case, probes: list[Probe]) -> Iterator[str]:
    """Name the constraint of the library that a function equals at the probes, if any.

    A quadratic has slopes that are affine in the point; the square of a norm is one.
    """
    is_function = case.constraint is None or isinstance(
        case.constraint, (FunctionConstraint, JaxConstraint)
    )
    if not is_function or len(probes) < len(case.start) + 3:
        return
    points = np.array([[*probe.point, 1.0] for probe in probes])
    slopes = np.array([probe.subgradient for probe in probes])
    values = np.array([probe.value for probe in probes])
    shapes = {
        "Affine": (points[:, -1:], slopes),
        "QuadraticForm": (points, slopes),
        "EllipsoidNorm": (points, (values + 1.0)[:, None] * slopes),
    }
    for name, (unknowns, target) in shapes.items():
        fitted = unknowns @ np.linalg.lstsq(unknowns, target, rcond=None)[0]
        if np.abs(fitted - target).max() <= 1e-9 * np.abs(target).max():
            yield (
                f"where it was probed, g is a constraints.{name}: written as one, the library "
                "knows its constants and its set, and several rules have less regret"
            )
            return


def _notes(
    constants: Constants, probes: list[Probe], radius: float, errors: Errors
) -> Iterator[str]:
    slack = -probes[0].value - errors.value
    if not slack > 0:
        yield (
            f"the start is not strictly feasible, g = {-slack:.3g}: no probe is safe, and no "
            "theorem that keeps g <= 0 from a start applies"
        )
    elif constants.start_slack == 0:
        yield f"the slack {slack:.3g} of the start is below the rounding of g"
    elif not radius:
        yield "G_g is unknown, so no probe is safe: give an upper bound on the subgradients"
    deepest = min(probes, key=lambda probe: probe.value)
    deep = -deepest.value - errors.value
    if deep > slack > 0:
        yield f"a start at {deepest.point} would have slack {deep:.3g} instead of {slack:.3g}"


def _ask(query: Callable[[Array], tuple[Number, Array]], point: Array) -> Probe:
    """Query the constraint; raise if the answer is not valid."""
    answer = query(point)
    try:
        value, subgradient = answer
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"the constraint must answer with g and one subgradient, got {answer!r}"
        ) from error
    g = checks.to_number(to_numpy(value), point, "g")
    if not math.isfinite(g):
        raise InvalidValueError(f"g must be finite, got {g!r} at {point!r}")
    s = checks.to_vector(subgradient, "subgradient", length=len(point))
    return Probe(point, g, s)


def certified_radius(start: Probe, constants: Constants, domain: Ball, errors: Errors) -> float:
    r"""Return the radius :math:`\alpha/G_g` of a ball around the start that is certainly feasible.

    It is the radius of the first certified ball, rounding margin and all, from the largest value
    that g may have at the start. 0 where the start is not strictly feasible by more than rounding
    and errors, or G_g is unknown or only an estimate.
    """
    G_g, highest = constants.G_g, start.value + errors.value
    if G_g is None or constants.origins["G_g"] == "estimated" or not highest < 0:
        return 0.0
    return find_radius(G_g, domain, start.point, highest)


def look_around(
    query: Callable[[Array], tuple[Number, Array]],
    start: Array,
    radius: float,
    count: int,
    seed: int,
    within: Set | None = None,
) -> list[Probe]:
    """Query opposite pairs of random points on the sphere of that radius around the start.

    A point that is not in the set is projected onto it. That takes no point farther from the start,
    which is in the set: projections do not expand.
    """
    ways = np.random.default_rng(seed).normal(size=((count + 1) // 2, len(start)))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    pairs = np.stack([ways, -ways], axis=1).reshape(-1, len(start))[:count]
    return [_ask(query, _inside(within, start, start + radius * way)) for way in pairs]


def _inside(within: Set | None, start: Array, point: Array) -> Array:
    """Return the nearest point of a set that holds the start, in spite of rounding."""
    if within is None or within.contains(point):
        return point
    # Half of a part in 2^40 towards the start outweighs the rounding of the projection.
    nearest = start + (1 - 2.0**-40) * (np.asarray(within.project(point)) - start)
    while not within.contains(nearest) and (nearest != start).any():
        nearest = start + 0.5 * (nearest - start)
    return nearest


def find_contradiction(probes: Sequence[Probe], constants: Constants, errors: Errors) -> str | None:
    """Return how the answers contradict constants or convexity; None if they do not."""
    G_g, slack = constants.G_g, constants.start_slack
    if slack is not None and slack > -probes[0].value + errors.value + 1e-12 * abs(slack):
        return f"g = {probes[0].value:.6g} at the start leaves no start_slack = {slack:.6g}"
    if G_g is not None and constants.origins["G_g"] != "estimated":
        steepest = max(probes, key=lambda probe: probe.slope_norm)
        if steepest.slope_norm > G_g * (1 + 1e-12) + errors.slope:
            return (
                f"|s| = {steepest.slope_norm:.6g} at {steepest.point} exceeds G_g = {G_g:.6g}: "
                "no step would be safe"
            )
    points, values, slopes = (np.array(part) for part in zip(*probes, strict=True))
    pairs = Pairs(points, values, slopes, points[:, :0], errors.value, errors.slope)
    pairs.compare(slice(0, len(probes)))
    return pairs.find_concave(np.arange(len(probes)), "probe")
