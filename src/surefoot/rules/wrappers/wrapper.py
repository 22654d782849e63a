"""What rules share that are made of another rule, their base."""

from typing import Any, ClassVar, Literal, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, counts_rounds, errors_of
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import Declared, algorithm, field_values
from surefoot.core.types import Array, Feedback, Needs, Source, State, needs_of
from surefoot.guarantees.guarantee import EveryRound, Guarantee
from surefoot.guarantees.tuning import Tuned, unpack
from surefoot.knowledge import Errors
from surefoot.knowledge.base import find_knowledge


class Wrapper(Declared, Algorithm):
    """A rule that tells its base other feedback than it is told itself, or at other times.

    A wrapper hands ``move_to`` and ``rest`` down to its base.

    Args:
        base: the rule.

    Attributes:
        steps_base: whether the base is stepped, or rests, in every round; one that is not, unless a
            wrapper says so, must not count rounds.
        is_outermost: whether no wrapper may be around it.
    """

    source: ClassVar[Source] = Source("Surefoot", "derived here")
    steps_base: ClassVar[Literal["every round", "some rounds"]] = "some rounds"
    rests_on_convexity: ClassVar[bool] = False
    is_one_run: ClassVar[bool] = False
    is_outermost: ClassVar[bool] = False
    other_needs: ClassVar[dict[str, Any]] = {}
    declared_by: ClassVar[tuple[type, ...]] = ()

    base: Any = algorithm()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.base, Certified) and self.base.ramp is not None:
            raise InvalidValueError(
                f"{type(self).__name__} must have a base without a ramp, which it would not keep, "
                f"got ramp = {self.base.ramp!r}"
            )
        if isinstance(self.base, Wrapper) and self.base.is_outermost:
            raise InvalidValueError(
                f"{type(self).__name__} must have a base other than {type(self.base).__name__}, "
                "whose bound in advance it would not keep: wrap the first rule without it"
            )
        if self.steps_base != "every round" and counts_rounds(self.base):
            raise InvalidValueError(
                f"{type(self).__name__} must have a base that counts no rounds, because it does "
                f"not step it in every round, got {checks.repr_line(self.base)}"
            )
        known = find_knowledge(self.base)
        if known is not None and (known.kind == "cumulative" or known.in_contexts):
            what = "contexts" if known.in_contexts else "a limit on the average"
            raise InvalidValueError(
                f"{type(self).__name__} must have a base without {what}, which it would not keep, "
                f"got {checks.repr_line(known)}"
            )
        if self.rests_on_convexity and known is not None and not known.convex:
            raise InvalidValueError(
                f"{type(self).__name__} assumes a convex g, got knowledge with convex = False"
            )

    @classmethod
    def of(cls, player: object, **options: Any) -> Tuned[Self]:
        """Return a tuned rule in this one, with what is left of its guarantee.

        Args:
            player: a rule with its guarantee for every round (``Tuned``).
            options: the parameters beside the base.
        """
        algorithm, guarantee = unpack(player)
        if guarantee is None:
            raise InvalidValueError(f"player must have a guarantee (Tuned), got {player!r}")
        made = cls(base=algorithm, **options)
        return Tuned(made, made.inherit(guarantee))

    def inherit(self, each: Guarantee) -> Guarantee:
        """Return what is left of the guarantee of the base."""
        raise InvalidValueError(f"{type(self).__name__} must have a theorem, got {each}")

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """What the base asks for, and what is asked for instead."""
        needs = needs_of(self.base)
        one_run = needs.one_run or self.is_one_run
        return needs._replace(numpy_only=True, one_run=one_run, **self.other_needs)

    @property
    def errors(self) -> Any:
        """What the base allows for; None where it certifies nothing."""
        return errors_of(self.base)

    @property
    def inner(self) -> Any:
        """The base."""
        return self.base

    @property
    def knowledge(self) -> Any:
        """What the base knows of g; None where it certifies nothing."""
        return self.base.knowledge if isinstance(self.base, Certified | Wrapper) else None

    @property
    def counts_rounds(self) -> bool:
        """Whether a step stands for exactly one round: assumed of a wrapper that does not say."""
        return True

    def may_play(self, x: Array) -> bool:
        """Return whether an action is in the known set of the base."""
        return bool(self.base.may_play(x))

    def allowing(self, errors: Errors) -> Self:
        """Return the same rule for other errors."""
        return self.with_base(self.base.allowing(errors))

    @classmethod
    def around(cls, base: Any, **own: Any) -> Self:
        """Return the wrapper around a base, where a constructor of its own makes the base.

        Args:
            base: the rule.
            own: the fields of the wrapper.
        """
        if not cls.declared_by:
            return cls(base=base, **own)
        made = cls.__new__(cls)
        # Not a constructor that makes the base: that of the nearest class which takes one.
        plain: Any = next(kind for kind in cls.__mro__ if not getattr(kind, "declared_by", ()))
        plain.__init__(made, base=base, **own)
        return made

    @classmethod
    def from_parts(cls, **parts: Any) -> Self:
        """Return the wrapper that a file describes by its fields."""
        return cls.around(**parts)

    def with_base(self, base: Any) -> Self:
        """Return the same wrapper around another base."""
        own = {f.name: value for f, value in field_values(self) if f.name != "base"}
        return self.around(base, **own)

    def __repr__(self) -> str:
        if not self.declared_by:
            return super().__repr__()
        own = {f.name: value for f, value in field_values(self) if f.name != "base"}
        words = [repr(self.base), *(f"{name}={value!r}" for name, value in own.items())]
        return f"{type(self).__name__}.around({', '.join(words)})"


