r"""Xopt: a generator whose every candidate is feasible before it is evaluated.

Three lines::

    generator = CertifiedGenerator(vocs=vocs, start={"x": 0.5}, steepness={"c": {"x": 2.0}})
    campaign = Xopt(evaluator=evaluator, generator=generator)
    campaign.step()

An evaluation is a round. Objective and constraints are read as values; nobody needs a gradient.
:class:`~surefoot.rules.CostProbing` learns from the objective in pairs of evaluations, the second a
small step from the first, and all of them are certified.

**Steepness.** If each constraint is convex and its output changes by at most ``steepness`` per unit
of each variable, :class:`~surefoot.rules.ValuesFollower` plays inside: the largest of the
constraints, each in its own unit, certifies hulls of balls by its values.

**Response.** If outputs are affine in the variables, with slopes that are known up to an error, as
the response matrix of a beam line is, each constraint is certified by itself, with its own errors.
Steps are larger then, and :class:`~surefoot.proposers.Averaging` learns.

Variables and outputs are in the units of the VOCS. The rule plays numbers that are scaled by powers
of two (:mod:`surefoot.problems.plant.scaling`), where the unit of an output is the most that it can
change between two corners of the domain. No digit is lost, and in other units, powers of two times
those, the candidates are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from surefoot.certified import Certified
from surefoot.controller import Controller
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.optional import need
from surefoot.core.types import FloatArray
from surefoot.guarantees import PremiseError
from surefoot.knowledge import certify_limits
from surefoot.problems.plant import (
    ActuatorDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    Scaling,
    player_of,
)
from surefoot.problems.plant.player import domain_of
from surefoot.proposers import Averaging
from surefoot.rules import CostProbing

_PURPOSE = "surefoot.adapters.xopt"
_generator = need("xopt.generator", "xopt", _PURPOSE)
_registry = need("xopt.generators", "xopt", _PURPOSE)
_vocs = need("gest_api.vocs", "xopt", _PURPOSE)
_pd = need("pandas", "xopt", _PURPOSE)
_pydantic = need("pydantic", "xopt", _PURPOSE)

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["CertifiedGenerator"]

Constants: TypeAlias = dict[str, dict[str, float]]
"""For each constrained output a number per unit of each variable."""
Row: TypeAlias = dict[str, float | None]
"""Variables and outputs of an evaluation by name; None for what is no number."""
Sense: TypeAlias = Literal["at_most", "at_least"]
FLOOR = 0.5
"""A variable whose effect across its range is less of the largest is scaled as if it had this much:
probes of one length fit into all ranges then. The best of 0.01 to 1 on eight small problems."""
SAME = 1e-9
"""Xopt writes data with ten digits behind the point."""


class _Problem(NamedTuple):
    """What a controller is made from.

    Attributes:
        scaling: variables and constraints, in the units of the VOCS and in those of the rule.
        response: the slopes of each side of a constraint; None for a hull by values.
        slope_errors: how far each of these may be off.
        length: of a probe.
        seed: of its directions.
    """

    scaling: Scaling
    response: tuple[tuple[float, ...], ...] | None
    slope_errors: tuple[tuple[float, ...], ...]
    length: float
    seed: int

    def state(self, readings: Sequence[float]) -> dict[str, Any]:
        """Return what a rule is told of the constraints: the largest, or each with its slope."""
        excess = self.scaling.to_excess(readings)
        if self.response is None:
            return {"constraint_value": float(excess.max())}
        slopes = [self.scaling.to_slopes(j, row) for j, row in enumerate(self.response)]
        if len(slopes) == 1:
            return {"constraint_value": float(excess[0]), "constraint_subgradient": slopes[0]}
        return {"constraint_value": excess, "constraint_subgradient": np.array(slopes)}

    @property
    def player(self) -> CostProbing:
        """The rule."""
        plant = self.scaling.plant
        domain = domain_of(plant, self.scaling)
        ranges = np.array([each.high - each.low for each in plant.actuators])
        ranges = ranges * self.scaling.per_unit
        base: Any
        if self.response is None:
            base = player_of(plant, self.scaling, start_stands=False)
        else:
            affine = [
                limit._replace(G_g=None, start_bound=None, beta=0.0, slope_error=error)
                for limit, error in zip(self.scaling.limits, self._lengths(), strict=True)
            ]
            averaging = Averaging(radius=float(np.linalg.norm(ranges)) / 2)
            base = Certified(proposer=averaging, knowledge=certify_limits(affine, domain))
        return CostProbing(base=base, length=self.length * float(ranges.max()), seed=self.seed)

    def _lengths(self) -> Iterator[float]:
        """Yield how long the error of each slope may be."""
        for j, row in enumerate(self.slope_errors):
            length = float(np.linalg.norm(self.scaling.to_slopes(j, row)))
            yield length * (1.0 + (len(row) + 8) * 2.0**-52)


class CertifiedGenerator(_generator.StateOwner, _generator.Generator):  # type: ignore[misc, name-defined]
    """Learns from values of the objective, and certifies every candidate.

    Give ``steepness`` or ``response``; ``start`` must be feasible, and is the first candidate.

    An evaluation counts if it is that of the candidate. One at another point, as
    ``random_evaluate`` makes it, teaches nothing and certifies nothing. After one that failed, or
    lacks a number, the same candidate is generated again. ``history`` has the evaluations that
    count, with all digits: in files Xopt keeps ten of its data. With it a generator that is dumped
    and loaded goes on bit by bit.

    If evaluations contradict what was told, :class:`surefoot.guarantees.PremiseError` says how,
    then and whenever a candidate is asked for: none would be certified. Make another generator,
    with larger constants.

    Args:
        vocs: one objective; LESS_THAN, GREATER_THAN and BOUNDS of outputs.
        start: a feasible point.
        steepness: for each constrained output, by how much it changes per unit of each variable at
            most; the constraints must be convex.
        response: for each constrained output, its slope in each variable; it must be affine.
        response_error: how far each of these slopes may be off; 0 unless given.
        meter_error: how far an evaluated output may be off; 0 unless given.
        length: of a probe, as a part of the longest range.
        seed: of the directions of probes.
        history: of a generator that was dumped.
        refuted: likewise; how evaluations contradicted what was told.
    """

    name: ClassVar[str] = "certified"
    supports_single_objective: bool = True
    supports_constraints: bool = True

    start: dict[str, float]
    steepness: Constants | None = None
    response: Constants | None = None
    response_error: Constants = {}  # noqa: RUF012 (pydantic copies it)
    meter_error: dict[str, float] = {}  # noqa: RUF012
    length: float = _pydantic.Field(0.005, gt=0, le=0.1)
    seed: int = _pydantic.Field(0, ge=0)
    history: list[Row] = []  # noqa: RUF012
    refuted: str | None = None
    if TYPE_CHECKING:
        data: DataFrame | None

    _controller: Controller | None = _pydantic.PrivateAttr(None)
    _problem: _Problem | None = _pydantic.PrivateAttr(None)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self._describe()

    def __deepcopy__(self, memo: Any = None) -> CertifiedGenerator:
        """Return a twin, whose controller is made anew from its history; Xopt asks for one."""
        own, self._controller = self._controller, None
        try:
            twin: CertifiedGenerator = super().__deepcopy__(memo)
        finally:
            self._controller = own
        return twin

    # --- what Xopt asks --------------------------------------------------------------------------

    def suggest(self, num_points: int | None = None) -> list[dict[str, float]]:
        """Return the next candidate, which is certified."""
        return self.generate(1 if num_points is None else num_points)

    def generate(self, n_candidates: int = 1) -> list[dict[str, float]]:
        """Return the next candidate, which is certified; the same until it was evaluated."""
        if n_candidates != 1:
            raise checks.invalid(
                "n_candidates", "1, because a candidate rests on the last one", n_candidates
            )
        if self.refuted is not None:
            raise PremiseError(self.refuted)
        control, problem = self._begin()
        point = problem.scaling.to_set_points(control.ask())
        return [dict(zip(self.vocs.variable_names, point.tolist(), strict=True))]

    @property
    def why(self) -> str:
        """Why the next candidate is feasible, in the units of the VOCS."""
        if self.refuted is not None:
            return f"nothing is certified: {self.refuted}"
        control, problem = self._begin()
        told, scaling = control.explain(), problem.scaling
        if told.certificate is None:
            return f"candidate {control.round}: the start, which is feasible as you say"
        assert told.bound is not None
        limits = []
        for limit, unit in zip(scaling.plant.limits, scaling.limit_units.tolist(), strict=True):
            sign, word = (1, "at most") if limit.sense == "at_most" else (-1, "at least")
            value = limit.bound + sign * unit * told.bound
            limits.append(f"{limit.name} {word} {value:.6g} (limit {limit.bound:.6g})")
        given = "steepness" if self.response is None else "response, response_error"
        return f"candidate {control.round}: {', '.join(limits)}, given {given} and meter_error"

    def add_data(self, new_data: DataFrame) -> None:
        """Learn from evaluations; if one of them is rejected, none is learned from."""
        rows = [self._read(row) for row in new_data.to_dict("records")]
        if self.data is None and self.history:
            rows = rows[_count_known(rows, self.history) :]
        if self.refuted is None:
            self._learn(rows)
        super().add_data(new_data)

    def set_data(self, data: DataFrame | None) -> None:
        """Take the evaluations of a campaign that was loaded; its history is not told again."""
        self.data = None
        if data is not None:
            self.add_data(data)

    # --- rounds ----------------------------------------------------------------------------------

    def _begin(self) -> tuple[Controller, _Problem]:
        """Return the controller, which was told the history, and what it was made from."""
        problem = self._describe()
        if self._controller is None:
            control = Controller(problem.player, problem.scaling.start)
            if not all(self._tell(control, problem, row) for row in self.history):
                raise InvalidValueError(
                    "history must be that of the candidates of this very problem, and is not: "
                    "leave it out, and the generator begins at its start"
                )
            self._controller, self._problem = control, problem
        elif problem != self._problem:
            raise InvalidValueError(
                "the VOCS and what is known of it must stay as they were at the first candidate: "
                "make another generator"
            )
        return self._controller, problem

    def _learn(self, rows: Sequence[Row]) -> None:
        """Tell evaluations to the controller, all or none."""
        control, problem = self._begin()
        try:
            own = [row for row in rows if self._tell(control, problem, row)]
        except SurefootError as error:
            self._controller = None  # it is made anew, from the history
            if isinstance(error, PremiseError):
                self.refuted = str(error)
            raise
        self.history.extend(own)

    def _tell(self, control: Controller, problem: _Problem, row: Row) -> bool:
        """Return whether an evaluation is that of the candidate; it is told then."""
        scaling = problem.scaling
        point = [row.get(name) for name in self.vocs.variable_names]
        action = control.ask()
        if None in point or not (scaling.to_action(_floats(point)) == action).all():
            return False
        readings = [row.get(limit.name) for limit in scaling.plant.limits]
        ((name, objective),) = self.vocs.objectives.items()
        cost = row.get(name)
        if cost is None or None in readings:
            control.tell(missing=True)
            return True
        cost = -cost if isinstance(objective, _vocs.MaximizeObjective) else cost
        try:
            control.tell(cost_value=cost, **problem.state(_floats(readings)))
        except PremiseError as error:
            known = "steepness" if self.response is None else "response, response_error"
            rule = f"{known} and meter_error must hold for every evaluation, and do not"
            what, _, _ = str(error).partition("; likely causes")  # the first of which is the rule
            raise PremiseError(f"{rule}: {what}", error.causes) from error
        return True

    def _read(self, values: Mapping[Any, Any]) -> Row:
        """Return the numbers of an evaluation that the generator uses."""
        names = (
            *self.vocs.variable_names,
            *self.vocs.objective_names,
            *self.vocs.constraint_names,
        )
        return {name: _number(name, values.get(name)) for name in names}

    # --- the problem -----------------------------------------------------------------------------

    def _describe(self) -> _Problem:
        """Return what a controller is made from; reject what does not fit together."""
        variables, outputs = list(self.vocs.variable_names), list(self.vocs.constraint_names)
        if not outputs:
            raise InvalidValueError("vocs must have a constraint to keep, got none")
        ((name, objective),) = self.vocs.objectives.items()
        if not isinstance(objective, _vocs.MinimizeObjective | _vocs.MaximizeObjective):
            rule = "MINIMIZE or MAXIMIZE"
            raise checks.invalid(f"vocs.objectives[{name!r}]", rule, objective)
        if (self.steepness is None) == (self.response is None):
            raise InvalidValueError("steepness or response must be given, and not both")
        _check_names("start", self.start, variables)
        known = self.steepness if self.response is None else self.response
        assert known is not None
        key = "steepness" if self.response is None else "response"
        slopes = _table(key, known, outputs, variables, can_be_negative=self.response is not None)
        errors = dict.fromkeys(outputs, [0.0] * len(variables))
        if self.response_error:
            if self.response is None:
                raise InvalidValueError("response_error must be that of a response, got steepness")
            errors = _table("response_error", self.response_error, outputs, variables)
        if others := sorted({*self.meter_error} - {*outputs}):
            raise checks.invalid("meter_error", f"of outputs among {', '.join(outputs)}", others)
        checks.nonnegative(**{f"meter_error[{n!r}]": e for n, e in self.meter_error.items()})
        steepest = {n: np.abs(slopes[n]) + errors[n] for n in outputs}
        limits = list(self._limits(steepest))
        each = [slopes[limit.name] for limit in limits]
        plant = PlantDescription(
            "xopt", 1.0, tuple(self._actuators()), tuple(limits), role="learner"
        )
        return _Problem(
            Scaling(plant, floor=FLOOR),
            None if self.response is None else tuple(map(tuple, each)),
            tuple(tuple(errors[limit.name]) for limit in limits),
            self.length,
            self.seed,
        )

    def _actuators(self) -> Iterator[ActuatorDescription]:
        """Yield the variables."""
        for name, variable in self.vocs.variables.items():
            (low, high), start = map(float, variable.domain), float(self.start[name])
            checks.finite(**{f"vocs.variables[{name!r}]": low, f"the end of {name!r}": high})
            if not low <= start <= high:
                rule = f"in the domain {low:g} to {high:g}"
                raise checks.invalid(f"start[{name!r}]", rule, start)
            yield ActuatorDescription(name, "", low, high, start)

    def _limits(self, steepest: Mapping[str, FloatArray]) -> Iterator[LimitDescription]:
        """Yield the constraints; one with bounds on both sides is two.

        The unit of an output is the most that it can change between two corners of the domain.
        """
        ranges = np.array([np.ptp(each.domain) for each in self.vocs.variables.values()])
        for name, constraint in self.vocs.constraints.items():
            most = float(steepest[name] @ ranges)
            if not most > 0:
                raise InvalidValueError(
                    f"steepness or response of {name!r} must be other than 0 in a variable: no "
                    "candidate changes it"
                )
            each = zip(self.vocs.variable_names, steepest[name].tolist(), strict=True)
            steepness = {variable: PlantConstant(slope) for variable, slope in each}
            for sense, bound in _sides(name, constraint):
                yield LimitDescription(
                    name=name,
                    unit="",
                    bound=float(bound),
                    sense=sense,
                    meter_error=PlantConstant(float(self.meter_error.get(name, 0.0))),
                    start_margin=PlantConstant(most),
                    steepness=steepness,
                )


_registry.generators[CertifiedGenerator.name] = CertifiedGenerator  # for Xopt's own files


def _sides(name: str, constraint: Any) -> list[tuple[Sense, float]]:
    """Return what a constraint says of its output, on one side or both."""
    if isinstance(constraint, _vocs.LessThanConstraint):
        return [("at_most", constraint.value)]
    if isinstance(constraint, _vocs.GreaterThanConstraint):
        return [("at_least", constraint.value)]
    if isinstance(constraint, _vocs.BoundsConstraint):
        least, largest = constraint.range
        return [("at_most", largest), ("at_least", least)]
    rule = "LESS_THAN, GREATER_THAN or BOUNDS"
    raise checks.invalid(f"vocs.constraints[{name!r}]", rule, constraint)


def _number(name: str, value: Any) -> float | None:
    """Return the number of an evaluation; None for NaN, infinity and nothing."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise checks.invalid(name, "a number", value) from error
    return number if math.isfinite(number) else None


