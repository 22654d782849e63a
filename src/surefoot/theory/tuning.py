r"""Parameters that minimise Theorem 1's own regret bound and keep every round feasible."""

from __future__ import annotations

import math

from surefoot.core import checks
from surefoot.core.constants import Constants, as_constants, polyak_rate
from surefoot.core.numerics import minimise_bracketed
from surefoot.theory.polyak import SHRINK, Theorem1, _strictly_feasible

__all__ = ["tune_polyak"]


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
    * the start alone: :math:`\sigma_\rho = (\alpha-\rho)/D_0` by the local form (*), and
      :math:`\kappa = D_0/\alpha` because :math:`u = (1-\rho/\alpha)x^\star + (\rho/\alpha)x_1` has
      :math:`g(u) \le -\rho` and :math:`\|u - x^\star\| \le \rho D_0/\alpha`. Then B is minimised
      numerically over :math:`(0, \alpha)`.

    The better of the two is taken. Why the step is tight: for fixed rho the bound falls in eta up
    to :math:`2R/(G_f\sqrt T)`, and at :math:`\rho^\star` the limit :math:`\xi\rho^\star/(G_fG_g)`
    is below that, since :math:`\rho^{\star 2}T \le (2G_gR^2/\xi)(2G_g/\xi)`. For larger rho
    (only the numerical search goes there) the smaller of the two steps is used.

    Example:
        >>> toy = Constants(R=1.0, G_f=14.4853, G_g=1.0, sigma=0.5**0.5, epsilon=0.25,
        ...                 start_slack=0.5)
        >>> best = tune_polyak(toy, 20_000)
        >>> round(best.rho * 20_000**0.5, 2)  # Corollary 1 has 0.25 here
        2.09
    """
    checks.horizon(horizon)
    by = "the tuned Theorem 1"
    wanted = ("R", "G_f", "G_g", "start_slack")
    R, G_f, G_g, slack = as_constants(constants).require(*wanted, by=by)
    _strictly_feasible(slack, by)
    found: list[Theorem1] = []

    if constants.sigma is not None:
        sigma, epsilon = constants.require("sigma", "epsilon", by=by)
        xi = constants.xi
        best = math.sqrt((2 * G_g * R**2 / xi) / (horizon * (xi / (2 * G_g) + 1 / sigma)))
        rho = min(best, epsilon, slack)
        found.append(_at(constants, rho, horizon, tightening_cost=None))

    cost = constants.reach / slack

    def bound(rho: float) -> float:
        # Theorem 1's own with the sigma of the start, in the same order of operations. A search
        # asks for it a thousand times: objects with checked arguments would take a while.
        eta = _step(R, G_f, G_g, min(constants.local_sigma(rho), G_g), rho, horizon)
        return 2 * R**2 / eta + eta / 2 * G_f**2 * horizon + G_f * rho * cost * horizon

    rho = minimise_bracketed(bound, slack * 1e-9, slack * (1 - 1e-9))
    sigma = min(constants.local_sigma(rho), G_g)
    here = constants.with_origin("local", sigma=sigma, epsilon=rho)
    found.append(_at(here, rho, horizon, tightening_cost=cost))
    return min(found, key=lambda theorem: float(theorem.regret_bound(horizon)))


def _at(constants: Constants, rho: float, horizon: int, tightening_cost: float | None) -> Theorem1:
    """Return Theorem 1 at rho with the longest step that is feasible and useful."""
    R, G_f, G_g, sigma = constants.require("R", "G_f", "G_g", "sigma", by="Theorem 1")
    eta = _step(R, G_f, G_g, sigma, rho, horizon)
    return Theorem1(constants, eta, rho, horizon, tightening_cost)


def _step(R: float, G_f: float, G_g: float, sigma: float, rho: float, horizon: int) -> float:
    """Return the longest step that is feasible at rho, and useful."""
    feasible = SHRINK * polyak_rate(sigma, G_g) * rho / (G_f * G_g)
    return min(feasible, 2 * R / (G_f * math.sqrt(horizon)))
