r"""A plant in the numbers of a rule: actuators and limits scaled by powers of two.

Let limit j have the value :math:`h_j(x; c)` in its own units, with :math:`|h_j(x; c) - h_j(y; c)|
\le \sum_i L_{ij}|x_i - y_i|`, let it keep :math:`h_j \le b_j` (or :math:`h_j \ge b_j`), and let the
margin at the start be :math:`m_j`. With

.. math:: \ell_i = \max_jL_{ij}/m_j, \quad r_i = \operatorname{round}\log_2(\ell_i/\ell_k),

k the actuator whose range has the largest effect :math:`\ell_kw_k`, a floor under :math:`\ell_i` so
that an actuator without effect has a finite range, and K the least integer with
:math:`2^{K + r_i} \ge L_{ij}/s_j` for all i and j, put

.. math:: s_j = 2^{\lfloor\log_2 m_j\rfloor}, \quad g_j = (h_j - b_j)/s_j \text{ (or } (b_j -
          h_j)/s_j), \quad z_i = a_ix_i, \quad a_i = 2^{K + r_i} .

**Lemma (units).** *Then* :math:`g_j` *has the Lipschitz constant* :math:`G_j =
\sqrt{\sum_i(L_{ij}/(s_ja_i))^2} \le \sqrt d` *in z (Euclid), its readings err by* :math:`e_j/s_j`\
*, and* :math:`g_j \le -m_j/s_j \in (-2, -1]` *at the start. The set* :math:`\{g_j \le 0 \ \forall
j\}` *is that of all limits, and z and x determine each other exactly.* *Proof.* :math:`|g_j(z) -
g_j(z')| \le \sum_i (L_{ij}/(s_ja_i))|z_i - z'_i| \le G_j\|z - z'\|` (Cauchy-Schwarz), and
:math:`a_i \ge L_{ij}/s_j`. A power of two changes an exponent alone. ∎

**Corollary (other units).** *Let the same plant be told in other units: each limit in any, and all
actuators in units c times smaller, as percent are for parts of one, or each in units that are
smaller by a power of two. Then all of z is multiplied by one number, and each* :math:`g_j` *by
one.* *Proof.* Neither k nor what limits are told in matters to :math:`\ell_i`. Divided by c, all
:math:`r_i` stay, and K alone changes; by powers of two, :math:`r_i` and K change as the exponents
do. ∎ Balls, hulls and projections are the same then, so rules that depend on no length play the
same actions, but for rounding. Where a part of the actuators changes its unit by other numbers, no
powers of two do this: then the balls are up to :math:`\sqrt 2` longer or shorter along these.

**Lemma (largest).** :math:`\max_jg_j` *has the Lipschitz constant* :math:`\max_jG_j`\ *, errs by at
most the largest error, drifts by at most the largest drift, and moves with a context by at most the
largest part.* It is one limit, for a rule that takes only one; rows certify more.

*Why these scales.* Of the ellipsoids :math:`\{\sum(a_i\Delta x_i)^2 \le (m/G)^2\}` that the lemma
certifies, the largest volume is that with all :math:`L_i/a_i` equal (arithmetic and geometric
mean), here up to a factor of :math:`\sqrt 2` each way.

*Smoothness.* If a convex :math:`h_j` has second derivatives of at most :math:`C_{ij}` along each
axis, the largest eigenvalue of its Hessian in z is at most the trace,
:math:`\beta_j = \sum_iC_{ij}/(s_ja_i^2)`, and with :math:`\sqrt{C_{ij}}` and :math:`\sqrt{s_j}` in
the places of :math:`L_{ij}` and :math:`s_j` it is at most d.

*Rounding.* The difference of reading and limit is rounded once: by at most
:math:`2^{-53}|h_j - b_j|`. Readings further from their limit than :math:`2^{10}(|b_j| + m_j)` are
rejected as implausible, so that :math:`2^{-43}(|b_j| + m_j)/s_j` bounds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from surefoot.core.errors import InvalidValueError
from surefoot.core.types import FloatArray
from surefoot.knowledge import Column, LimitConstants
from surefoot.problems.plant.description import LimitDescription, PlantConstant, PlantDescription

__all__ = ["Scaling", "largest_of", "snap_to_step"]

FAR = 2.0**10
"""Readings are no further from their limit than this times its size and margin."""
_UP = 1.0 + 2.0**-50
"""Above the rounding of a few operations."""


@dataclass(frozen=True)
class Scaling:
    """A plant in the numbers of a rule, and back; see the module's docstring.

    Args:
        plant: the description.
        factor: on every constant that a recovery may enlarge: all but proved ones, meter errors
            and margins of the start.
        floor: the least effect of an actuator across its range that scales count with, as a part
            of the largest: one that moves no limit has a range, too.

    Example:
        >>> from surefoot.problems.plant.description import ActuatorDescription, LimitDescription
        >>> error, margin, steep = PlantConstant(0.02), PlantConstant(0.5), PlantConstant(0.12)
        >>> speed = ActuatorDescription("speed", "Hz", 25.0, 50.0, start=50.0)
        >>> pressure = LimitDescription(
        ...     "pressure", "bar", 2.5, "at_least", error, margin, steepness={"speed": steep}
        ... )
        >>> scaling = Scaling(PlantDescription("pumps", 1.0, (speed,), (pressure,)))
        >>> scaling.per_unit.tolist(), scaling.limit_units.tolist()
        ([0.25], [0.5])
        >>> scaling.limits[0].G_g, scaling.limits[0].start_bound, scaling.first_steps.round(4)
        (0.96..., -1.0, array([4.1667]))
    """

    plant: PlantDescription
    factor: float = 1.0
    floor: float = 0.01

    # --- scales ----------------------------------------------------------------------------------

    @cached_property
    def limit_units(self) -> FloatArray:
        """The unit of every limit, s: a power of two at or below the margin of its start."""
        return np.array([_power_below(limit.start_margin.value) for limit in self.plant.limits])

    @cached_property
    def per_unit(self) -> FloatArray:
        """What one unit of an actuator is in the numbers of the rule, a: a power of two."""
        ranges = np.array([each.high - each.low for each in self.plant.actuators])
        margins = np.array([limit.start_margin.value for limit in self.plant.limits])
        effects = self._find_effects(margins)
        widest = float((effects * ranges).max()) or 1.0
        effects = np.maximum(effects, self.floor * widest / ranges)
        # The first of the widest, whatever rounding says of equals.
        first = int((effects * ranges >= (1.0 - 2.0**-30) * (effects * ranges).max()).argmax())
        powers = np.round(np.log2(effects / effects[first])).astype(int)
        shape = np.ldexp(np.ones(len(powers)), powers)
        least = float((self._find_effects(self.limit_units) / shape).max())
        return np.asarray(shape * _power_above(least or float(effects[first])))

    def _find_effects(self, units: FloatArray) -> FloatArray:
        """Return how much each actuator moves the limits at most, in given units of them."""
        effects = np.zeros(len(self.plant.actuators))
        for limit, unit in zip(self.plant.limits, units.tolist(), strict=True):
            effects = np.maximum(effects, self._per_actuator(limit.steepness) / unit)
            effects = np.maximum(effects, np.sqrt(self._per_actuator(limit.curvature) / unit))
        return effects

    def _per_actuator(self, constants: Mapping[str, PlantConstant] | None) -> FloatArray:
        """Return a constant for each actuator, as the file has it; 0 for none."""
        each = constants or {}
        names = [actuator.name for actuator in self.plant.actuators]
        return np.array([each[name].value if name in each else 0.0 for name in names])

    @property
    def margins(self) -> FloatArray:
        """The margin of every limit at the start, in its unit: from 1 to 2."""
        return np.array([each.start_margin.value for each in self.plant.limits]) / self.limit_units

    # --- constants -------------------------------------------------------------------------------

    @cached_property
    def limits(self) -> tuple[LimitConstants, ...]:
        """The constants of every limit."""
        pairs = zip(self.plant.limits, self.limit_units.tolist(), strict=True)
        return tuple(self._constants_of(limit, unit) for limit, unit in pairs)

    def _constants_of(self, limit: LimitDescription, unit: float) -> LimitConstants:
        margin = limit.start_margin.value
        drift = 0.0 if limit.changes is None else self._enlarge(limit.changes)
        return LimitConstants(
            G_g=self._lipschitz(limit, unit),
            beta=self._smoothness(limit, unit),
            start_bound=-margin / unit,
            value_error=limit.meter_error.value / unit,
            evaluation_error=2.0**-53 * FAR * (abs(limit.bound) + margin) / unit,
            drift=drift * self.plant.round_minutes / unit * (_UP if drift else 1.0),
            columns=tuple(self._column(limit, i, unit) for i in range(len(self.plant.contexts))),
            is_convex=limit.is_convex,
        )

    def _lipschitz(self, limit: LimitDescription, unit: float) -> float | None:
        if limit.steepness is None:
            return None
        slopes = self._enlarge_all(limit.steepness) / (unit * self.per_unit)
        length = float(np.linalg.norm(slopes)) * (1.0 + (len(slopes) + 8) * 2.0**-52)
        return length or 2.0**-40  # of a limit that no actuator moves

    def _smoothness(self, limit: LimitDescription, unit: float) -> float | None:
        if limit.curvature is None:
            return None
        trace = (self._enlarge_all(limit.curvature) / (unit * self.per_unit**2)).sum()
        return float(trace) * (1.0 + (len(self.plant.actuators) + 8) * 2.0**-52)

    def _column(self, limit: LimitDescription, i: int, unit: float) -> Column:
        """Return what is known of a context's effect on a limit."""
        context = self.plant.contexts[i]
        pace = None if context.changes is None else context.changes * self.plant.round_minutes
        if pace:
            pace *= _UP
        rise = limit.rise[context.name]
        if rise.adds is not None:
            sign = 1.0 if limit.sense == "at_most" else -1.0
            return Column(adds=sign * rise.adds / unit, changes=pace)
        assert rise.per is not None
        steepest = self._enlarge(rise.per) / unit
        if not steepest:
            return Column(adds=0.0, changes=pace)
        return Column(G_c=steepest, worse=rise.worse, changes=pace)

    def slopes_of(self, limit: LimitDescription) -> FloatArray:
        """Return by how much g of a limit changes at most per unit of each actuator."""
        unit = _power_below(limit.start_margin.value)
        return self._enlarge_all(limit.steepness or {}) / unit

    def _enlarge(self, constant: PlantConstant) -> float:
        """Return a constant with the factor of recoveries, which leaves proved ones alone."""
        if constant.origin == "proved":
            return constant.value
        product = constant.value * self.factor
        is_below = Fraction(product) < Fraction(constant.value) * Fraction(self.factor)
        return math.nextafter(product, math.inf) if is_below else product

    def _enlarge_all(self, constants: Mapping[str, PlantConstant]) -> FloatArray:
        names = [each.name for each in self.plant.actuators]
        return np.array([self._enlarge(constants[n]) if n in constants else 0.0 for n in names])

    @property
    def ramp(self) -> tuple[float, ...] | None:
        """How far each entry of an action may move per round; None if all may cross their range.

        An actuator without a ramp may cross its range.
        """
        minutes = self.plant.round_minutes
        steps = [each.largest_step(minutes) for each in self.plant.actuators]
        if all(step is None for step in steps):
            return None
        ramps = []
        for each, scale, step in zip(
            self.plant.actuators, self.per_unit.tolist(), steps, strict=True
        ):
            whole = each.high - (0.0 if each.can_be_off else each.low)
            ramps.append(scale * (whole if step is None else step))
        return tuple(ramps)

    @property
    def first_steps(self) -> FloatArray:
        """How far each actuator may move alone in the first round, in its units."""
        pairs = zip(self.limits, self.margins.tolist(), strict=True)
        shares = [margin / known.G_g for known, margin in pairs if known.G_g is not None]
        return min(shares, default=math.inf) / self.per_unit

    # --- there and back --------------------------------------------------------------------------

    @property
    def start(self) -> FloatArray:
        """The safe action."""
        return self.to_action([each.start for each in self.plant.actuators])

    def to_action(self, set_points: Sequence[float]) -> FloatArray:
        """Return the action of set points, exactly.

        A set point that is a whole multiple of a step but for rounding, as 0.3 is of 0.1, is that
        multiple as float64 multiplies it: so it is a choice.
        """
        pairs = zip(set_points, self.plant.actuators, strict=True)
        points = [
            value if each.step is None else snap_to_step(value, each.step) for value, each in pairs
        ]
        return np.asarray(points, dtype=np.float64) * self.per_unit

    def to_set_points(self, action: FloatArray) -> FloatArray:
        """Return the set points of an action, exactly."""
        return np.asarray(action / self.per_unit)

    def to_gradient(self, slopes: Sequence[float]) -> FloatArray:
        """Return a gradient by the entries of an action, from one per unit of the actuators."""
        return np.asarray(slopes, dtype=np.float64) / self.per_unit

    def to_excess(self, readings: Sequence[float]) -> FloatArray:
        """Return g of every limit, at most 0 where it is kept, from readings in its units.

        Raises:
            InvalidValueError: for a reading further from its limit than any meter shows.
        """
        excess = []
        pairs = zip(self.plant.limits, self.limit_units.tolist(), readings, strict=True)
        for limit, unit, reading in pairs:
            over = reading - limit.bound if limit.sense == "at_most" else limit.bound - reading
            if not abs(over) <= FAR * (abs(limit.bound) + limit.start_margin.value):
                raise InvalidValueError(
                    f"readings.{limit.name} must be a number within {FAR:g} times "
                    f"{abs(limit.bound) + limit.start_margin.value:.6g} {limit.unit} of its limit, "
                    f"got {reading!r}"
                )
            excess.append(over / unit)
        return np.array(excess)

    def to_slopes(self, limit: int, slopes: Sequence[float]) -> FloatArray:
        """Return the slope of g of a limit, from slopes of its value per unit of each actuator."""
        sign = 1.0 if self.plant.limits[limit].sense == "at_most" else -1.0
        return sign * self.to_gradient(slopes) / float(self.limit_units[limit])


