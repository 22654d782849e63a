r"""Online gradient descent with Polyak feasibility steps (PFS), Theorem 1 and its corollaries.

Throughout, :math:`\gamma = 1 - \sigma^2/G_g^2`, :math:`\xi = 1 - \sqrt\gamma`,
:math:`\alpha` = ``start_slack``, and :math:`X_\rho = \{g \le -\rho\}`. The proofs are in the paper.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, start_in, tuning
from surefoot.core.arrays import dot, freeze
from surefoot.core.constants import Constants, as_constants, polyak_rate
from surefoot.core.feedback import Feedback
from surefoot.core.parameters import Declared, nonnegative, positive, projectable, rounds
from surefoot.core.types import Array, Info, Number, Real, Source
from surefoot.guarantees.bounds import (
    SHRINK,
    StrictStart,
    as_floats,
    check_strict_start,
    descent_bound,
)
from surefoot.guarantees.guarantee import Guarantee, Kind, KnownHorizon, Measure
from surefoot.guarantees.premise import Premise
from surefoot.guarantees.tuning import Tuned
from surefoot.rules.perturbed_pfs import BoundedNoise, SlowDrift
from surefoot.rules.states import ActionState
from surefoot.sets import Ball, project_halfspace

__all__ = ["PFS", "Corollary1", "Corollary2", "Corollary3", "Theorem1", "tune_polyak"]


class PFS(Declared, Algorithm):
    r"""Online gradient descent with Polyak feasibility steps.

    A gradient step on the cost, then the projection onto the tightened constraint linearised at
    the action already played, so one query per round is enough:

    .. math::
        y_t     &= x_t - \eta \nabla f_t(x_t) \\
        p_t     &= \Pi\{p : g_t + s_t^\top (p - x_t) + \rho \le 0\}(y_t) \\
        x_{t+1} &= \Pi_{R\mathbb{B}}(p_t)

    Args:
        eta: step size of the cost step, :math:`\eta > 0`.
        rho: tightening of the constraint, :math:`\rho \ge 0`.
        domain: a ball :math:`R\mathbb{B}` that contains the feasible set.

    Example:
        >>> import numpy as np
        >>> player = PFS(eta=0.1, rho=0.05, domain=Ball(1.0))
        >>> state = player.init(np.array([0.0, 0.4]))  # feasible: x[1] <= 0.5
        >>> feedback = Feedback(np.array([-1.0, -3.0]), -0.1, np.array([0.0, 1.0]))
        >>> player.update(state, feedback).x
        array([0.1 , 0.45])

    Reference: Hutchinson and Alizadeh, ICML 2025, Algorithm 1.
    """

    source: ClassVar[Source] = Source("Hutchinson and Alizadeh, ICML 2025", "as published")

    eta: Real = positive()
    rho: Real = nonnegative()
    domain: Ball = projectable()

    def init(self, x1: Array) -> ActionState:
        """Start at x1, a point of the domain."""
        return ActionState(start_in(self.domain, x1))

    def step(self, state: ActionState, feedback: Feedback) -> tuple[ActionState, Info]:
        """Return the state after a round: the three lines of the docstring."""
        x = state.x
        grad, g, s = checks.read_feedback(x, feedback)
        y = x - self.eta * grad
        p = project_halfspace(y, g + dot(s, y - x) + self.rho, s)
        x = freeze(self.domain.project(p))
        return ActionState(x), Info(x, proposal=y)

    def move_to(self, state: ActionState, x: Array) -> ActionState:
        """Return the state with x as the point that the next step starts from."""
        return ActionState(x)

    @classmethod
    @tuning(lambda: Corollary1)
    def anytime(cls, constants: Constants, horizon: int, domain: Ball | None = None) -> Tuned[Self]:
        """Feasible in every round, for a given horizon: Corollary 1."""
        return Tuned.of(cls, Corollary1(constants, horizon=horizon), domain)

    @classmethod
    @tuning(lambda: Corollary2)
    def eventually(
        cls, constants: Constants, horizon: int, domain: Ball | None = None
    ) -> Tuned[Self]:
        """Feasible from a given round on: Corollary 2."""
        return Tuned.of(cls, Corollary2(constants, horizon=horizon), domain)

    @classmethod
    @tuning(lambda: Corollary3)
    def nearly(cls, constants: Constants, horizon: int, domain: Ball | None = None) -> Tuned[Self]:
        """Violations that vanish with the horizon, from any start: Corollary 3."""
        return Tuned.of(cls, Corollary3(constants, horizon=horizon), domain)

    @classmethod
    @tuning(lambda: tune_polyak)
    def tuned(cls, constants: Constants, horizon: int, domain: Ball | None = None) -> Tuned[Self]:
        """Feasible in every round, with the step and margin of the smallest bound of Theorem 1."""
        return Tuned.of(cls, tune_polyak(constants, horizon=horizon), domain)

    @classmethod
    @tuning(lambda: Theorem1, listed=False)
    def chosen(
        cls,
        constants: Constants,
        horizon: int | None = None,
        domain: Ball | None = None,
        *,
        eta: float,
        rho: float,
    ) -> Tuned[Self]:
        """Theorem 1 for a given step size and margin."""
        return Tuned.of(cls, Theorem1(constants, horizon=horizon, eta=eta, rho=rho), domain)

    @classmethod
    @tuning(lambda: BoundedNoise, listed=False)
    def noisy(
        cls,
        constants: Constants,
        horizon: int,
        domain: Ball | None = None,
        *,
        value_error: float = 0.0,
        subgradient_error: float = 0.0,
    ) -> Tuned[Self]:
        """Feasible in every round if the errors of values and subgradients are bounded."""
        return Tuned.of(
            cls,
            BoundedNoise(
                constants,
                horizon=horizon,
                value_error=value_error,
                subgradient_error=subgradient_error,
            ),
            domain,
        )

    @classmethod
    @tuning(lambda: SlowDrift, listed=False)
    def drifting(
        cls,
        constants: Constants,
        horizon: int,
        domain: Ball | None = None,
        *,
        drift: float,
        common_slack: float | None = None,
        common_reach: float | None = None,
    ) -> Tuned[Self]:
        """Feasible in every round if the drift of the constraint is bounded."""
        return Tuned.of(
            cls,
            SlowDrift(
                constants,
                horizon=horizon,
                drift=drift,
                common_slack=common_slack,
                common_reach=common_reach,
            ),
            domain,
        )


class Theorem1(Guarantee):
    r"""Theorem 1: any :math:`\eta > 0` and :math:`\rho \in [0, \epsilon]`, any number of rounds.

    .. math::
        \mathrm{Reg}_t &\le \frac{2R^2}{\eta} + \frac{\eta}{2}G_f^2 t + \frac{G_f\rho}{\sigma} t \\
        g(x_t) &\le G_g\gamma^{(t-1)/2}\,\mathrm{dist}(x_1, X_\rho)
                    + \frac{\eta G_g G_f}{\xi} - \rho

    Args:
        constants: needs R, G_f, G_g, sigma, epsilon.
        eta: step size.
        rho: tightening, at most epsilon.
        horizon: the number of rounds, if the parameters were chosen for one.
        tightening_cost: how far the best action may move per unit of rho; :math:`1/\sigma` by
            Lemma 1, unless a better number is known (:func:`surefoot.rules.tune_polyak`).
        start_reach: D, how far the best action may be from the first: :math:`D^2/(2\eta)` is then
            the first term, because the squares of the proof begin there; 2R unless given.

    Example:
        >>> c = Constants(R=1.0, G_f=1.0, G_g=1.0, sigma=1.0, epsilon=0.5, start_slack=0.5)
        >>> bound = Theorem1(c, eta=0.1, rho=0.2)
        >>> float(bound.regret_bound(100)), bound.kind
        (45.0, 'every round')
    """

    name: ClassVar[str] = "Theorem 1"
    needed: ClassVar[tuple[str, ...]] = ("G_f", "G_g", "sigma")

    eta: float = positive()
    rho: float = nonnegative()
    horizon: int | None = rounds(default=None)
    tightening_cost: float | None = nonnegative(default=None)
    start_reach: float | None = positive(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        (epsilon,) = self.constants.require("epsilon", by=self.name)
        checks.at_most(epsilon, "epsilon", rho=self.rho)

    @property
    def _sigma(self) -> float:
        return self.constants.require("sigma", by=self.name)[0]

    @property
    def kind(self) -> Kind:
        """Every round if the violation bound is never positive, else after t0, else bounded."""
        if self.first_feasible == 1:
            return "every round"
        return "after t0" if self.first_feasible < math.inf else "bounded"

    @property
    def drift(self) -> float:
        r"""The largest steady push of the costs, :math:`\eta G_g G_f/\xi`."""
        return self.eta * self._G_g * self._G_f / self.constants.xi

    @property
    def start_distance(self) -> float:
        r"""A bound on :math:`\mathrm{dist}(x_1, X_\rho)`.

        0 when the start's slack is at least rho; else :math:`(\rho - \alpha)/\sigma` by Lemma 1,
        and never more than 2R.
        """
        R, slack = self.constants.R, self.constants.start_slack
        return 2 * R if slack is None else min(2 * R, max(0.0, self.rho - slack) / self._sigma)

    def regret_bound(self, t: Number) -> Array:
        r"""Return :math:`2R^2/\eta + (\eta/2) G_f^2 t + (G_f\rho/\sigma) t`."""
        cost = 1 / self._sigma if self.tightening_cost is None else self.tightening_cost
        distance = 2 * self.constants.R if self.start_reach is None else self.start_reach
        descent = descent_bound(t, self.eta, distance, self._G_f)
        return descent + self._G_f * self.rho * cost * as_floats(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        r"""Return :math:`G_g\gamma^{(t-1)/2} dist(x_1, X_\rho) + \eta G_g G_f/\xi - \rho`."""
        t = as_floats(t)
        if self.kind == "every round":
            return {"round": np.zeros_like(t)}  # the slack below it covers rounding (SHRINK)
        G_g, sigma, gamma = self._G_g, self._sigma, self.constants.gamma
        # The logarithm if gamma is closer to 1 than to 0: 1 - 1e-18 is no float.
        fading = (
            gamma ** ((t - 1) / 2)
            if gamma < 0.5
            else np.exp((t - 1) / 2 * math.log1p(-((sigma / G_g) ** 2)))
        )
        return {"round": G_g * fading * self.start_distance + self.drift - self.rho}

    @property
    def regret_exponent(self) -> float | None:
        """The exponent 1/2 for parameters chosen for a horizon; else None."""
        return None if self.horizon is None else 0.5

    @property
    def first_feasible(self) -> float:
        """The first round from which the violation bound is at most 0; inf if there is none."""
        G_g, sigma = self._G_g, self._sigma
        excess, room = G_g * self.start_distance, self.rho - self.drift
        if excess <= room:
            return 1
        gamma = self.constants.gamma
        if room < 0 or (room == 0 and gamma > 0):
            return math.inf
        if gamma == 0:
            return 2
        decay = -math.log(gamma) if gamma < 0.5 else -math.log1p(-((sigma / G_g) ** 2))
        return 1 + math.ceil(2 * math.log(excess / room) / decay)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The bounds G_f, G_g and sigma; the start and the horizon if they matter."""
        c = self.constants
        premises = [
            Premise("cost gradient", "G_f", self._G_f),
            Premise("constraint subgradient", "G_g", self._G_g),
            Premise("subgradient near the boundary", "sigma", self._sigma, level=c.epsilon or 0.0),
        ]
        if c.start_slack is not None:
            premises.append(Premise("start", "the slack counted on", min(c.start_slack, self.rho)))
        return self._and_horizon(*premises)


