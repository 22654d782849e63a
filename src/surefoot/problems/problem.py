"""A problem: costs, a constraint, the ball around it, a start, and their constants."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NoReturn

import numpy as np

from surefoot.core import checks
from surefoot.core.constants import Constants, constants_table
from surefoot.core.display import facts_html
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared
from surefoot.core.points import Bounded, diameter_of, dimension_of
from surefoot.core.types import Array, ArrayLike, CostStream, FloatArray, Set, Solving
from surefoot.problems.constraints import Constraint, ConstraintStream, PlayedOnly
from surefoot.problems.costs import Costs
from surefoot.problems.hindsight import Comparator, best_action
from surefoot.sets import Ball

__all__ = ["Problem"]


class Problem(Declared):
    """What is played, and the constants that a theorem may use.

    Args:
        costs: the cost stream.
        constraint: g, where feasible means at most 0; or a stream with one g per round.
        domain: a ball that contains the feasible set.
        start: the first action.
        constants: of the problem; :meth:`of` derives what it can.
        name: for tables and figures.
    """

    costs: CostStream
    constraint: Constraint | ConstraintStream
    domain: Ball
    start: FloatArray
    constants: Constants
    name: str = "problem"

    def __post_init__(self) -> None:
        _check_parts(self.costs, self.constraint, self.domain)
        T, g = self.costs.horizon, self.constraint
        if isinstance(g, ConstraintStream) and g.horizon < T:
            rule = f"constraint must have a round for each of the {T} of the costs"
            raise InvalidValueError(f"{rule}, got {g.horizon}")
        start = checks.to_vector(self.start, "start", length=self.costs.dimension)
        object.__setattr__(self, "start", start)

    def __repr__(self) -> str:
        return f"<Problem {self.name!r}: {self._size()}>"

    def _size(self) -> str:
        costs, constraint = self.costs, type(self.constraint).__name__
        runs = "" if costs.runs is None else f" of {costs.runs:,} runs"
        kinds = f"{type(costs).__name__} costs, {constraint} as constraint"
        return f"{costs.horizon:,} rounds{runs}, d = {costs.dimension}, {kinds}"

    def _repr_html_(self) -> str:
        facts = {"what": self._size(), "domain": self.domain, "start": self.start}
        return facts_html(f"Problem {self.name}", facts, constants_table(self.constants))

    @property
    def interior(self) -> FloatArray | None:
        """A strictly feasible point; the start, if it is one; else that of the constraint."""
        benchmark = self.benchmark
        return self.start if benchmark.value(self.start) < 0 else benchmark.interior

    @cached_property
    def _best(self) -> dict[int, Comparator]:
        return {}

    def best(self, t: int) -> Comparator:
        """Return the best fixed action over the first t rounds, computed once per t.

        Example:
            >>> from surefoot.problems.constraints import LinfNorm
            >>> from surefoot.problems.costs import Quadratic
            >>> costs = Quadratic([[1.0, 0.0], [3.0, 0.5]], curvature=2.0)
            >>> p = Problem.of(costs, LinfNorm(1.5, 2), Ball(3.0), [0.0, 0.0])
            >>> p.best(2).action
            array([[1.5 , 0.25]])
        """
        if t not in self._best:
            self._best[t] = self.best_after([t])
        return self._best[t]

    def best_after(
        self, rounds: Array, costs: CostStream | None = None, tolerance: float = 1e-6
    ) -> Comparator:
        """Return the best fixed action after each of some rounds, computed at each call.

        Args:
            rounds: after which.
            costs: those that were played, if an adversary chose them, or a part of them.
            tolerance: relative gap without a closed form.

        Example:
            >>> from surefoot.problems import paper_toy
            >>> toy = paper_toy(horizon=20, trials=1)
            >>> (toy.best_after([10, 20]).action[1] == toy.best(20).action[0]).all()
            np.True_
        """
        return best_action(
            self.costs if costs is None else costs,
            self.benchmark,
            rounds,
            domain=self.domain,
            interior=self.interior,
            tolerance=tolerance,
        )

    @property
    def benchmark(self) -> Constraint:
        """The constraint that the best action in hindsight must meet; of all rounds at once."""
        return benchmark_of(self.constraint)

    @classmethod
    def of(
        cls,
        costs: CostStream,
        constraint: Constraint | ConstraintStream,
        domain: Ball,
        start: ArrayLike,
        *,
        G_f: float | None = None,
        epsilon: float | None = None,
        name: str = "problem",
        infeasible_start: bool = False,
    ) -> Problem:
        """Return a problem with all constants of its parts; G_f from the costs unless given.

        Args:
            costs: the cost stream.
            constraint: g, where feasible means at most 0; or a stream with one g per round.
            domain: a ball that contains the feasible set.
            start: the first action, feasible in the first round.
            G_f: a bound on the cost gradients.
            epsilon: the level of Assumption 4.
            name: for tables and figures.
            infeasible_start: whether the start may be infeasible, as for
                ``PFS.eventually`` and for rules that bound sums.

        Example:
            >>> from surefoot.problems.constraints import LinfNorm
            >>> from surefoot.problems.costs import Linear
            >>> p = Problem.of(Linear([[1.0, 2.0]]), LinfNorm(0.5, 2), Ball(1.0), [0.0, 0.0])
            >>> print(p.constants)
            R = 1 (derived), G_f = 2.23607 (derived), G_g = 1 (derived), sigma = 0.707107 (derived),
            epsilon = 0.25 (derived), start_slack = 0.5 (derived), start_reach = 1 (derived),
            F = 4.47214 (derived), D_g = 1.5 (derived), rows = 4 (derived), beta = 0 (derived),
            evaluation_error = 6.66134e-16 (derived), cost_bound = 2.23607 (derived)
        """
        _check_parts(costs, constraint, domain)
        x1 = checks.to_vector(start, "start", length=costs.dimension)
        benchmark = benchmark_of(constraint)
        _check_start(constraint, domain, x1, infeasible_start)
        _check_domain(benchmark.region, domain, x1)
        constants = benchmark.constants(domain, x1, epsilon)
        beta = float(constraint.row_curvatures(domain).max())
        if G_f is not None:
            constants = constants.with_origin("given", G_f=G_f)
        elif isinstance(costs, Costs):
            constants = constants.with_origin("derived", G_f=costs.gradient_bound(domain))
        constants = constants.with_origin(
            "derived",
            R=constants.R,
            strong_convexity=(costs.strong_convexity or None) if isinstance(costs, Costs) else None,
            cost_bound=_cost_bound(costs, domain),
            # A cost with gradients of at most G_f changes by that much over a diameter.
            F=None if constants.G_f is None else 2 * constants.R * constants.G_f,
            # Of each round's constraint: the maximum over all rounds has other rows and values.
            D_g=constraint.value_bound(domain, x1),
            rows=constraint.rows,
            beta=beta if beta < math.inf else None,
            evaluation_error=benchmark.evaluation_error(domain.with_dimension(len(x1))),
        )
        return cls(
            costs=costs,
            constraint=constraint,
            domain=domain,
            start=x1,
            constants=constants,
            name=name,
        )


def _check_parts(costs: object, constraint: object, domain: object) -> None:
    """Raise for parts of another kind, or constraints on actions of another length."""
    kinds = (Constraint, ConstraintStream)
    if not isinstance(costs, CostStream):
        _reject_part(
            "costs must be a cost stream, as Linear(...) or FromFunctions(...) of "
            "surefoot.problems.costs",
            costs,
            (isinstance(costs, kinds), "it comes after the costs"),
            (callable(costs), "FromFunctions(...) takes functions of round and action"),
            (bool(checks.shape_of(costs)), "Linear(...) takes gradients, Quadratic(...) targets"),
        )
    if not isinstance(constraint, kinds):
        _reject_part(
            "constraint must be a Constraint or a ConstraintStream, as FunctionConstraint makes of "
            "two functions",
            constraint,
            (isinstance(constraint, Set), "a constraint has values, as L2Norm and Affine do"),
            (callable(constraint), "FunctionConstraint(g, subgradient) takes it"),
            (bool(checks.shape_of(constraint)), "Affine(A, b) takes rows and limits"),
        )
    if not isinstance(domain, Ball):
        rule = "domain must be a Ball that holds the feasible set, as Ball(1.0)"
        _reject_part(rule, domain, (isinstance(domain, Bounded), "its bounding_ball() is one"))
    for part, name in ((constraint, "constraint"), (domain, "domain")):
        # A constraint on actions of another length would have constants that are not true.
        dimension = dimension_of(part)
        if dimension is not None and dimension != costs.dimension:
            rule = f"{costs.dimension}, that of the costs"
            raise checks.invalid(f"{name}.dimension", rule, dimension)


def _check_start(
    constraint: Constraint | ConstraintStream, domain: Ball, x1: Array, infeasible_start: bool
) -> None:
    """Raise for a start outside of the ball, or an infeasible one unless that is allowed."""
    if not domain.contains(x1):
        raise InvalidValueError(f"start must be in the domain {domain!r}, got {x1!r}")
    first = constraint.at(0) if isinstance(constraint, ConstraintStream) else constraint
    g = float(benchmark_of(first).value(x1))
    if g > 0 and not infeasible_start:
        raise InvalidValueError(
            f"start must be feasible, that is g <= 0, got g = {g:g}: infeasible_start=True allows "
            "it, for rules that begin there (PFS.eventually) or bound sums of g"
        )


def _check_domain(region: Set | None, domain: Ball, x1: Array) -> None:
    r"""Raise for a ball that misses a point of a bounded set, if the search finds one.

    The search for a point far from the centre c repeats :math:`x \leftarrow \arg\max_{y \in X}
    (x - c)^\top y`, which never comes nearer; for a box, a ball and a cross-polytope the first is
    the farthest of all.
    """
    if region is None or isinstance(region, Solving):
        return  # sets that need a solver are not queried
    if not diameter_of(region) < math.inf:
        return  # only its part in the ball counts
    c = 0.0 * x1 if domain.centre is None else domain.centre
    ones = 1.0 + 0.0 * x1
    way = 0.5 * (region.minimize_linear(ones) + region.minimize_linear(-ones)) - c
    if not way.any():
        way = np.linspace(1.0, 2.0, len(x1))  # any direction will do
    far = 0.0
    for _ in range(30):
        point = region.minimize_linear(-way)
        way, before = point - c, far
        far = float(np.linalg.norm(way))
        if far > domain.radius * (1 + 1e-9):
            raise InvalidValueError(
                f"domain must hold the feasible set, got {domain!r}, and the feasible "
                f"{checks.repr_line(point)} is {far:.6g} from its centre"
            )
        if not far > before * (1 + 1e-12):
            return


def _reject_part(rule: str, value: object, *hints: tuple[bool, str]) -> NoReturn:
    """Raise with the value, and the class that takes it, if any."""
    is_constraint = isinstance(value, (Constraint, ConstraintStream))
    kind = "the constraint " if is_constraint else "the set " * isinstance(value, Set)
    hint = next((f": {words}" for fits, words in hints if fits), "")
    raise InvalidValueError(f"{rule}, got {kind}{checks.describe(value)}{hint}")


def benchmark_of(constraint: Constraint | ConstraintStream) -> Constraint:
    """Return the constraint that an action must meet in all rounds, without a limit on queries."""
    if isinstance(constraint, ConstraintStream):
        return constraint.worst()
    return constraint.constraint if isinstance(constraint, PlayedOnly) else constraint


def _cost_bound(costs: CostStream, domain: Ball) -> float | None:
    """Return a finite bound on the values of the costs; None without one."""
    with np.errstate(over="ignore"):
        bound = costs.value_bound(domain) if isinstance(costs, Costs) else None
    return bound if bound is not None and 0 < bound < math.inf else None
