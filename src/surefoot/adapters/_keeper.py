r"""A filter in a host: the point that is really played, with nothing shared.

Certificates are computed in float64. A host with float32 numbers plays :math:`q = \mathrm{fl}(p)`,
not the certified p. With u the unit roundoff of the host (2^-24 for float32, 2^-53 for float64) and
M a bound on the norm of a feasible point, each of k roundings moves an entry by at most u of its
size, or by half of the smallest number of the type, so that for n entries

.. math:: \|q - p\| \le c = k\,(u M(1 + 2^{-10}) + \sqrt n\,\tau).

The filter gets :math:`g + m` instead of g and certifies :math:`g(p) + m \le 0`. That is enough
for :math:`g(q) \le 0` if m is at least what g can rise over a length of c:

* subgradients of at most :math:`G_g` on the feasible set: :math:`m = G_g c`. The ball
  :math:`B(p, m/G_g)` is feasible, because :math:`g(p) \le -m`, and q is in it.
* curvature of at most :math:`\beta`: with :math:`U(y) = g + s^\top(y-x) + \frac\beta2\|y-x\|^2`
  and :math:`\|p - x\| \le 2M`,
  :math:`U(q) - U(p) \le \|s\|c + \frac\beta2(2\|p-x\|c + c^2) \le (\|s\| + \beta(2M + c))c = m`,
  where the error of a slope, which U has a term for, counts as a part of its norm.
  Then :math:`U(q) \le 0`, which certifies q itself (:mod:`surefoot.knowledge.curvature`). Only the
  s of the round is used. To compare rounds with each other, m should not change: for a convex g no
  slope is longer than the first one and :math:`2\beta M`, and that m is kept.

* an unknown constant gets g as it is: its knowledge is told c (``rounding``), makes the margin of
  the estimate in use, a larger one where that grows, and counts every violation
  (:mod:`surefoot.knowledge.estimate`).

The next round starts from q, the point that was really played. A start with less slack than m is
rejected by the filter, because the slack that it gets is not positive; if rho is below m,
:attr:`Keeper.guarantee` says that steps may stay.

A ball or a box that is the domain of the filter holds the played point as well: if p is nearer
than c to its border, it is computed again in the domain moved inwards by c. How far other sets
would have to be moved is unknown, and so are the host's grid points and what rounding adds to a
ramp: a host that rounds rejects these. A bound on g at the start is raised by the margin as well.
A host that does not say which context comes next rejects a filter that needs contexts.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from surefoot.adapters._metric import Step, check_metric, take_in_metric
from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm
from surefoot.core.arrays import freeze
from surefoot.core.checks import refuse_rounded
from surefoot.core.errors import InvalidValueError, warn_caller
from surefoot.core.feedback import Feedback
from surefoot.core.record import is_tree, rebuild
from surefoot.core.types import Array, ArrayLike, Certificate, Context, Info, Number
from surefoot.guarantees import PremiseError, PremiseWarning
from surefoot.knowledge import Errors, is_zero
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.nearest import KnownSets
from surefoot.sets import Ball, Box, move_inwards

OnContradiction: TypeAlias = Literal["warn", "raise"]
"""What to do with rounds that contradict the constants: warn of the first one, or reject each."""

_log = logging.getLogger("surefoot")
_log.addHandler(logging.NullHandler())  # the application decides whether and where it is shown


class Alarm:
    """Reports rounds that contradict the constants to the host, and logs each.

    Args:
        on_contradiction: an :data:`OnContradiction`.
    """

    def __init__(self, on_contradiction: OnContradiction = "warn") -> None:
        checks.one_of(("warn", "raise"), on_contradiction=on_contradiction)
        self.raises, self.warned = on_contradiction == "raise", False
        self.advised = False

    def emit(self, info: Info) -> None:
        """Raise for what a step contradicts, or warn once; call it before the step is taken."""
        self.report(info.contradictions)

    def report(self, sentences: Sequence[str]) -> None:
        """Raise for contradictions, or warn once; nothing for none."""
        if not sentences:
            return
        for sentence in sentences:
            _log.warning(sentence)
        text = "; ".join(sentences)
        if self.raises:
            raise PremiseError(text)
        if not self.warned:
            warn_caller(
                f"{text}: what was certified is no longer certain; later contradictions are only "
                'logged, by the logger "surefoot"',
                PremiseWarning,
            )
            self.warned = True

    def advise(self, sentence: str) -> None:
        """Warn once of what is safe, and not as it was meant."""
        if not self.advised:
            self.advised = True
            warn_caller(sentence, UserWarning)


@contextmanager
def all_or_nothing(*things: object) -> Iterator[None]:
    """Restore the attributes of objects if the block raises.

    They must assign their attributes, not change them in place.

    Example:
        >>> kept = Alarm()
        >>> with all_or_nothing(kept):
        ...     kept.warned = True
        ...     raise ValueError("no")
        Traceback (most recent call last):
        ValueError: no
        >>> kept.warned
        False
    """
    before = [dict(vars(thing)) for thing in things]
    try:
        yield
    except BaseException:
        for thing, attributes in zip(things, before, strict=True):
            vars(thing).clear()
            vars(thing).update(attributes)
        raise


class Keeper:
    """One run of a filter, from points of the host to points of the host.

    Args:
        filter: that takes proposals, as :class:`surefoot.rules.SafetyFilter`.
        start: the first action, strictly feasible.
        dtype: of the host's numbers, float32 or float64.
        box: the least and the largest action that the host accepts; None without limits.
        alarm: for contradictions; one that warns unless given.
        contexts: whether the host says which context comes next.

    Example:
        >>> from surefoot import Ball, SafetyFilter
        >>> safe = Keeper(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1), [0.0, 0.0], "float32")
        >>> info = safe.offer([0.0, 9.0], -0.5, [0.0, 1.0])  # g(x) = x[1] - 0.5
        >>> safe.action()
        array([0.        , 0.39999995], dtype=float32)
    """

    def __init__(
        self,
        filter: Certified,  # noqa: A002
        start: ArrayLike,
        dtype: DTypeLike = np.float64,
        box: tuple[Array, Array] | None = None,
        alarm: Alarm | None = None,
        contexts: bool = False,
    ) -> None:
        check_filter(filter, contexts=contexts)
        self.dtype = np.dtype(dtype)
        if self.dtype != np.float64:
            check_rounded(filter, self.dtype, repeats=True)
        self.alarm = Alarm() if alarm is None else alarm
        first = flat(np.asarray(start).astype(self.dtype))
        knowledge = filter.knowledge
        reach = float(knowledge.reach)
        self.length = cast_length(self.dtype, len(first), reach, int(self.dtype != np.float64))
        self.filter = allow_rounding(filter, self.length)
        knowledge = self.filter.knowledge
        self.within = None if box is None else Box(*box)
        if self.within is not None and not self.within.contains(first):
            raise InvalidValueError(f"start must be an action that the host accepts, got {start!r}")
        self.played = freeze(first)
        self.state = self.filter.init(first)
        self.info: Info | None = None  # details of the last step
        self.is_cut = False  # whether the last proposal was not taken as it was
        rows = knowledge.row_count
        self.margin: Array = np.zeros(rows) if rows > 1 else 0.0  # until there is a slope
        if "G_g" in knowledge.constants and rows == 1:
            self.margin = knowledge.rise(first, self.length)

    def offer(
        self,
        proposal: ArrayLike,
        g: Array,
        s: Array,
        value_error: Number = None,
        metric: Array | None = None,
        context: Context | None = None,
    ) -> Info:
        """Take a proposal to a certified point; a call that raises changes nothing.

        Args:
            proposal: the next action that the host proposes.
            g: the constraint's value at :attr:`played`; one per row if rows are separate. None for
                none, which only a filter in contexts takes.
            s: one subgradient there; one per row if rows are separate. None for none.
            value_error: a bound on the error of g, if it is an estimate.
            metric: the diagonal of the metric in which the certified point is sought that is
                nearest to the proposal (:mod:`surefoot.adapters._metric`); None for Euclid's.
            context: that of the next action, of a filter in contexts.
        """
        target, margin, violation = flat(proposal), self.margin, ""
        if metric is not None:
            metric = check_metric(metric, len(target))
            metric = None if metric.min() == 1.0 else metric
        if metric is not None:
            self.check_convex()
        if g is not None:
            g, s = self.read(g, s)
            violation = self.find_violation(g, value_error)
            if self.length > 0 and not self.filter.knowledge.makes_room:
                ahead = not np.any(margin)
                rise = self.filter.knowledge.rise(s, self.length, ahead=ahead)
                margin = np.maximum(margin, np.reshape(rise, np.shape(margin)))
            g = g + margin
            g = g if g.ndim else float(g)
        # A point that no rounding has moved is the action that was asked for.
        is_asked = bool((self.played == self.state.x).all())
        action = None if is_asked else self.played
        at = {"action": action, "proposal": target, "within": self.within, "context": context}
        feedback = Feedback(None, g, s, value_error=value_error, **at)
        state, info = self._take(feedback, target)
        if metric is not None and not bool((state.x == target).all()):
            take = partial(self._take, feedback)
            state, info = take_in_metric(take, (state, info), self.played, target, metric)
        if violation and not info.contradictions:
            info = info._replace(suspects=(lambda: (violation,),))
        self.alarm.emit(info)
        point = freeze(flat(state.x.astype(self.dtype)))
        self.is_cut = bool((state.x != target).any())
        self.state, self.margin, self.played, self.info = state, margin, point, info
        return info

    def _take(self, feedback: Feedback, proposal: Array) -> Step:
        """Return the filter's step for a proposal, in the domain also after rounding."""
        feedback = feedback._replace(proposal=proposal)
        state, info = self.filter.step(self.state, feedback)
        domain = self.filter.domain
        inside = None if domain is None or not self.length else move_inwards(domain, self.length)
        # A point that the host's type has is not moved.
        is_kept = self.dtype != np.float64 and bool((state.x.astype(self.dtype) == state.x).all())
        if inside is not None and not is_kept and not bool(inside.contains(state.x)):
            both: Any = KnownSets(inside, self.within)
            state, info = self.filter.step(self.state, feedback._replace(within=both))
        return state, info

    def check_convex(self) -> None:
        """Raise for a filter whose regions are not convex: a metric is of no use there."""
        domain = self.filter.domain
        if not getattr(domain, "is_convex", True):
            raise checks.invalid(
                "domain",
                "convex where steps are scaled by coordinate, because the choice nearest in their "
                "metric may stay where a better one is: let an optimiser propose that scales "
                "nothing, as SGD",
                domain,
            )

    def find_violation(self, g: Array, value_error: Number = None) -> str:
        """Return how a reading contradicts the certificate of the action played; empty if not.

        Where actions are rounded, the knowledge gets a larger g than was read, at an action that it
        may not have certified with so much of a margin: it cannot tell that from somebody else's.

        Args:
            g: what was read, without a margin.
            value_error: a bound on its error, if it was told.
        """
        knowledge, memory = self.filter.knowledge, self.state.memory
        if not self.length or knowledge.kind != "every round" or not memory.rounds:
            return ""
        if not np.linalg.norm(self.played - self.state.x) <= self.length:
            return ""  # the host has moved since
        feedback = Feedback(None, g, None, value_error=value_error)
        errors = knowledge.errors.of_round(feedback)
        least, _ = knowledge.bound_reading(g, errors)
        if not least > errors.evaluation + 2.0**-20 * float(np.max(self.margin)):  # its rounding
            return ""
        names = [f"{name} = {size:.6g}" for name, size in knowledge.constants.items()]
        return (
            f"round {int(memory.rounds) + 1}: g = {float(np.max(g)):.6g} where at most 0 was "
            f"certified: {', '.join(names) or 'a constant'} is too small, or g is not what it was"
        )

    def read_context(self, context: Any) -> Context:
        """Return the context of the next action in numbers; raise for what is none."""
        return self.filter.read_context(self.state, context)

    def announce(self, context: Context) -> None:
        """Say which context the next action is for, before anything was measured."""
        self.state, self.info = self.filter.announce(self.state, context)

    def stand(self, start: Array) -> None:
        """Play the start, whose bound holds in every context, because that of now is not known."""
        self.state = self.filter.stand_at(self.state, flat(start), None)
        self.played, self.info = freeze(flat(start)), None

    @property
    def obstacle_to_repeats(self) -> str:
        """Why an action may not be played again before g was read there; empty where it may."""
        knowledge: Any = self.filter.knowledge
        if self.filter.errors.drifts:
            return "the filter allows for drift, and g may have risen since"
        if knowledge.kind == "cumulative":
            return "the filter keeps a limit on the average, which every round counts in"
        if knowledge.kind == "few violations":
            return f"the filter estimates {knowledge.constant}, and the action may violate"
        return ""

    @property
    def certificate(self) -> Certificate | None:
        """Why what is to be played is feasible; None before a step."""
        why: Any = None if self.info is None else self.info.certificate
        # Whether the host's proposal was cut, whatever was asked for in its place.
        certificate: Certificate | None = None if why is None else why._replace(cut=self.is_cut)
        return certificate

    def read(self, g: Array, s: Array | None) -> tuple[Array, Array | None]:
        """Return float64 copies of what was measured; reject what is no reading."""
        parts = {"constraint_value": g, "constraint_subgradient": s}
        arrays = {name: np.array(part) for name, part in parts.items() if part is not None}
        check_precision(self.filter.errors, **arrays)
        for name, part in arrays.items():
            checks.refuse_unfinite(part, name)
        value, *slope = (part.astype(np.float64) for part in arrays.values())
        return value, slope[0] if slope else None

    def action(self) -> Array:
        """Return a copy of what is to be played, in the host's type."""
        return np.array(self.played, dtype=self.dtype)

    @property
    def guarantee(self) -> str:
        """What holds for the actions played, and what the host's precision costs, in words."""
        return self.promise()

    def promise(self, *further: str) -> str:
        """Return the guarantee in words.

        Args:
            further: conditions beside those of the filter.
        """
        if self.alarm.warned:
            return "nothing: a reading contradicts the constants of the filter"
        knowledge = self.filter.knowledge
        *most, last = (*conditions_of(knowledge), *further)
        words = f"{knowledge.claim}, if {', '.join(most)}{' and ' * bool(most)}{last}"
        if knowledge.makes_room and self.length:
            words += f"; {self.dtype} leaves room for a move of {self.length:.2g}"
        if (margin := float(np.max(self.margin))) > 0:
            words += f"; {self.dtype} keeps g below {-margin:.2g}"
            rho = getattr(knowledge, "rho", None)
            if rho is not None and float(rho) < margin:
                words += f"; rho = {float(rho):.2g} is below that, so steps may stay where they are"
        return words

    def vector(self) -> Array:
        """Return all that the next round needs as float64 numbers."""
        return pack_state((self.state, self.played, self.margin))

    def load(self, vector: Array) -> None:
        """Continue from the numbers of :meth:`vector`; reject those of another filter."""
        form = self.state, self.played, self.margin
        self.state, self.played, self.margin = unpack_state(form, flat(vector))
        self.info = None


