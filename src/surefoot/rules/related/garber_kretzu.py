"""Projection-free descent in blocks (Garber and Kretzu): fixed or changing sets, moving optima."""

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import COSTS_ONLY, Algorithm, CostsOnly, tuning
from surefoot.core.arrays import maximum
from surefoot.core.constants import Constants
from surefoot.core.feedback import Feedback
from surefoot.core.forms import Counts
from surefoot.core.parameters import Declared, instance_of, minimising, positive
from surefoot.core.points import snap_inside
from surefoot.core.types import Array, Info, Needs, Number, Real, Set, Source, State
from surefoot.guarantees.bounds import InBlocks, KnownDiameter, as_floats, descent_bound
from surefoot.guarantees.guarantee import Guarantee, Kind, Measure
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.inside import Inside, OnBounded
from surefoot.rules.related.lagrangian import Lagrangian
from surefoot.rules.related.mixing import Mixing, MixingTheorem

__all__ = [
    "BlockedTheorem",
    "GarberKretzu",
    "PenalisedBlocks",
    "PenalisedBlocksTheorem",
    "TrackingBlocks",
    "TrackingTheorem",
]


class GarberKretzuState(NamedTuple):
    """The action, and what the next round needs.

    Attributes:
        x: the action to play, a point of the feasible set.
        y: the descent's point, which may be infeasible.
        gradients: the sum of the gradients of the block.
        count: how many rounds of the block have been played.
    """

    x: Array
    y: Array
    gradients: Array
    count: Counts


class GarberKretzu(Declared, CostsOnly):
    r"""Gradient descent in blocks of b rounds, with close infeasible projections.

    During a block one action is played and gradients are added up: :math:`S = \sum\nabla_t`. At
    its end :math:`(x, \tilde y) \leftarrow \mathrm{cip}(x, \tilde y - \eta S, c)`, where
    ``close_projection`` gives a point x of K and a point :math:`\tilde y` within c of it that
    is no farther from any point of K than the one it came from. NumPy only.

    Args:
        eta: the step size.
        block: b, the number of rounds per block.
        closeness: c, the largest distance between the two points.
        domain: the feasible set K, which must minimise linear functions.

    Example:
        >>> import numpy as np
        >>> from surefoot import Feedback
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> player = GarberKretzu(eta=1.0, block=2, closeness=0.5, domain=square)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> push = Feedback(np.array([-1.5, 0.0]), None, None)
        >>> player.update(state, push).x  # the block goes on
        array([0., 0.])
        >>> player.update(player.update(state, push), push).x
        array([1., 0.])

    Reference: Garber and Kretzu, "New projection-free algorithms for online convex optimization
    with adaptive regret guarantees", COLT 2022. The rate and the number of calls are theirs; this
    form, which ends with one cut, and its constants are derived here.
    """

    state = GarberKretzuState
    needs: ClassVar[Needs] = COSTS_ONLY._replace(
        linear_minimisations=2, numpy_only=True, one_run=True
    )
    source: ClassVar[Source] = Source("Garber and Kretzu, COLT 2022", "derived here")

    eta: Real = positive()
    block: Real = positive()
    closeness: Real = positive()
    domain: Set = minimising()

    def first_state(self, x1: Array) -> GarberKretzuState:
        return GarberKretzuState(x1, x1, 0.0 * x1, 0.0)

    def next_state(self, state: GarberKretzuState, grad: Array) -> GarberKretzuState:
        x, y, gradients, count = state
        gradients, count = gradients + grad, count + 1.0
        if count < self.block:
            return GarberKretzuState(x, y, gradients, count)
        x, y = close_projection(self.domain, x, y - self.eta * gradients, self.closeness)
        return GarberKretzuState(x, y, 0.0 * gradients, 0.0)

    @classmethod
    @tuning(lambda: BlockedTheorem)
    def known_horizon(
        cls, constants: Constants, horizon: int, domain: Set | None = None
    ) -> Tuned[Self]:
        """Never infeasible with few linear minimisations, in blocks of rounds."""
        return Tuned.of(
            cls,
            BlockedTheorem(
                constants, horizon=horizon, **BlockedTheorem.from_set(constants, domain)
            ),
            domain,
        )


