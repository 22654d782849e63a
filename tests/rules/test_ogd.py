import re

import numpy as np
import pytest

from surefoot import OGD, Ball, Constants, Feedback
from surefoot.rules import Zinkevich
from surefoot.rules.states import ActionState
from surefoot.sets import Box, Halfspace

BOX = Box([-1.0, -0.5], [1.25, 0.75])
X = np.array([1.0, -0.5])


def step(player, x, grad):
    # It has the constraint's feedback too, and ignores it.
    seen = Feedback(np.asarray(grad), 3.0, np.array([1.0, 2.0]))
    return player.update(player.init(x), seen).x


def test_one_step_by_hand():
    player = OGD(eta=0.1, domain=BOX)
    assert step(player, X, [-1.0, -2.0]) == pytest.approx([1.1, -0.3], rel=1e-15)


def test_the_step_is_projected():
    player = OGD(eta=0.1, domain=BOX)
    assert step(player, X, [-30.0, 5.0]).tolist() == [1.25, -0.5]


@pytest.mark.parametrize("domain", [BOX, Ball(1.5), Halfspace([1.0, 2.0], 0.5)])
def test_every_action_is_feasible_exactly(domain):
    player, rng = OGD(eta=0.3, domain=domain), np.random.default_rng(0)
    x = np.array([0.5, -0.25])
    for _ in range(200):
        x = step(player, x, rng.normal(size=2) - 1.0)
        assert domain.contains(x) is True


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array, int])
def test_numbers_of_every_kind_play_the_same_game(kind):
    player = OGD(eta=kind(2), domain=BOX)
    assert type(player.eta) is float
    assert player == OGD(eta=2.0, domain=BOX)
    assert step(player, X, [0.25, -0.125]).tolist() == [0.5, -0.25]


def test_columns_give_each_run_its_own_step():
    player = OGD(eta=np.array([[0.1], [0.2]]), domain=BOX)
    seen = Feedback(np.array([[1.0, -2.0]] * 2), np.zeros((2, 1)), np.ones((2, 2)))
    x = player.update(player.init(np.array([X, X])), seen).x
    assert x == pytest.approx(np.array([[0.9, -0.3], [0.8, -0.1]]), rel=1e-15)


def test_the_fixed_step_is_the_theorems():
    algorithm, guarantee = OGD.fixed(Constants(R=1.5, G_f=7.0), 100, BOX)
    assert guarantee == Zinkevich(Constants(R=1.5, G_f=7.0), 100, BOX.diameter)
    # The diagonal of 2.25 by 1.25.
    assert algorithm.eta == pytest.approx(np.hypot(2.25, 1.25) / 70.0, rel=1e-15)
    assert algorithm.domain is BOX


def test_an_unbounded_set_has_no_fixed_step():
    sentence = "domain must be bounded, got Halfspace(normal=array([1., 2.]), offset=0.5) with"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        OGD.fixed(Constants(R=1.5, G_f=7.0), 100, Halfspace([1.0, 2.0], 0.5))


def test_the_state_is_the_next_action_and_nothing_else():
    state = OGD(eta=0.1, domain=BOX).init(X)
    assert type(state) is ActionState
    assert state.x.tolist() == X.tolist()
    assert state._fields == ("x",)
