"""A limit on the average: the hull's inequality, for what the rounds so far have left.

The sum counts a reading with its error, or what was certified where that is less; a round that
nobody read counts as what was certified.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from .exact import Bounds, Point, UnjudgedError, WrongError, number
from .hull import Hull
from .kind import Certificate, Reading, Run, close

__all__ = ["Average"]


class Average(Hull):
    """AverageLimit."""

    keys: ClassVar[str] = f"{Hull.keys} most credit"
    certificates: ClassVar[tuple[str, ...]] = ("AverageCertificate",)
    most: Fraction
    credit: Fraction
    is_broken: bool

    def __init__(self, table: dict[str, Any], d: int) -> None:
        super().__init__(table, d)
        self.most = number(table["most"], "most", 0)
        self.credit = number(table["credit"], "credit", 0)
        self.spent: Fraction | None = Fraction(0)
        self.is_broken = False  # by an action that somebody else chose

    @property
    def holds_to(self) -> Fraction:
        """The largest g at which no slope is longer than G_g."""
        return self.most

    def limit(self) -> Fraction:
        """Return what the next g may be: what the rounds so far have left."""
        if self.spent is None:
            raise UnjudgedError("a sum of g without some of its rounds is not judged")
        if self.spent > self.credit and self.is_broken:
            raise UnjudgedError("what somebody else played has used up more than the sum")
        return min(self.most, self.credit - self.spent)

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the bound by the hull of a certificate."""
        return super().certify(run, p, c["hull"])

    def confirm(self, run: Run, p: Point, c: Certificate, less: Fraction = Fraction(0)) -> None:
        """Raise unless the budget is what the readings leave, and the hull is that for it."""
        limit, budget = self.limit(), number(c["budget"], "budget")
        used = number(c["bound"], "bound") - number(c["hull"]["bound"], "bound")
        sizes = sum(abs(r.raw[0]) for r in run.readings.values())
        if not max(budget, used) <= limit + self.noise + sizes * Fraction(run.t, 2**50):
            raise WrongError("the budget of its certificate is more than the rounds have left")
        # Where less is left than any action has, half of the least g counts instead.
        if not (close(used, budget, 4 * self.noise) or budget < used < 0):
            raise WrongError("the bound of its certificate is not that of its hull")
        super().confirm(run, p, c["hull"], used)

    def count(self, reading: Reading | None, proved: Bounds | None, is_own: bool, run: Run) -> None:
        """Count a round."""
        if self.spent is None:
            return
        left = min(self.most, self.credit - self.spent)
        known = [] if proved is None else list(proved)
        if reading is not None:
            read = reading.raw[0] - self.noise
            known.append(read)
            if is_own and read > left:  # it may have been certified, too
                earlier = [run.readings[i] for i in run.used if i < reading.round]
                known += self.search(run, reading, earlier) or []
        self.spent = self.spent + min(known) if known else None
        self.is_broken = self.is_broken or is_own