def close_projection(domain: Set, x: Array, y: Array, closeness: Number) -> tuple[Array, Array]:
    r"""Return a point of K and one within ``closeness`` of it that y may be replaced by.

    Frank-Wolfe steps with exact line search on :math:`\tfrac12\|\cdot - y\|^2`, from x. With
    :math:`e = y - x` and the gap :math:`\langle e, v - x\rangle` of the linear minimisation v, K
    lies in the half-space :math:`\langle e, z - x\rangle \le` gap. Once the gap is at most
    :math:`c\|e\|` the projection of y onto that half-space,
    :math:`x + (\text{gap}/\|e\|^2)e`, is within c of x, and no farther than y from any z of K.

    Args:
        domain: K.
        x: a point of K to start from.
        y: the point to project.
        closeness: c > 0.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> close_projection(square, np.array([1.0, 0.2]), np.array([1.6, 0.4]), 0.5)
        (array([1. , 0.2]), array([1.24, 0.28]))
    """
    while True:
        e = y - x
        size = math.sqrt(float(e @ e))
        if size <= closeness:
            return x, y
        v = domain.minimize_linear(-e)
        way = v - x
        gap = float(e @ way)
        if gap <= closeness * size:
            return x, x + (max(gap, 0.0) / (size * size)) * e
        x = snap_inside(domain, x + min(1.0, gap / float(way @ way)) * way)


