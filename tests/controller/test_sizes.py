"""Cost gradients at both ends of float64: a step, or one sentence, the same from both engines."""

import math
import warnings

import numpy as np
import pytest

from surefoot import Ball, CertifiedOGD, Controller, LeaderFollower, kernel
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Curvature

CURVED = Curvature(beta=1.0, reach=1.5, domain=Ball(1.5))
PLAYERS = {
    "leader": LeaderFollower(G_g=1.1, domain=Ball(1.5)),
    "strongly convex": LeaderFollower(G_g=1.1, domain=Ball(1.5), strong_convexity=1.0),
    "descent": CertifiedOGD(radius=1.5, knowledge=CURVED),
}
SIZES = (5e-324, 1e-200, 1e-170, 1e-160, 1e-100, 1e100, 1e140, 1e150, 1e154, 1e160, 1e300)


def play(player, sizes, engine):
    """Return actions, bounds on the regret and refusals of six rounds within the unit disc."""
    actions, bounds, refusals = [], [], []
    with kernel.engine(engine), warnings.catch_warnings():
        warnings.simplefilter("error")
        live = Controller(player, [0.2, 0.2], on_contradiction="record")
        for t in range(6):
            x = live.ask()
            size = sizes[t % 2]
            told = {
                "constraint_value": float(np.linalg.norm(x) - 1.0),
                "constraint_subgradient": x / np.linalg.norm(x),
            }
            try:
                live.tell(cost_gradient=size * np.array([-1.0, -0.7]), **told)
            except InvalidValueError as error:
                refusals.append((t, str(error)))
                live.tell(cost_gradient=[-1.0, -0.7], **told)  # nothing has changed
            actions.append(live.ask())
            bounds.append(live.explain().regret_bound)
    return np.array(actions), bounds, refusals


@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
@pytest.mark.parametrize("other", [1.0, 1e-170, 1e154])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PLAYERS)
def test_engines_agree_on_gradients_of_any_size(name, size, other):
    played = [play(PLAYERS[name], (size, other), engine) for engine in ("kernel", "python")]
    (x, bound, refused), (y, again, refused_too) = played
    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(bound, again, rtol=1e-9, atol=1e-300)
    assert refused == refused_too


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-170])
def test_the_regret_of_gradients_too_small_to_square_is_still_bounded(size):
    x, bounds, _ = play(PLAYERS["leader"], (size, size), "python")
    actions = np.vstack([[0.2, 0.2], x[:-1]])
    gradient = size * np.array([-1.0, -0.7])
    # The best feasible point in hindsight is where the unit circle has this normal.
    best = -size * math.hypot(1.0, 0.7) * len(actions)
    assert float((actions @ gradient).sum()) - best <= bounds[-1]


@pytest.mark.parametrize("name", PLAYERS)
def test_a_gradient_that_would_end_all_later_steps_is_refused_in_one_sentence(name):
    _, _, refused = play(PLAYERS[name], (1e154, 1e154), "python")
    assert refused
    assert all(
        words.startswith("cost_gradient must leave ")
        and words.endswith("finite, got a norm of 1.22066e+154")
        for _, words in refused
    )
