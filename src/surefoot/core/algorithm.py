"""What an algorithm is: declared parameters, a first state, and one step from state to state.

The file of a rule has its formulas and the lines that are these formulas. What it sees of a round
is the class that it derives from: :class:`OneConstraint`, :class:`EachConstraint` or
:class:`CostsOnly`. The constructors that a theorem tunes are marked with :func:`tuning`.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from surefoot.core import checks
from surefoot.core.arrays import is_concrete, number_like, to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.parameters import name_unknown
from surefoot.core.points import dimension_of
from surefoot.core.types import (
    Array,
    Feedback,
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
"""The needs of rules that know the feasible set and are told about the costs alone."""

NOTHING = Info()
"""What a step knew that certifies nothing and can contradict nothing."""

F = TypeVar("F", bound=Callable[..., Any])


def tuning(
    theorem: Callable[[], Any] = lambda: None, *, listed: bool = True, **options: object
) -> Callable[[F], F]:
    """Mark a constructor that takes constants and a horizon and returns a ``Tuned``.

    It stands below ``@classmethod``::

        @classmethod
        @tuning(lambda: Corollary1)
        def anytime(cls, constants, horizon, domain=None): ...

    Args:
        theorem: returns the theorem, which stands below the rule and declares what the keyword
            options may be.
        listed: whether the catalogue tries it; not where it needs more than constants, a horizon
            and a set.
        options: what a keyword option may be that the theorem does not declare: ``beta=share()``.
    """

    def mark(function: F) -> F:
        checked: Any = name_unknown(
            function, lambda cls: f"{cls.__name__}.{function.__name__}", taken_elsewhere
        )
        checked.is_listed, checked.options, checked.theorem = listed, options, theorem
        marked: F = checked
        return marked

    return mark


def taken_elsewhere(name: str, rule: Any) -> str:
    """Return which other constructor of a rule has a parameter; empty where none has."""
    takes = [
        f"{rule.__name__}.{tuning}"
        for tuning in rule.constructors
        if name in inspect.signature(getattr(rule, tuning)).parameters
    ]
    if name in inspect.signature(rule).parameters:
        takes.insert(0, f"{rule.__name__}(...)")
    return f": {takes[0]} has it" if takes else ""


def constructors_of(rule: type) -> tuple[str, ...]:
    """Return the names of the constructors that a theorem tunes; none of a rule without a mark."""
    return tuple(getattr(rule, "constructors", ()))


def call_constructor(make: Any, constants: Any, horizon: int | None, domain: Any) -> Any:
    """Return what a constructor makes of what it takes of these."""
    given = {"constants": constants, "horizon": horizon, "domain": domain}
    wanted = inspect.signature(make).parameters
    return make(**{name: value for name, value in given.items() if name in wanted})


class Algorithm:
    """A rule: ``init`` and ``step``, both pure; ``state.x`` is to be played.

    A rule with declared parameters derives from :class:`~surefoot.core.parameters.Declared` first:
    ``class Mine(Declared, Algorithm)``.

    Attributes:
        needs: what a round asks for.
        source: where the rule comes from.
        sources: where tunings come from that have another source.
        tunings: the constructors that a theorem tunes and the catalogue tries.
        constructors: these, and those that need more than a catalogue can give.
        on_ball: those that work on a ball, where the others work on the feasible set.
        errors: what readings may be wrong by without a wrong certificate; None from rules that
            certify nothing.
        domain: the set that a rule works on; None where it has none.
    """

    errors: ClassVar[Any] = None
    domain: Any = None

    needs: ClassVar[Needs] = Needs()
    source: ClassVar[Source] = Source("your own", "derived here")
    sources: ClassVar[Mapping[str, Source]] = {}
    tunings: ClassVar[tuple[str, ...]] = ()
    constructors: ClassVar[tuple[str, ...]] = ()
    on_ball: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Find the constructors that are marked as tunings."""
        super().__init_subclass__()
        if "update" in vars(cls) and "step" not in vars(cls):
            raise InvalidValueError(
                f"a rule must have its formulas in step, got {cls.__name__} with an update alone"
            )
        marked = {
            name: is_listed
            for name, member in vars(cls).items()
            for made in [member.__func__ if isinstance(member, classmethod) else member]
            if (is_listed := getattr(made, "is_listed", None)) is not None
        }
        listed = (name for name, is_listed in marked.items() if is_listed)
        cls.tunings = tuple(dict.fromkeys([*cls.tunings, *listed]))
        cls.constructors = tuple(dict.fromkeys([*cls.constructors, *marked]))

    @abstractmethod
    def init(self, x1: Array) -> RuleState:
        """Return the state before the first round, with ``x1`` as its action."""

    @abstractmethod
    def step(self, state: RuleState, feedback: Feedback) -> tuple[RuleState, Info]:
        """Return the state after a round, and what the step knew."""

    def update(self, state: RuleState, feedback: Feedback) -> RuleState:
        """Return the state after a round alone."""
        return self.step(state, feedback)[0]

    @property
    def engine(self) -> str:
        """What takes its steps: "python", or the engine of the algorithm that it is around."""
        base = vars(self).get("base")
        return base.engine if isinstance(base, Algorithm) else "python"

    @property
    def inner(self) -> Any:
        """The rule that a wrapper is around; None from any other rule."""
        return None

    @property
    def certainty(self) -> float:
        """With which probability all certificates hold; 1 unless readings are random."""
        return 1.0

    def may_play(self, x: Array) -> bool:
        """Return whether an action is in the known set that holds every action; True unless said.

        Args:
            x: the action, of somebody's own.
        """
        return True

    def observer(self) -> RegretObserver | None:
        """Return the sums of a bound on the regret so far; None where there is no such bound."""
        return None

    def keeps_promise(self, state: RuleState) -> bool:
        """Return whether a state is still one that a regret bound in advance is about."""
        return True

    def describe(self, state: RuleState) -> str:
        """Return in words what of a state one should know beside the action; empty for nothing."""
        return ""

    def locate(self, state: RuleState, feedback: Feedback) -> Feedback:
        """Return feedback that says at which action it was seen, and how many rounds ago.

        Refuse what is no feedback, or no action.
        """
        if not isinstance(feedback, Feedback):
            raise InvalidValueError(f"feedback must be a Feedback, got {feedback!r}")
        age: Number = feedback.age  # a number to come, under JAX
        if isinstance(age, (int, float)) and not age >= 0:
            raise InvalidValueError(f"age must be a whole number >= 0, got {age!r}")
        if feedback.action is None:
            return feedback._replace(action=state.x)
        action = checks.to_action(feedback.action, "action")
        return feedback._replace(action=checks.check_like_action(action, state.x, "action"))

    def move_to(self, state: RuleState, x: Array) -> RuleState:
        """Return the state, of the same round, whose action is x instead of its own.

        An order, or somebody else, may replace the action of a rule. Only the rule itself knows
        what else of its state depends on the action; one that does not say so cannot be moved.
        """
        if (x == state.x).all():
            return state
        raise InvalidValueError(
            f"action must be the one asked for, because {type(self).__name__} cannot start from "
            f"another, got {x!r}"
        )

    def rest(self, state: RuleState, x: Array) -> RuleState:
        """Return the state after a round in which nothing was read and x is kept for the next.

        For rules that certify; the others cannot start from another action than their own.
        """
        return self.move_to(state, x)

    @property
    def counts_rounds(self) -> bool:
        """Whether a step stands for exactly one round, so that it must be taken in every round."""
        return False


