"""A curvature of at most L_0 + L_1 |grad g|.

The quadratic bound with 2(e - 2)(L_0 + L_1(|s| + tau)), as far as L_1 |p - x| <= 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from .curvature import Curved
from .exact import Bounds, Point, WrongError, distance, norm, number
from .kind import Reading, Run

__all__ = ["Relative"]

_BENT = Fraction("1.43656365691809048")
"""Above 2(e - 2)."""


class Relative(Curved):
    """RelativeCurvature."""

    keys: ClassVar[str] = "reach L_0 L_1"

    def read_betas(self, table: dict[str, Any]) -> list[Fraction]:
        """Return the curvature where g is flat."""
        self.L_0, self.L_1 = (number(table[name], name, 0) for name in ("L_0", "L_1"))
        return [_BENT * self.L_0]

    def curvatures(self, reading: Reading) -> list[Fraction]:
        """Return the curvature that holds around a reading."""
        assert reading.slopes is not None
        return [_BENT * (self.L_0 + self.L_1 * (norm(reading.slopes[0]) + reading.tau[0]))]

    def bounds(self, run: Run, p: Point, reading: Reading, t: int | None = None) -> Bounds:
        """Return the quadratic bound of a reading, as far as it holds."""
        if self.L_1 * distance(p, reading.x) > 1:
            raise WrongError("its action is further than 1/L_1 from the last")
        return super().bounds(run, p, reading, t)
