r"""Learning and safety come apart: any learner proposes, a region decides.

A *proposer* learns from everything that is seen and says where it would like to be. *Knowledge*,
what is true of the limit g and how wrong readings may be, turns what was read into a *region* of
next actions that are feasible for every limit that agrees with it. The action is the region's point
nearest to the wish::

    feedback --> knowledge.observe --> region --> region.nearest(wish) --> action, certificate
         \-----> proposer.propose ---> wish -----------/

Safety is the region and one projection: any learner, any optimiser, any person
may propose. Every certified rule and every filter of the library is such a pair,
``Certified(proposer, knowledge)``. The rules that have a name, as ``LeaderFollower`` or
``RegionFilter``, derive from it: their constructor makes the two parts, and has no other fields.

Any algorithm may be the proposer (:class:`Learner`). One of your own has three methods
(:class:`Proposer`); so does a kind of knowledge (:mod:`surefoot.regions.region`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from surefoot import regions
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, is_algorithm, taken_elsewhere
from surefoot.core.arrays import freeze
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.forms import AsFresh
from surefoot.core.parameters import (
    Declared,
    algorithm,
    anything,
    check_keywords,
    flag,
    nonnegative,
)
from surefoot.core.points import dimension_of
from surefoot.core.types import (
    Array,
    Context,
    Feedback,
    Info,
    Needs,
    Player,
    Set,
    Source,
    needs_of,
)
from surefoot.regions.context import read_numbers
from surefoot.regions.region import Memory
from surefoot.sets import Ball

__all__ = ["Certified", "Learner", "Proposals", "Proposer", "Wish"]


class Wish(NamedTuple):
    """Where a proposer would like to be next.

    Attributes:
        point: the wish; a proposer may have asked the region already.
        note: what its bound on the regret wants to know of the round.
        contradictions: what cannot be if the proposer is right, one sentence each.
        wanted: what was wanted before the region was asked; the point unless given.
    """

    point: Array
    note: Any = None
    contradictions: tuple[str, ...] = ()
    wanted: Array | None = None


class Proposer(Declared):
    """What learns; every method is pure.

    Attributes:
        cost_gradients: how many gradients of the cost it asks for in a round: 1, or 0 where the
            wish comes from elsewhere.
        work: its arithmetic in a round, as a product of sizes.
        is_one_run: whether it takes one NumPy run only; batches are then played run by run.
        in_contexts: whether it learns what to do in a context.
        reads: the numbers of a region that it reads, which the knowledge must offer; ``round``,
            ``x``, ``errors`` and ``known`` are always there.
    """

    reads: ClassVar[frozenset[str]] = frozenset()
    cost_gradients: ClassVar[int] = 1
    work: ClassVar[str] = "d"
    is_one_run: ClassVar[bool] = False
    in_contexts: ClassVar[bool] = False

    def init(self, x1: Array) -> Memory:
        """Return the state of the learner before the first round; nothing unless it learns."""
        return ()

    @abstractmethod
    def propose(
        self, learner: Memory, x: Array, feedback: Feedback, region: regions.Region
    ) -> tuple[Memory, Wish]:
        """Return the learner after a round, and its wish for the next.

        Args:
            learner: its state.
            x: the action that was played.
            feedback: what was seen there; parts of it may be None.
            region: the certified next actions, with numbers that a proposer may use.
        """

    def aim(self, learner: Memory, wish: Array, context: Context) -> tuple[Memory, Array]:
        """Return the learner and its wish once the context of the next round is known.

        Args:
            learner: its state.
            wish: where it wanted to be.
            context: of the next round, in numbers.
        """
        return learner, wish

    def read_features(self, context: Any, place: Array) -> Array | None:
        """Return what the learner makes of a context, in numbers; None unless defined."""
        return None

    def observer(self, knowledge: regions.Knowledge) -> Any:
        """Return the sums of a bound on the regret so far; None where there is no such bound."""
        return None


class Proposals(Proposer):
    """Somebody else's wishes: the ``proposal`` of the feedback.

    Args:
        as_steps: whether a proposal is the end of a step, which the region cuts off where it keeps
            its margin, rather than a point that the region's nearest is sought for.
    """

    as_steps: bool = flag(default=False)

    cost_gradients: ClassVar[int] = 0

    def propose(
        self, learner: tuple[()], x: Array, feedback: Feedback, region: regions.Region
    ) -> tuple[tuple[()], Wish]:
        """Return the proposal; the last action where there is none."""
        if feedback.proposal is None:
            return learner, Wish(x)
        checks.check_like_action(feedback.proposal, x, "proposal")
        if isinstance(x, np.ndarray) and x.ndim == 1:
            checks.refuse_unfinite(feedback.proposal, "proposal")
        # A proposal inside the region is the caller's own array.
        wanted = np.array(feedback.proposal) if isinstance(x, np.ndarray) else feedback.proposal
        return learner, Wish(region.cut(wanted) if self.as_steps else wanted, wanted=wanted)


class Learner(Proposer):
    """Any algorithm: it learns at the action that was played, and its next action is the wish.

    What is seen in a round was seen at the action that the region allowed, so that the algorithm
    goes on from there. A round in which nobody saw what it learns from leaves it as it is; where
    its answer is not finite, the action that was played is the wish.

    Args:
        algorithm: one that learns from gradients of the cost, or from what is read of g as well.

    Example:
        >>> from surefoot import OGD, Ball
        >>> from surefoot.regions import LipschitzHull
        >>> learner, hull = OGD(eta=1.0, domain=Ball(2.0)), LipschitzHull(G_g=1.0, reach=2.0)
        >>> player = Certified(proposer=learner, knowledge=hull)
        >>> state = player.init(np.zeros(2))  # g(x) = x[1] - 0.5
        >>> up = np.array([0.0, 1.0])
        >>> state, info = player.step(state, Feedback(-up, -0.5, up))
        >>> info.wish, state.x.round(6)
        (array([0., 1.]), array([0. , 0.5]))
    """

    algorithm: Player = algorithm()

    is_one_run: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        needs = self.needs
        if not needs.cost_gradients or needs.cost_values or needs.directions or needs.agents:
            raise InvalidValueError(
                "proposer must learn from gradients of the cost and what is read of g alone, "
                f"got {checks.repr_line(self.algorithm)}"
            )

    @property
    def needs(self) -> Needs:
        """What a round of the algorithm asks for."""
        return needs_of(self.algorithm)

    @property
    def work(self) -> str:  # type: ignore[override]
        """The arithmetic of the algorithm in a round."""
        return self.needs.work

    def init(self, x1: Array) -> Memory:
        """Return the first state of the algorithm."""
        return start_learner(self.algorithm, x1, "proposer")

    def propose(
        self, learner: Memory, x: Array, feedback: Feedback, region: regions.Region
    ) -> tuple[Memory, Wish]:
        """Return the algorithm after a round, and its next action."""
        if feedback.cost_gradient is None or (
            feedback.constraint_value is None and self.needs.constraint_values
        ):
            return learner, Wish(x)
        checks.refuse_unfinite(checks.read_gradient(x, feedback), "cost_gradient")
        with np.errstate(over="ignore", invalid="ignore"):
            learner, point, lost = ask_learner(
                self.algorithm, learner, feedback, x, region.round, "proposer"
            )
        return learner, Wish(point, contradictions=lost)


def start_learner(learner: Player, x1: Array, role: str) -> Memory:
    """Return the first state of a learner.

    Args:
        learner: an algorithm.
        x1: where it starts.
        role: what it is called in sentences: "leader" or "proposer".
    """
    return _check_answer(learner, x1, role, lambda: learner.init(x1))


def ask_learner(
    learner: Player, state: Memory, feedback: Feedback, point: Array, t: float, role: str
) -> tuple[Memory, Array, tuple[str, ...]]:
    """Step a learner from a point: its state, its next point, a sentence if that is not finite.

    A round without a gradient of the cost leaves it as it is.

    Args:
        learner: an algorithm.
        state: its state.
        feedback: what was seen.
        point: where it is when it learns.
        t: the round.
        role: what it is called in sentences.
    """
    if feedback.cost_gradient is None:
        return state, point, ()
    here = move_learner(learner, state, point)
    after = _check_answer(learner, point, role, lambda: learner.step(here, feedback)[0])
    if np.isfinite(after.x).all():
        return after, after.x, ()
    bad = after.x[~np.isfinite(after.x)][0]
    sentence = (
        f"round {int(t)}: the {role} {type(learner).__name__} must return a finite point, "
        f"got {bad!r}: its last one is followed"
    )
    return state, point, (sentence,)


def move_learner(learner: Player, state: Memory, point: Array) -> Memory:
    """Return the state of a learner at the point that was played.

    A rule of the library moves its own state. Of one of yours the state is a named tuple whose
    ``x`` is where its next step starts; a ``move_to(state, x)`` of your own comes first.
    """
    move = getattr(learner, "move_to", None)
    return state._replace(x=point) if move is None else move(state, point)


def _call(ask: Callable[[], Any], rule: str) -> Any:
    """Return what a function of somebody else says, or one sentence with its error."""
    try:
        return ask()
    except SurefootError:
        raise
    except Exception as error:
        raise InvalidValueError(f"{rule}, got {type(error).__name__}: {error}") from error


def _check_answer(learner: Player, point: Array, role: str, ask: Callable[[], Memory]) -> Memory:
    """Return a learner's answer; refuse one that is no state with a point like its last."""
    name = f"the {role} {type(learner).__name__}"
    state = _call(ask, f"{name} must return a state")
    found: Any = getattr(state, "x", None) if isinstance(state, tuple) else None
    if checks.shape_of(found) != point.shape or found.dtype != point.dtype:
        wanted = f"a named tuple whose x is an array of shape {point.shape} of float64"
        got = checks.repr_line(state if found is None else found)
        raise InvalidValueError(f"{name} must return {wanted}, got {got}")
    return state