def check_filter(filter: object, *, contexts: bool = False) -> None:  # noqa: A002
    """Raise unless it takes proposals, and nothing that a host does not have.

    Args:
        filter: what was given as one.
        contexts: whether the host says which context comes next.
    """
    if isinstance(filter, Algorithm) and filter.inner is not None:
        raise checks.invalid(
            "filter",
            f"without {type(filter).__name__}, because a host adds a margin for its own rounding "
            "to each reading, for which knowledge allows alone: let a Controller play it beside "
            "the host, by ask and tell",
            filter,
        )
    if not isinstance(filter, Certified) or not filter.needs.proposals:
        rule = "a SafetyFilter or a RegionFilter, which take what the host would like to play"
        raise checks.invalid("filter", rule, filter)
    if filter.knowledge.in_contexts and not contexts:
        raise checks.invalid(
            "filter",
            "without contexts, because this host does not say the context of the next round before "
            "it asks for its action: give a drift that bounds what contexts change, or let a "
            "Controller play it beside the host, by announce, ask and tell",
            filter,
        )


def conditions_of(knowledge: Knowledge) -> list[str]:
    """Return what certificates rest on, one phrase each; without errors that are 0.

    Example:
        >>> from surefoot.rules import RegionFilter
        >>> conditions_of(RegionFilter.for_rows([0.5, 0.0], Ball(1.0)).knowledge)
        ['no curvature of g exceeds beta = 0.5 (given)', 'the start is strictly feasible']
    """
    # A quadratic bound holds for every g; the way back under drift needs a convex one.
    is_convex = "nonconvex" not in knowledge.allows or bool(knowledge.errors.drifts)
    words: list[str] = []
    for phrase in knowledge.premises:
        head, constraint, which = phrase.partition(" (constraint")
        if head.endswith((" at most 0", " at most 0 per round")):
            continue
        if head != "g is convex" or is_convex:
            given = " (given)" if " = " in head else ""
            words.append(head + given + constraint + which)
    return words


