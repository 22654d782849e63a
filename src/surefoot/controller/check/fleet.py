"""The lines of a fleet's journal, as the records of its members: what a controller's lines are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from .columns import read_certificates, read_column, read_rows
from .exact import WrongError
from .keys import RECORDS, need_keys, need_only, refuse_strangers

__all__ = ["Fleet", "Record"]

Record = tuple[str | None, dict[str, Any]]
"""A member, and what one of its lines says; None for a controller, which has no name."""
_POLICIES = "on_contradiction on_missing"
_VECTORS = ("cost_gradient", "proposal", "constraint_subgradient")
_KEYS = {kind: f"kind member round {keys}" for kind, keys in RECORDS.items()}
_TOLD = {kind: _KEYS[kind] for kind in ("round", "refused")}
_ORDERS = {kind: _KEYS[kind] for kind in ("announce", "hold", "retreat", "resume", "amend")}
_AXES = 8
"""How many axes a part of a state may have: a product of more could be as long as the file."""


class Fleet:
    """The members that are there, line by line.

    Attributes:
        names: of the members, in the order in which columns have them.
    """

    names: list[str]

    def __init__(self) -> None:
        self.names = []
        self._present: set[str] = set()
        self._has_begun = False

    def expand(self, line: dict[str, Any]) -> Iterator[Record]:
        """Yield the records of a line, each with its member."""
        kind = line["kind"]
        if kind in _KEYS or (kind == "note" and "member" in line):
            need_keys(line, "member", f"a line of the kind {kind!r}")
            yield self._find(line["member"]), line
        elif (expand := getattr(self, f"_expand_{kind}", None)) is not None:
            yield from expand(line)

    def _find(self, name: Any) -> str:
        """Return the name of a member that is there."""
        if not isinstance(name, str) or name not in self._present:
            raise WrongError(f"a record is that of a member {name!r}, which is not there"[:200])
        return name

    # --- members ---------------------------------------------------------------------------------

    def _expand_journal(self, line: dict[str, Any]) -> Iterator[Record]:
        """Yield the first line of a file for each member: its player, its start and its state."""
        need_keys(line, "players members state", "the first line of a fleet")
        need_only(line["members"], "names players starts", "the members of a fleet")
        names, players = line["members"]["names"], line["players"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise WrongError("the names of a fleet must be a list of texts")
        if len(set(names)) != len(names):
            raise WrongError("a name of a fleet must be there once")
        if self._has_begun and names != self.names:
            raise WrongError("a later file has other members than are there")
        if not self._has_begun and line["state"] is not None:
            raise WrongError("the first file of a fleet must have no state: all are at their start")
        which = self._read_which(line["members"]["players"], len(names), players)
        starts = read_rows(line["members"]["starts"], "starts", len(names))
        kind = "file" if self._has_begun else "journal"
        self.names, self._present, self._has_begun = names, set(names), True
        loops = {n: _first_loop(x) for n, x in zip(names, starts, strict=True)}
        if line["state"] is not None:
            loops = dict(self._expand_state(line["state"]))
        for name, i, start in zip(names, which, starts, strict=True):
            if name not in loops:
                raise WrongError(f"the state of a later file lacks the member {name!r}")
            yield name, {**players[i], "kind": kind, "start": start, "loop": loops[name]}

    def _read_which(self, which: Any, count: int, players: Any) -> list[int]:
        """Return which of several players each member has: none of them is there for nobody."""
        if not isinstance(players, list):
            raise WrongError("the players of a fleet must be a list")
        for player in players:
            need_only(player, f"player guarantee {_POLICIES}", "a player of a fleet", "plant")
        if not isinstance(which, list) or not all(type(i) is int for i in which):
            raise WrongError("the players of members must be whole numbers")
        if len(which) != count or set(which) != set(range(len(players))):
            raise WrongError("each member must have one of the players, and each player a member")
        return which

    def _expand_joined(self, line: dict[str, Any]) -> Iterator[Record]:
        """Yield the beginning of a new member, which comes last."""
        needed = f"member round player guarantee start {_POLICIES}"
        need_keys(line, needed, "a new member")
        name, start = line["member"], line["start"]
        if not isinstance(name, str) or name in self._present:
            raise WrongError(f"a member {name!r} joined that is there, or is no text"[:200])
        if line["round"] != 1:
            raise WrongError(f"a new member must begin in its round 1, got {line['round']!r}"[:200])
        self.names.append(name)
        self._present.add(name)
        yield name, {**line, "loop": _first_loop(start)}

    def _expand_left(self, line: dict[str, Any]) -> Iterator[Record]:
        """Yield the end of a member: those behind it move up."""
        need_keys(line, "member round", "a member that leaves")
        name = self._find(line["member"])
        yield name, line
        self.names.remove(name)
        self._present.remove(name)

    # --- rounds and orders -----------------------------------------------------------------------

    def _expand_rounds(self, line: dict[str, Any]) -> Iterator[Record]:
        """Yield the rounds of a call: the steps in columns first, then the other records."""
        need_keys(line, "steps records", "a line of rounds")
        if not isinstance(line["steps"], list) or not isinstance(line["records"], list):
            raise WrongError("the steps and the records of rounds must be lists")
        if not line["steps"] and not line["records"]:
            raise WrongError("a line of rounds must have one")
        kinds: dict[str, str] = {}
        for steps in line["steps"]:
            for name, record in self._expand_steps(steps):
                _refuse_twice(kinds, name, "round")
                yield name, record
        yield from self._expand_several(line["records"], _TOLD, kinds)

    def _expand_orders(self, line: dict[str, Any]) -> Iterator[Record]:
        """Yield an order for each of its members."""
        need_keys(line, "records", "a line of orders")
        if not isinstance(line["records"], list) or not line["records"]:
            raise WrongError("the records of orders must be a list, of at least one")
        yield from self._expand_several(line["records"], _ORDERS, {})

    def _expand_several(
        self, records: list[Any], allowed: dict[str, str], kinds: dict[str, str]
    ) -> Iterator[Record]:
        """Yield records that are in one line; of each member what its call may bring.

        Args:
            records: as the line has them.
            allowed: by kind, the keys that they may have.
            kinds: by member, what this call has brought so far.
        """
        for record in records:
            if not isinstance(record, dict):
                raise WrongError("a record must be a table")
            kind = refuse_strangers(record, allowed, "record")
            need_keys(record, "member round", f"a record of the kind {kind!r}")
            name = self._find(record["member"])
            _refuse_twice(kinds, name, kind)
            yield name, record

    def _expand_steps(self, steps: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the rounds that are in columns: the rule took its step in each."""
        fields = f"constraint_value {' '.join(_VECTORS)}"
        need_only(steps, "members round next certificates", "steps", fields)
        names = self._read_members(steps["members"])
        count = len(names)
        columns = {"round": read_column(steps["round"], "round", count, ("int64",))}
        for name in ("next", *(n for n in _VECTORS if n in steps)):
            columns[name] = read_rows(steps[name], name, count)
            if steps[name]["shape"] != steps["next"]["shape"]:
                raise WrongError(f"{name} must have the shape of next")
        if (value := "constraint_value") in steps:
            columns[value] = read_column(steps[value], value, count)
        columns["certificate"] = read_certificates(steps["certificates"], count)
        for name, *entries in zip(names, *columns.values(), strict=True):
            yield name, {"kind": "round", **dict(zip(columns, entries, strict=True))}

    def _read_members(self, positions: Any) -> list[str]:
        """Return the names at some positions of the list; None for all."""
        if positions is None:
            return self.names
        if not isinstance(positions, list) or not all(type(i) is int for i in positions):
            raise WrongError("the positions of members must be a list of whole numbers")
        if positions and not 0 <= min(positions) <= max(positions) < len(self.names):
            raise WrongError(f"the positions of members must be from 0 to {len(self.names) - 1}")
        if any(i >= j for i, j in pairwise(positions)):
            raise WrongError("the positions of members must rise")
        return [self.names[i] for i in positions]

    # --- states ----------------------------------------------------------------------------------

    def _expand_snapshot(self, line: dict[str, Any]) -> Iterator[Record]:
        """Yield the state of each member in it, as the loop of a controller."""
        need_keys(line, "state", f"a line of the kind {line['kind']!r}")
        for name, loop in self._expand_state(line["state"]):
            yield name, {"kind": line["kind"], "loop": loop}

    _expand_engine = _expand_rebuilt = _expand_snapshot

    def _expand_state(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Yield each member of a state with its loop; of rows, as far as it is compared."""
        need_only(state, "rows loops", "a state of a fleet")
        if not isinstance(state["rows"], list) or not isinstance(state["loops"], dict):
            raise WrongError("the rows of a state must be a list, and its loops a table")
        kinds: dict[str, str] = {}
        for rows in state["rows"]:
            for name, loop in self._expand_rows(rows):
                _refuse_twice(kinds, name, "state")
                yield name, loop
        for name, loop in state["loops"].items():
            _refuse_twice(kinds, self._find(name), "state")
            yield name, loop

    def _expand_rows(self, rows: Any) -> Iterator[tuple[str, Any]]:
        """Yield the members of a block with their rounds and actions."""
        need_only(rows, "members rounds layout blocks values anchors certificates", "rows")
        need_only(rows["anchors"], "x value round", "the anchors of rows")
        names = self._read_members(rows["members"])
        count = len(names)
        rounds = read_column(rows["rounds"], "rounds", count, ("int64",))
        blocks, anchors = read_rows(rows["blocks"], "blocks", count), rows["anchors"]
        first, last = _find_action(rows["layout"], rows["blocks"]["shape"][1])
        read_column(rows["values"], "values", count)
        read_rows(anchors["x"], "the anchors", count)
        for name in ("value", "round"):
            read_column(anchors[name], f"the {name} of anchors", count, ("float64", "int64"))
        if rows["certificates"] is not None:
            read_certificates(rows["certificates"], count)
        for name, t, block in zip(names, rounds, blocks, strict=True):
            yield name, {"round": t, "state": {"x": block[first:last]}, "halt": None}


def _first_loop(start: Any) -> dict[str, Any]:
    """Return the state of a member before its first round; its context is not announced yet."""
    return {"round": 1, "state": {"x": start, "memory": {"context": None}}, "halt": None}


def _refuse_twice(kinds: dict[str, str], name: str, kind: str) -> None:
    """Raise if a line has a member twice, unless a round was rejected first, and then over."""
    if name in kinds and (kinds[name], kind) != ("refused", "round"):
        raise WrongError(f"a line must have a member once, got {name!r} twice"[:200])
    kinds[name] = kind


def _find_action(layout: Any, size: int) -> tuple[int, int]:
    """Return where the action is in a block: its parts fill it in order."""
    if not isinstance(layout, list):
        raise WrongError("the layout of rows must be a list")
    places: dict[str, tuple[int, int]] = {}
    end = 0
    for part in layout:
        if not isinstance(part, list) or len(part) != 2 or not isinstance(part[0], str):
            raise WrongError("a part of a layout must be a name and a shape")
        name, shape = part
        if not isinstance(shape, list) or len(shape) > _AXES:
            raise WrongError(f"the shape of {name!r} must have at most {_AXES} axes"[:200])
        if not all(type(n) is int and 0 <= n <= size for n in shape):
            raise WrongError(f"the shape of {name!r} must be whole numbers, up to {size}"[:200])
        if name in places:
            raise WrongError(f"a part of a layout must be there once, got {name!r} twice"[:200])
        places[name] = (end, end + math.prod(shape))
        end = places[name][1]
    if end != size or "x" not in places:
        raise WrongError("the parts of a layout must fill a block, and one must be the action 'x'")
    return places["x"]
