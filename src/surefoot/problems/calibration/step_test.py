r"""The time constant of a plant from the test of one step.

One actuator is stepped at :math:`t_0`, at rest before, and the value comes to rest at
:math:`y_\infty`. Let it approach no more slowly than at first order: :math:`|y(t) - y_\infty| \le
|y(t_0) - y_\infty|e^{-(t-t_0)/\tau}`. With the mean :math:`y_0` before the step, the mean
:math:`y_e` of the last tenth, each and every reading with an error of at most e, and :math:`D =
|y_0 - y_e|`, each reading bounds the time constant from below:

.. math:: \tau \ge \frac{t - t_0}{\ln\frac{D + 2e}{|y_t - y_e| - 2e}} \quad\text{where } |y_t - y_e|
          > 4e.

*Proof.* :math:`|y_t - y_e| - 2e \le |y(t) - y_\infty| \le (D + 2e)e^{-(t-t_0)/\tau}`. ∎ The largest
bound, times 1.5, is the estimate: the test of one step at one place proves no more.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import FloatArray
from surefoot.problems.calibration.log_file import read_cells
from surefoot.problems.calibration.plant_log import LogColumn, PlantLog, read_plant_log, slug

__all__ = ["StepTest", "find_time_constant", "read_step_test"]

_FACTOR, _SETTLING = 1.5, 4.0
_LARGE, _CLEAR = 20.0, 4.0  # errors of the meter: of the step, and of a reading that counts


class StepTest(NamedTuple):
    """What the test of a step says.

    Attributes:
        least: no time constant below it agrees with the test, in minutes.
        estimate: the time constant to count on, in minutes.
        change: how far the value went.
    """

    least: float
    estimate: float
    change: float

    @property
    def settling(self) -> float:
        """The shortest round in which a reading has settled, in minutes: four time constants."""
        return _SETTLING * self.estimate


def find_time_constant(
    minutes: FloatArray, values: FloatArray, start: float, error: float
) -> StepTest:
    """Return the time constant of a value after a step.

    Args:
        minutes: the time of each reading.
        values: the readings.
        start: when the actuator was stepped; readings before are at rest.
        error: a bound on the errors of readings.

    Example:
        >>> test = find_time_constant(
        ...     np.array([-5.0, 0.0, 5.0, 10.0, 60.0]), np.array([0.0, 0.0, 6.32, 8.65, 10.0]),
        ...     0.0, 0.0)
        >>> round(test.least, 2), round(test.estimate, 1), test.change
        (5.0, 7.5, 10.0)
    """
    checks.nonnegative(error=error)
    before, after = minutes < start, minutes > start
    if not before.any() or not after.any():
        raise InvalidValueError(
            f"the step test must have readings before and after its step, got {before.sum()} and "
            f"{after.sum()}"
        )
    last = values[-max(len(values) // 10, 1) :]
    for what, rest in (("before the step", values[before]), ("in its last tenth", last)):
        if np.ptp(rest) > 2 * error * (1 + 1e-9) + 1e-12 * np.abs(rest).max():
            raise InvalidValueError(
                f"the step test must be at rest {what}, got values {np.ptp(rest):.3g} apart, more "
                "than twice the error of the meter"
            )
    first, end = float(values[before].mean()), float(last.mean())
    change = abs(first - end)
    if change <= 0 or change < _LARGE * error:
        raise InvalidValueError(
            f"the step test must move the value by {_LARGE * error:.3g}, {_LARGE:g} errors of the "
            f"meter, got {change:.3g}: step further"
        )
    way = (values - end) * (1.0 if first > end else -1.0)
    if -way[after].min() > _CLEAR * error + 1e-9 * change:
        raise InvalidValueError(
            f"the step test must not overshoot, got a value {-way[after].min():.3g} beyond where "
            "it rests: no time constant describes it"
        )
    clear = after & (way > _CLEAR * error + 1e-9 * change)
    left, passed = way[clear] - 2 * error, minutes[clear] - start
    if (left >= change + 2 * error).any():
        late = float(passed[left >= change + 2 * error].max())
        raise InvalidValueError(
            "the step test must show a value on its way from its first reading on, got one that "
            f"had not begun after {late:.3g} min: no time constant describes a dead time"
        )
    bounds = passed / np.log((change + 2 * error) / left)
    least = float(bounds.max(initial=0.0))
    if not least > 0:
        shortest = float(np.diff(minutes).min())
        raise InvalidValueError(
            f"the step test must have a reading on the way, got none: {shortest:.3g} min from one "
            "to the next is too slow to tell"
        )
    return StepTest(least, _FACTOR * least, change)


def read_step_test(
    path: str | Path, log: PlantLog, *, error: float, time: str | None = None
) -> tuple[LogColumn, StepTest]:
    """Return the actuator that was stepped in a test, and what the test says.

    Args:
        path: of a CSV file with times, the value, and one or more of the actuators.
        log: the log of the plant, for the names of its columns.
        error: a bound on the errors of readings.
        time: column of the times; default: the one whose header begins with "time".
    """
    head = read_cells(Path(path))[0]
    names = [column.name for column in log.actuators]
    if time is None or time not in head:
        time = next((header for header in head if header.casefold().startswith("time")), None)
    if time is None:
        raise InvalidValueError(f"'{path}' must have a column of times, got {', '.join(head)}")
    test = read_plant_log(
        path,
        limit=log.limit.name,
        actuators=[header for header in head if slug(header) in names],
        time=time,
    )
    if test.backward is not None:
        raise InvalidValueError(
            f"'{path}', line {test.backward}: times of a step test must increase"
        )
    steps = {c.name: np.flatnonzero(np.diff(c.values)) for c in test.actuators}
    moves = {name: rows for name, rows in steps.items() if len(rows)}
    if sum(map(len, moves.values())) != 1:
        counts = ", ".join(f"{name} {len(rows)} times" for name, rows in moves.items()) or "none"
        raise InvalidValueError(f"'{path}' must change one actuator once, got {counts}")
    ((name, rows),) = moves.items()
    (column,) = (each for each in test.actuators if each.name == name)
    start = float(test.minutes[rows[0] + 1])
    return column, find_time_constant(test.minutes, test.limit.values, start, error)