def allow_rounding(filter: Certified, length: float) -> Certified:  # noqa: A002
    """Return a filter for actions that are rounded by a length, where its knowledge must know."""
    knowledge = filter.knowledge
    if not length or not (knowledge.makes_room or knowledge.bounds_start):
        return filter
    knowledge = knowledge.with_rounding(length)
    result: Certified = filter.of(filter.proposer, knowledge, filter.ramp)
    return result


def check_rounded(filter: Certified, dtype: DTypeLike, *, repeats: bool = False) -> None:  # noqa: A002
    """Raise unless a filter's domain and ramp can be kept by actions that are rounded.

    Args:
        filter: the filter.
        dtype: to which the host rounds.
        repeats: whether it can play an earlier action again to the last bit.
    """
    domain = filter.domain
    if not isinstance(domain, Ball | Box | None):
        rule = f"a Ball, a Box or None where actions are rounded to {dtype}"
        raise checks.invalid("domain", rule, domain)
    if filter.ramp is not None:
        raise checks.invalid("ramp", f"None where actions are rounded to {dtype}", filter.ramp)
    if repeats and filter.knowledge.makes_room:
        return
    reason = filter.knowledge.obstacle_to_margins
    if reason or (filter.knowledge.bounds_start and not repeats):
        reason = reason or "which has a start_bound of its own"
        raise InvalidValueError(
            f"filter must have knowledge that uses only the reported g, because rounding to "
            f"{dtype} reports a larger one, got {type(filter.knowledge).__name__}, {reason}"
        )


