"""Several constraints together: every row by its own kind, with its own constants.

A row sees of the run what is its own: its values and slopes, its errors, drift and bound at the
start. What was read where a row may have been above 0 is not used by any: there the constants of
the others need not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from .exact import Bounds, Point, UnjudgedError, WrongError, number
from .kind import Certificate, Errors, Kind, Reading, Run, is_in_domain

__all__ = ["Together", "read_rows"]

_MOST_ROWS = 10**3
"""How many rows a player may have, each with its own kind."""
T = TypeVar("T")
"""What a round has."""


def read_rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of the rows of a player."""
    return _read_parts(table["rows"], "rows of a player")


def _read_parts(rows: Any, what: str) -> list[dict[str, Any]]:
    """Return the parts of a tuple of tables."""
    parts = rows.get("tuple") if isinstance(rows, dict) and set(rows) == {"tuple"} else None
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise WrongError(f"the {what} must be tables")
    if not 1 <= len(parts) <= _MOST_ROWS:
        raise WrongError(f"the {what} must be from 1 to {_MOST_ROWS}, got {len(parts)}")
    return parts


class ByRound(Mapping[int, T]):
    """What belongs to a row, by round, of what belongs to all of them.

    Args:
        whole: of all rows.
        cut: what belongs to the row; None where that is nothing.
    """

    def __init__(self, whole: Mapping[int, Any], cut: Callable[[Any], T | None]) -> None:
        self.whole, self.cut = whole, cut

    def __getitem__(self, i: int) -> T:
        found = self.cut(self.whole[i])
        if found is None:
            raise KeyError(i)
        return found

    def __iter__(self) -> Iterator[int]:
        return (i for i, part in self.whole.items() if self.cut(part) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class RunOfRow:
    """What one row may ask about the rounds so far: a :class:`surefoot...kind.Run` of one row.

    Args:
        run: of all rows.
        row: which.
    """

    run: Run
    row: int
    t: int
    delay: int
    place: Point | None
    start: Point
    drift: Fraction
    start_bound: Fraction | None
    places: dict[int, Point]
    actions: dict[int, Point]
    here: tuple[Point, Bounds | None]

    def __init__(self, run: Run, row: int) -> None:
        self.run, self.row = run, row
        self.t, self.delay, self.place = run.t, run.delay, run.place
        self.start, self.drift = run.start, run.drifts[row]
        self.start_bound = run.start_bounds[row]
        self.places, self.actions = run.places, run.actions
        self.readings: Mapping[int, Reading] = ByRound(run.readings, self.cut)
        self.proofs: Mapping[int, Bounds] = ByRound(run.proofs, self._own)
        x, bounds = run.here
        reading, is_proved = run.readings.get(run.t - 1), run.t - 1 in run.proofs
        was_feasible = is_proved or (reading is not None and reading.is_feasible)
        is_usable = bounds is not None and (was_feasible or max(bounds) <= 0)
        self.here = (x, self._own(bounds) if bounds is not None and is_usable else None)

    def _own(self, bounds: Bounds) -> Bounds:
        return [bounds[self.row]]

    def cut(self, reading: Reading) -> Reading | None:
        """Return a reading as the row sees it; None where another row may have been above 0."""
        return self.part(reading) if reading.is_feasible else None

    def part(self, reading: Reading) -> Reading:
        """Return what a reading has of the row."""
        raw, own, low, tau = map(self._own, (reading.raw, reading.own, reading.low, reading.tau))
        slopes = None if reading.slopes is None else [reading.slopes[self.row]]
        return Reading(reading.round, reading.x, raw, own, low, slopes, tau)

    @property
    def used(self) -> Mapping[int, int]:
        """By round of a reading of the row, the step that was taken with it."""
        return {i: when for i, when in self.run.used.items() if i in self.readings}

    @property
    def drifts(self) -> list[Fraction]:
        """What the row may rise by per round."""
        return [self.drift]

    @property
    def start_bounds(self) -> list[Fraction | None]:
        """What the row is at most at the start for ever."""
        return [self.start_bound]

    def level(self, x: Point) -> Bounds | None:
        """Return the least that is known of the row at an action in the current round."""
        found = self.run.level(x)
        known = [] if found is None else self._own(found)
        if self.start_bound is not None and x == self.start:
            known.append(self.start_bound)
        return [min(known)] if known else None

    def levels(self, reading: Reading) -> list[Bounds]:
        """Return what the row may count on where something was read, the least first."""
        known = [self._own(found) for found in self.run.levels(self.run.readings[reading.round])]
        own = self.level(reading.x)
        return known if own is None else [own, *known]

    def level_in(self, reading: Reading, t: int) -> Bounds:
        """Return what the row was at most in another round, where something was read."""
        return self._own(self.run.level_in(self.run.readings[reading.round], t))

    def round_of(self, count: Any) -> int:
        """Return the round of a reading, from the count of the copy that takes the step."""
        return self.run.round_of(count)

    def first(self) -> Reading:
        """Return the first reading that the player took a step with."""
        found = (self.readings.get(i) for i in self.run.used)  # in the order of their steps
        first = next((reading for reading in found if reading is not None), None)
        if first is None:
            raise WrongError("it rests on a reading, and nothing was read")
        return first

    def last(self) -> list[Reading]:
        """Return the readings that the last step may rest on, the latest first."""
        found = [self.cut(reading) for reading in self.run.last()]
        return [reading for reading in found if reading is not None]


class Together(Kind):
    """Together.

    Args:
        table: the knowledge, as a journal has it.
        d: the length of an action.
        kinds: what is known of each row.
    """

    keys: ClassVar[str] = "rows"
    certificates: ClassVar[tuple[str, ...]] = ("TogetherCertificate",)
    kinds: list[Kind]
    rows: int
    in_contexts: bool
    first_context: dict[str, Any] | None
    noise: Fraction

    def __init__(self, table: dict[str, Any], d: int, kinds: list[Kind]) -> None:
        super().__init__(table, d)
        if any(kind.rows != 1 for kind in kinds):
            raise WrongError("the rows of a player must be one constraint each")
        if len({kind.in_contexts for kind in kinds}) > 1:
            raise WrongError("the rows of a player must all be in contexts, or none of them")
        self.kinds, self.rows = kinds, len(kinds)
        self.in_contexts, self.first_context = kinds[0].in_contexts, kinds[0].first_context
        self.noise = max(self.noises)

    @property
    def noises(self) -> list[Fraction]:
        """The noise of each row."""
        return [kind.noise for kind in self.kinds]

    @property
    def evaluations(self) -> list[Fraction]:
        """The error of the computation of g, for each row."""
        return [kind.evaluation for kind in self.kinds]

    @property
    def steepness(self) -> list[Fraction] | None:
        """A bound on the slopes of each row; None where one has none."""
        each = [kind.steepness for kind in self.kinds]
        return None if None in each else [G_g for found in each for G_g in found or ()]

    def tables(self, table: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the table of each row."""
        return read_rows(table)

    def bounds_of_start(self, table: dict[str, Any]) -> list[Fraction | None]:
        """Return what each row is at most at the start for ever, by its own kind."""
        each = zip(self.kinds, self.tables(table), strict=True)
        return [bound for kind, row in each for bound in kind.bounds_of_start(row)]

    @property
    def settling(self) -> list[Any]:
        """The rows whose readings lag behind the action."""
        return [row for kind in self.kinds for row in kind.settling]

    def gaps(self, t: int) -> list[tuple[Fraction, Fraction]]:
        """Return how far below and above the reading of a round each row may be."""
        return [gap for kind in self.kinds for gap in kind.gaps(t)]

    def refuse_start(self, reading: Reading) -> None:
        """Raise unless the first reading is strictly feasible, in every row that it must be."""
        for i, kind in enumerate(self.kinds):
            kind.refuse_start(reading._replace(raw=[reading.raw[i]]))

    def holds(self, x: Point) -> bool:
        """Return whether the constants of every row hold at an action."""
        is_inside = self.domain is None or is_in_domain(self.domain, x)
        return is_inside and all(kind.holds(x) for kind in self.kinds)

    def certify(self, run: Run, p: Point, c: Certificate) -> Bounds:
        """Return the bound of each row, by its own part of the certificate."""
        bounds = []
        for i, (kind, part) in enumerate(zip(self.kinds, self._parts(c), strict=True)):
            view = RunOfRow(run, i)
            with _in_row(i):
                bounds += self._certify_row(kind, view, p, part)
        return bounds

    def _certify_row(self, kind: Kind, run: RunOfRow, p: Point, part: Certificate) -> Bounds:
        known = run.level(p)
        try:
            if part.get("class") in kind.certificates:
                return kind.certify(run, p, part)
            raise UnjudgedError(f"the {part.get('class')} is not judged"[:200])
        except UnjudgedError:
            if known is not None and known[0] <= 0:
                return known
            raise

    def _parts(self, c: Certificate) -> list[Certificate]:
        """Return the parts of a certificate, one per row."""
        if set(c) != {"class", "round", "rows", "bound", "cut"}:
            raise WrongError("its certificate must have rows and a bound, and nothing else")
        parts = _read_parts(c["rows"], "rows of its certificate")
        if len(parts) != self.rows:
            raise WrongError(f"its certificate must have {self.rows} rows, got {len(parts)}")
        return parts

    def confirm(self, run: Run, p: Point, c: Certificate) -> None:
        """Raise unless every part has the numbers of its row, and the bound is the largest."""
        parts = self._parts(c)
        for i, (kind, part) in enumerate(zip(self.kinds, parts, strict=True)):
            if part.get("class") in kind.certificates:
                with _in_row(i):
                    kind.confirm(RunOfRow(run, i), p, part)
        largest = max(number(part["bound"], "bound") for part in parts)
        if number(c["bound"], "bound") != largest:
            raise WrongError("the bound of its certificate is not the largest of its rows")

    def confirm_errors(
        self, c: Certificate, rows: list[Errors], told: dict[str, Any], whole: Errors
    ) -> None:
        """Raise unless every part counts with the errors of its row, or of its round.

        A round that says how wrong it is speaks of all rows, and of what it leaves out the largest
        error counts.
        """
        if told:
            told = {name: whole.stated[name] for name in ("value", "slope")} | told
        for i, (kind, part) in enumerate(zip(self.kinds, self._parts(c), strict=True)):
            if part.get("class") in kind.certificates:
                with _in_row(i):
                    kind.confirm_errors(part, [rows[i]], told, rows[i])

    def search(self, run: Run, reading: Reading, earlier: list[Reading]) -> Bounds | None:
        """Return what the rows know of an action by themselves, if all know it to be feasible."""
        bounds = []
        for i, kind in enumerate(self.kinds):
            view = RunOfRow(run, i)
            before = [cut for cut in map(view.cut, earlier) if cut is not None]
            found = kind.search(view, view.part(reading), before) or []
            bounds.append(min(reading.own[i], *found) if found else reading.own[i])
        return bounds if max(bounds) <= 0 else None


@contextmanager
def _in_row(row: int) -> Iterator[None]:
    """Name the row in what is raised."""
    try:
        yield
    except (UnjudgedError, WrongError) as error:
        raise type(error)(f"row {row}: {error}") from None