def largest_of(limits: Sequence[LimitConstants]) -> LimitConstants:
    """Return the constants of the largest of several limits, which all have a Lipschitz constant.

    Example:
        >>> one, two = LimitConstants(1.0, -1.5, 0.1), LimitConstants(0.5, -1.25, 0.2)
        >>> largest_of([one, two])[:3]
        (1.0, -1.25, 0.2)
    """
    if len(limits) == 1:
        return limits[0]
    slopes = [known.G_g for known in limits if known.G_g is not None]
    if len(slopes) < len(limits):
        raise InvalidValueError("limits must all have G_g to be one, got a smoothness constant")
    columns = zip(*(known.columns for known in limits), strict=True)
    bounds = [known.start_bound for known in limits]
    return LimitConstants(
        G_g=max(slopes),
        start_bound=None if None in bounds else max(b for b in bounds if b is not None),
        value_error=max(known.value_error for known in limits),
        evaluation_error=max(known.evaluation_error for known in limits),
        drift=max(known.drift for known in limits),
        columns=tuple(_join(column) for column in columns),
    )


def _join(columns: Sequence[Column]) -> Column:
    """Return what is known of the effect of one context on the largest of several limits."""
    first = columns[0]
    if all(column.adds is not None and column.adds == first.adds for column in columns):
        return first
    ways: set[Literal["up", "down"] | None] = set()
    for column in columns:
        if column.G_c is not None:
            ways.add(column.worse)
        elif column.adds:
            ways.add("up" if column.adds > 0 else "down")
    worse = ways.pop() if len(ways) == 1 else None
    steepest = max(column.slope for column in columns)
    return Column(G_c=steepest, worse=worse, changes=first.changes)


def snap_to_step(value: float, step: float) -> float:
    """Return the whole multiple of a step that a value is but for rounding; else the value.

    >>> snap_to_step(0.3, 0.1), snap_to_step(0.31, 0.1)
    (0.30000000000000004, 0.31)
    """
    if not abs(value) < 2.0**50 * step:
        return value
    multiple = round(value / step) * step
    return multiple if abs(multiple - value) <= 2.0**-50 * abs(value) else value


def _power_below(number: float) -> float:
    """Return the largest power of two that is at most a number."""
    return math.ldexp(1.0, math.frexp(number)[1] - 1)


def _power_above(number: float) -> float:
    """Return the least power of two that is at least a number."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(1.0, exponent - 1 if fraction == 0.5 else exponent)