class OfBase(EveryRound):
    """A theorem that rests on another one, of every round.

    Args:
        constants: those of the problem.
        each: the other one.
    """

    each: Guarantee

    def __post_init__(self) -> None:
        each: object = self.each
        if not isinstance(each, Guarantee) or each.kind != "every round":
            said = str(each) if isinstance(each, Guarantee) else checks.repr_line(each)
            raise InvalidValueError(f"the guarantee must be one for every round, got {said}")
        super().__post_init__()

    @property
    def changing(self) -> bool:
        """As for the other theorem."""
        return self.each.changing


class FromBase(OfBase):
    """The guarantee of a wrapper, from that of its base: its horizon, its kind of constraint.

    Args:
        constants: those of the base's guarantee.
        each: that guarantee, which must be one for every round.
    """

    @property
    def horizon(self) -> int | None:  # type: ignore[override]
        """That of the base."""
        return self.each.horizon

    @property
    def regret_exponent(self) -> float | None:
        """That of the base."""
        return self.each.regret_exponent


def action_played(state: State, feedback: Feedback) -> Array:
    """Return the action that was really played in a round; late feedback is of another one."""
    if feedback.action is None or feedback.age:
        return state.x
    return checks.check_like_action(checks.to_action(feedback.action, "action"), state.x, "action")


def refuse_slope_error(seen: Feedback, why: str) -> None:
    """Raise where a round tells an error of its slope that a wrapper would not count with.

    Args:
        seen: what was told.
        why: what the wrapper does, which the sentence goes on with.
    """
    if seen.slope_error is not None:
        raise checks.invalid("slope_error", f"None for a rule that {why}", seen.slope_error)


def keep_seen(seen: Feedback) -> Feedback:
    """Return what was seen, in arrays that nobody else can change, without what is to come."""
    told = seen._asdict()
    own = {name: checks.copy_of(told[name]) for name in _SEEN}
    return seen._replace(**own, **NOTHING_AHEAD)


_SEEN = ("cost_gradient", "constraint_value", "constraint_subgradient")
NOTHING_AHEAD: dict[str, Any] = {"proposal": None, "within": None, "direction": None, "hint": None}
"""The part of feedback that is about the next action, and is never late."""


def start_one_run(base: Any, x1: Array) -> Any:
    """Return the first state of a base that plays one run; refuse several."""
    state = base.init(x1)
    if not isinstance(state.x, np.ndarray) or state.x.ndim != 1:
        raise InvalidValueError("x1 must be the action of one run, got several")
    return state