class Plan(NamedTuple):
    """What is wanted of the next round while its context may still be told, or told anew.

    Attributes:
        wish: where the proposer would like to be.
        within: the set that was announced; None for none.
    """

    wish: Array
    within: Set | None = None


class CertifiedState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play; not certified while the context of its round is not known.
        memory: what was read.
        learner: what was learnt.
        plan: what is wanted, where there are contexts.
    """

    x: Array
    memory: Memory
    learner: Memory
    plan: Annotated[Plan | None, AsFresh] = None


ROWS_NEED = Needs(numpy_only=True, one_run=True)
"""The needs of rules whose knowledge may have several rows."""

MadeOf: TypeAlias = tuple[tuple[type[Any], ...], tuple[type[Any], ...]]
"""The classes of proposers, and those of knowledge."""


class Parts(Declared):
    """What the parts of a certified rule may be."""

    proposer: Any = anything("a proposer")
    knowledge: Any = anything("what is known of g")
    ramp: Any = anything("a finite number > 0, or one per coordinate", default=None)


class ErrorBounds(Declared):
    """The four bounds of :class:`~surefoot.regions.Errors`, as rules and constants call them."""

    value_error: float = nonnegative(default=0.0)
    slope_error: float = nonnegative(default=0.0, infinite=True)
    drift: float = nonnegative(default=0.0)
    evaluation_error: float = nonnegative(default=0.0)

    @property
    def errors(self) -> regions.Errors:
        """The bounds as knowledge has them."""
        return regions.Errors(
            value=self.value_error,
            slope=self.slope_error,
            drift=self.drift,
            evaluation=self.evaluation_error,
        )


class Certified(Algorithm):
    """A proposer that learns and knowledge that certifies: the module's docstring explains it.

    Args:
        proposer: where it would like to be; an algorithm is made a :class:`Learner`.
        knowledge: what is known of g.
        ramp: how far an action may be from the last one, or each of its entries
            (:mod:`surefoot.regions.ramp`); None for any distance.

    Example:
        >>> from surefoot.regions import LipschitzHull
        >>> player = Certified(proposer=Proposals(), knowledge=LipschitzHull(G_g=1.0, reach=1.0))
        >>> state = player.init(np.zeros(2))  # g(x) = x[1] - 0.5
        >>> wish, s = np.array([0.0, 9.0]), np.array([0.0, 1.0])
        >>> told = Feedback(constraint_value=-0.5, constraint_subgradient=s, proposal=wish)
        >>> state, info = player.step(state, told)
        >>> state.x.round(6), info.cut
        (array([0. , 0.5]), True)

    Attributes:
        made_of: the classes that the proposer and the knowledge may be of.
        declared_by: the classes that declare the arguments of the constructor.
        typical_needs: what a round asks for, as far as the class knows it.
    """

    source: ClassVar[Source] = Source("Surefoot", "derived here")
    made_of: ClassVar[MadeOf] = ((Proposer,), (regions.Knowledge,))
    part_names: ClassVar[tuple[str, ...]] = ("proposer", "knowledge", "ramp")
    declared_by: ClassVar[tuple[type, ...]] = (Parts,)
    typical_needs: ClassVar[Needs] = Needs()

    proposer: Any
    knowledge: Any
    ramp: float | Sequence[float] | None

    def __init_subclass__(cls) -> None:
        """Let the constructor name the nearest parameter where a keyword is unknown."""
        super().__init_subclass__()
        if "__init__" in vars(cls):
            check_keywords(cls, lambda name, rule: taken_elsewhere(name, type(rule)))

    def __init__(
        self,
        *,
        proposer: Proposer | Player,
        knowledge: regions.Knowledge,
        ramp: float | Sequence[float] | None = None,
    ) -> None:
        if not isinstance(knowledge, regions.Knowledge):
            raise checks.invalid("knowledge", "an object of surefoot.regions", knowledge)
        given: Any = proposer
        learner: object = Learner(algorithm=given) if is_algorithm(given) else given
        if not isinstance(learner, Proposer):
            rule = "a proposer, as Proposals(), or an algorithm"
            raise checks.invalid("proposer", rule, learner)
        known: Any = knowledge
        told = known.in_contexts and not isinstance(known.context, regions.ToldDrift)
        if learner.in_contexts and not told:
            raise checks.invalid(
                "knowledge", f"of contexts for {type(learner).__name__}", knowledge
            )
        if missing := sorted(learner.reads - knowledge.offers):
            raise InvalidValueError(
                f"{type(learner).__name__} reads region.{missing[0]}, which "
                f"{type(knowledge).__name__} does not offer"
            )
        limit = None if ramp is None else regions.check_ramp(ramp, knowledge)
        vars(self).update(proposer=learner, knowledge=knowledge, ramp=limit)

    @classmethod
    def of(
        cls,
        proposer: Proposer,
        knowledge: regions.Knowledge,
        ramp: float | Sequence[float] | None = None,
    ) -> Self:
        """Return the rule of two parts: how one is printed, read from a file, or changed.

        Args:
            proposer: of a class that the rule is made of.
            knowledge: likewise.
            ramp: how far an action may be from the last one; None for any distance.
        """
        for name, part, kinds in zip(
            ("proposer", "knowledge"), (proposer, knowledge), cls.made_of, strict=True
        ):
            if not isinstance(part, kinds):
                names = " or ".join(kind.__name__ for kind in kinds)
                raise checks.invalid(name, f"a {names} for {cls.__name__}", part)
        self = cls.__new__(cls)
        Certified.__init__(self, proposer=proposer, knowledge=knowledge, ramp=ramp)
        return self

    @classmethod
    def from_parts(cls, **parts: Any) -> Self:
        """Return the rule that a file describes by its parts."""
        return cls.of(**parts)

    @property
    def parts(self) -> dict[str, Any]:
        """All that a rule is: its proposer, its knowledge and its ramp."""
        return {name: getattr(self, name) for name in self.part_names}

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Certified):
            return NotImplemented
        return self.parts == other.parts

    def __hash__(self) -> int:
        return hash((type(self), self.proposer, self.knowledge, self.ramp))

    def __repr__(self) -> str:
        if type(self) is Certified:
            return f"Certified({', '.join(f'{n}={part!r}' for n, part in self.parts.items())})"
        parts = [self.proposer, self.knowledge] + [self.ramp] * (self.ramp is not None)
        return f"{type(self).__name__}.of({', '.join(map(repr, parts))})"

    def __getstate__(self) -> dict[str, Any]:
        return self.parts  # what the kernel keeps is made anew

    def __setstate__(self, parts: dict[str, Any]) -> None:
        vars(self).update(parts)

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """What a round asks for."""
        one_run = not self.knowledge.takes_batches or self.proposer.is_one_run
        apart = self.knowledge.row_count > 1
        return Needs(
            cost_gradients=self.proposer.cost_gradients,
            constraint_subgradients=int(self.knowledge.slopes != "unused"),
            proposals=1 - self.proposer.cost_gradients,
            apart=apart,
            work=f"m {self.proposer.work}" if apart else self.proposer.work,
            numpy_only=one_run,
            one_run=one_run,
        )

    @property
    def errors(self) -> regions.Errors:
        """What feedback may be wrong by without a wrong certificate."""
        errors: regions.Errors = self.knowledge.errors
        return errors

    @property
    def domain(self) -> Set | None:
        """The set that holds every action; None where none is known."""
        domain: Set | None = self.knowledge.domain
        return domain

    @classmethod
    def check_kind(cls, knowledge: object) -> None:
        """Raise unless the knowledge is of a class that the rule is made of."""
        kinds = cls.made_of[1]
        if not isinstance(knowledge, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise InvalidValueError(f"knowledge must be a {names}, got {knowledge!r}")

    def allowing(self, errors: regions.Errors) -> Self:
        """Return the same rule for other errors."""
        return self.of(self.proposer, replace(self.knowledge, errors=errors), self.ramp)

    def init(self, x1: Array) -> CertifiedState:
        """Start at x1; its slack comes with the first feedback."""
        x1 = checks.to_action(x1)
        if isinstance(self.ramp, tuple) and len(self.ramp) != x1.shape[-1]:
            raise checks.invalid("ramp", f"one number, or {x1.shape[-1]} as x1 has", self.ramp)
        plan = Plan(x1) if self.knowledge.in_contexts else None
        return CertifiedState(x1, self.knowledge.init(x1), self.proposer.init(x1), plan)

    def locate(self, state: Any, feedback: Feedback) -> Feedback:
        """Return feedback with its action: the first is the start where a bound there is known."""
        seen = super().locate(state, feedback)
        is_first = self.knowledge.bounds_start and not state.memory.rounds
        if is_first and not (seen.action == state.x).all():
            rule = "the start until that was measured, whose start_bound is known"
            raise checks.invalid("action", rule, seen.action)
        return seen

    def read_context(
        self, state: CertifiedState, context: Any, *, current: bool = False
    ) -> Context:
        """Return a context in numbers: the one place that calls functions of yours.

        Args:
            state: the present one.
            context: as a user tells it, or in numbers already.
            current: whether it is that of the round of the state, rather than of the next.
        """
        before: Context | None = state.memory.before if current else state.memory.context
        if not isinstance(context, Context):
            if before is None and state.memory.before is not None:
                rule = "that of the current round first, which is not known"
                raise checks.invalid("context", rule, context)

            def read() -> Context:
                place = self.knowledge.context.read(context, before and before.place)
                return Context(place, self.proposer.read_features(context, place))

            context = _call(read, "q and features must return numbers")
        sizes = [None if part is None else len(part) for part in before or (None, None)]
        place, features = context
        if features is not None:
            features = read_numbers(features, "features", sizes[1])
        return Context(read_numbers(place, "context", sizes[0]), features)

    def announce(self, state: CertifiedState, context: Context) -> tuple[CertifiedState, Info]:
        """Return the state with the context of the next round, and its action with it.

        It may be told anew, until the round was played: nothing is left of what was told before.
        """
        assert state.plan is not None
        memory = self.knowledge.announce(state.memory, context)
        learner, wish = self.proposer.aim(state.learner, state.plan.wish, context)
        if not memory.rounds:
            return state._replace(memory=memory, learner=learner), Info(state.x, wish=state.x)
        region = self.knowledge.region(memory, self.errors).within(state.plan.within)
        new = freeze(region.nearest(wish))
        region.must_certify(new, self.domain)
        return CertifiedState(new, memory, learner, state.plan), Info(new, wish, region)

    @cached_property
    def compiled(self) -> Any:
        """The pair as the kernel has it, in each dimension."""
        from surefoot.algorithms.compiled import Compiled

        return Compiled()

    @property
    def engine(self) -> str:
        """Which engine plays one run; "kernel", or "python" where the kernel has no such pair."""
        d = dimension_of(self.domain) or 1
        return "python" if self.compiled.rule(self, np.zeros(d)) is None else "kernel"

    def step(self, state: Memory, feedback: Feedback) -> tuple[Memory, Info]:
        """Return the state after a round, and what the step knew.

        The kernel plays what it has, one run of NumPy.
        :meth:`~surefoot.algorithms.Certified.step_in_python` says what a step is.
        """
        found: tuple[Memory, Info] | None = self.compiled.step(self, state, feedback)
        return self.step_in_python(state, feedback) if found is None else found

    def step_in_python(self, state: Memory, feedback: Feedback) -> tuple[CertifiedState, Info]:
        """Return the same, by the Python text.

        A round without a measurement is a step, too: what is known grows older. So is one that was
        played outside of the domain, where nothing is known of the constants. Before the first
        measurement nothing is certified but the start, which stays.
        """
        knowledge, before = self.knowledge, state.memory
        x = self.locate(state, feedback).action
        errors = knowledge.errors.of_round(feedback)
        suspects: tuple[Callable[[], tuple[str, ...]], ...] = ()
        if feedback.constraint_value is None:
            if not np.any(before.rounds):
                still = state._replace(memory=knowledge.announce(before, feedback.context))
                return still if knowledge.in_contexts else state, Info(state.x, wish=state.x)
            memory = knowledge.age(before, x)
        else:
            g, s = (checks.copy_of(part) for part in knowledge.read(x, feedback))
            reading = regions.Reading(x, g, s, errors, feedback.age)
            if knowledge.holds(x):
                memory = knowledge.observe(before, reading)
            elif not before.rounds:
                raise InvalidValueError(f"the first action must be in the domain, got {x!r}")
            else:
                memory = knowledge.age(before, x)
            suspects = (partial(knowledge.contradictions, before, reading),)
        memory = knowledge.announce(memory, feedback.context)
        if self.ramp is not None:
            memory = regions.keep_anchor(knowledge, memory, self.ramp)
        region = knowledge.region(memory, errors)
        if self.ramp is not None:
            certain = feedback.action is None  # a step led there, and no order
            region = regions.limit_steps(knowledge, memory, region, x, self.ramp, certain)
        region = region.within(feedback.within)
        learner, wish = self.proposer.propose(state.learner, x, feedback, region)
        point = own_point(wish, x)
        plan = Plan(point, feedback.within) if knowledge.in_contexts else None
        if wish.contradictions:
            suspects = (*suspects, lambda: wish.contradictions)
        wanted = wish.point if wish.wanted is None else wish.wanted
        if plan is not None and feedback.context is None:  # nothing is certified before announce
            still = CertifiedState(state.x, memory, learner, plan)
            return still, Info(state.x, wanted, None, suspects, wish.note)
        new = freeze(region.nearest(point))
        if isinstance(new, np.ndarray) and new.ndim == 1:
            region.must_certify(new, knowledge.domain)  # safety is these lines
        after = CertifiedState(new, memory, learner, plan)
        return after, Info(new, wanted, region, suspects, wish.note)

    def move_to(self, state: CertifiedState, x: Array) -> CertifiedState:
        """Return the state, of the same round, whose action is x; before a reading a new start."""
        if not np.any(state.memory.rounds) and state.plan is None:
            return self.init(x)
        return state._replace(x=freeze(np.array(x)))

    def may_play(self, x: Array) -> bool:
        """Return whether an action is in the domain."""
        return self.domain is None or bool(self.domain.contains(x))

    def want(self, state: CertifiedState, x: Array) -> CertifiedState:
        """Return the state that wants x in a round whose context is still to come, or told anew."""
        return state if state.plan is None else state._replace(plan=state.plan._replace(wish=x))

    def stand_at(self, state: CertifiedState, x: Array, context: Context) -> CertifiedState:
        """Return the state that plays x in a context, in which no region is asked."""
        memory = self.knowledge.announce(state.memory, context)
        return state._replace(x=freeze(np.array(x)), memory=memory)

    def rest(self, state: CertifiedState, x: Array) -> CertifiedState:
        """Return the state after a round in which nothing was read and x is wanted for the next.

        Where there are contexts, x is not certified before
        :meth:`~surefoot.algorithms.Certified.announce`.
        """
        if not state.memory.rounds and state.plan is None:
            return self.init(x)
        x, plan = freeze(np.array(x)), None if state.plan is None else Plan(x)
        return state._replace(x=x, memory=self.knowledge.age(state.memory, state.x), plan=plan)

    def observer(self) -> Any:
        """Return the proposer's sums of a bound on the regret so far, where it has one."""
        return self.proposer.observer(self.knowledge)


def own_point(wish: Wish, x: Array) -> Array:
    """Return the wanted action, which its proposer cannot change any more."""
    checks.check_like_action(wish.point, x, "the wanted action")
    return np.array(wish.point, dtype=np.float64) if isinstance(x, np.ndarray) else wish.point


def hull_knowledge(constants: Constants, domain: Set | None) -> dict[str, Any]:
    """Return what knowledge by a bound on slopes is made of; the ball of radius R for no set."""
    domain = Ball(constants.R) if domain is None else domain
    errors = regions.Errors.of(constants)
    return {"G_g": constants.G_g, "domain": domain, "errors": errors, "convex": constants.convex}


def curvature_knowledge(
    constants: Constants, domain: Set | None
) -> regions.Curvature | regions.CurvatureRows:
    """Return the curvature that constants name, on a known convex set or on none."""
    if not getattr(domain, "is_convex", True):  # no theorem is about the points of a grid
        raise checks.invalid("domain", "convex", domain)
    return regions.curvature_of(constants, domain)