def flat(values: ArrayLike) -> Array:
    """Return a copy of numbers as one float64 vector."""
    return np.array(values, dtype=np.float64).reshape(-1)


def map_state(function: Callable[..., Array], state: Array, *others: Array) -> Array:
    """Return a state with a function of its parts, and of those of others of the same form."""
    if not is_tree(state):
        return function(state, *others)
    parts = [map_state(function, *each) for each in zip(state, *others, strict=True)]
    return rebuild(state, parts)


def pack_state(state: Array) -> Array:
    """Return the numbers of a state of one run, in order, as one float64 vector.

    Example:
        >>> from surefoot.rules.states import RoundState
        >>> pack_state(RoundState(np.array([1.0, 2.0]), 3.0))
        array([1., 2., 3.])
    """
    parts: list[Array] = []
    map_state(parts.append, state)
    return np.concatenate([flat(part) for part in parts if part is not None])


def unpack_state(like: Array, vector: Array) -> Array:
    """Return a state of the same form as another, with the numbers of a vector."""
    size = len(pack_state(like))
    if len(vector) != size:
        raise InvalidValueError(f"the stored state must have {size} numbers, got {len(vector)}")
    rest = iter(vector.tolist())

    def take(part: Array) -> Array:
        if not isinstance(part, np.ndarray):
            return None if part is None else type(part)(next(rest))
        return freeze(np.fromiter(rest, np.float64, part.size).reshape(part.shape))

    return map_state(take, like)


