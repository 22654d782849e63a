"""Constraints of bounded curvature, and a run that keeps its observed bound on the regret."""

import numpy as np

from surefoot import Feedback
from surefoot.knowledge import Curvature, CurvatureRows

HEAT = np.array([0.8, 0.5])


def heat(x):
    return float(x @ (HEAT * x) - 0.4), 2 * HEAT * x


def quadratics(rng, d, rows):
    """A query of that many random quadratics, of curvature at most 2; one row comes as a number."""
    Q = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(rows)]
    P = [q @ np.diag(rng.uniform(0.2, 2.0, d)) @ q.T for q in Q]
    c = [0.2 * rng.normal(size=d) for _ in range(rows)]

    def query(x):
        g = [0.5 * (x - m) @ p @ (x - m) - 0.4 for p, m in zip(P, c, strict=True)]
        s = [p @ (x - m) for p, m in zip(P, c, strict=True)]
        return (float(g[0]), s[0]) if rows == 1 else (np.array(g), np.array(s))

    return query


def bent(rows, reach):
    """What is known of `quadratics`."""
    if rows == 1:
        return Curvature(beta=2.0, reach=reach)
    return CurvatureRows(beta=2.0, rows=rows, reach=reach)


def play(player, query, gradients, x1):
    """Return the actions, the observed regret bound, the largest g, the infos."""
    state, observer, actions, worst, infos = player.init(x1), player.observer(), [], -np.inf, []
    for gradient in gradients:
        g, s = query(state.x)
        worst = max(worst, float(np.max(g)))
        actions.append(state.x)
        state, info = player.step(state, Feedback(gradient, g, s))
        assert info.contradictions == ()
        observer = observer.after(info)
        infos.append(info)
    return np.array([*actions, state.x]), observer.bound(player, state), worst, infos