def _floats(numbers: Sequence[float | None]) -> list[float]:
    """Return numbers of which none is None."""
    return [number for number in numbers if number is not None]


def _count_known(rows: Sequence[Row], history: Sequence[Row]) -> int:
    """Return how many rows are those of a history, and what came between; 0 if some are not."""
    known = 0
    for i, row in enumerate(rows):
        known += _is_same(row, history[known])
        if known == len(history):
            return i + 1
    return 0


def _is_same(row: Row, other: Row) -> bool:
    """Return whether a row is another one, but for the digits that Xopt's files have not."""
    pairs = [(number, other.get(name)) for name, number in row.items()]
    return all(
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=SAME, abs_tol=SAME)
        for a, b in pairs
    )


def _check_names(key: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Reject other names than those of the VOCS."""
    if wrong := sorted({*given} ^ {*names}):
        rule = f"must have {', '.join(names)}, and no other"
        raise InvalidValueError(f"{key} {rule}, got {wrong} too many or too few")


def _table(
    key: str,
    given: Constants,
    outputs: Sequence[str],
    variables: Sequence[str],
    *,
    can_be_negative: bool = False,
) -> dict[str, list[float]]:
    """Return for each output a number per variable, in their order."""
    _check_names(key, given, outputs)
    for output in outputs:
        _check_names(f"{key}[{output!r}]", given[output], variables)
        for name, number in given[output].items():
            check = checks.finite if can_be_negative else checks.nonnegative
            check(**{f"{key}[{output!r}][{name!r}]": number})
    return {output: [given[output][name] for name in variables] for output in outputs}
