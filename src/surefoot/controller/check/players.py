"""Players as a journal has them: the one source of every constant, and what they are in words."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any

from .average import Average
from .context import Contexts
from .curvature import Curved, CurvedRows
from .exact import Point, UnjudgedError, WrongError, number, numbers, vector
from .hull import Hull
from .kind import Errors, Kind, Unknown, refuse_other_keys
from .length import Length
from .log import Log
from .plant import Plant
from .relative import Relative
from .settling import Settling
from .together import Together, read_rows

__all__ = ["Player"]

_KINDS: dict[str, type[Kind]] = {
    "AverageLimit": Average,
    "CertifiedLength": Length,
    "ContextHull": Contexts,
    "Curvature": Curved,
    "CurvatureRows": CurvedRows,
    "HullOfLog": Log,
    "LipschitzHull": Hull,
    "RelativeCurvature": Relative,
}
_PARTS = ("proposer", "knowledge")
"""What a certified rule is made of: its name certifies nothing, so any name will do."""
_WRAPPERS = {"Delayed": "base delay copies late"}
_SHOWN = 8


class Player:
    """What is played, from the line that says so.

    Args:
        line: the first line of a journal, or one that resumes with another player.
        kinds: what is known by other members, by the table of a line that says so.

    Attributes:
        encoded: the player as it stands there, with its guarantee, its start and its plant.
        plant: of a plant file, what it says; None without one.
        start: the first action.
        start_bounds: what each row is at most there for ever; None where that is not known.
        kind: what is known of g, and how it certifies.
        errors: how wrong readings may be, of any row.
        rows: the same of each row.
        ramp: how far an action may be from the last one; None for any distance.
        delay: after how many rounds a reading is used.
        turns: how many copies play in turn.
        is_late: whether what is told is late already.
    """

    encoded: dict[str, Any]
    errors: Errors
    rows: list[Errors]
    delay: int
    turns: int
    is_late: bool

    def __init__(self, line: dict[str, Any], kinds: dict[int, Kind] | None = None) -> None:
        self.encoded = {name: line[name] for name in ("player", "guarantee", "start")}
        self.encoded["plant"] = line.get("plant")
        self.start: Point = vector(line["start"], len(line["start"]), "start")
        self.start_bounds: list[Fraction | None] = [None]
        self.kind: Kind = Unknown()
        self.errors = Errors(Fraction(0), Fraction(0), Fraction(0), {})
        self.rows = [self.errors]
        self.delay, self.turns, self.is_late = 0, 1, False
        self.ramp: list[Fraction] | Fraction | None = None
        self._kinds = {} if kinds is None else kinds
        self.plant = None if line.get("plant") is None else Plant(line["plant"])
        if self.plant is not None:
            self.plant.refuse_more(line)
        self._read(line["player"])

    def _read(self, player: Any) -> None:
        """Read the wrappers, and the pair that they are around."""
        while isinstance(player, dict) and player.get("class") in _WRAPPERS:
            refuse_other_keys(player, f"class {_WRAPPERS[player['class']]}")
            if player["class"] == "Delayed":
                if self.delay:
                    return  # nobody says whose turn it is
                self.delay, self.is_late = int(number(player["delay"], "delay", 1)), player["late"]
                self.turns = self.delay + 1 if player["copies"] else 1
                if not all(isinstance(player[name], bool) for name in ("late", "copies")):
                    raise WrongError("late and copies must be true or false")
            player = player["base"]
        if not isinstance(player, dict) or not all(name in player for name in _PARTS):
            return
        refuse_other_keys(player, "class proposer knowledge ramp")
        known = player["knowledge"]
        if known.get("class") in (*_KINDS, "Settling", "Together"):
            self._read_pair(known, player["ramp"])

    def _read_pair(self, known: dict[str, Any], ramp: Any) -> None:
        """Read what is known of g; a kind that its own file cannot judge stays unknown."""
        self.errors = self._read_errors(known["errors"])
        self.rows = [self.errors]
        try:
            self.kind = self._kinds.get(id(known)) or _make_kind(known, len(self.start))
        except UnjudgedError:
            return
        if self.kind.is_shared:
            self._kinds[id(known)] = self.kind
        tables = self.kind.tables(known)
        self.rows = [self._read_errors(table["errors"]) for table in tables]
        self.start_bounds = self.kind.bounds_of_start(known)
        if isinstance(ramp, dict | list) and "number" not in ramp:
            self.ramp = vector(numbers(ramp, "ramp"), len(self.start), "ramp")
        elif ramp is not None:
            self.ramp = number(ramp, "ramp", 0)

    def _read_errors(self, table: dict[str, Any]) -> Errors:
        """Return the errors of a row."""
        refuse_other_keys(table, "class value slope drift evaluation")
        value, drift = (number(table[name], name, 0) for name in ("value", "drift"))
        slope = Fraction(0)
        if table["slope"] != {"number": "inf"}:  # slopes that do not count may err by anything
            slope = number(table["slope"], "slope", 0)
        # Between two turns of a copy all rounds of the others pass.
        stated = table | ({"drift": self.turns * table["drift"]} if self.turns > 1 else {})
        return Errors(value, slope, drift, stated)

    @property
    def reach(self) -> Fraction:
        """The largest norm of an action, as the knowledge has it."""
        return _reach_of(self.encoded["player"])

    @property
    def keeps_ramp(self) -> bool:
        """Whether a return path is no faster than the ramp: where points between may be played."""
        domain = self.kind.domain
        is_chosen = isinstance(domain, dict) and domain.get("class") == "Choices"
        return self.kind.convex and not is_chosen

    @property
    def words(self) -> str:
        """The player in the form of constructors, with all its constants."""
        parts, left = [], self.encoded["player"]
        while isinstance(left, dict) and "base" in left:
            parts.append(_describe({n: v for n, v in left.items() if n != "base"}))
            left = left["base"]
        if isinstance(left, dict):  # what proposes certifies nothing
            left = {n: v for n, v in left.items() if n != "proposer"}
        return " of ".join([*parts, _describe(left)])

    @property
    def start_words(self) -> str:
        """The start, likewise."""
        return _describe(self.encoded["start"])


def _make_kind(table: dict[str, Any], d: int) -> Kind:
    """Return what is known of g, or of several constraints."""
    if table.get("class") == "Settling":
        part = table.get("knowledge")
        if not isinstance(part, dict) or part.get("class") not in _KINDS:
            raise UnjudgedError("the knowledge of a plant at rest is not judged")
        return Settling(table, d, _make_kind(part, d))
    if table.get("class") != "Together":
        if table.get("class") not in _KINDS:
            raise UnjudgedError(f"the knowledge {table.get('class')!r} is not judged"[:200])
        return _KINDS[table["class"]](table, d)
    rows = [_make_kind(row, d) for row in read_rows(table)]
    return Together(table, d, rows)


def _reach_of(table: Any) -> Fraction:
    """Return the largest reach in the table of a player."""
    if isinstance(table, dict) and isinstance(table.get("reach"), dict | int | float):
        return number(table["reach"], "reach", 0)
    parts = table.values() if isinstance(table, dict) else table if isinstance(table, list) else ()
    return max((_reach_of(part) for part in parts), default=Fraction(0))


def _describe(data: Any) -> str:
    """Return plain data in the form of constructors; of a long list its length and its digest."""
    if isinstance(data, dict) and set(data) == {"tuple"}:
        data = data["tuple"]
    if isinstance(data, dict):
        parts = [f"{n}={_describe(v)}" for n, v in data.items() if n != "class"]
        return f"{data.get('class', '')}({', '.join(parts)})"
    if isinstance(data, list) and len(data) > _SHOWN:
        digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()
        return f"[{len(data)} entries, SHA-256 {digest[:16]}]"
    if isinstance(data, list):
        return f"[{', '.join(map(_describe, data))}]"
    return repr(data)
