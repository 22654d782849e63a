"""Algorithms: declared parameters, a first state, and one step from state to state.

The file of a rule contains its formulas and the lines that compute them. The base class says what a
rule sees of a round: :class:`OneConstraint`, :class:`EachConstraint` or :class:`CostsOnly`. The
mark :func:`tuning` names the constructors that a theorem tunes.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import is_concrete, number_like, to_numpy
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback, refuse_unused
from surefoot.core.parameters import name_unknown
from surefoot.core.points import dimension_of
from surefoot.core.types import (
    Array,
    Info,
    Needs,
    Number,
    Player,
    RegretObserver,
    RuleState,
    Set,
    Source,
    needs_of,
)

COSTS_ONLY = Needs(constraint_values=0, constraint_subgradients=0, domain="feasible")
"""The needs of rules that know the feasible set and see only the costs."""

NOTHING = Info()
"""Details of a step that certifies nothing and can contradict nothing."""

F = TypeVar("F", bound=Callable[..., Any])


def constructor(*, unsupported: Mapping[str, str] = MappingProxyType({})) -> Callable[[F], F]:
    """Mark a constructor that says of an unknown keyword what to write instead.

    It stands below ``@classmethod``.

    Args:
        unsupported: the parameters of other constructors that do not go with this one, each with
            the end of a sentence: why, and what to take instead.
    """

    def mark(function: F) -> F:
        takes = inspect.signature(function).parameters

        def explain(name: str, rule: Any) -> str:
            if name in unsupported:
                return f": {unsupported[name]}"
            if "constants" in takes and name in inspect.signature(Constants).parameters:
                return f": it is one of the constants, Constants({name}=...)"
            return taken_elsewhere(name, rule)

        def name(rule: Any) -> str:
            owner = f"{rule.__name__}." if isinstance(rule, type) else ""
            return f"{owner}{function.__name__}"

        return name_unknown(function, name, explain)

    return mark


def tuning(
    theorem: Callable[[], Any] = lambda: None,
    *,
    listed: bool = True,
    unsupported: Mapping[str, str] = MappingProxyType({}),
    **options: object,
) -> Callable[[F], F]:
    """Mark a constructor that takes constants and a horizon and returns a ``Tuned``.

    It stands below ``@classmethod``::

        @classmethod
        @tuning(lambda: Corollary1)
        def anytime(cls, constants, horizon, domain=None): ...

    Args:
        theorem: returns the theorem, which declares the keyword options.
        listed: whether the catalogue tries it; False if it needs more than constants, a horizon and
            a set.
        unsupported: the parameters that do not go with it, as for :func:`constructor`.
        options: declarations of keyword options that the theorem does not declare:
            ``beta=share()``.
    """

    def mark(function: F) -> F:
        tuned: Any = constructor(unsupported=unsupported)(function)
        tuned.is_listed, tuned.options, tuned.theorem = listed, options, theorem
        marked: F = tuned
        return marked

    return mark


def taken_elsewhere(name: str, rule: Any) -> str:
    """Return why a rule has no such parameter, or which constructor has it; empty if none has."""
    if name in rule.unsupported:
        return f": {rule.unsupported[name]}"
    takes = [
        f"{rule.__name__}.{tuning}"
        for tuning in rule.constructors
        if name in inspect.signature(getattr(rule, tuning)).parameters
    ]
    if name in inspect.signature(rule).parameters:
        takes.insert(0, f"{rule.__name__}(...)")
    return f": {takes[0]} has it" if takes else ""


def constructors_of(rule: type) -> tuple[str, ...]:
    """Return the names of the constructors that a theorem tunes; empty for unmarked rules."""
    return tuple(getattr(rule, "constructors", ()))


def call_constructor(make: Any, constants: Any, horizon: int | None, domain: Any) -> Any:
    """Call a constructor with those of the arguments that it takes."""
    arguments = {"constants": constants, "horizon": horizon, "domain": domain}
    parameters = inspect.signature(make).parameters
    return make(**{name: value for name, value in arguments.items() if name in parameters})


class Algorithm:
    """A rule: ``init`` and ``step``, both pure; ``state.x`` is to be played.

    A rule with declared parameters derives from :class:`~surefoot.core.parameters.Declared` first:
    ``class Mine(Declared, Algorithm)``.

    Attributes:
        needs: what a round must provide.
        source: where the rule comes from.
        sources: where tunings come from that have another source.
        tunings: the constructors that a theorem tunes and the catalogue tries.
        constructors: the tunings, and constructors that need more than a catalogue can give.
        on_ball: the constructors that work on a ball; the others work on the feasible set.
        errors: bounds on the errors of readings that certificates allow for; None for rules that
            certify nothing.
        domain: the set that a rule works on; None if it has none.
        unsupported: parameters of other rules that this one has not, each with the end of a
            sentence: why, and what to take instead.
    """

    errors: ClassVar[Any] = None
    domain: Any = None

    needs: ClassVar[Needs] = Needs()
    source: ClassVar[Source] = Source("your own", "derived here")
    sources: ClassVar[Mapping[str, Source]] = {}
    tunings: ClassVar[tuple[str, ...]] = ()
    constructors: ClassVar[tuple[str, ...]] = ()
    on_ball: ClassVar[tuple[str, ...]] = ()
    unsupported: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        """Find the constructors that are marked as tunings."""
        super().__init_subclass__()
        if "update" in vars(cls) and "step" not in vars(cls):
            raise InvalidValueError(
                f"a rule must have its formulas in step, got {cls.__name__} with only an update"
            )
        marked = {
            name: is_listed
            for name, member in vars(cls).items()
            for function in [member.__func__ if isinstance(member, classmethod) else member]
            if (is_listed := getattr(function, "is_listed", None)) is not None
        }
        listed = (name for name, is_listed in marked.items() if is_listed)
        cls.tunings = tuple(dict.fromkeys([*cls.tunings, *listed]))
        cls.constructors = tuple(dict.fromkeys([*cls.constructors, *marked]))

    @abstractmethod
    def init(self, x1: Array) -> RuleState:
        """Return the state before the first round, with ``x1`` as its action."""

    @abstractmethod
    def step(self, state: RuleState, feedback: Feedback) -> tuple[RuleState, Info]:
        """Return the state after a round, and the details of the step."""

    def update(self, state: RuleState, feedback: Feedback) -> RuleState:
        """Return only the state after a round."""
        return self.step(state, feedback)[0]

    @property
    def engine(self) -> str:
        """What takes the steps: "python", or the engine of the wrapped algorithm."""
        base = vars(self).get("base")
        return base.engine if isinstance(base, Algorithm) else "python"

    @property
    def inner(self) -> Any:
        """The rule that a wrapper wraps; None for other rules."""
        return None

    def carry(self, promise: Any) -> Any:
        """Return what is proved of the actions of a wrapper; None by default: nothing is.

        Args:
            promise: what is proved of those of the wrapped rule (``Promise``).
        """
        return None

    def may_play(self, x: Array) -> bool:
        """Return whether an action is in the known set of all actions; True by default.

        Args:
            x: an action that the rule did not choose.
        """
        return True

    def observer(self) -> RegretObserver | None:
        """Return the observer of a regret bound so far; None if the rule has no bound."""
        return None

    def keeps_promise(self, state: RuleState) -> bool:
        """Return whether a regret bound given in advance still covers a state."""
        return True

    def describe(self, state: RuleState) -> str:
        """Return in words what to know of a state beside the action; may be empty."""
        return ""

    def locate(self, state: RuleState, feedback: Feedback) -> Feedback:
        """Return feedback with the action and the age of its measurements.

        Raise for an object that is no feedback, for a field that the rule does not use, and for an
        invalid action.
        """
        refuse_unused(feedback, needs_of(self).fields, type(self).__name__)
        age: Number = feedback.age  # a tracer, under JAX
        if isinstance(age, (int, float)) and not age >= 0:
            raise InvalidValueError(f"age must be a whole number >= 0, got {age!r}")
        if feedback.action is None:
            return feedback._replace(action=state.x)
        action = checks.to_action(feedback.action, "action")
        return feedback._replace(action=checks.check_like_action(action, state.x, "action"))

    def move_to(self, state: RuleState, x: Array) -> RuleState:
        """Return the state of the same round with the action replaced by x.

        An order or another controller may replace the action of a rule. Only the rule knows what
        else of its state depends on the action. A rule without this method cannot be moved.
        """
        if (x == state.x).all():
            return state
        raise InvalidValueError(
            f"action must be the one asked for, because {type(self).__name__} cannot start from "
            f"another, got {x!r}"
        )

    def rest(self, state: RuleState, x: Array) -> RuleState:
        """Return the state after a round without a reading; x is the next action.

        This is for rules that certify; the others cannot start from another action.
        """
        return self.move_to(state, x)

    @property
    def counts_rounds(self) -> bool:
        """Whether a step counts exactly one round and must be taken in every round."""
        return False


def is_algorithm(value: object) -> bool:
    """Return whether an object has the two methods of an algorithm; False for classes.

    >>> from surefoot import OGD, Ball
    >>> is_algorithm(OGD(eta=0.1, domain=Ball(1.0))), is_algorithm(OGD)
    (True, False)
    """
    return isinstance(value, Player) and not isinstance(value, type)


def errors_of(algorithm: object) -> Any:
    """Return the errors that an algorithm allows for; None if it certifies nothing."""
    return algorithm.errors if isinstance(algorithm, Algorithm) else None


def works_on_ball(rule: type, tuning: str | None) -> bool:
    """Return whether a tuned rule needs only a ball around the feasible set."""
    if needs_of(rule).domain == "ball":
        return True
    return issubclass(rule, Algorithm) and tuning in rule.on_ball


def observer_of(algorithm: object) -> RegretObserver | None:
    """Return the observer of an algorithm's regret bound; None if it has none."""
    return algorithm.observer() if isinstance(algorithm, Algorithm) else None


