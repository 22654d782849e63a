"""The bridge to the kernel: the constants and states of a pair as C has them.

The bridge *compiles* a pair once per dimension: its constants become a rule of
``kernel/c/surefoot.h``, its state a flat block of doubles. :meth:`Rule.step` is the pure step,
which copies the block; :func:`step_in_place` changes it. Python plays the round from the same state
if the kernel does not support the pair or the form of the feedback, or rejects the round. So one
place makes sentences, and the engine may change in the middle of a run.

No kind of knowledge and no proposer is named here: each answers for itself
(:mod:`surefoot.knowledge.in_kernel`). Nor is there a number or an order of the C text: the text
tells what its blocks have (:class:`Layout`), and its codes have names.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from surefoot import kernel
from surefoot.certified_pair import CertifiedState, Pair
from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import FIELDS, Feedback
from surefoot.core.record import Record
from surefoot.core.types import Array, Info
from surefoot.knowledge.base import Reading
from surefoot.knowledge.errors import Errors
from surefoot.knowledge.in_kernel import KnowledgeInKernel
from surefoot.knowledge.region import Projection
from surefoot.proposers.in_kernel import ProposerInKernel

__all__ = [
    "Compiled",
    "Layout",
    "Rule",
    "describe_domain",
    "info_of_step",
    "state_of_block",
    "step_in_place",
    "unpack_block",
]

Part: TypeAlias = tuple[str, tuple[int, ...]]
"""The name of a part of a block, and its shape, () for a number."""

LONG = 4_000
"""Doubles of a block that is copied no further than it is used."""


# --- constants ------------------------------------------------------------------------------------


class Description(NamedTuple):
    """A pair in one dimension, as its parts describe it.

    Attributes:
        knowledge: the knowledge in the kernel.
        proposer: the proposer in the kernel.
        fields: of ``sf_rule``.
    """

    knowledge: KnowledgeInKernel
    proposer: ProposerInKernel
    fields: dict[str, Any]


def describe(player: Pair, d: int, arrays: Iterable[str]) -> Description | None:
    """Return a pair in a dimension, for C to judge; None if a part has no place in the kernel.

    Args:
        player: the pair.
        d: the dimension.
        arrays: the fields of ``sf_rule`` that are no numbers.
    """
    knowledge: KnowledgeInKernel | None = player.knowledge.in_kernel(d)
    if knowledge is None or player.ramp:
        return None
    proposer: ProposerInKernel | None = player.proposer.in_kernel(player.knowledge, d)
    if proposer is None:
        return None
    domain = describe_domain(player.knowledge.domain, d)
    if domain is None:
        return None
    sizes = {"d": d, "rows": player.knowledge.row_count}
    codes = {"proposer": proposer.code, "knowledge": knowledge.code}
    fields = sizes | codes | domain | knowledge.fields | proposer.fields
    numbers = [value for name, value in fields.items() if name not in arrays]
    is_one = all(isinstance(value, (int, float, str)) for value in numbers)
    return Description(knowledge, proposer, fields) if is_one else None


def describe_domain(domain: Any, d: int) -> dict[str, Any] | None:
    """Return the fields of a known set; None if the kernel does not have it.

    A set answers by ``kernel_fields`` of its very class: a subclass may change any method.
    """
    if domain is None:
        return {"domain": "SF_ANYWHERE"}
    is_own = "kernel_fields" in vars(type(domain))
    fields: dict[str, Any] | None = domain.kernel_fields(d) if is_own else None
    return fields


# --- states ---------------------------------------------------------------------------------------


class Layout:
    """Named parts of a block of doubles, one after the other, as the C text lists them.

    Args:
        parts: names and shapes in the order of the block; a dotted name is a path.
        first: where the first part begins.

    Attributes:
        slices: where each part is.
        end: where the last part ends.
    """

    end: int

    def __init__(self, parts: Iterable[Part], first: int = 0) -> None:
        self.parts = tuple(parts)
        self.first = self.end = first
        self.slices: dict[str, slice] = {}
        for name, shape in self.parts:
            start, self.end = self.end, self.end + math.prod(shape)
            self.slices[name] = slice(start, self.end)

    def section(self, group: str) -> Layout:
        """Return the layout of the parts of a group, which are together, without its name."""
        ahead = f"{group}."
        own = [(name, shape) for name, shape in self.parts if name.startswith(ahead)]
        first = self.slices[own[0][0]].start if own else self.end
        return Layout([(name.removeprefix(ahead), shape) for name, shape in own], first)

    @property
    def names(self) -> list[str]:
        """The names of the parts."""
        return [name for name, _ in self.parts]

    @cached_property
    def _numbers(self) -> tuple[list[str], Array]:
        """The names of the numbers, and where they are."""
        names = [name for name, shape in self.parts if not shape]
        return names, np.array([self.slices[name].start for name in names], dtype=np.intp)

    @cached_property
    def _arrays(self) -> list[tuple[str, slice, tuple[int, ...]]]:
        """The names of the other parts, where they are, and their shapes."""
        return [(name, self.slices[name], shape) for name, shape in self.parts if shape]

    @cached_property
    def _groups(self) -> dict[str, dict[str, str]]:
        """The dotted names by their first word, and there by the rest."""
        groups: dict[str, dict[str, str]] = {}
        for name, _ in self.parts:
            group, dot, entry = name.partition(".")
            if dot:
                groups.setdefault(group, {})[entry] = name
        return groups

    def write(self, parts: Mapping[str, Any], block: Array) -> None:
        """Write parts into a block.

        Raises:
            InvalidValueError: for a part of another shape than it has in the kernel.
        """
        for name, shape in self.parts:
            part = np.asarray(parts[name], dtype=np.float64)
            if part.shape != shape:
                raise InvalidValueError(
                    f"state must have {name} of shape {shape}, as the kernel has it, got "
                    f"shape {part.shape}"
                )
            block[self.slices[name]] = part.ravel()

    def read(self, block: Array) -> dict[str, Any]:
        """Return the parts of a block, numbers as floats; ``a.b`` is entry b of the dict a."""
        names, at = self._numbers
        parts: dict[str, Any] = dict(zip(names, block[at].tolist(), strict=True))
        for name, where, shape in self._arrays:
            parts[name] = block[where] if len(shape) == 1 else block[where].reshape(shape)
        for group, entries in self._groups.items():
            parts[group] = _group({entry: parts.pop(name) for entry, name in entries.items()})
        return parts


def _group(parts: dict[str, Any]) -> dict[str, Any]:
    """Return parts with those of dotted names in dicts by their first word, at every depth."""
    found, groups = {}, dict[str, dict[str, Any]]()
    for name, part in parts.items():
        group, dot, entry = name.partition(".")
        if dot:
            groups.setdefault(group, {})[entry] = part
        else:
            found[name] = part
    return found | {group: _group(entries) for group, entries in groups.items()}


class StateLayout(Layout):
    """The parts of a state: the action x, those of the memory, and those of the learner."""

    @cached_property
    def memory(self) -> Layout:
        """The parts of the memory."""
        return self.section("memory")

    @cached_property
    def learner(self) -> Layout:
        """The parts of the learner."""
        return self.section("learner")

    @property
    def data(self) -> list[list[Any]]:
        """Names and shapes as lists, which :func:`unpack_block` takes."""
        return [[name, list(shape)] for name, shape in self.parts]


def unpack_block(
    knowledge: KnowledgeInKernel, proposer: ProposerInKernel, data: Any, block: Array
) -> CertifiedState:
    """Return the state of a block that was stored with its layout; it needs no compiled kernel.

    Args:
        knowledge: the knowledge in the kernel.
        proposer: the proposer in the kernel.
        data: ``Rule.layout_data`` of the rule that made the block. It may be of a file: then
            ``surefoot.core.restore.check_form`` compares the shapes with those of a state.
        block: its doubles.

    Raises:
        InvalidValueError: if the layout is not that of such a state, or of another block.
    """
    try:
        parts = [(str(name), tuple(map(int, shape))) for name, shape in data]
        if any(length < 0 for _, shape in parts for length in shape):
            raise ValueError("a length below 0")
        layout = StateLayout(parts)
        if block.shape != (layout.end,) or len(layout.slices) != len(parts):
            raise ValueError("a block of another length")
        return CertifiedState(
            block[layout.slices["x"]],
            knowledge.put_together(layout.memory.read(block)),
            proposer.put_together(layout.learner.read(block)),
        )
    except InvalidValueError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        kinds = (knowledge, proposer)
        names = " and ".join(type(kind).__name__ for kind in kinds)
        raise InvalidValueError(
            f"layout must be that of a state of {names}, got {checks.repr_line(data)}"
        ) from error


@cache
def record_of(names: tuple[str, ...]) -> Any:
    """Return a class of named tuples with these fields."""
    return namedtuple("Numbers", names)


class Rule:
    """A pair in one dimension as the kernel has it, and its states as blocks of doubles.

    Args:
        player: the pair.
        description: what its parts say of themselves.
        made: what the extension made of the fields: the handle of the rule, and the doubles of a
            state, of what a step writes, and of the scratch memory.
        extension: the compiled step. It lists the parts of a state and of what a step writes: of
            each the name, the shape, and the largest number that a count may be.

    Attributes:
        layout: the parts of a state.
        written: the parts of what a step writes.
        at: where the numbers of these are.
        numbers: the class of these numbers, without those that the proposer notes.
        noted: the class of the numbers that the proposer notes.
        counts: the numbers of a block that count something: their names, where they are, and the
            largest that each may be.
        count: where a block counts the rows of its last part that are used; None if all are.
        certificates: the names of the inequalities that certify an action, by number.
    """

    knowledge: KnowledgeInKernel
    proposer: ProposerInKernel
    fields: dict[str, Any]
    handle: Any
    size: int
    out: int
    scratch: int
    layout: StateLayout
    written: Layout
    vectors: dict[str, slice]
    at: dict[str, int]
    numbers: Any
    noted: Any
    first_numbers: slice
    note: slice
    lags: slice
    last_number: int
    kind_of_certificate: int
    count: int | None
    form: tuple[Any, ...]

    def __init__(
        self,
        player: Pair,
        description: Description,
        made: tuple[Any, int, int, int],
        extension: Any,
    ) -> None:
        self.player = player
        self.knowledge, self.proposer, self.fields = description
        self.handle, self.size, self.out, self.scratch = made
        self.d: int = self.fields["d"]
        self.rows: int = self.fields["rows"]
        state, written = extension.layout(self.handle)
        self.certificates: tuple[str, ...] = extension.CERTIFICATES
        self.layout = StateLayout((name, shape) for name, shape, _ in state)
        self.written = Layout((name, shape) for name, shape, _ in written)
        self.vectors = self.written.slices
        note = self.written.section("note")
        names = [name for name, shape in self.written.parts if not shape and "." not in name]
        self.at = {name: self.vectors[name].start for name in names}
        self.numbers, self.noted = record_of(tuple(names)), record_of(tuple(note.names))
        self.first_numbers = slice(self.at[names[0]], self.at[names[-1]] + 1)
        self.note, self.lags = slice(note.first, note.end), self.vectors["lags"]
        self.last_number = max(self.first_numbers.stop, note.end, self.lags.stop)
        self.kind_of_certificate = self.at["kind"]
        self.counts: tuple[tuple[str, int, int], ...] = tuple(
            (name.removesuffix(".count").rpartition(".")[2], self.layout.slices[name].start, most)
            for name, _, most in state
            if most is not None
        )
        self.count = self.counts[-1][1] if self.counts else None
        self.form = (type(self.knowledge), type(self.proposer), self.layout.parts)

    @property
    def layout_data(self) -> list[list[Any]]:
        """The names and shapes of the parts of a block, as plain data; see :func:`unpack_block`."""
        return self.layout.data

    def __reduce__(self) -> Any:
        return make_rule, (self.player, self.d)

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Any] | None:
        """Return the state after a round, and details of the step; None if Python plays it."""
        block, out = self.block_of(state), np.empty(self.out)
        if block is None or not step_in_place(self, block, feedback, out):
            return None
        if not out[self.kind_of_certificate]:  # nothing was read yet, so nothing is certified
            return state, Info(state.x, proposal=state.x)
        after = state_of_block(self, block)
        return after, info_of_step(state, after, feedback, out)

    def block_of(self, state: Any) -> Array | None:
        """Pack a state into a new block; None if the kernel does not support it.

        Raises:
            InvalidValueError: for parts of other shapes than the kernel has.
        """
        source = state.kernel if type(state) is CertifiedState else None
        if source is not None and (source.rule is self or source.rule.form == self.form):
            return self._copy(source.block)
        try:
            return self._pack(state)
        except InvalidValueError:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            # The state of another rule, rows of different lengths, or too many rows.
            parts = (self.player.knowledge, self.player.proposer)
            names = " and ".join(type(part).__name__ for part in parts)
            raise InvalidValueError(
                f"state must have the parts of {names}, got {checks.repr_line(state)}"
            ) from error

    def _pack(self, state: CertifiedState) -> Array | None:
        layout = self.layout
        memory = self.knowledge.take_apart(state.memory, layout.memory.names)
        learner = self.proposer.take_apart(state.learner, layout.learner.names)
        if memory is None or learner is None:
            return None
        block = _room(self.size)
        x = np.asarray(state.x, dtype=np.float64)
        if x.shape != (self.d,):
            raise InvalidValueError(f"state must have x of shape {(self.d,)}, got shape {x.shape}")
        block[layout.slices["x"]] = x
        layout.memory.write(memory, block)
        layout.learner.write(learner, block)
        return block

    def _copy(self, block: Array) -> Array:
        """Return a copy of a block; of a long one, without the rows that are not used."""
        if self.size < LONG or self.count is None:
            return block.copy()
        _, (rows, length) = self.layout.parts[-1]
        used = self.size - (rows - int(block[self.count])) * length
        copy = _room(self.size)
        copy[:used] = block[:used]
        return copy

    def memory_of(self, block: Array) -> Any:
        """Return the memory of a block."""
        return self.knowledge.put_together(self.layout.memory.read(block))

    def learner_of(self, block: Array) -> Any:
        """Return the state of the learner of a block."""
        return self.proposer.put_together(self.layout.learner.read(block))


def _room(size: int) -> Array:
    """Return an empty block that begins with a line of the cache, where long rows are quicker."""
    room = np.empty(size + 7)
    address: int = room.__array_interface__["data"][0]
    first = -(address // 8) % 8
    return room[first : first + size]


def make_rule(player: Any, d: int) -> Rule | None:
    """Return the rule of a pair in a dimension; None if Python plays."""
    rule: Rule | None = player.compiled.rule(player, np.zeros(d))
    return rule


class Block(NamedTuple):
    """Where the parts of a kernel's state come from.

    Attributes:
        rule: the rule that made it.
        block: the doubles, which are read-only.
    """

    rule: Rule
    block: Array

    @property
    def memory(self) -> Any:
        """The readings."""
        return self.rule.memory_of(self.block)

    @property
    def learner(self) -> Any:
        """The state of the proposer."""
        return self.rule.learner_of(self.block)

    @property
    def plan(self) -> None:
        """None: the kernel knows no contexts."""


class Step(NamedTuple):
    """A step of the kernel, and where the parts of its info come from.

    Words and regions are made when they are asked for.

    Attributes:
        before: the state before the round.
        after: the state after it.
        feedback: what was reported of the round.
        out: what the extension wrote.
        written: the numbers there, as Python's.
        rule: the rule that was stepped.
    """

    before: CertifiedState
    after: CertifiedState
    feedback: Feedback
    out: Array
    written: list[float]
    rule: Rule

    @property
    def block(self) -> Array:
        """The doubles of the state after the round."""
        block: Array = self.after.kernel.block
        return block

    @property
    def round(self) -> None:
        """None: the region counts rounds as the pair does."""

    @property
    def numbers(self) -> Any:
        """The numbers that the kernel wrote, by name."""
        return self.rule.numbers._make(self.written[self.rule.first_numbers])

    @property
    def noted(self) -> Any:
        """The numbers that the proposer noted, by name."""
        return self.rule.noted._make(self.written[self.rule.note])

    @property
    def lags(self) -> list[float]:
        """What the action has cost more than each leader."""
        return self.written[self.rule.lags]

    @property
    def kind(self) -> str:
        """The name of the inequality that certifies the next action."""
        return self.rule.certificates[int(self.written[self.rule.at["kind"]])]

    def _vector(self, name: str) -> Array:
        """Return a vector that the kernel wrote."""
        return self.out[self.rule.vectors[name]]

    @property
    def played(self) -> Array:
        """The action that was played."""
        return self.before.x if self.feedback.action is None else self.feedback.action

    @property
    def proposal(self) -> Array:
        """What was proposed before the region was asked."""
        return self._vector("wanted")

    @property
    def projection(self) -> Projection:
        """Where the region cut off a descent, or the certified point of the first far point."""
        weights = self._vector("weights")
        multipliers = weights if self.rule.knowledge.has_rows else float(weights[0])
        return Projection(self._vector("found"), multipliers, self.numbers.projection_error)

    @property
    def kept(self) -> Array:
        """The way from the first certified point of the last round to its far point, as pruned."""
        return self._vector("kept")

    @property
    def knowledge(self) -> KnowledgeInKernel:
        """The knowledge in the kernel."""
        return self.rule.knowledge

    @property
    def learner_before(self) -> Any:
        """The state of the learner before the round."""
        return self.before.learner

    @property
    def memory(self) -> Any:
        """The memory after the round."""
        return self.after.memory

    @property
    def bound(self) -> float:
        """At most this is g at the next action."""
        bound: float = self.written[self.rule.at["bound"]]
        return bound

    @property
    def alarms(self) -> int:
        """0, or bits of ``surefoot.h``: a reading contradicts the constants."""
        return int(self.written[self.rule.at["alarms"]])

    @property
    def cut(self) -> bool:
        """Whether the next action differs from the proposal."""
        return bool(self.written[self.rule.at["cut"]])

    @property
    def errors(self) -> Errors:
        """What the round allows for."""
        errors: Errors = self.rule.player.knowledge.errors
        told = self.feedback
        is_usual = told.value_error is None and told.slope_error is None
        return errors if is_usual else errors.of_round(told)

    @property
    def region(self) -> Any:
        """The certified region that the action was taken from."""
        return self.rule.player.knowledge.region(self.memory, self.errors)

    @property
    def note(self) -> Any:
        """What the rule's bound on the regret needs of the step."""
        return self.rule.proposer.note(self)

    @property
    def certificate(self) -> Any:
        """Why the next action is feasible."""
        return self.rule.knowledge.certificate(self)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """What is impossible if the constants are right, one sentence each."""
        return self._suspect() if self.written[self.rule.at["alarms"]] else ()

    @property
    def suspects(self) -> tuple[Any, ...]:
        """A function that returns these sentences, if there are any."""
        return (self._suspect,) if self.alarms else ()

    def _suspect(self) -> tuple[str, ...]:
        knowledge, x = self.rule.player.knowledge, self.played
        g, s = knowledge.read(x, self.feedback)
        reading = Reading(x, g, s, self.errors, self.feedback.age)
        sentences: tuple[str, ...] = knowledge.contradictions(self.before.memory, reading)
        return sentences


