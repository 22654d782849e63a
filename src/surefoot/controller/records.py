"""The lines of a journal: runs, states, rounds and orders as plain data, and back."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from surefoot import __version__
from surefoot.certified_pair import CertifiedState
from surefoot.controller.decide import Decision
from surefoot.controller.feedback import RoundInput, read_feedback
from surefoot.controller.journal import FORMAT, Reader, now
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.members import Group, Members, Name, Outcome, Report, Solo, Step
from surefoot.controller.restored import check_loop
from surefoot.controller.return_path import Halt, ReturnPath
from surefoot.core import checks
from surefoot.core.errors import (
    DamagedError,
    InvalidValueError,
    StoreError,
    first_line,
    suggest,
)
from surefoot.core.feedback import FIELDS, Feedback
from surefoot.core.plain import (
    NotPlainError,
    PlainTable,
    decode,
    encode,
    encode_bytes,
    records_in,
)
from surefoot.core.types import Array, Certificate
from surefoot.guarantees import Breach
from surefoot.kernel_bridge import info_of_step, state_of_block, unpack_block
from surefoot.knowledge.anchor import ANCHORS, Anchor

__all__ = [
    "Certificates",
    "Steps",
    "describe_others",
    "describe_round",
    "describe_steps",
    "describe_told",
    "encode_loop",
    "expand",
    "header_of",
    "loop_from",
    "next_action",
    "player_of",
    "read_run",
    "read_steps",
    "run_from",
    "runs_from",
    "snapshot_of",
    "state_of",
    "states_from",
    "unknown_member",
]

_RECORDS = (*ANCHORS, Breach, Halt, LoopState, ReturnPath)
OWN: dict[str, type] = {kind.__name__: kind for kind in _RECORDS}
_JOURNAL_KEYS = tuple(field.journal for field in FIELDS)
_KEYS = {field.name: field.journal for field in FIELDS if field.journal is not None}
_CHUNKS = 64
"""How many snapshots have all members of a fleet: none takes longer than a round."""
_PLAYER = b'"player":'
_LISTED = 10
"""How many names a sentence lists."""
_SIZES = ("rows", "delay", "window")  # fields of a player by which its state grows


# --- what is written -----------------------------------------------------------------------------


def header_of(members: Solo | Members, **writing: object) -> PlainTable:
    """Return the first line of a file, with how it is written and the state at its beginning."""
    head = {"kind": "journal", "format": FORMAT, "surefoot": __version__, "created": now()}
    if isinstance(members, Solo):
        run, loop = members
        return {
            **head,
            "engine": run.engine,
            **player_of(run),
            **writing,
            "loop": encode_loop(loop),
        }
    players: dict[Any, int] = {}
    encoded, places = [], []
    for run in members.runs:
        policies = (run.on_contradiction, run.on_missing)
        key = (id(run.algorithm), id(run.guarantee), id(run.plant), *policies)
        if key not in players:
            players[key] = len(players)
            encoded.append({n: part for n, part in player_of(run).items() if n != "start"})
        places.append(players[key])
    starts = np.array([run.start for run in members.runs])
    names = {"names": list(members.names), "players": places, "starts": encode_bytes(starts)}
    is_fresh = "rounds" not in writing  # else it is a later file
    return {
        **head,
        "engine": engine_of(members),
        "players": encoded,
        "members": names,
        **writing,
        "state": None if is_fresh else encode_members(members),
    }


def engine_of(members: Solo | Members) -> str:
    """Return what takes the steps of members: "kernel", "python", or "both"."""
    runs = (members.run,) if isinstance(members, Solo) else members.runs
    engines = {run.engine for run in {id(run.algorithm): run for run in runs}.values()}
    return engines.pop() if len(engines) == 1 else "both"


def player_of(run: Run) -> PlainTable:
    """Return what is played, and how, as plain data; of a plant file, what it says, too."""
    player = {
        "player": encode(run.algorithm, leave_out=True, name="algorithm"),
        "guarantee": encode(run.guarantee, leave_out=True, name="guarantee"),
        "start": encode(run.start),
        "on_contradiction": run.on_contradiction,
        "on_missing": run.on_missing,
    }
    return player if run.plant is None else {**player, "plant": run.plant}


def encode_loop(loop: LoopState) -> Any:
    """Return the state of a loop as plain data; details of its last step are derived again."""
    cut = loop.cut if loop.info is None else loop.info.cut
    loop = loop._replace(info=None, proof=loop.certificate, cut=cut)
    try:
        return encode(loop)
    except NotPlainError as error:
        raise StoreError(f"the state of the algorithm cannot be journalled: {error}") from error


def state_of(members: Solo | Members) -> PlainTable:
    """Return the state of all members, as a line has it."""
    if isinstance(members, Solo):
        return {"loop": encode_loop(members.loop)}
    return {"state": encode_members(members)}


def snapshot_of(members: Solo | Members, chunk: int) -> tuple[PlainTable, int]:
    """Return a snapshot of the next members, and where the one after it begins.

    Args:
        members: all of them.
        chunk: the place of the first one of the snapshot.
    """
    if isinstance(members, Solo):
        loop = encode_loop(members.loop)
        return {"kind": "snapshot", "round": members.loop.round, "loop": loop}, 0
    n = len(members.names)
    first = chunk if chunk < n else 0
    last = min(first + -(-n // _CHUNKS), n)
    state = encode_members(members, range(first, last))
    return {"kind": "snapshot", "state": state}, last % n


def encode_members(members: Members, places: Iterable[int] | None = None) -> PlainTable:
    """Return the states of members as plain data: rows as blocks of doubles, the others as loops.

    Args:
        members: all of them.
        places: those that are asked for; None for all.
    """
    n = len(members.names)
    wanted = np.zeros(n, dtype=bool)
    wanted[list(range(n) if places is None else places)] = True
    loops = {members.names[i]: encode_loop(members.aside[i]) for i in members.aside if wanted[i]}
    usual = wanted.copy()
    usual[list(members.aside)] = False
    rows = []
    for group in members.groups:
        chosen = usual[group.at]
        if not chosen.any():
            continue
        at = group.at[chosen]
        anchors = zip(("x", "value", "round"), members.anchors, strict=True)
        fresh = np.isnan(members.anchors[1][at])
        rows.append(
            {
                "members": at.tolist(),
                "rounds": encode_bytes(members.rounds[at]),
                "layout": group.rule.layout_data,
                "blocks": encode_bytes(group.blocks[chosen]),
                "values": encode_bytes(members.values[at]),
                "anchors": {name: encode_bytes(part[at]) for name, part in anchors},
                "certificates": None if fresh.all() else encode_certificates(group, chosen),
            }
        )
    return {"rows": rows, "loops": loops}


def encode_certificates(group: Group, rows: Array) -> Any:
    """Return the certificates of rows in columns, or in a list where they have other fields.

    Args:
        group: the members.
        rows: those that are asked for.
    """
    rule, outs = group.rule, group.outs[rows]
    found = rule.knowledge.columns_of({name: outs[:, i] for name, i in rule.at.items()})
    if found is not None:
        return {
            "class": found.kind.__name__,
            "columns": {name: encode_bytes(part) for name, part in found.columns.items()},
            "same": {name: encode(part) for name, part in found.same.items()},
        }
    certificates = []
    for block, out in zip(group.blocks[rows], outs, strict=True):
        after = state_of_block(rule, block)
        certificates.append(encode(info_of_step(after, after, Feedback(), out).certificate))
    return certificates


def describe_round(round_input: RoundInput, decision: Decision) -> PlainTable:
    """Return what a line says of a round."""
    record = {
        key: encode(part)
        for key, part in zip(_JOURNAL_KEYS, round_input.feedback, strict=True)
        if key is not None and part is not None
    }
    more = {
        "missing": round_input.is_missing,
        "how": None if decision.how == "stepped" else decision.how,
        "why": decision.why,
        "breaches": [encode(b) for b in decision.breaches],
    }
    return record | {name: part for name, part in more.items() if part} | next_action(decision.loop)


def describe_told(t: int, round_input: RoundInput, decision: Decision) -> PlainTable:
    """Return the record of a round, or of its rejection."""
    if decision.error is not None:
        return {"kind": "refused", "round": t, **refusal(decision.loop.refused)}
    return {"kind": "round", "round": t, **describe_round(round_input, decision)}


def describe_steps(members: Members, steps: Iterable[Step], report: Report) -> list[PlainTable]:
    """Return the rounds of members that were stepped at once, in columns.

    Args:
        members: all of them, after the round.
        steps: who was stepped.
        report: what the call reported.
    """
    tables = []
    for group, rows, told in steps:
        at = group.at[rows]
        is_all = len(at) == len(members.names)
        table: PlainTable = {
            "members": None if is_all else at.tolist(),
            "round": encode_bytes(members.rounds[at] - 1),
        }
        for name in report.at_once:
            table[name] = encode_bytes(report.columns[name][told])
        table["next"] = encode_bytes(members.actions[at])
        table["certificates"] = encode_certificates(group, rows)
        tables.append(table)
    return tables


def describe_others(outcome: Outcome) -> list[PlainTable]:
    """Return the records of the members that were decided one by one."""
    lines = []
    for name, loop, round_input, decision in outcome.decisions:
        head = {"member": name, "round": loop.round}
        if decision.refused:
            lines.append({"kind": "refused", **head, **refusal(decision.refused)})
        lines.append({"kind": "round", **head, **describe_round(round_input, decision)})
    return lines


def refusal(breaches: tuple[Breach, ...]) -> PlainTable:
    """Return what a line says of a round that was rejected."""
    return {"breaches": [encode(breach) for breach in breaches]}


def next_action(loop: LoopState) -> PlainTable:
    """Return the action at hand and its certificate, as a line has them."""
    return {"next": loop.x.tolist(), "certificate": encode(loop.certificate)}


# --- what is read --------------------------------------------------------------------------------


def run_from(
    reader: Reader, data: Mapping[str, Any], given: Mapping[str, object], size: int
) -> Run:
    """Return what is played, and how, from plain data.

    Args:
        reader: of the journal, for sentences.
        data: a header, or the record of a new player.
        given: what could not be stored.
        size: the bytes of the line with the state.
    """
    name = reader.name
    parts = list(_entries((data.get("player"), data.get("guarantee"))))
    left_out = {str(part) for key, part in parts if key == "given"}
    if unknown := sorted(set(given) - left_out):
        raise StoreError(
            f"{name} cannot be opened: what is given again must be what was left out "
            f"({', '.join(sorted(left_out)) or 'nothing was'}), got {', '.join(unknown)}"
        )
    for key, part in parts:
        # Each row and round of delay has at least one byte of the state. Files are untrusted, and a
        # first state with too many of them would cost time and memory.
        if key in _SIZES and isinstance(part, int) and part > size:
            raise DamagedError(f"{name} is damaged: its state has no room for {key} = {part}")
    try:
        player, guarantee = (decode(data[key], given=given) for key in ("player", "guarantee"))
    except Exception as error:
        if left_out - set(given):
            raise StoreError(f"{name} cannot be opened: {error}") from error
        raise StoreError(
            f"{name} was written by Surefoot {reader.header.get('surefoot')}, whose player this "
            f"one, {__version__}, cannot make again: {first_line(error)}"
        ) from error
    with reading_back(name, "player"):
        plant = data.get("plant")
        if plant is not None and not isinstance(plant, dict):
            raise NotPlainError("its plant is no table")
        start = checks.to_vector(decode(data["start"]), "start")
        run = Run(player, guarantee, start, plant=plant)
        return run.with_policies(**{n: data[n] for n in ("on_contradiction", "on_missing")})


def runs_from(
    reader: Reader, header: Mapping[str, Any], given: Mapping[str, object], size: int
) -> dict[Name, Run]:
    """Return what every member plays, by name, from the first line of a file; see run_from."""
    if "members" not in header:
        return {None: run_from(reader, header, given, size)}
    with reading_back(reader.name, "members"):
        table, starts = header["members"], _starts_of(header)
        names, places = table["names"], table["players"]
        if not (names and len(names) == len(places) == len(starts) == len(set(names))):
            raise NotPlainError(f"{len(names)} names for {len(places)} players")
        if starts.ndim != 2 or not all(isinstance(n, str) for n in names):
            raise NotPlainError("names are texts, and starts have a row for each")
        players = [
            run_from(reader, {**player, "start": starts[0].tolist()}, given, size)
            for player in header["players"]
        ]
        pairs = zip(names, places, starts, strict=True)
        return {name: players[int(i)].starting_at(start) for name, i, start in pairs}


def _starts_of(header: Mapping[str, Any]) -> Array:
    starts: Array = decode(header["members"]["starts"])
    return starts


def read_run(path: str | os.PathLike[str], member: Name = None, **given: object) -> Run:
    """Return what a journal plays at its end, with the last player that an order brought.

    Args:
        path: of the journal.
        member: of a fleet, whose; one that came later counts, too, the last of its name.
        given: what could not be stored.
    """
    reader = Reader(path)
    runs = runs_from(reader, reader.header, given, reader.size)
    is_fleet = None not in runs
    if member is None and is_fleet:
        raise StoreError(f"{reader.name} is that of a fleet: name one of its members")
    if member is not None and not is_fleet:
        raise checks.invalid("member", "left out for the journal of one controller", member)
    for line in reader:
        if _PLAYER not in line:
            continue
        with reading_back(reader.name, "players"):
            records = _with_players(reader.parse(line))
        for record in records:
            runs[record.get("member")] = run_from(reader, record, given, len(line))
    if member not in runs:
        raise unknown_member(str(member), map(str, runs))
    return runs[member]


def _with_players(line: PlainTable) -> list[PlainTable]:
    """Return the records of a line that bring a member a player."""
    each = line["records"] if line["kind"] == "orders" else [line]
    kinds = ("joined", "resume", "amend")
    return [record for record in each if record["kind"] in kinds and "player" in record]


def unknown_member(member: str, names: Iterable[str]) -> InvalidValueError:
    """Return the error for a member that a journal does not have."""
    few = list(names)
    advice = suggest(member, few)
    if "did you mean" not in advice and len(few) > _LISTED:
        advice = f"; the first of {len(few):,}: {', '.join(few[:_LISTED])}"
    return InvalidValueError(f"member must be one of the journal's, got {member!r}{advice}")


def _entries(data: object) -> Iterator[tuple[str, object]]:
    """Yield the entries of the tables in plain data, by key."""
    stack = [data]
    while stack:  # files are untrusted, and may nest as deep as JSON allows
        data = stack.pop()
        if isinstance(data, Mapping):
            yield from data.items()
            stack += data.values()
        elif isinstance(data, (list, tuple)) and data and not isinstance(data[0], (int, float)):
            stack += data


def loop_from(name: str, data: object, run: Run) -> LoopState:
    """Return the state of a loop from plain data."""
    with reading_back(name, "state"):
        first = run.begin()
        loop: LoopState = decode(data, OWN | records_in((first.state, first.regret)))
        check_loop(run, loop)
    return loop


def states_from(
    name: str, state: Mapping[str, Any], names: Sequence[Name], runs: Mapping[Name, Run]
) -> dict[Name, LoopState]:
    """Return the states of members by name, from plain data.

    Args:
        name: of the journal, in sentences.
        state: as a snapshot has it.
        names: of all members, in their order.
        runs: what each plays; the states of the others are not read.
    """
    loops: dict[Name, LoopState] = {}
    with reading_back(name, "state"):
        for member, data in state["loops"].items():
            if member in runs:
                loops[member] = loop_from(name, data, runs[member])
        for rows in state["rows"]:
            for i, loop in _loops_of(rows, names, runs):
                if names[i] in loops:
                    raise NotPlainError(f"member {names[i]!r} is there twice")
                loops[names[i]] = loop
    return loops


def _loops_of(
    rows: Mapping[str, Any], names: Sequence[Name], runs: Mapping[Name, Run]
) -> Iterator[tuple[int, LoopState]]:
    """Yield the places and the states of members whose states are blocks."""
    blocks, values = decode(rows["blocks"]), decode(rows["values"])
    rounds, anchors = decode(rows["rounds"]), [decode(part) for part in rows["anchors"].values()]
    certificates, n = rows["certificates"], len(rows["members"])
    if not n or len(blocks) != n or min(rows["members"]) < 0:
        raise NotPlainError(f"{len(blocks)} blocks of the members {rows['members']!r:.60}")
    proofs = [None] * n if certificates is None else Certificates(certificates)
    here = np.array([names[i] in runs for i in rows["members"]])
    if not here.any():
        return
    first = runs[names[rows["members"][int(here.argmax())]]]
    rule = first.rule
    doubtful = np.ones(n, dtype=bool)
    doubtful[here] = _find_doubtful(first, rows["layout"], blocks[here])
    parts = (rows["members"], blocks, values, rounds, *anchors, proofs, doubtful)
    for i, block, value, t, place, bound, since, proof, is_doubtful in zip(*parts, strict=True):
        if names[i] not in runs:
            continue
        run = runs[names[i]]
        if rule is None or is_doubtful or run.algorithm is not first.algorithm:
            state = unpack(run, rows["layout"], block)
        else:
            state = state_of_block(rule, block.copy())
        loop = LoopState(int(t), state, value=None if np.isnan(value) else float(value))
        if not np.isnan(bound):  # something was read, and an action was certified
            anchor = Anchor(place, float(bound), int(since))
            loop = loop._replace(proof=certificate_from(proof), anchor=anchor)
        if is_doubtful:
            check_loop(run, loop)
        yield i, loop


def unpack(run: Run, layout: Any, block: Array) -> CertifiedState:
    """Return the state of a block that was stored with its layout."""
    pair, d = run.algorithm, len(run.start)
    knowledge = pair.knowledge.in_kernel(d)
    return unpack_block(knowledge, pair.proposer.in_kernel(pair.knowledge, d), layout, block)


def _find_doubtful(run: Run, layout: Any, blocks: Array) -> Array:
    """Return which blocks are compared part by part with a state of the run: the first always.

    The others are, if a number is not finite that is finite before the first round, or if the count
    of rounds is none. What has the layout of a rule cannot have parts of other forms.
    """
    doubtful = np.zeros(len(blocks), dtype=bool)
    doubtful[0] = True
    rule = run.rule
    if rule is None or rule.layout_data != layout or blocks.shape[1:] != (rule.size,):
        return ~np.zeros(len(blocks), dtype=bool)
    fresh: Any = rule.block_of(run.begin().state)
    doubtful |= (~np.isfinite(blocks) & np.isfinite(fresh)).any(axis=1)
    counts = blocks[:, rule.layout.slices["memory.rounds"]]
    return doubtful | ((counts < 0) | (counts != np.floor(counts))).any(axis=1)


# --- calls for many members ----------------------------------------------------------------------


class Steps(NamedTuple):
    """Rounds of members that were stepped at once.

    Attributes:
        at: the places of the members.
        rounds: the round of each.
        columns: what they reported.
        actions: the next ones.
        certificates: those of the next actions.
    """

    at: Array
    rounds: Array
    columns: dict[str, Array]
    actions: Array
    certificates: Certificates


class Certificates:
    """The certificates of members, in columns or in a list; a table is made when it is asked for.

    Args:
        data: as a line has them.
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    @cached_property
    def _columns(self) -> dict[str, Array]:
        columns = {name: decode(part) for name, part in self._data["columns"].items()}
        if len(sizes := {len(part) for part in columns.values()}) != 1:
            raise NotPlainError(f"the columns of certificates have the lengths {sorted(sizes)}")
        return columns

    @property
    def size(self) -> int:
        """How many there are."""
        is_list = isinstance(self._data, list)
        return len(self._data) if is_list else len(next(iter(self._columns.values())))

    def table(self, row: int) -> PlainTable:
        """Return the certificate of one member as plain data."""
        if isinstance(self._data, list):
            table: PlainTable = self._data[row]
            return table
        columns = {name: _plain(part[row].item()) for name, part in self._columns.items()}
        return {"class": self._data["class"], **self._data["same"], **columns}

    def certificate(self, row: int) -> Certificate | None:
        """Return the certificate of one member."""
        return certificate_from(self.table(row))

    def column(self, name: str) -> Array | None:
        """Return a number of each; None unless it is there as a column."""
        return None if isinstance(self._data, list) else self._columns.get(name)

    def __iter__(self) -> Iterator[PlainTable]:
        return map(self.table, range(self.size))