def locate(algorithm: Any, state: RuleState, feedback: Feedback) -> Feedback:
    """Return feedback with the action and the age of its measurements."""
    kind: type[Algorithm] = type(algorithm) if isinstance(algorithm, Algorithm) else Algorithm
    return kind.locate(algorithm, state, feedback)


def counts_rounds(algorithm: object) -> bool:
    """Return whether a rule must be stepped in every round; False for foreign rules."""
    return isinstance(algorithm, Algorithm) and algorithm.counts_rounds


def move_to(algorithm: Any, state: RuleState, x: Array) -> RuleState:
    """Return the state of the same round with the action x; raise if the rule cannot."""
    move = getattr(algorithm, "move_to", None)
    moved: RuleState = Algorithm.move_to(algorithm, state, x) if move is None else move(state, x)
    return moved


def rest(algorithm: Any, state: RuleState, x: Array) -> RuleState:
    """Return the state after a round without a reading; x is the next action."""
    kind: type[Algorithm] = type(algorithm) if isinstance(algorithm, Algorithm) else Algorithm
    return kind.rest(algorithm, state, x)


class OneConstraint(Algorithm):
    """A rule that sees g and one of its subgradients.

    Its formulas are ``next_state(state, grad, g, s)``. The numbers of its state class have the
    defaults of round 1. A rule whose state has more than numbers defines ``first_state(x1)``.

    Attributes:
        state: the class of its state, a named tuple that begins with ``x``.
    """

    state: ClassVar[Any]

    def init(self, x1: Array) -> Any:
        """Start at x1, a point of the domain."""
        return self.first_state(start_in(self.domain, x1))

    def first_state(self, x1: Array) -> Any:
        """Return the state before round 1."""
        defaults = self.state._field_defaults.values()
        return self.state(x1, *(number_like(x1, value) for value in defaults))

    def move_to(self, state: Any, x: Array) -> Any:
        """Return the state with x as the point that the next step starts from."""
        return state._replace(x=x)

    @abstractmethod
    def next_state(self, state: Any, /, *reading: Array) -> Any:
        """Return the next state: the formulas of the rule."""

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        return self.next_state(state, *checks.read_feedback(state.x, feedback)), NOTHING