def state_of_block(rule: Rule, block: Array) -> CertifiedState:
    """Return the state of a block, which becomes read-only; its parts are made when they are read.

    Args:
        rule: the rule that made it.
        block: the doubles.
    """
    block.setflags(write=False)
    state: CertifiedState = _new(CertifiedState)
    _write_state_x(state, block[: rule.d])
    _write_kernel(state, _new_tuple(Block, (rule, block)))
    return state


def info_of_step(before: Any, after: CertifiedState, feedback: Feedback, out: Array) -> Info:
    """Return the details of a step of the kernel; its parts are made when they are read.

    Args:
        before: the state before the round.
        after: the state after it, of :func:`state_of_block`.
        feedback: what was reported of the round.
        out: what the extension wrote.
    """
    rule: Rule = after.kernel.rule
    numbers = out[: rule.last_number].tolist()
    info: Info = _new(Info)
    _write_info_x(info, after.x)
    _write_kernel(info, _new_tuple(Step, (before, after, feedback, out, numbers, rule)))
    return info


# A round makes four objects: these make them, and write into those that are not handed out yet, in
# a third of the time of their constructors.
_new: Any = object.__new__
_new_tuple: Any = tuple.__new__
_write_state_x: Any = vars(CertifiedState)["x"].__set__
_write_info_x: Any = vars(Info)["x"].__set__
_write_kernel: Any = vars(Record)["kernel"].__set__


