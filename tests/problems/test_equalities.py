"""Known equalities: coordinates of their plane, in which rules play."""

import numpy as np
import pytest

from surefoot import Ball, Feedback, LeaderFollower
from surefoot.problems import without_equalities


def test_a_budget_that_is_spent_by_hand():
    plane = without_equalities([[1.0, 1.0]], [1.0], start=[0.5, 0.5])
    way = plane.basis[:, 0]
    np.testing.assert_allclose(abs(way), [np.sqrt(0.5)] * 2)
    assert way[0] * way[1] < 0
    np.testing.assert_allclose(plane.lift([np.sqrt(2.0)]), 0.5 + np.sqrt(2.0) * way)
    np.testing.assert_allclose(abs(plane.slope([1.0, 0.0])), [np.sqrt(0.5)])


@pytest.mark.parametrize(("m", "d"), [(1, 3), (2, 5), (3, 4)])
def test_actions_stay_on_the_plane_and_slopes_are_not_longer(m, d):
    rng = np.random.default_rng(d)
    A, x1 = rng.normal(size=(m, d)), rng.normal(size=d)
    A = np.concatenate([A, A[:1] * 2.0])  # one that says nothing new
    plane = without_equalities(A, A @ x1, start=x1)
    assert plane.basis.shape == (d, d - m)
    for w in rng.normal(size=(20, d - m)):
        x = plane.lift(w)
        np.testing.assert_allclose(A @ x, A @ x1, atol=1e-13)
        np.testing.assert_allclose(plane.lower(x), w, atol=1e-13)
        s = rng.normal(size=d)
        assert np.linalg.norm(plane.slope(s)) <= np.linalg.norm(s) * (1 + 1e-14)
        # That is the slope of g(x_1 + N w): it agrees with differences along the plane.
        v = rng.normal(size=d - m)
        np.testing.assert_allclose(plane.slope(s) @ v, s @ (plane.basis @ v), atol=1e-13)


def test_a_rule_plays_in_the_plane_and_keeps_limit_and_equality():
    plane = without_equalities([[1.0, 1.0, 1.0]], [1.0], start=[0.3, 0.3, 0.4])
    error = plane.evaluation_error(G_g=2.0, reach=2.0)
    player = LeaderFollower(G_g=2.0, domain=Ball(2.0), evaluation_error=error)
    state = player.init(np.zeros(2))
    for _ in range(400):
        x = plane.lift(state.x)
        g, s = float(x @ x) - 0.6, 2 * x
        assert g <= 0
        assert abs(x.sum() - 1.0) < 1e-14
        cost = plane.slope([-1.0, 0.2, 0.3])
        state = player.update(state, Feedback(cost, g, plane.slope(s)))
    assert x[0] > 0.6  # of 0.755, as far as the limit lets it


@pytest.mark.parametrize(
    ("A", "b", "start", "sentence"),
    [
        ([[1.0, 1.0]], [1.0, 2.0], [0.5, 0.5], "b must have one entry per row of A, got 2"),
        ([[1.0, 1.0]], [1.0], [0.5, 0.6], "start must keep A x = b, got a difference of 0.1"),
        ([[1.0, 1.0]], [1.0], [0.5], "start"),
        ([[1.0, 0.0], [0.0, 2.0]], [1.0, 2.0], [1.0, 1.0], "A must leave something to choose"),
        ([[1.0, np.nan]], [1.0], [0.5, 0.5], "A must"),
    ],
)
def test_bad_input_is_one_sentence(A, b, start, sentence):
    with pytest.raises(ValueError, match=sentence):
        without_equalities(A, b, start)