class _Corollary(KnownHorizon):
    """Theorem 1 with the ``eta`` and ``rho`` that a corollary gives for a horizon."""

    regret_exponent: ClassVar[float] = 0.5
    needed: ClassVar[tuple[str, ...]] = ("G_f", "G_g")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.theorem

    @property
    def theorem(self) -> Theorem1:
        """Theorem 1 at these parameters, which covers every round, not only the last."""
        corollary: Any = self
        return Theorem1(self.constants, corollary.eta, corollary.rho, self.horizon)

    def regret_bound(self, t: Number) -> Array:
        """Return Theorem 1's bound; at t = horizon it is the corollary's."""
        return self.theorem.regret_bound(t)

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return Theorem 1's bound on each round; never above the corollary's."""
        return self.theorem.bounds(t)

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The premises of Theorem 1 at these parameters."""
        return self.theorem.premises


class Corollary1(_Corollary, StrictStart):
    r"""Corollary 1: feasible in every round from a strictly feasible start.

    With :math:`g(x_1) \le -\alpha`, :math:`\alpha \in (0, \epsilon]`,
    :math:`\rho = \alpha/\sqrt T` and :math:`\eta = \xi\rho/(G_f G_g)`:

    .. math::
        g(x_t) \le 0 \ \forall t \le T, \qquad
        \mathrm{Reg}_T \le \Big(\frac{2G_fG_gR^2}{\xi\alpha} + \frac{G_f\xi\alpha}{2G_g}
                               + \frac{G_f\alpha}{\sigma}\Big)\sqrt T

    G_f need only bound the gradients on the feasible set (the paper's Remark 2): all actions
    are in it, by induction. The same holds of G_g, and the ball projection is never active.
    """

    name: ClassVar[str] = "Corollary 1"

    @property
    def rho(self) -> float:
        r"""The tightening :math:`\min(\alpha, \epsilon)/\sqrt T`."""
        level = min(self.constants.require("start_slack", "epsilon", by=self.name))
        return level / math.sqrt(self.horizon)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\xi\rho/(G_f G_g)`, slightly shorter (SHRINK)."""
        return SHRINK * self.constants.xi * self.rho / (self._G_f * self._G_g)


class Corollary2(_Corollary):
    r"""Corollary 2: any start, feasible after O(log T) rounds.

    With :math:`\rho = \epsilon/\sqrt T` and :math:`\eta = \xi\epsilon/(2G_fG_g\sqrt T)`:

    .. math::
        g(x_t) \le 0 \ \forall t \ge t_0 = 1 + \frac{2G_g^2}{\sigma^2}
                                      \log\frac{4G_gR\sqrt T}{\epsilon}, \qquad
        \mathrm{Reg}_T \le \Big(\frac{4G_fG_gR^2}{\xi\epsilon} + \frac{G_f\xi\epsilon}{4G_g}
                               + \frac{G_f\epsilon}{\sigma}\Big)\sqrt T

    and :math:`\sum_t g(x_t) \le 0` when :math:`\sqrt T \ge 4RG_g/(\epsilon\xi)`.

    The paper prints the first term without the 4. That is a slip: the term is
    :math:`2R^2/\eta` at this eta. With it left out the bound fails; for d = 1, g = \|x\| - 1,
    f_t(x) = x, x_1 = 1, epsilon = 0.9, T = 16 the regret is 16.84, the printed bound 8.94 and
    this one 22.28.
    """

    name: ClassVar[str] = "Corollary 2 (corrected)"

    @property
    def _epsilon(self) -> float:
        return self.constants.require("epsilon", by=self.name)[0]

    @property
    def kind(self) -> Kind:
        """After t0, or every round if the given slack of the start is at least rho."""
        return self.theorem.kind

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return Theorem 1's; if T is large enough, the sum of g is at most 0 at t = T."""
        each = super().bounds(t)
        if not self.is_cumulative or np.any(np.asarray(t) != self.horizon):
            return each
        return each | {"positive_sum": np.zeros_like(each["round"])}

    @property
    def rho(self) -> float:
        r"""The tightening :math:`\epsilon/\sqrt T`."""
        return self._epsilon / math.sqrt(self.horizon)

    @property
    def eta(self) -> float:
        r"""The step size :math:`\xi\rho/(2G_f G_g)`."""
        return self.constants.xi * self.rho / (2 * self._G_f * self._G_g)

    @property
    def first_feasible(self) -> int:
        r"""The round :math:`t_0`, rounded up."""
        R, G_g, sigma = self.constants.R, self._G_g, self.theorem._sigma
        logarithm = math.log(4 * G_g * R * math.sqrt(self.horizon) / self._epsilon)
        return 1 + max(0, math.ceil(2 * (G_g / sigma) ** 2 * logarithm))

    @property
    def is_cumulative(self) -> bool:
        r"""Whether :math:`\sum_t g(x_t) \le 0` is promised too, because T is large enough."""
        R, G_g = self.constants.R, self._G_g
        return math.sqrt(self.horizon) >= 4 * R * G_g / (self._epsilon * self.constants.xi)


class Corollary3(_Corollary):
    r"""Corollary 3: the regret of OGD with full projection, violation O(1/sqrt T) in each round.

    With :math:`\rho = 0` and :math:`\eta = 2R/(G_f\sqrt T)`:

    .. math::
        \mathrm{Reg}_T \le 2RG_f\sqrt T, \qquad
        g(x_t) \le 2RG_g \exp\Big(-\frac{\sigma^2(t-1)}{2G_g^2}\Big) + \frac{2RG_g}{\xi\sqrt T}
    """

    name: ClassVar[str] = "Corollary 3"
    kind: ClassVar[Kind] = "bounded"
    violation_exponent: ClassVar[float] = 0.5
    rho: ClassVar[float] = 0.0

    def bounds(self, t: Number) -> dict[Measure, Array]:
        """Return Theorem 1's, and their sum: a geometric series and t times a constant."""
        t = as_floats(t)
        xi = self.constants.xi
        # sum of root^s for s < t with root = 1 - xi; 1 - root may be 0 in floats where xi is not.
        series = -np.expm1(t * math.log1p(-xi)) / xi if xi < 1 else np.minimum(t, 1.0)
        fading = self._G_g * self.theorem.start_distance * series
        hard = fading + self.theorem.drift * t
        return super().bounds(t) | {"positive_sum": hard, "sum_positive": hard}

    @property
    def eta(self) -> float:
        r"""The step size :math:`2R/(G_f\sqrt T)`."""
        return 2 * self.constants.R / (self._G_f * math.sqrt(self.horizon))


def tune_polyak(constants: Constants, horizon: int) -> Theorem1:
    r"""Return the best :math:`(\eta, \rho)` that Theorem 1 allows for this horizon.

    Feasibility in every round asks for :math:`\eta \le \xi\rho/(G_fG_g)` and a start with
    :math:`g(x_1) \le -\rho`, nothing else; so :math:`\rho` may be anything up to
    :math:`\min(\epsilon, \alpha)`, where Corollary 1 fixes :math:`\rho = \alpha/\sqrt T`. With the
    first inequality tight (it is at the optimum, see below) the bound is

    .. math::
        B(\rho) = \frac{2R^2G_fG_g}{\xi\rho}
                + \Big(\frac{\xi}{2G_g} + \kappa\Big) G_f T \rho

    with :math:`\kappa` the cost of tightening. Two sources give :math:`(\sigma, \kappa)`:

    * a sigma that holds at epsilon: :math:`\kappa = 1/\sigma`, and neither depends on rho. Then
      B is convex, with its minimum at
      :math:`\rho^\star = \sqrt{(2G_gR^2/\xi)/(T(\xi/(2G_g) + \kappa))}`,
      cut off at :math:`\min(\epsilon, \alpha)`;
    * the start: :math:`\sigma_\rho = (\alpha-\rho)/D_0` by the local form (*), and
      :math:`\kappa = D_0/\alpha` because :math:`u = (1-\rho/\alpha)x^\star + (\rho/\alpha)x_1` has
      :math:`g(u) \le -\rho` and :math:`\|u - x^\star\| \le \rho D_0/\alpha`. Then B is minimised
      numerically over :math:`(0, \alpha)`.

    The function takes the better one. Why the step is tight: for fixed rho the bound falls in eta
    up to :math:`2R/(G_f\sqrt T)`. At :math:`\rho^\star` the limit :math:`\xi\rho^\star/(G_fG_g)` is
    below that, since :math:`\rho^{\star 2}T \le (2G_gR^2/\xi)(2G_g/\xi)`. For larger rho,
    which only the numerical search reaches, the smaller of the two steps is used.

    Example:
        >>> toy = Constants(R=1.0, G_f=14.4853, G_g=1.0, sigma=0.5**0.5, epsilon=0.25,
        ...                 start_slack=0.5)
        >>> best = tune_polyak(toy, 20_000)
        >>> round(best.rho * 20_000**0.5, 2)  # Corollary 1 has 0.25 here
        2.09
    """
    checks.check_horizon(horizon)
    by = "the tuned Theorem 1"
    needed = ("R", "G_f", "G_g", "start_slack")
    R, G_f, G_g, slack = as_constants(constants).require(*needed, by=by)
    check_strict_start(slack, by)
    candidates: list[Theorem1] = []

    if constants.sigma is not None:
        sigma, epsilon = constants.require("sigma", "epsilon", by=by)
        xi = constants.xi
        best = math.sqrt((2 * G_g * R**2 / xi) / (horizon * (xi / (2 * G_g) + 1 / sigma)))
        rho = min(best, epsilon, slack)
        eta = _step_size(R, G_f, G_g, sigma, rho, horizon)
        candidates.append(Theorem1(constants, eta, rho, horizon))

    cost = constants.reach / slack

    def bound(rho: float) -> float:
        # Theorem 1 with the sigma of the start, in the same order of operations. The search calls
        # it a thousand times, and objects with checked arguments would be slow.
        eta = _step_size(R, G_f, G_g, min(constants.local_sigma(rho), G_g), rho, horizon)
        return float(descent_bound(horizon, eta, 2 * R, G_f)) + G_f * rho * cost * horizon

    rho = minimise_bracketed(bound, slack * 1e-9, slack * (1 - 1e-9))
    sigma = min(constants.local_sigma(rho), G_g)
    local_constants = constants.with_origin("local", sigma=sigma, epsilon=rho)
    eta = _step_size(R, G_f, G_g, sigma, rho, horizon)
    candidates.append(Theorem1(local_constants, eta, rho, horizon, tightening_cost=cost))
    least = min(candidates, key=lambda theorem: float(theorem.regret_bound(horizon)))
    return replace(least, start_reach=constants.start_reach)


def _step_size(R: float, G_f: float, G_g: float, sigma: float, rho: float, horizon: int) -> float:
    """Return the longest useful step that is feasible at rho."""
    feasible = SHRINK * polyak_rate(sigma, G_g) * rho / (G_f * G_g)
    return min(feasible, 2 * R / (G_f * math.sqrt(horizon)))


def minimise_bracketed(
    objective: Callable[[float], float], lower: float, upper: float, points: int = 400
) -> float:
    """Return the minimiser of a function of a positive number between two bounds.

    Each of several grids zooms in around the best point so far, so that no later one is worse.
    """
    grid = np.geomspace(lower, upper, points)
    # The function may turn within the last grid cell below `upper`, where a log grid is coarse.
    grid = np.unique(np.concatenate([grid, upper - np.geomspace(lower, upper / 2, points)]))
    while True:
        i = int(np.argmin([objective(float(point)) for point in grid]))
        a, b = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
        if b - a <= 1e-10 * b:
            return float(grid[i])
        grid = np.unique(np.append(np.linspace(a, b, 33), grid[i]))