# --- steps ----------------------------------------------------------------------------------------


class Compiled:
    """The rules of a pair by dimension, made at first use; never pickled."""

    def __init__(self) -> None:
        self.rules: dict[int, Rule | None] = {}

    def __reduce__(self) -> Any:
        return Compiled, ()

    def rule(self, player: Any, x: Any) -> Rule | None:
        """Return the rule for actions of the form of x; None if Python plays."""
        extension = kernel.compiled()
        if extension is None or type(x) is not np.ndarray or x.ndim != 1:
            return None
        d = len(x)
        if d not in self.rules:
            description = describe(player, d, extension.ARRAYS) if player.is_plain else None
            self.rules[d] = None
            if description is not None:
                made = extension.make(description.fields, feedback_fields())
                self.rules[d] = made and Rule(player, description, made, extension)
        return self.rules[d]

    def step(self, player: Pair, state: Any, feedback: Feedback) -> tuple[Any, Any] | None:
        """Return the state after a round, and details of the step; None if Python plays it."""
        rule = self.rule(player, state.x)
        if rule is None or not isinstance(feedback, Feedback):
            return None
        return rule.step(state, feedback)


def feedback_fields() -> tuple[tuple[str, str, Any], ...]:
    """Return the fields of a feedback for C: the name, what the kernel does with it, the default.

    The kernel reads a field or ignores it; Python plays a round in which any other was reported.
    """
    defaults = Feedback._field_defaults
    return tuple((field.name, field.kernel, defaults.get(field.name)) for field in FIELDS)


def step_in_place(rule: Rule, block: Array, feedback: Feedback, out: Array) -> bool:
    """Step a block in place; return whether the kernel did. Nothing has changed if not."""
    extension = kernel.compiled()
    if extension is None:
        return False
    status: int = extension.step(rule.handle, block, feedback, out)
    if status == extension.SF_NO_STATE:
        name, at, most = next(each for each in rule.counts if not _counts(block[each[1]], each[2]))
        rule_words = f"a number of {name} that is whole and from 0 to {most}"
        raise InvalidValueError(f"state must have {rule_words}, got {block[at]}")
    return status == int(extension.SF_OK)


def _counts(number: float, most: int) -> bool:
    """Return whether a number is whole and from 0 to a largest; a NaN is not."""
    return bool(0 <= number <= most and number == int(number))