def read_steps(names: Sequence[Name], table: Mapping[str, Any]) -> Steps:
    """Return the rounds of many members from their columns.

    Args:
        names: of all members, in their order.
        table: one of the ``"steps"`` of a line.
    """
    places = table["members"]
    at = np.arange(len(names)) if places is None else np.array(places, dtype=np.int64)
    columns = {name: decode(table[key]) for name, key in _KEYS.items() if key in table}
    certificates = Certificates(table["certificates"])
    steps = Steps(at, decode(table["round"]), columns, decode(table["next"]), certificates)
    parts = (*columns.values(), steps.rounds, steps.actions)
    fits = {len(part) for part in parts} == {len(at)} and bool((np.diff(at) > 0).all())
    if not (len(at) and fits and at[0] >= 0 and at[-1] < len(names)):
        raise NotPlainError(f"the columns of {len(at)} members do not fit")
    return steps


def expand(names: Sequence[Name], line: Mapping[str, Any]) -> Iterator[tuple[Name, PlainTable]]:
    """Yield the members and records of a line, as if each had a line of its own.

    Args:
        names: of the members when the line was written, in their order.
        line: any line of a journal.
    """
    if line["kind"] not in ("rounds", "orders"):
        yield line.get("member"), dict(line)
        return
    time = {"time": line["time"]}
    for table in line.get("steps", ()):
        at, rounds, columns, actions, certificates = read_steps(names, table)
        plain = {_KEYS[name]: part.tolist() for name, part in columns.items()}
        triples = zip(at.tolist(), rounds.tolist(), certificates, strict=True)
        for row, (i, t, certificate) in enumerate(triples):
            fields = {key: part[row] for key, part in plain.items()}
            end = {"next": actions[row].tolist(), "certificate": certificate}
            head = {"kind": "round", "member": names[i], "round": t}
            yield names[i], {**head, **time, **fields, **end}
    for record in line["records"]:
        yield record["member"], {**time, **record}


def _plain(value: Any) -> Any:
    is_plain = not isinstance(value, float) or math.isfinite(value)
    return value if is_plain else {"number": repr(value)}


def certificate_from(data: object) -> Certificate | None:
    """Return a certificate from plain data."""
    certificate: Certificate | None = decode(data, OWN)
    if certificate is not None and not isinstance(getattr(certificate, "bound", None), float):
        raise NotPlainError(f"a certificate has a bound, got {certificate!r}")
    return certificate


def input_of(run: Run, loop: LoopState, record: Mapping[str, Any]) -> RoundInput:
    """Return what a round reported, as it was read then."""
    keys = {name: key for name, key in _KEYS.items() if key in record}
    feedback = Feedback(**{name: decode(record[key]) for name, key in keys.items()})
    return read_feedback(run, loop.state, feedback, missing=record.get("missing", False))


@contextmanager
def reading_back(name: str, what: str) -> Iterator[None]:
    """Name what cannot be read back: files are untrusted."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        words = f"{name} is damaged: its {what} cannot be read ({first_line(error):.300})"
        raise DamagedError(words) from error
