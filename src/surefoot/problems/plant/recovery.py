r"""Larger constants after a contradiction, a bounded number of times.

After a contradiction the plant is at its start, which is safe by its margin and no other constant.
Then every constant that is not proved is multiplied by a larger factor, and the plant begins anew.

**Theorem (Recovery).** *Let the proved constants, the meter errors, the margins of the start, the
reported contexts and how fast these change be right, and let* :math:`\lambda^* \ge 1` *be the least
factor with which the other constants are. Let nobody else choose set points. Factors begin at 1 and
are at least doubled, k times at the most. Then (a) there are at most* :math:`\min(k + 1,
\lceil\log_2\lambda^*\rceil)` *contradictions in all time. (b) Without a ramp every measured round
beyond a limit by more than twice its meter error is one of them, and no two of these follow each
other. (c) With a ramp of N rounds from the farthest action to the start, at most N more rounds
follow each. (d) Once the factor is at least* :math:`\lambda^*`\ *, or after the k + 1st
contradiction, no round is beyond.*

*Proof.* A contradiction is an observation that is impossible if the constants in use are right, so
it happens with a factor below :math:`\lambda^*` alone. The j-th comes with a factor of at least
:math:`2^{j-1}`; hence :math:`2^{j-1} < \lambda^*`, and :math:`j \le \lceil\log_2\lambda^*\rceil`.
After the k + 1st only the start is played. (b) An action other than the start was certified by the
constants in use; a true value of more than 2e beyond is read as more than e beyond, which
contradicts them. After a contradiction the start follows, which is within the limit by its
margin. (c) Only rounds on the way are added. (d) No contradiction can follow, and with right
constants every certificate is right. ∎

It says nothing of how far beyond the limit such a round is, of rounds that nobody measured, nor of
anything if the margin of the start is wrong. How fast a context changes is no constant of a limit,
and no factor enlarges it: a context that jumps uses a recovery up, and mends nothing.

**A factor that readings prove.** With :math:`r_\lambda` the rise of g that a factor allows between
two readings, :math:`g' - g - 2e \le r_{\lambda^*}`\ . That is affine in the factor, so two readings
bound :math:`\lambda^*` from below. Twice that bound, if it is larger than twice the last factor,
saves contradictions and changes nothing in the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from surefoot.core.types import FloatArray
from surefoot.knowledge.context import as_contexts
from surefoot.problems.plant.description import PlantDescription
from surefoot.problems.plant.scaling import Scaling

__all__ = ["MeterReading", "least_factor", "next_factor"]

GROWTH = 2.0


class MeterReading(NamedTuple):
    """What was read in a round.

    Attributes:
        round: which.
        set_points: that were played.
        context: the numbers of the context; empty without contexts.
        excess: g of every limit, as read.
    """

    round: int
    set_points: FloatArray
    context: FloatArray
    excess: FloatArray


def next_factor(plant: PlantDescription, factor: float, readings: Sequence[MeterReading]) -> float:
    """Return the factor after a contradiction: twice the last one, or twice what readings prove."""
    return GROWTH * max(factor, least_factor(plant, readings))


def least_factor(plant: PlantDescription, readings: Sequence[MeterReading]) -> float:
    """Return a lower bound on the factor with which constants explain the last reading; at least 1.

    Args:
        plant: the description.
        readings: since the plant began; the last is compared with the others.

    Example:
        >>> import numpy as np
        >>> from surefoot.problems.plant.description import (
        ...     ActuatorDescription, LimitDescription, PlantConstant
        ... )
        >>> fan = ActuatorDescription("fan", "%", 0.0, 10.0, start=0.0)
        >>> heat = LimitDescription(
        ...     "heat", "degC", 27.0, "at_most", PlantConstant(0.5), PlantConstant(4.0),
        ...     steepness={"fan": PlantConstant(0.5, "estimated")},
        ... )
        >>> plant = PlantDescription("hall", 1.0, (fan,), (heat,))
        >>> none, excess = np.zeros(0), Scaling(plant).to_excess
        >>> first = MeterReading(1, np.array([0.0]), none, excess([20.0]))
        >>> least_factor(plant, [first, MeterReading(2, np.array([2.0]), none, excess([24.0]))])
        3.0
    """
    *others, last = readings
    least = 1.0
    right, told = Scaling(plant, 0.0), Scaling(plant)  # what is proved alone, and all of it
    for j, limit in enumerate(plant.limits):
        steepness = right.slopes_of(limit), told.slopes_of(limit)
        for other in others:
            way, time = abs(last.set_points - other.set_points), abs(last.round - other.round)
            for one, two in ((other, last), (last, other)):
                rises = [
                    float(slopes @ way)
                    + scaling.limits[j].drift * time
                    + _rise(scaling, j, one.context, two.context)
                    for slopes, scaling in zip(steepness, (right, told), strict=True)
                ]
                seen = float(two.excess[j] - one.excess[j])
                unexplained = seen - 2 * told.limits[j].value_error - rises[0]
                if rises[1] > rises[0]:
                    least = max(least, unexplained / (rises[1] - rises[0]))
    return least


def _rise(scaling: Scaling, j: int, before: FloatArray, after: FloatArray) -> float:
    """Return how much g of a limit may rise from one context to another."""
    columns = scaling.limits[j].columns
    return float(as_contexts(columns).rise(before, after)) if columns else 0.0
