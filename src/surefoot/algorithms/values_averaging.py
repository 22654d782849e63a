"""Dual averaging onto a certified region, from values of g and a bound on its curvature."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from surefoot.core import checks
from surefoot.core.algorithm import Algorithm, tuning
from surefoot.core.arrays import ndarray, norm, owned
from surefoot.core.constants import Constants, as_constants
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array, Feedback, Needs, Source
from surefoot.regions import Curvature, CurvatureMemory, Errors
from surefoot.regions._ball import curvature_margin
from surefoot.regions._certificates import beyond_reach
from surefoot.theory import Tuned
from surefoot.theory.values import ValuesAndCurvature

__all__ = ["PullCertificate", "ValuesAveraging", "ValuesAveragingState"]


class ValuesAveragingState(NamedTuple):
    """What the next round needs.

    Attributes:
        x: the action to play.
        start: the first action.
        start_value: the bound on g there; 0 before it was seen.
        rounds: how many rounds have been played.
        origin: where the slope was measured.
        slope: the slope that was measured; 0 before there is one.
        error: what it errs by there.
        probing: the entry that the action is moved by for a probe, from 0; -1 for none.
        base: the action that the probes differ from.
        value: g there.
        noise: what that value errs by at most.
        length: how far the probes go.
        differences: the slope that is being measured.
        doubts: the sum of the squares of what its entries err by.
        gradients: the sum of the cost gradients.
        squares: the sum of their squared norms.
        bound: what was certified of the next g.
    """

    x: Array
    start: Array
    start_value: float
    rounds: float
    origin: Array
    slope: Array
    error: float
    probing: float
    base: Array
    value: float
    noise: float
    length: float
    differences: Array
    doubts: float
    gradients: Array
    squares: float
    bound: float


class PullCertificate(NamedTuple):
    """Why an action on the way back to the start is feasible: g is convex.

    Attributes:
        round: the round that was played.
        value: the bound on g at the action played.
        start_value: the bound on g at the start.
        share: of the way from the one to the other.
        bound: the next g is at most this.
        cut: always True: something else was wanted.
    """

    round: int
    value: float
    start_value: float
    share: float
    bound: float
    cut: bool = True

    def __str__(self) -> str:
        return (
            f"round {self.round}: g is at most {self.value:.3g} here and {self.start_value:.3g} at "
            f"the start, and it is convex: {self.share:.3g} of the way back it is at most "
            f"{self.bound:.3g}"
        )


class ValuesStep(NamedTuple):
    """What a step knew.

    Attributes:
        certificate: why the next action is feasible.
        contradictions: what cannot be if the constants are right, one sentence each.
        probing: whether the next action is a probe.
    """

    certificate: Any
    contradictions: tuple[str, ...]
    probing: bool

    @property
    def cut(self) -> bool:
        """Whether the next action is another than the far point of dual averaging."""
        return bool(self.certificate.cut)


class ValuesAveraging(Algorithm):
    r"""Dual averaging from values and a bound on curvature: slopes are measured, with their error.

    For a convex g with curvature at most :math:`\beta`, n values next to :math:`x_o` give its slope
    there up to :math:`\tau_0`, and at x up to :math:`\tau = \tau_0 + \beta\|x - x_o\|`:

    .. math::
        \hat s_i &= \sigma_i\Big(\frac{g(x_o + \delta\sigma_ie_i) - g(x_o)}\delta
                    - \frac{\beta\delta}4\Big), \qquad
        \tau_0^2 = \sum_i\Big(\frac{\beta\delta}4 + \frac{\nu_o + \nu_i}\delta\Big)^2 \\
        x_{t+1} &= \text{the point of } \big\{p : g_t + \nu + \hat s^\top(p - x_t) +
                   \tau\|p - x_t\| + \tfrac\beta2\|p - x_t\|^2 \le 0\big\} \text{ nearest to }
                   x_1 - \eta_t\textstyle\sum_{i \le t}\nabla_i

    with :math:`\nu_o` and :math:`\nu_i` the errors of the values at :math:`x_o` and at the probes.
    The slope is measured again, in n rounds that are played and counted, where the region cuts the
    step and :math:`\tau > q\|\hat s\|`. Every probe is certified by the same inequality; where one
    is not, the action first goes back towards the start, which is safe because g is convex.

    Args:
        known: the curvature of g, with the errors of its values.
        radius: R, the radius of a ball that contains the feasible set.
        start_slope: a bound on the slope at the start, however rough.
        share: q; a larger one probes less.
        length: :math:`\delta`; :math:`\sqrt{8\nu/\beta}` for values that err by :math:`\nu`, and
            :math:`10^{-4}R` for exact ones, unless given.

    Example:
        >>> import numpy as np
        >>> known = Curvature(beta=2.0, reach=1.0)
        >>> player = ValuesAveraging(known=known, radius=1.0, start_slope=2.0)
        >>> state = player.init(np.zeros(2))
        >>> for _ in range(300):  # the limit is |x|^2 <= 0.25
        ...     value = float(state.x @ state.x) - 0.25
        ...     state = player.update(state, Feedback(np.array([-0.6, -0.8]), value, None))
        >>> state.x.round(2)
        array([0.3, 0.4])
    """

    needs = Needs(constraint_subgradients=0, numpy_only=True, one_run=True)
    source = Source("Surefoot", "derived here")

    known: Curvature
    radius: float
    start_slope: float
    share: float = 0.1
    length: float | None = None

    def __post_init__(self) -> None:
        known: Any = self.known
        if not isinstance(known, Curvature) or known.drift or known.slope_error:
            raise InvalidValueError(
                "known must be a Curvature without drift and slope_error, which is measured, got "
                f"{known!r}"
            )
        checks.parameters(self, "radius", "start_slope", "share")
        if self.length is not None:
            checks.parameters(self, "length")
            if self.length < 2.0**-40 * known.reach:
                raise InvalidValueError(
                    f"length must be above the rounding of an action, got {self.length!r}"
                )

    def init(self, x1: Array) -> ValuesAveragingState:
        """Start at x1; its slack comes with the first feedback."""
        x1 = checks.action(x1)
        if type(x1) is not ndarray or x1.ndim != 1:
            raise InvalidValueError("x1 must be the action of one run, got several")
        zero = 0.0 * x1
        slope = (x1, zero, self.start_slope)
        return ValuesAveragingState(
            x1, x1, 0.0, 0.0, *slope, -1.0, x1, 0.0, 0.0, 0.0, zero, 0.0, zero, 0.0, math.inf
        )

    def update(self, state: ValuesAveragingState, feedback: Feedback) -> ValuesAveragingState:
        """Return the state after a round."""
        return self.step(state, feedback)[0]

    def step(  # type: ignore[override]
        self, state: ValuesAveragingState, feedback: Feedback
    ) -> tuple[ValuesAveragingState, ValuesStep]:
        """Return the state after a round and what the step knew: the lines of the docstring."""
        x, t = state.x, int(state.rounds) + 1
        grad, g = checks.cost_gradient(x, feedback), checks.constraint_value(feedback[1], x)
        checks.finite(constraint_value=g)
        checks.refuse_unfinite(grad, "cost_gradient")
        told = self.known.value_error if feedback[4] is None else feedback[4]
        noise = 0.0 if told is None else float(told)
        margin = self._margin(g, len(x))
        if t == 1 and not g + noise + margin < 0:
            raise InvalidValueError(
                f"the start must be strictly feasible, by more than the error of g, got g = {g:g}"
            )
        found = beyond_reach(t, x, g + noise + margin, float(self.known.reach))
        if g - noise > state.bound + margin:
            found += (
                f"round {t}: g = {g:.6g} is above its certified bound {state.bound:.3g}: beta = "
                f"{self.known.beta:g} is too small, a reading errs by more than {noise:g}, g is "
                "not convex, or it changed",
            )
        state = state._replace(
            rounds=float(t),
            start_value=g + noise if t == 1 else state.start_value,
            gradients=state.gradients + grad,
            squares=state.squares + float(grad @ grad),
        )
        after, certificate = self._next(state, g, noise)
        after = after._replace(x=owned(after.x), bound=float(certificate.bound))
        return after, ValuesStep(certificate, found, after.probing >= 0)

    def _next(
        self, state: ValuesAveragingState, g: float, noise: float
    ) -> tuple[ValuesAveragingState, Any]:
        """Return the state with the next action, and why that is feasible."""
        x, t, n, beta = state.x, int(state.rounds), len(state.x), float(self.known.beta)
        measured = state.probing >= 0
        if measured:
            i = int(state.probing)
            moved, bent = float(x[i] - state.base[i]), 0.25 * beta * state.length
            differences = state.differences.copy()
            differences[i] = (g - state.value) / moved - math.copysign(bent, moved)
            both = noise + self._margin(g, n) + state.noise + self._margin(state.value, n)
            doubt = bent + both / abs(moved)
            state = state._replace(differences=differences, doubts=state.doubts + doubt * doubt)
            if i + 1 < n:
                return self._probe(state, i + 1)
            error = math.sqrt(state.doubts)
            state = state._replace(probing=-1.0, origin=state.base, slope=differences, error=error)
        else:
            state = state._replace(base=x, value=g, noise=noise)
        # After a probe the base that it differed from, with the value that was read there.
        base, noise, margin = state.base, state.noise, self._margin(state.value, n)
        high, delta = state.value + noise, self._length(noise)
        least = math.sqrt(n) * (0.25 * beta * delta + 2 * (noise + margin) / delta)
        tau = state.error + beta * float(norm(base - state.origin))
        steep = float(norm(state.slope))
        keep = 2 * (noise + margin) + (self.share * steep + least) * delta + 0.5 * beta * delta**2
        eta = self.radius / math.sqrt(2 * state.squares) if state.squares > 0 else 0.0
        wanted = state.start - eta * state.gradients
        region = self._region(t, base, high + keep, state.slope, tau)
        point = region.nearest(wanted)
        cut = bool((point != wanted).any())
        if measured or not cut or tau <= max(self.share * steep, 1.5 * least):
            certificate = region.certificate(point, t)._replace(cut=cut)
            return state._replace(x=point), certificate
        state = state._replace(length=delta, differences=0.0 * base, doubts=0.0)
        region = self._region(t, base, high, state.slope, tau)
        if all(region.holds(self._probed(state, i)) for i in range(n)):
            return self._probe(state, 0)
        # Back to where probes are certified: g is convex.
        low, far = state.start_value, float(norm(base - state.start))
        c = (tau + beta * far) * delta + 0.5 * beta * delta**2 + 2 * noise + 4 * margin
        share = min(1.0, (high + c) / (high - low)) if high > low else 1.0
        back = base + share * (state.start - base)
        bound = min(0.0, (1 - share) * high + share * low + margin)
        return state._replace(x=back), PullCertificate(t, high, low, share, bound)

    def _probe(self, state: ValuesAveragingState, i: int) -> tuple[ValuesAveragingState, Any]:
        """Return the state whose action is a probe, certified from the action it differs from."""
        tau = state.error + float(self.known.beta) * float(norm(state.base - state.origin))
        high = state.value + state.noise
        region = self._region(int(state.rounds), state.base, high, state.slope, tau)
        point = self._probed(state, i)
        certificate = region.certificate(point, int(state.rounds))._replace(cut=True)
        return state._replace(x=point, probing=float(i)), certificate

    def _probed(self, state: ValuesAveragingState, i: int) -> Array:
        """Return the i-th probe: down the slope, as far as it is known."""
        point = np.array(state.base)
        point[i] += math.copysign(state.length, -state.slope[i])
        return point

    def _length(self, noise: float) -> float:
        r"""Return :math:`\delta`."""
        if self.length is not None:
            return self.length
        beta = float(self.known.beta)
        shortest = 1e-4 * self.radius
        return max(shortest, math.sqrt(8 * noise / beta)) if beta > 0 else shortest

    def _margin(self, g: float, n: int) -> float:
        """Return the rounding of a bound that starts from a value."""
        known = self.known
        reach, error = float(known.reach), known.evaluation_error
        return float(curvature_margin(g, self.start_slope, float(known.beta), reach, n, error))

    def _region(self, t: int, x: Array, upper: float, slope: Array, tau: float) -> Any:
        """Return what is certified around x, from a bound on g there and a slope with its error."""
        known = replace(self.known, slope_error=tau)
        memory = CurvatureMemory(float(t), x, upper, slope, upper, None)
        return known.region(memory, memory, Errors(0.0, tau, 0.0))

    def observer(self) -> None:
        """Return nothing: no regret bound is claimed."""

    @classmethod
    @tuning(listed=False)
    def default(cls, constants: Constants, horizon: int | None = None) -> Tuned[Self]:
        """Return the rule for the constants of a problem; G_g bounds the slope at the start.

        Args:
            constants: needs R, beta, G_g, start_slack; uses the errors of values.
            horizon: not used.
        """
        theorem = ValuesAndCurvature(as_constants(constants))
        R, beta, G_g = theorem.constants.require("R", "beta", "G_g", by=theorem.name)
        known = Curvature(
            beta=beta,
            reach=R,
            evaluation_error=constants.evaluation_error or None,
            value_error=constants.value_error or None,
        )
        return Tuned(cls(known=known, radius=R, start_slope=G_g), theorem)
