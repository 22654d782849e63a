"""Base of rules that wrap another rule, their base."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np

from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, counts_rounds, errors_of
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import NEXT, Feedback
from surefoot.core.parameters import Declared, algorithm, field_values
from surefoot.core.types import Array, Needs, Source, State, needs_of
from surefoot.guarantees.guarantee import EveryRound, Guarantee
from surefoot.guarantees.tuning import Tuned, unpack
from surefoot.knowledge import Errors
from surefoot.knowledge.base import find_knowledge

UNKNOWN = (
    "Theorem U bounds the violations of a rule that is measured round by round, not of one {}, so "
    "give the base a bound, which may be far too large"
)
"""Why a wrapper keeps no unknown constant."""


class Wrapper(Declared, Algorithm):
    """A rule that passes other feedback to its base, or passes it at other times.

    A wrapper hands ``move_to`` and ``rest`` down to its base.

    Args:
        base: the rule.

    Attributes:
        steps_base: whether the base is stepped, or rests, in every round; one that is not, unless a
            wrapper says so, must not count rounds.
        is_outermost: whether no wrapper may be around it.
        uses: the fields of feedback that it uses or hands to its base; it refuses all others.
        takes_late: whether it takes readings of earlier actions, with their age.
        refusals: why its base may not have a "ramp", a "context", a "response", a limit on the
            "average" or an "unknown" constant, and what to take instead; None for what it keeps.
    """

    source: ClassVar[Source] = Source("Surefoot", "derived here")
    steps_base: ClassVar[Literal["every round", "some rounds"]] = "some rounds"
    rests_on_convexity: ClassVar[bool] = False
    is_one_run: ClassVar[bool] = False
    is_outermost: ClassVar[bool] = False
    uses: ClassVar[frozenset[str]] = frozenset()
    other_needs: ClassVar[dict[str, Any]] = {}
    declared_by: ClassVar[tuple[type, ...]] = ()
    refusals: ClassVar[Mapping[str, str | None]] = {}
    takes_late: ClassVar[bool] = False

    base: Any = algorithm()

    def __post_init__(self) -> None:
        super().__post_init__()
        knowledge = find_knowledge(self.base)
        for part, words in _list_parts(self.base):
            why = self.refusals.get(part, _REFUSALS[part])
            if why is not None:
                raise InvalidValueError(f"{type(self).__name__} must have a base {words}: {why}")
        if isinstance(self.base, Wrapper) and self.base.is_outermost:
            raise InvalidValueError(
                f"{type(self).__name__} must have a base other than {type(self.base).__name__}, "
                "whose bound in advance it would not keep: wrap the first rule without it"
            )
        if self.steps_base != "every round" and counts_rounds(self.base):
            mine, its = type(self).__name__, type(self.base).__name__
            raise InvalidValueError(
                f"{mine} must have a base that counts no rounds, because it does not step it in "
                f"every round: put {mine} into {its} instead, got a {its}"
            )
        if self.rests_on_convexity and knowledge is not None and not knowledge.convex:
            raise InvalidValueError(
                f"{type(self).__name__} assumes a convex g, got one with convex = False: take its "
                "base alone"
            )

    @classmethod
    def of(cls, player: object, **options: Any) -> Tuned[Self]:
        """Wrap a tuned rule; its guarantee becomes that of the wrapper.

        Args:
            player: a rule with its guarantee for every round (``Tuned``).
            options: the parameters beside the base.
        """
        algorithm, guarantee = unpack(player)
        if guarantee is None:
            raise InvalidValueError(f"player must have a guarantee (Tuned), got {player!r}")
        wrapper = cls(base=algorithm, **options)
        return Tuned(wrapper, wrapper.inherit(guarantee))

    def inherit(self, each: Guarantee) -> Guarantee:
        """Return the guarantee that follows from that of the base."""
        raise InvalidValueError(f"{type(self).__name__} must have a theorem, got {each}")

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """The needs of the base, with those that the wrapper replaces."""
        needs = needs_of(self.base)
        one_run = needs.one_run or self.is_one_run
        fields = needs.fields & self.uses
        return needs._replace(numpy_only=True, one_run=one_run, fields=fields, **self.other_needs)

    @property
    def needs_slopes(self) -> bool:
        """Whether a round must report a slope; where the base need not be told, it is not."""
        asked = bool(self.needs.constraint_subgradients)
        return asked and bool(getattr(self.base, "needs_slopes", asked))

    @property
    def errors(self) -> Any:
        """The errors that the base allows for; None if it certifies nothing."""
        return errors_of(self.base)

    @property
    def inner(self) -> Any:
        """The base."""
        return self.base

    @property
    def knowledge(self) -> Any:
        """The knowledge of the base; None if it certifies nothing."""
        return self.base.knowledge if isinstance(self.base, Certified | Wrapper) else None

    @property
    def ramp(self) -> Any:
        """How far an action may be from the last one; None for any distance."""
        return getattr(self.base, "ramp", None)

    @property
    def counts_rounds(self) -> bool:
        """Whether a step counts exactly one round; True by default."""
        return True

    def may_play(self, x: Array) -> bool:
        """Return whether an action is in the known set of the base."""
        return bool(self.base.may_play(x))

    def allowing(self, errors: Errors) -> Self:
        """Return the same rule for other errors."""
        return self.with_base(self.base.allowing(errors))

    def every(self, rounds: int) -> Self:
        """Return the same rule where so many rounds pass between two readings."""
        return self.with_base(self.base.every(rounds))

    @classmethod
    def around(cls, base: Any, **fields: Any) -> Self:
        """Return the wrapper of a base, even if its constructor makes the base.

        Args:
            base: the rule.
            fields: the fields of the wrapper.
        """
        if not cls.declared_by:
            return cls(base=base, **fields)
        wrapper = cls.__new__(cls)
        # The constructor of the nearest class that takes a base, not one that makes it.
        plain: Any = next(kind for kind in cls.__mro__ if not getattr(kind, "declared_by", ()))
        plain.__init__(wrapper, base=base, **fields)
        return wrapper

    @classmethod
    def from_parts(cls, **parts: Any) -> Self:
        """Return the wrapper with these fields, as a file describes it."""
        return cls.around(**parts)

    def with_base(self, base: Any) -> Self:
        """Return the same wrapper around another base."""
        values = {f.name: value for f, value in field_values(self) if f.name != "base"}
        return self.around(base, **values)

    def __repr__(self) -> str:
        if not self.declared_by:
            return super().__repr__()
        values = {f.name: value for f, value in field_values(self) if f.name != "base"}
        words = [repr(self.base), *(f"{name}={value!r}" for name, value in values.items())]
        return f"{type(self).__name__}.around({', '.join(words)})"


def _list_parts(base: Any) -> Iterator[tuple[str, str]]:
    """Yield what a base has that a wrapper may not keep, with the words for a base without it."""
    if getattr(base, "ramp", None) is not None:
        yield "ramp", "without a ramp"
    knowledge: Any = find_knowledge(base)
    if knowledge is None:
        return
    if knowledge.in_contexts:
        yield "context", "without contexts"
    if knowledge.remembers:
        yield "response", "without a response"
    if knowledge.kind == "cumulative":
        yield "average", "without a limit on the average"
    if knowledge.kind == "few violations":
        yield "unknown", f"whose {knowledge.constant} is given"


_REFUSALS = {
    "ramp": "what it plays may be further from the last action, so leave the ramp out",
    "context": "Theorem X1 needs the context of each reading and of each action, so leave the "
    "contexts out and give a drift that bounds what they change",
    "response": "the lag of a reading counts every action, also those that the base is not told "
    "of, so play the rule without it",
    "average": "every round counts, also those of orders and own actions, which only the rule "
    "itself is told of, so play the rule without it",
    "unknown": UNKNOWN.format("whose rounds are not those of its base"),
}
"""Why a wrapper keeps none of them, unless it says otherwise."""


class OfBase(EveryRound):
    """A theorem that assumes another one, of every round.

    Args:
        constants: those of the problem.
        each: the other theorem.
    """

    each: Guarantee

    def __post_init__(self) -> None:
        each: object = self.each
        if not isinstance(each, Guarantee) or each.kind != "every round":
            text = str(each) if isinstance(each, Guarantee) else checks.repr_line(each)
            raise InvalidValueError(f"the guarantee must be one for every round, got {text}")
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


def without_ramp(algorithm: Any) -> Any:
    """Return the same rule without a ramp."""
    if getattr(algorithm, "ramp", None) is None:
        return algorithm
    if isinstance(algorithm, Wrapper):
        return algorithm.with_base(without_ramp(algorithm.base))
    return algorithm.of(algorithm.proposer, algorithm.knowledge)


def action_played(state: State, feedback: Feedback) -> Array:
    """Return the action played in a round; late feedback belongs to another one."""
    if feedback.action is None or feedback.age:
        return state.x
    return checks.check_like_action(checks.to_action(feedback.action, "action"), state.x, "action")


def keep_seen(feedback: Feedback) -> Feedback:
    """Return feedback with copied measurements, without fields about the next round."""
    fields = feedback._asdict()
    copies = {name: checks.copy_of(fields[name]) for name in _MEASURED}
    return feedback._replace(**copies, **NEXT)


_MEASURED = ("cost_gradient", "constraint_value", "constraint_subgradient")


def start_one_run(base: Any, x1: Array) -> Any:
    """Return the first state of a base that plays one run; raise for several."""
    state = base.init(x1)
    if not isinstance(state.x, np.ndarray) or state.x.ndim != 1:
        raise InvalidValueError("x1 must be the action of one run, got several")
    return state