def grow_state(state: Array, like: Array) -> Array:
    """Return a state in the form of one with longer actions, whose further entries stay.

    Args:
        state: the last one.
        like: the first one of the longer actions.

    Example:
        >>> grow_state((np.ones(2), 3.0), (np.zeros(4), 0.0))
        (array([1., 1., 0., 0.]), 3.0)
    """

    def grow(part: Array, longer: Array) -> Array:
        if not isinstance(part, np.ndarray) or not np.ndim(longer):
            return part  # also if the first one had a number, as for multipliers yet to come
        longer = np.array(longer)
        longer[tuple(slice(0, n) for n in part.shape)] = part
        return freeze(longer)

    return map_state(grow, state, like)


# --- the host's precision -----------------------------------------------------------------------


def cast_length(dtype: DTypeLike, dimension: int, reach: float, roundings: int = 1) -> float:
    """Return c: how far a point moves by being rounded to a type, at most.

    Args:
        dtype: float32 or float64, as NumPy knows it.
        dimension: n.
        reach: M, the largest norm of a feasible point.
        roundings: k, how often the host rounds; 0 if it plays the float64 point itself.

    Example:
        >>> round(cast_length("float32", 3, 1.0) * 2**24, 2)
        1.0
    """
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidValueError(f"dtype must be float32 or float64, got {kind}")
    info = np.finfo(kind)
    unit, tiny = 0.5 * float(info.eps), float(info.smallest_subnormal)
    return roundings * (unit * float(reach) * (1 + 2.0**-10) + math.sqrt(dimension) * tiny)


def check_precision(errors: Errors, **numbers: Array) -> None:
    """Reject numbers of less than 64 bits, unless their rounding error is given.

    Args:
        errors: what a filter allows for.
        numbers: the constraint's numbers, by name.

    Example:
        >>> check_precision(Errors(evaluation=1e-6), constraint_value=np.float32(-0.1))
    """
    if is_zero(errors.evaluation):
        for name, value in numbers.items():
            refuse_rounded(value, name)
