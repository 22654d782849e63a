"""A log of a convex g: the mean of up_i over its points, and G_g |p - the mean of the points|."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from .exact import (
    Bounds,
    Point,
    UnjudgedError,
    WrongError,
    distance,
    mean,
    norm,
    number,
    numbers,
    vector,
)
from .kind import UNIT, Certificate, Kind, Run, close

__all__ = ["Log"]


class Log(Kind):
    """HullOfLog."""

    keys: ClassVar[str] = "points values G_g"
    certificates: ClassVar[tuple[str, ...]] = ("LogCertificate",)
    needs_start: ClassVar[bool] = False
    is_shared: ClassVar[bool] = True
    points: list[Point]
    G_g: Fraction | None
    noise: Fraction
    margin: Fraction
    values: list[list[Fraction]]

    def __init__(self, table: dict[str, Any], d: int) -> None:
        super().__init__(table, d)
        self.points = [vector(x, d, "a point of the log") for x in table["points"]]
        values = vector(table["values"], len(self.points), "values")
        self.G_g = None if table["G_g"] is None else number(table["G_g"], "G_g", 0)
        rounding = 16 * (d + 8) * UNIT * max(map(norm, self.points), default=Fraction(0))
        self.noise = self.evaluation + (self.G_g or 0) * rounding
        self.margin = 2 * self.noise + (self.G_g or 0) * rounding
        nu = number(table["errors"]["value"], "value", 0)
        self.values = [[g + nu] for g in values]

    def _mean(self, c: Certificate) -> tuple[Point, Fraction]:
        """Return the mean of the points of a certificate, and that of their values."""
        weights = [number(part, "a weight", 0) for part in numbers(c["weights"], "weights")]
        which = [int(number(i, "a point", 0)) for i in numbers(c["points"], "points")]
        if any(i >= len(self.points) for i in which):
            raise WrongError("its certificate names a point that is not in the log")
        (value,) = mean(weights, [self.values[i] for i in which])
        return mean(weights, [self.points[i] for i in which]), value

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the bound by the weights of points of the log."""
        if not self.G_g:
            raise UnjudgedError("without G_g a log certifies up to rounding only")
        point, value = self._mean(c)
        return [value + self.noise + self.G_g * distance(p, point)]

    def confirm(self, run: Run, p: Point, c: Certificate) -> None:
        """Raise unless the bound is the mean of the values."""
        _, value = self._mean(c)
        sizes = max(abs(level) for (level,) in self.values)
        noise = 4 * self.noise + 64 * UNIT * len(self.points) * sizes
        if not close(number(c["bound"], "bound"), min(value + self.margin, Fraction(0)), noise):
            raise WrongError("the bound of its certificate is not that of its points")