class Blocks(KnownDiameter, InBlocks):
    """What theorems share about descent in blocks with close infeasible projections."""

    @property
    def closeness(self) -> float:
        r"""The error of a projection, :math:`D\sqrt{b/T}`."""
        return self.diameter * math.sqrt(self.block / self.horizon)

    def _minimisations(self, first: float) -> int:
        """Return the most linear minimisations in all, by the first distance of a block."""
        c = self.closeness
        per_block = 1 + math.ceil(2 * (self.diameter / c) ** 2 * math.log(first / c))
        return (self.horizon // self.block) * per_block


class BlockedTheorem(Blocks, Inside):
    r"""Blocks of :math:`b = \lceil\sqrt T\rceil` rounds: regret :math:`O(T^{3/4})`, no violation.

    With D the diameter of K, :math:`\eta = D/(G_f\sqrt{bT})` and :math:`c = D\sqrt{b/T}`,

    .. math::
        \mathrm{Reg}_t \le \frac{D^2}{2\eta} + \frac\eta2bG_f^2t + cG_ft, \qquad
        \text{calls} \le \frac Tb\Big(1 + \Big\lceil2\frac{D^2}{c^2}
            \ln\frac{c + \eta bG_f}{c}\Big\rceil\Big)

    so :math:`\mathrm{Reg}_T \le 2DG_f\sqrt{bT}`, an incomplete last block included.

    Proof. Gradient descent on the points :math:`\tilde y`, which the projection brings no farther
    from any u of K, with one step per block: a block's sum S has
    :math:`\|S\|^2 \le bG_f^2` times its length, and :math:`\langle S, x - \tilde y\rangle` is at
    most :math:`cG_f` times it. The inequality of a step holds for a block that is not over, too,
    though its step is not taken. A Frank-Wolfe step with the gap above
    :math:`c\|e\|` multiplies :math:`\|e\|^2` by at most :math:`1 - c^2/D^2`, and the first
    :math:`\|e\|` of a block is at most :math:`c + \eta bG_f`.

    Args:
        constants: needs G_f.
        horizon: T.
        diameter: D.

    Example:
        >>> from surefoot import Constants
        >>> theorem = BlockedTheorem(Constants(R=2.0, G_f=1.0), 16, 8**0.5)
        >>> theorem.block, round(theorem.eta, 6), round(theorem.closeness, 6)
        (4, 0.353553, 1.414214)
        >>> round(float(theorem.regret_bound(16)), 6), theorem.linear_minimisations
        (45.254834, 28)
    """

    name: ClassVar[str] = "Garber and Kretzu 2022, linear minimisation"
    regret_exponent: ClassVar[float] = 0.75

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt{bT})`."""
        return self.diameter / (self._G_f * math.sqrt(self.block * self.horizon))

    @property
    def linear_minimisations(self) -> int:
        """The largest number of linear minimisations over all rounds."""
        return self._minimisations(self.closeness + self.eta * self.block * self._G_f)

    def _bound(self, t: Number, distance: float) -> Array:
        descent = descent_bound(t, self.eta, distance, math.sqrt(self.block) * self._G_f)
        return descent + self.closeness * self._G_f * as_floats(t)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta/2)bG_f^2t + cG_ft`."""
        return self._bound(t, self.diameter)

    def interval_bound(self, length: Number) -> Array:
        r"""Bound the regret over any interval.

        :math:`(D+c)^2/(2\eta) + (\eta/2)bG_f^2|I| + cG_f|I| + 2bG_fD`.
        """
        distance = self.diameter + self.closeness
        return self._bound(length, distance) + 2 * self.block * self._G_f * self.diameter

    def dynamic_bound(self, t: Number, path: Number) -> Array:
        r"""Bound the regret against comparators whose path has a given length P.

        :math:`((D+c)^2 + 2(D+c)P)/(2\eta) + (\eta/2)bG_f^2t + cG_ft + bG_fP`.
        """
        distance = self.diameter + self.closeness
        return self._bound(t, distance) + (distance / self.eta + self.block * self._G_f) * path


class PenalisedBlocks(Declared, Algorithm):
    r"""Descent in blocks on :math:`f_t + \tfrac{1}{2\theta}[g_t]_+^2`, by linear minimisation.

    :class:`~surefoot.rules.GarberKretzu` on a simple set, told
    :math:`\nabla_t + \tfrac{[g_t(x_t)]_+}{\theta}s_t` for the gradient. Every action is in the
    simple set; the constraints, which may differ from round to round, are met in the long run.

    Args:
        base: the rule that receives the penalised gradients.
        theta: :math:`\theta > 0`; the penalty is its inverse.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> base = GarberKretzu(eta=0.25, block=1, closeness=0.5, domain=square)
        >>> player = PenalisedBlocks(base=base, theta=0.5)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> seen = Feedback(np.array([-1.0, 0.0]), 1.0, np.array([2.0, 0.0]))
        >>> player.update(state, seen).y  # a gradient of -1 + 2 * 2
        array([-0.75,  0.  ])

    Reference: Garber and Kretzu, "Projection-free online convex optimization with time-varying
    constraints", ICML 2024. The rates are theirs; rule and constants are derived here.
    """

    needs: ClassVar[Needs] = Needs(linear_minimisations=2, numpy_only=True, one_run=True)
    source: ClassVar[Source] = Source("Garber and Kretzu, ICML 2024", "derived here")

    base: GarberKretzu = instance_of(GarberKretzu)
    theta: Real = positive()

    def init(self, x1: Array) -> GarberKretzuState:
        """Start at x1, a point of the simple set."""
        first: GarberKretzuState = self.base.init(x1)
        return first

    def step(self, state: GarberKretzuState, feedback: Feedback) -> tuple[GarberKretzuState, Info]:
        """Add the penalty to the gradient, and let the base play."""
        gradient, g, s = checks.read_feedback(state.x, feedback)
        penalised = gradient + maximum(g, 0.0 * g) / self.theta * s
        return self.base.step(state, Feedback(penalised))

    @classmethod
    @tuning(lambda: PenalisedBlocksTheorem)
    def known_horizon(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Bounded regret and violations with few linear minimisations, by penalties."""
        theorem = PenalisedBlocksTheorem(
            constants, horizon=horizon, **PenalisedBlocksTheorem.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    def from_set(cls, domain: Set, theorem: Guarantee) -> dict[str, Any]:
        """Return blocks on the simple set that actions stay in, as a ball around all others."""
        return {"base": Tuned.of(GarberKretzu, theorem, domain).algorithm}


class PenalisedBlocksTheorem(Blocks, Lagrangian):
    r"""Regret and squared violations :math:`O(T^{3/4})`, by linear minimisation only.

    With D the diameter of the simple set, :math:`b = \lceil\sqrt T\rceil`,
    :math:`\eta = D/(G_f\sqrt{2bT})`, :math:`c = D\sqrt{b/T}` and :math:`\theta = 4\eta bG_g^2`,

    .. math::
        \mathrm{Reg}_t + \frac1{2\theta}\sum_{s \le t}[g_s(x_s)]_+^2 \le B_t =
        \frac{D^2}{2\eta} + \eta bG_f^2t + cG_ft + \frac{c^2}{4\eta b}t,

    so that the squared violations are at most :math:`2\theta(Ft + B_t)`, and the violations at most
    the root of t times that. Comparators are feasible in every round.

    Proof. As for the blocks without penalties, with gradients :math:`\nabla + (p/\theta)s`: a
    block's sum has :math:`\|S\|^2 \le b\sum(2G_f^2 + 2G_g^2p_t^2/\theta^2)`, convexity gives
    :math:`p_t^2/\theta` back, and
    :math:`cG_gp/\theta \le p^2/(4\theta) + c^2G_g^2/\theta`.

    Args:
        constants: needs R, G_f, G_g; uses F.
        horizon: T.
        diameter: D.

    Example:
        >>> from surefoot import Constants
        >>> theorem = PenalisedBlocksTheorem(Constants(R=2.0, G_f=1.0, G_g=1.0), 16, 8**0.5)
        >>> theorem.block, round(theorem.eta, 6), round(theorem.theta, 6)
        (4, 0.25, 4.0)
    """

    name: ClassVar[str] = "Garber and Kretzu 2024, changing constraints"
    kind: ClassVar[Kind] = "sum_squared"
    regret_exponent: ClassVar[float] = 0.75
    violation_exponent: ClassVar[float] = 0.75
    changing: ClassVar[bool] = True

    @property
    def eta(self) -> float:
        r"""The step size :math:`D/(G_f\sqrt{2bT})`."""
        return self.diameter / (self._G_f * math.sqrt(2 * self.block * self.horizon))

    @property
    def theta(self) -> float:
        r"""The regulariser :math:`4\eta bG_g^2`."""
        return 4 * self.eta * self.block * self._G_g**2

    def linear_minimisations(self, largest_violation: float) -> int:
        """Return the largest number of linear minimisations, for violations up to a size."""
        checks.nonnegative(largest_violation=largest_violation)
        step = self.eta * self.block * self._G_f
        return self._minimisations(self.closeness + step + largest_violation / (4 * self._G_g))

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`D^2/(2\eta) + (\eta bG_f^2 + cG_f + c^2/(4\eta b))t`."""
        G_f, c, b = self._G_f, self.closeness, self.block
        rate = self.eta * b * G_f**2 + c * G_f + c**2 / (4 * self.eta * b)
        return self.diameter**2 / (2 * self.eta) + rate * as_floats(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return the squares, and what follows for the violations by Cauchy and Schwarz."""
        squared = 2 * self.theta * self._budget(t)
        hard = np.sqrt(as_floats(t) * squared)
        return {"positive_sum": hard, "sum_positive": hard, "sum_squared": squared}


class TrackingBlocks(Mixing):
    r"""Exponential weights over blocks of several lengths.

    .. math:: x_t = \sum_i\pi_{t,i}x_t^i, \qquad
        \pi_{t+1,i} \propto \pi_{t,i}e^{-\beta\langle\nabla_t, x_t^i\rangle},

    where every expert i receives the gradient at the mixture. Short blocks follow a moving optimum,
    long ones settle. NumPy only.

    Args:
        experts: the rules that are mixed, all on one feasible set.
        rate: :math:`\beta > 0`.

    Example:
        >>> import numpy as np
        >>> from surefoot.sets import Box
        >>> square = Box([-1.0, -1.0], [1.0, 1.0])
        >>> short, long = (
        ...     GarberKretzu(eta=1.0, block=b, closeness=0.5, domain=square) for b in (1, 4)
        ... )
        >>> player = TrackingBlocks(experts=(short, long), rate=0.1)
        >>> state = player.init(np.array([0.0, 0.0]))
        >>> state = player.update(state, Feedback(np.array([-1.0, 0.0]), None, None))
        >>> state.x.round(6)  # the short block has moved to (0.7, 0.1), the long one waits
        array([0.35, 0.05])

    Reference: the setting is that of Wang et al., "Non-stationary projection-free online learning
    with dynamic and adaptive regret guarantees", AAAI 2024; rule and constants derived here.
    """

    kind = GarberKretzu
    needs: ClassVar[Needs] = GarberKretzu.needs._replace(work="d log T")
    source: ClassVar[Source] = Source("Wang et al., AAAI 2024", "derived here")

    def _step_expert(self, expert: GarberKretzu, state: State, gradient: Array) -> Any:
        return expert.update(state, Feedback(gradient))

    def _snap(self, x: Array) -> Array:
        return snap_inside(self.domain, x)

    @classmethod
    @tuning(lambda: TrackingTheorem)
    def known_horizon(cls, constants: Constants, horizon: int, domain: Any = None) -> Tuned[Self]:
        """Bounded regret and violations with few linear minimisations, by tracking."""
        theorem = TrackingTheorem(
            constants, horizon=horizon, **TrackingTheorem.from_set(constants, domain)
        )
        return Tuned.of(cls, theorem, **cls.from_set(domain, theorem))

    @classmethod
    def from_set(cls, domain: Set, theorem: "TrackingTheorem") -> dict[str, Any]:
        """Return one rule for each length of a block."""
        experts = (GarberKretzu(domain=domain, **e._asdict()) for e in theorem.experts)
        return {"experts": tuple(experts)}


class BlockLength(NamedTuple):
    """The parameters of one expert: block length, step size, closeness."""

    block: int
    eta: float
    closeness: float


class TrackingTheorem(OnBounded, MixingTheorem):
    r"""Regret :math:`O(T^{3/4}(1 + P/D)^{1/4})` against comparators of path length P.

    Expert i = 0, 1, ... while :math:`2^i \le 2T` has blocks of
    :math:`b_i = \lceil\sqrt{T/2^i}\rceil` rounds,
    :math:`\eta_i = D\sqrt{2^i/(b_iT)}/G_f` and :math:`c_i = D/\sqrt{b_i}`. With N experts
    and the rate :math:`\sqrt{8\ln N/T}/(G_fD)`,

    .. math:: \mathrm{Reg}_t(u) \le \min_i\Big[\frac{(D+c_i)^2 + 2(D+c_i)P}{2\eta_i}
        + \big(\tfrac12\eta_ib_iG_f^2 + c_iG_f\big)t + b_iG_fP\Big]
        + \frac{\ln N}{\text{rate}} + \frac{\text{rate}}{8}(G_fD)^2t.

    Proof: the bound of one expert on the linearised costs, for the comparator's own path, and what
    the mixture loses to it: linear losses of experts within a diameter D of each other.

    Args:
        constants: needs G_f.
        horizon: T.
        diameter: D, of the feasible set.
    """

    name: ClassVar[str] = "Tracking by linear minimisation (after Wang et al. 2024)"
    regret_exponent: ClassVar[float] = 0.75

    @property
    def experts(self) -> tuple[BlockLength, ...]:
        """The experts, from the longest blocks to the shortest."""
        T, D, G_f = self.horizon, self.diameter, self._G_f
        blocks = ((i, math.ceil(math.sqrt(T / 2**i))) for i in range((2 * T).bit_length()))
        return tuple(
            BlockLength(b, D * math.sqrt(2**i / (b * T)) / G_f, D / math.sqrt(b)) for i, b in blocks
        )

    @property
    def _D(self) -> float:
        return self.diameter

    def _expert_bounds(self, t: Number, path: Number) -> list[Array]:
        D, G_f, bounds = self.diameter, self._G_f, []
        for b, eta, c in self.experts:
            start = ((D + c) ** 2 + 2 * (D + c) * path) / (2 * eta)
            bounds.append(start + (eta / 2 * b * G_f**2 + c * G_f) * t + b * G_f * path)
        return bounds