class EachConstraint(OneConstraint):
    """A rule that sees m constraints and their subgradients, each separately."""

    needs: ClassVar[Needs] = Needs(separately=True, work="m d")

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        return self.next_state(state, *checks.read_feedback_separately(state.x, feedback)), NOTHING


class CostsOnly(OneConstraint):
    """A rule that knows the feasible set and sees only the gradients of the costs."""

    needs: ClassVar[Needs] = COSTS_ONLY

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        return self.next_state(state, checks.read_gradient(state.x, feedback)), NOTHING


def start_in(domain: Set, x1: Array) -> Array:
    """Return a read-only float64 copy of x1; raise if the domain does not contain it."""
    x1 = checks.to_action(x1)
    # A user's set need not know its dimension; then its operations raise.
    d = dimension_of(domain)
    if d is not None and x1.shape[-1] != d:
        raise InvalidValueError(f"x1.shape must end in {d}, as the domain's, got {tuple(x1.shape)}")
    if is_concrete(x1):
        inside = np.atleast_1d(to_numpy(domain.contains(x1)))
        if not inside.all():
            outside = to_numpy(x1).reshape(len(inside), -1)[~inside.ravel()][0]
            raise InvalidValueError(f"x1 must be in the domain {domain!r}, got {outside!r}")
    return x1
