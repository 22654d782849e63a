"""The lines of a journal: runs, states, rounds and orders as plain data, and back."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from surefoot import __version__
from surefoot.controller.decide import Decision
from surefoot.controller.feedback import RoundInput, read_feedback
from surefoot.controller.journal import Reader, now
from surefoot.controller.loop import LoopState, Run
from surefoot.controller.restored import check_loop
from surefoot.controller.return_path import Halt, ReturnPath
from surefoot.core import checks
from surefoot.core.errors import DamagedError, StoreError, first_line
from surefoot.core.feedback import Feedback
from surefoot.core.plain import NotPlainError, PlainTable, decode, encode, records_in
from surefoot.core.types import Certificate
from surefoot.guarantees import Breach
from surefoot.knowledge.anchor import ANCHORS

__all__ = [
    "describe_round",
    "encode_loop",
    "header_of",
    "loop_from",
    "next_action",
    "player_of",
    "run_from",
]

_RECORDS = (*ANCHORS, Breach, Halt, LoopState, ReturnPath)
OWN: dict[str, type] = {kind.__name__: kind for kind in _RECORDS}
_ELSEWHERE = ("action", "age", "direction")
REPORTED = tuple(name for name in Feedback._fields if name not in _ELSEWHERE)
"""What a round may report, beside the action that was played."""
_SIZES = ("rows", "delay", "window")  # fields of a player by which its state grows


# --- what is written -----------------------------------------------------------------------------


def header_of(run: Run, **writing: object) -> PlainTable:
    """Return the first line of a file, with how it is written, and without the state."""
    return {
        "kind": "journal",
        "format": 1,
        "surefoot": __version__,
        "created": now(),
        "engine": run.engine,
        **player_of(run),
        **writing,
    }


def player_of(run: Run) -> PlainTable:
    """Return what is played, and how, as plain data."""
    return {
        "player": encode(run.algorithm, leave_out=True, name="algorithm"),
        "guarantee": encode(run.guarantee, leave_out=True, name="guarantee"),
        "start": encode(run.start),
        "on_contradiction": run.on_contradiction,
        "on_missing": run.on_missing,
    }


def encode_loop(loop: LoopState) -> Any:
    """Return the state of a loop as plain data; details of its last step are derived again."""
    cut = loop.cut if loop.info is None else loop.info.cut
    loop = loop._replace(info=None, proof=loop.certificate, cut=cut)
    try:
        return encode(loop)
    except NotPlainError as error:
        raise StoreError(f"the state of the algorithm cannot be journalled: {error}") from error


def describe_round(round_input: RoundInput, decision: Decision) -> PlainTable:
    """Return the line of a round."""
    parts = round_input.feedback._asdict()
    record = {name: encode(parts[name]) for name in REPORTED if parts[name] is not None}
    more = {
        "played": encode(parts["action"]),
        "missing": round_input.is_missing,
        "how": None if decision.how == "stepped" else decision.how,
        "why": decision.why,
        "breaches": [encode(b) for b in decision.breaches],
    }
    return record | {name: part for name, part in more.items() if part} | next_action(decision.loop)


def refusal(loop: LoopState) -> PlainTable:
    """Return the line of a round that was rejected."""
    return {"breaches": [encode(breach) for breach in loop.refused]}


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
        run = Run(player, guarantee, checks.to_vector(decode(data["start"]), "start"))
        return run.with_policies(**{n: data[n] for n in ("on_contradiction", "on_missing")})


def read_run(path: str | os.PathLike[str], **given: object) -> Run:
    """Return the run of a journal, from its first line: to export it, or to serve it again."""
    reader = Reader(path)
    return run_from(reader, reader.header, given, reader.size)


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


def certificate_from(data: object) -> Certificate | None:
    """Return a certificate from plain data."""
    certificate: Certificate | None = decode(data, OWN)
    if certificate is not None and not isinstance(getattr(certificate, "bound", None), float):
        raise NotPlainError(f"a certificate has a bound, got {certificate!r}")
    return certificate


def input_of(run: Run, loop: LoopState, record: Mapping[str, Any]) -> RoundInput:
    """Return what a round reported, as it was read then."""
    fields = {name: decode(record[name]) for name in REPORTED if name in record}
    feedback = Feedback(**fields, action=decode(record.get("played")))
    return read_feedback(run, loop.state, feedback, missing=record.get("missing", False))


@contextmanager
def reading_back(name: str, what: str) -> Iterator[None]:
    """Name what cannot be read back: files are untrusted."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        words = f"{name} is damaged: its {what} cannot be read ({first_line(error)})"
        raise DamagedError(words) from error
