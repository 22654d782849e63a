"""What the files of the kinds of knowledge share: constants, errors, and what a step rests on."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Protocol

from .exact import Bounds, Point, UnjudgedError, WrongError, norm, number
from .known_sets import is_inside

__all__ = [
    "UNIT",
    "Certificate",
    "Errors",
    "Kind",
    "Reading",
    "Run",
    "Unknown",
    "close",
    "is_in_domain",
    "is_known",
    "refuse_other_keys",
]

UNIT = Fraction(1, 2**53)
"""What one rounding of a float64 may be, relative to it."""

Certificate = dict[str, Any]
"""The certificate of an action, as a line has it."""


class Reading(NamedTuple):
    """What was read in a round, with its errors.

    Attributes:
        round: when.
        x: where.
        raw: g was at most this, by the reading: one number per row.
        own: the same, or what was certified of the action before it was played where that is less.
        low: g was at least this.
        slopes: one per row; None where none was read.
        tau: the error of the slopes, one per row.
    """

    round: int
    x: Point
    raw: Bounds
    own: Bounds
    low: Bounds
    slopes: list[Point] | None
    tau: Bounds

    @property
    def is_feasible(self) -> bool:
        """Whether g is known to have been at most 0 there, in every row."""
        return max(self.own) <= 0


class Errors(NamedTuple):
    """How wrong the readings of a row may be, as its player says.

    Attributes:
        value: of a value.
        slope: of a slope; 0 where slopes do not count.
        drift: what g may rise by per round.
        stated: all of them, as a certificate states them.
    """

    value: Fraction
    slope: Fraction
    drift: Fraction
    stated: dict[str, Any]


class Run(Protocol):
    """What a kind may ask about the rounds so far.

    Attributes:
        t: the current round, for which an action is judged.
        delay: after how many rounds a reading is used.
        start: the first action of the player.
        here: the action before, and the bounds on g there in the current round.
        places: the contexts of the rounds before.
        actions: that of each round before.
    """

    t: int
    delay: int
    start: Point
    here: tuple[Point, Bounds | None]
    places: dict[int, Point]
    actions: dict[int, Point]

    @property
    def drift(self) -> Fraction:
        """What g may rise by per round, in any row."""

    @property
    def drifts(self) -> list[Fraction]:
        """What each row may rise by per round."""

    @property
    def start_bound(self) -> Fraction | None:
        """What g is at most at the start for ever; None where that is not known."""

    @property
    def start_bounds(self) -> list[Fraction | None]:
        """The same of each row."""

    @property
    def readings(self) -> Mapping[int, Reading]:
        """What was read, by round."""

    @property
    def used(self) -> Mapping[int, int]:
        """By round of a reading, the step that was taken with it.

        A player that is halted has seen nothing.
        """

    @property
    def proofs(self) -> Mapping[int, Bounds]:
        """By round, what was certified of its action before it was played."""

    @property
    def place(self) -> Point | None:
        """The context of the current round; None where it is not known."""

    def level(self, x: Point) -> Bounds | None:
        """Return the least that is known of g at an action in the current round."""

    def levels(self, reading: Reading) -> list[Bounds]:
        """Return what a player may count on where something was read, the least first."""

    def level_in(self, reading: Reading, t: int) -> Bounds:
        """Return what g was at most in another round, where something was read."""

    def round_of(self, count: Any) -> int:
        """Return the round of a reading, from the count of the copy that takes the step."""

    def first(self) -> Reading:
        """Return the first reading that the player took a step with."""

    def last(self) -> list[Reading]:
        """Return the readings that the last step may rest on, the latest first."""


class Kind:
    """One kind of knowledge: what it certifies by, and what its certificates say.

    Args:
        table: the knowledge, as a journal has it.
        d: the length of an action.

    Attributes:
        keys: the fields of the table beside ``errors``, ``convex`` and ``domain``.
        certificates: the classes of the certificates that this file recomputes.
        in_contexts: whether the context of a round must be known.
        needs_start: whether the first reading must be strictly feasible.
        rows: how many constraints are read, each by itself.
        noise: a bound on the error of a reading beyond the one that is told.
        domain: the known set of all actions, as a journal has it; None for any action.
        convex: whether g is.
        is_shared: whether members with one player share what is known: it never changes, and may be
            long.
        first_context: that of a first round, where it need not be announced; None where it must.
    """

    keys: ClassVar[str] = ""
    certificates: ClassVar[tuple[str, ...]] = ()
    in_contexts: bool = False
    needs_start: ClassVar[bool] = True
    is_shared: ClassVar[bool] = False
    rows: int = 1
    noise: Fraction = Fraction(0)
    domain: Any = None
    convex: bool = False
    first_context: dict[str, Any] | None = None
    evaluation: Fraction

    def __init__(self, table: dict[str, Any], d: int) -> None:
        refuse_other_keys(table, f"class errors convex domain {self.keys}")
        self.domain, self.convex = table["domain"], table["convex"] is True
        self.evaluation = number(table["errors"]["evaluation"], "evaluation", 0)

    def limit(self) -> Fraction:
        """Return what the next g may be."""
        return Fraction(0)

    @property
    def noises(self) -> list[Fraction]:
        """The noise of each row."""
        return [self.noise] * self.rows

    @property
    def evaluations(self) -> list[Fraction]:
        """The error of the computation of g, for each row."""
        return [self.evaluation] * self.rows

    @property
    def steepness(self) -> list[Fraction] | None:
        """A bound on the slopes of each row; None where one has none."""
        G_g: Fraction | None = getattr(self, "G_g", None)
        return [G_g] if G_g else None

    def tables(self, table: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the table of each row: its own, or that of all."""
        return [table] * self.rows

    def bounds_of_start(self, table: dict[str, Any]) -> list[Fraction | None]:
        """Return what each row is at most at the start for ever; None where that is not known."""
        bounds = [row.get("start_bound") for row in self.tables(table)]
        return [None if bound is None else number(bound, "start_bound") for bound in bounds]

    @property
    def settling(self) -> list[Any]:
        """The rows whose readings lag behind the action."""
        return []

    def gaps(self, t: int) -> list[tuple[Fraction, Fraction]]:
        """Return how far below and above the reading of a round each row may be."""
        return [(Fraction(0), Fraction(0))] * self.rows

    def refuse_start(self, reading: Reading) -> None:
        """Raise unless the first reading is strictly feasible, where it must be."""
        if self.needs_start and max(reading.raw) >= 0:
            raise WrongError("the start is not strictly feasible")

    def holds(self, x: Point) -> bool:
        """Return whether the constants hold at an action; what is read elsewhere is not used."""
        return True

    def tolerance(self, reading: Reading, row: int) -> Fraction:
        """Return what rounding may do to a comparison of a reading with what was certified.

        Two values and a slope are rounded, each by less than 2^-50 of what enters the comparison,
        and so is a linear g at either action: less than 2^-50(d + 4)(|g| + |s||x|).
        """
        g, s = reading.raw[row], None if reading.slopes is None else reading.slopes[row]
        steep = Fraction(0) if s is None else norm(s)
        d = len(reading.x)
        return 8 * UNIT * (d + 5) * (abs(g) + steep * norm(reading.x))

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the bounds on g at an action by the inequality of its certificate."""
        raise UnjudgedError(f"the {c.get('class', 'choice')} of this player is not judged")

    def confirm(self, run: Run, p: Point, c: Certificate) -> None:
        """Raise unless the numbers of a certificate are those that its inequality has."""

    def confirm_errors(
        self, c: Certificate, rows: list[Errors], told: dict[str, Any], whole: Errors
    ) -> None:
        """Raise unless a certificate counts with the errors of its player, or of its round.

        Args:
            c: the certificate.
            rows: the errors of each row.
            told: those that were told with the reading.
            whole: the errors of the player.
        """
        if c["errors"] != whole.stated | told:
            raise WrongError("its certificate has other errors than the player or its round")

    def search(self, run: Run, reading: Reading, earlier: list[Reading]) -> Bounds | None:
        """Return what a player knew of an action that no certificate of its own was for.

        Args:
            run: the rounds so far.
            reading: what was read there.
            earlier: what the player had read before, the latest last.
        """
        return None

    def count(self, reading: Reading | None, proved: Bounds | None, is_own: bool, run: Run) -> None:
        """Count a round that is over, where a sum matters."""


class Unknown(Kind):
    """A player of which nothing is judged."""

    def __init__(self) -> None:
        """Know nothing."""


def refuse_other_keys(table: dict[str, Any], keys: str) -> None:
    """Raise unless a table has these keys, all of them and no other."""
    known = set(keys.split())
    if set(table) != known:
        name = sorted(set(table) ^ known)[0]
        what = "has no" if name in known else "has an unknown"
        raise WrongError(f"the {table.get('class')} of the journal {what} {name!r}")


def close(a: Fraction, b: Fraction, noise: Fraction) -> bool:
    """Return whether two numbers are the same but for rounding."""
    return abs(a - b) <= noise + 64 * UNIT * (abs(a) + abs(b))


def is_known(claimed: Fraction, levels: list[Fraction], noise: Fraction) -> bool:
    """Return whether a certificate counts on what is known of g at an action, but for rounding.

    A player need not know the least, as a checker does; but it counts on no more than it has read.
    """
    least, most = min(levels), max(levels)
    return least <= claimed <= most or any(close(claimed, end, noise) for end in (least, most))


def is_in_domain(domain: Any, x: Point) -> bool:
    """Return whether an action is in a domain; where that cannot be judged, it is."""
    try:
        return bool(is_inside(domain, x))
    except UnjudgedError:
        return True
