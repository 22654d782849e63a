"""The types of the library: action, algorithm, set, constraint, cost stream.

Shapes, everywhere:

========================  ==============  ====================================
what                      one run         B runs at once
========================  ==============  ====================================
action, gradient          ``(d,)``        ``(B, d)``
a number (g, eta, rho)    ``float``       column ``(B, 1)``
========================  ==============  ====================================

Columns make update rules plain arithmetic: ``eta * gradient`` is right for one run and for a batch.
The numbers of one NumPy run are Python floats, by which primitives recognise one run. The numbers
of one JAX or torch run are 0-d arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    runtime_checkable,
)

import numpy as np

from surefoot.core.forms import Axes, Same
from surefoot.core.record import Record

if TYPE_CHECKING:
    from surefoot.core.feedback import Feedback

# Any array that follows the array API (NumPy, JAX, torch, array-api-strict). Naming one of them
# here would make that one a dependency of every rule.
Array: TypeAlias = Any
# What the library returns to a user: NumPy arrays of float64.
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
# A Python float for one run, a column for a batch, a tracer under JAX.
Number: TypeAlias = Any
# A round or a run: a whole number, a tracer under JAX; several runs by a slice or an array.
Index: TypeAlias = Any
# The state of a rule: a record whose `x` is the next action.
RuleState: TypeAlias = Any


class HasArray(Protocol):
    """An array, or an object that NumPy can convert: of JAX, torch, pandas, polars."""

    def __array__(self, *args: Array, **kwargs: Array) -> Array:
        """Return the numbers as an array of NumPy."""


# What a caller may pass as an array or a number, for a type checker and an editor. Inside they
# are Array and Number, which arithmetic of any backend returns.
ArrayLike: TypeAlias = (
    Sequence[float | HasArray | Sequence[float | HasArray | Sequence[float]]] | HasArray
)
Real: TypeAlias = float | FloatArray


class Context(NamedTuple):
    """The context of a round, in numbers; it is known before the round.

    Attributes:
        place: for the knowledge, which bounds the change of g between two places.
        features: for a learner of policies; None without one.
    """

    place: Annotated[Array, Axes(Same("place"))]
    features: Annotated[Array | None, Axes(Same("features"))] = None


class Needs(NamedTuple):
    """What an algorithm needs in a round, and how its work grows.

    Attributes:
        cost_gradients: gradients of the round's cost.
        constraint_values: evaluations of g at the action played.
        constraint_subgradients: subgradients of g there.
        separately: whether it takes all m constraints separately, instead of their maximum.
        projections: projections onto the feasible set; a ball around it does not count.
        linear_minimisations: minimisations of a linear function over the feasible set.
        cost_values: values of the round's cost at the action played.
        directions: unit vectors that the game draws and the rule explores along.
        separations: calls of a separation oracle of the feasible set, at points that are not
            played.
        gauges: calls of the gauge of the feasible set.
        proxes: proximal steps with the violation of the constraint.
        smooth_queries: values and gradients of a smooth constraint at points that are not played.
        work: arithmetic of an update beside these, as a product of sizes: "d", "m d".
        domain: the set that it works on: a ball around the feasible set, the feasible set itself,
            or the feasible set if that is a simplex.
        numpy_only: whether the rule has loops whose length depends on data, which cannot be
            compiled; a batch then plays its runs one by one.
        one_run: whether the rule takes the action of one run only; several are played in a loop.
        agents: whether it plays for several agents at once, each with its cost and its constraint,
            in :func:`surefoot.games.play_network`.
        proposals: external proposals for the next action.
        fields: the fields of feedback that it uses, beside those that every rule may be given
            (:data:`surefoot.core.feedback.FIELDS`).
    """

    cost_gradients: int = 1
    constraint_values: int = 1
    constraint_subgradients: int = 1
    separately: bool = False
    projections: int = 0
    linear_minimisations: int = 0
    cost_values: int = 0
    directions: int = 0
    separations: int = 0
    gauges: int = 0
    proxes: int = 0
    smooth_queries: int = 0
    work: str = "d"
    domain: Literal["ball", "feasible", "simplex"] = "ball"
    numpy_only: bool = False
    one_run: bool = False
    agents: bool = False
    proposals: int = 0
    fields: frozenset[str] = frozenset()


class Source(NamedTuple):
    """Where an algorithm comes from.

    Attributes:
        work: authors, venue and year.
        rule: "as published"; "from memory", not compared with the text of the work; or "derived
            here" to have its rates.
    """

    work: str
    rule: Literal["as published", "from memory", "derived here"]


def needs_of(algorithm: object) -> Needs:
    """Return the needs of an algorithm; the paper's feedback by default.

    Args:
        algorithm: one, or its class.

    Example:
        >>> from surefoot import OGD
        >>> needs_of(OGD).domain, needs_of(object()).domain
        ('feasible', 'ball')
    """
    name = "typical_needs" if hasattr(algorithm, "typical_needs") else "needs"
    needs = getattr(algorithm, name if isinstance(algorithm, type) else "needs", None)
    return needs if isinstance(needs, Needs) else Needs()


class State(Protocol):
    """Exactly what the next round needs; ``x`` is the next action."""

    @property
    def x(self) -> Array:
        """The action to play next."""


@runtime_checkable
class Player(Protocol):
    """A decision rule: ``init`` and ``step``, both pure; ``state.x`` is the action to play."""

    def init(self, x1: Array) -> RuleState:
        """Return the state before the first round, with ``x1`` as its action."""

    def step(self, state: RuleState, feedback: Feedback) -> tuple[RuleState, Info]:
        """Return the state after a round, and the details of the step."""


class Certificate(Protocol):
    """Why the next action is feasible; ``str`` of it is one line.

    Concrete certificates are named tuples of plain numbers and words, which a journal can store.
    Two properties are optional: :func:`facts_of` and :func:`limit_of` read them.
    """

    @property
    def round(self) -> int:
        """The round that was played."""

    @property
    def cut(self) -> bool:
        """Whether a half-space or a region changed the proposed action."""

    @property
    def bound(self) -> float:
        """The largest value that g can have at the next action."""


def facts_of(certificate: Certificate) -> dict[str, str]:
    """Return the ``facts`` of a certificate by name; none where its ``str`` has them all."""
    facts: dict[str, str] = getattr(certificate, "facts", {})
    return facts


def limit_of(certificate: Certificate | None) -> float:
    """Return the ``limit`` that a certificate keeps the next g below; 0 unless it has one."""
    return float(getattr(certificate, "limit", 0.0))


class Info(Record):
    """Details of a step; properties are computed when they are read.

    Attributes:
        x: the next action.
        proposal: the point that the rule would like to play; None if it proposes only x.
        region: the certified region that contains x; None from rules that certify nothing.
        suspects: functions without arguments that return sentences on contradictions.
        round: the round that was played, if the region counts rounds differently.
    """

    __slots__ = ("_note", "proposal", "region", "round", "suspects", "x")

    x: Array | None
    proposal: Array | None
    region: Any
    suspects: tuple[Callable[[], Iterable[str]], ...]
    round: int | None
    _note: Any

    def __init__(
        self,
        x: Array | None = None,
        proposal: Array | None = None,
        region: Any = None,
        suspects: tuple[Callable[[], Iterable[str]], ...] = (),
        note: Any = None,
        round: int | None = None,  # noqa: A002 - the name of the part
    ) -> None:
        self.fill(x=x, proposal=proposal, region=region, suspects=suspects, _note=note, round=round)

    @property
    def note(self) -> Any:
        """Data of the step for the rule's regret bound."""
        return self._note if self.kernel is None else self.kernel.note

    @property
    def cut(self) -> bool | None:
        """Whether the next action differs from the proposal; None if there is no proposal."""
        if self.kernel is not None:
            answer: bool = self.kernel.cut
            return answer
        if self.proposal is None:
            return None
        return bool((np.asarray(self.x) != np.asarray(self.proposal)).any())

    @property
    def certificate(self) -> Certificate | None:
        """Why the next action is feasible; None from rules that certify nothing."""
        certificate: Certificate
        if self.kernel is not None:
            certificate = self.kernel.certificate
            return certificate
        if self.region is None:
            return None
        reason: Any = self.region.certificate(self.x, cut=bool(self.cut))
        certificate = reason if self.round is None else reason._replace(round=self.round)
        return certificate

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Measurements that are impossible if the constants are right, one sentence each."""
        if self.kernel is not None:
            sentences: tuple[str, ...] = self.kernel.contradictions
            return sentences
        return tuple(sentence for suspect in self.suspects for sentence in suspect())


class RegretObserver(Protocol):
    """Sums over the rounds so far that bound the regret: a named tuple of plain numbers."""

    def after(self, info: Info) -> RegretObserver | None:
        """Return the sums with one more round, given its details; None if the bound ends."""

    def bound(self, algorithm: Player, state: RuleState) -> float:
        """Return an upper bound on the regret of the rounds so far."""


@runtime_checkable
class Set(Protocol):
    """A closed convex set with a projection (the classes in :mod:`surefoot.sets`)."""

    def project(self, x: Array) -> Array:
        """Return the nearest point of the set."""

    def contains(self, x: Array) -> Array:
        """Return whether x is in the set: a bool, or a column of bools."""

    def minimize_linear(self, c: Array) -> Array:
        """Return a point of the set where the inner product with c is smallest."""


@runtime_checkable
class Solving(Protocol):
    """A set that projects by a solver; the others have a closed form."""

    def nearest(self, x: Array) -> Array:
        """Return the nearest point with a bound on its error."""


@runtime_checkable
class CostStream(Protocol):
    """The convex costs of all rounds. Rounds count from 0 here, as arrays do."""

    @property
    def horizon(self) -> int:
        """The number of rounds."""

    @property
    def runs(self) -> int | None:
        """The number of runs with their own streams; None if all runs share one."""

    @property
    def dimension(self) -> int:
        """The length d of an action."""

    def value(self, t: Index, x: Array) -> Number:
        """Return the cost of round t at x."""

    def gradient(self, t: Index, x: Array) -> Array:
        """Return a (sub)gradient of the cost of round t at x."""

    def rounds(self, start: int, stop: int) -> CostStream:
        """Return the stream of the rounds from start to stop - 1."""

    def run(self, index: Index) -> CostStream:
        """Return the stream of one run, or of the runs of a slice or an array of indices."""