def is_algorithm(value: object) -> bool:
    """Return whether an object, which is no class, has the two methods of an algorithm.

    >>> from surefoot import OGD, Ball
    >>> is_algorithm(OGD(eta=0.1, domain=Ball(1.0))), is_algorithm(OGD)
    (True, False)
    """
    return isinstance(value, Player) and not isinstance(value, type)


def errors_of(algorithm: object) -> Any:
    """Return what an algorithm allows for; None from rules that certify nothing, and from yours."""
    return algorithm.errors if isinstance(algorithm, Algorithm) else None


def works_on_ball(rule: type, tuning: str | None) -> bool:
    """Return whether a rule, tuned so, needs no more of the feasible set than a ball around it."""
    if needs_of(rule).domain == "ball":
        return True
    return issubclass(rule, Algorithm) and tuning in rule.on_ball


def observer_of(algorithm: object) -> RegretObserver | None:
    """Return the sums of an algorithm's bound on the regret; None where it has none."""
    return algorithm.observer() if isinstance(algorithm, Algorithm) else None


def locate(algorithm: Any, state: RuleState, feedback: Feedback) -> Feedback:
    """Return feedback that says at which action it was seen, and how many rounds ago."""
    kind: type[Algorithm] = type(algorithm) if isinstance(algorithm, Algorithm) else Algorithm
    return kind.locate(algorithm, state, feedback)


