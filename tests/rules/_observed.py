"""Theorem D (iii) as it is printed, to compare what is summed up while a rule plays."""

import numpy as np


def observed_regret_bound(sizes, etas, rhos, moves, *, R, slack, reach):
    r"""Return Theorem D (iii): the regret bound in terms of what was observed, for one run.

    .. math::
        \mathrm{Reg}_T \le \frac{2R^2}{\eta_T} + \frac12\sum_t \eta_t\|\nabla_t\|^2
          + \frac{D_1}{\alpha}\sum_t \rho_t\|\nabla_t\|
          + \frac{2RD_1}{\alpha}\sum_{t<T}\frac{\rho_t - \rho_{t+1}}{\eta_t}
          - \sum_t \frac{\|y_t-p_t\|^2 + \|p_t-x_{t+1}\|^2}{2\eta_t}

    Proof. :math:`u_t = (1-\rho_t/\alpha)x^\star + (\rho_t/\alpha)x_1` has
    :math:`g(u_t) \le -\rho_t` by convexity, so it is in the half-space and in the ball, and both
    projections bring the action closer to it:
    :math:`\|x_{t+1}-u_t\|^2 \le \|x_t-u_t\|^2 - 2\eta_t\langle\nabla_t, x_t-u_t\rangle
    + \eta_t^2\|\nabla_t\|^2 - \|y_t-p_t\|^2 - \|p_t-x_{t+1}\|^2`. Going on with :math:`u_{t+1}`
    costs at most :math:`4R\|u_{t+1}-u_t\| = 4R(\rho_t-\rho_{t+1})D_1/\alpha`; dividing by
    :math:`2\eta_t`, which never rises, and summing leaves :math:`(2R)^2/(2\eta_T)`. Finally
    :math:`\langle\nabla_t, u_t - x^\star\rangle \le \|\nabla_t\|\rho_t D_1/\alpha`. Rounds before
    the first gradient have :math:`1/\eta_t = 0`.

    Args:
        sizes: :math:`\|\nabla_t\|`.
        etas: :math:`\eta_t`; where no gradient has come yet, any number.
        rhos: :math:`\rho_t`.
        moves: :math:`\|y_t-p_t\|^2 + \|p_t-x_{t+1}\|^2`.
        R: radius of the ball.
        slack: :math:`\alpha`.
        reach: an upper bound on :math:`D_1`.
    """
    sizes, etas, rhos, moves = (np.asarray(v, dtype=np.float64) for v in (sizes, etas, rhos, moves))
    begun = np.cumsum(sizes) > 0
    if not begun.any():
        return 0.0
    inverse = np.where(begun, 1 / np.where(begun, etas, 1.0), 0.0)
    falls = -np.diff(rhos) @ inverse[:-1]
    return float(
        2 * R**2 * inverse[-1]
        + 0.5 * (np.where(begun, etas, 0.0) @ sizes**2)
        + reach / slack * (rhos @ sizes)
        + 2 * R * reach / slack * falls
        - 0.5 * (moves @ inverse)
    )