def counts_rounds(algorithm: object) -> bool:
    """Return whether a rule must be stepped in every round; one that is not of the library not."""
    return isinstance(algorithm, Algorithm) and algorithm.counts_rounds


def move_to(algorithm: Any, state: RuleState, x: Array) -> RuleState:
    """Return the state, of the same round, whose action is x; only a rule moves its own state."""
    own = getattr(algorithm, "move_to", None)
    moved: RuleState = Algorithm.move_to(algorithm, state, x) if own is None else own(state, x)
    return moved


def rest(algorithm: Any, state: RuleState, x: Array) -> RuleState:
    """Return the state after a round without a reading, in which x is kept for the next."""
    kind: type[Algorithm] = type(algorithm) if isinstance(algorithm, Algorithm) else Algorithm
    return kind.rest(algorithm, state, x)


class OneConstraint(Algorithm):
    """A rule that sees g and one of its subgradients.

    Its formulas are ``next_state(state, grad, g, s)``. The numbers of its state class have the
    defaults of round 1; with more in it than numbers, a rule has a ``first_state(x1)``.

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
    def next_state(self, state: Any, /, *seen: Array) -> Any:
        """Return the next state: the formulas of the rule."""

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        return self.next_state(state, *checks.read_feedback(state.x, feedback)), NOTHING


class EachConstraint(OneConstraint):
    """A rule that sees m constraints and their subgradients, each by itself."""

    needs: ClassVar[Needs] = Needs(separately=True, work="m d")

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        return self.next_state(state, *checks.read_feedback_separately(state.x, feedback)), NOTHING


class CostsOnly(OneConstraint):
    """A rule that knows the feasible set and sees the gradients of the costs alone."""

    needs: ClassVar[Needs] = COSTS_ONLY

    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Info]:
        """Return the state after a round: the lines of the class's docstring."""
        return self.next_state(state, checks.read_gradient(state.x, feedback)), NOTHING


def start_in(domain: Set, x1: Array) -> Array:
    """Return a read-only float64 copy of x1; raise if it is outside the domain."""
    x1 = checks.to_action(x1)
    # A set of yours need not know its dimension; then its own operations are left to object.
    d = dimension_of(domain)
    if d is not None and x1.shape[-1] != d:
        raise InvalidValueError(f"x1.shape must end in {d}, as the domain's, got {tuple(x1.shape)}")
    if is_concrete(x1):
        inside = np.atleast_1d(to_numpy(domain.contains(x1)))
        if not inside.all():
            outside = to_numpy(x1).reshape(len(inside), -1)[~inside.ravel()][0]
            raise InvalidValueError(f"x1 must be in the domain {domain!r}, got {outside!r}")
    return x1
