import re

import numpy as np
import pytest

from surefoot import Ball
from surefoot.problems.costs import Adversarial, Linear

NAN = float("nan")
SLOPES = np.array([[1.0, -2.0], [3.0, 4.0], [0.5, 0.0]])
COSTS = Linear(SLOPES)


def test_value_and_gradient_by_hand():
    x = np.array([0.5, -1.0])
    value = COSTS.value(1, x)
    assert type(value) is float
    assert value == -2.5
    assert COSTS.gradient(1, x).tolist() == [3.0, 4.0]


def test_a_shared_slope_is_given_to_each_run():
    x = np.array([[0.5, -1.0], [0.0, 2.0], [1.0, 1.0]])
    assert COSTS.value(1, x).tolist() == [[-2.5], [8.0], [7.0]]
    assert COSTS.gradient(1, x).tolist() == [[3.0, 4.0]] * 3


def test_runs_have_slopes_of_their_own():
    slopes = np.stack([SLOPES, -2 * SLOPES], axis=1)
    costs = Linear(slopes)
    assert (costs.horizon, costs.runs, costs.dimension) == (3, 2, 2)
    x = np.array([[0.5, -1.0], [0.0, 2.0]])
    assert costs.value(1, x).tolist() == [[-2.5], [-16.0]]
    assert costs.run(1) == Linear(-2 * SLOPES)
    assert costs.run(slice(0, 1)) == Linear(slopes[:, :1])


def test_the_gradient_bound_is_the_longest_slope():
    assert COSTS.gradient_bound() == COSTS.gradient_bound(Ball(7.0)) == 5.0


def test_bad_slopes_are_named_with_the_round():
    with pytest.raises(ValueError, match="slopes must be finite, got inf in round 2"):
        Linear([[1.0], [np.inf]])
    with pytest.raises(ValueError, match=re.escape("slopes.shape must be (T, d) or (T, B, d)")):
        Linear([1.0])


@pytest.mark.parametrize("shape", [(2,), (3, 2)])
def test_every_backend_gives_the_same_numbers(backend, shape):
    x = np.full(shape, 0.75)
    value, gradient = COSTS.value(1, backend.array(x)), COSTS.gradient(1, backend.array(x))
    assert backend.holds(gradient)
    assert backend.numpy(value).tolist() == np.asarray(COSTS.value(1, x)).tolist()
    assert backend.numpy(gradient).tolist() == COSTS.gradient(1, x).tolist()


# --- an adversary -------------------------------------------------------------------------------


def against(t, x):
    """A slope that depends on the round and on the action: 3, 4, 5, ... times the sign."""
    return (t + 3.0) * np.where(x < 0, 1.0, -1.0)


RIVAL = Adversarial(against, horizon=5, dimension=2, bound=7 * 2**0.5)


def test_an_adversary_sees_the_action():
    x = np.array([0.5, -1.0])
    assert RIVAL.gradient(2, x).tolist() == [-5.0, 5.0]
    assert RIVAL.value(2, x) == -7.5
    assert type(RIVAL.value(2, x)) is float
    assert RIVAL.value(2, np.array([x, -x])).tolist() == [[-7.5], [-7.5]]
    assert RIVAL.gradient_bound() == RIVAL.gradient_bound(Ball(1.0)) == 7 * 2**0.5
    assert RIVAL.runs is None


def test_a_slice_of_an_adversary_keeps_count():
    part = RIVAL.rounds(1, 4)
    assert part.horizon == 3
    assert part.gradient(1, np.ones(2)).tolist() == [-5.0, -5.0]
    assert part.rounds(1, 2).gradient(0, np.ones(2)).tolist() == [-5.0, -5.0]
    assert RIVAL.run(3) is RIVAL


def test_what_an_adversary_turned_into_is_linear():
    rng = np.random.default_rng(0)
    for actions in (rng.normal(size=(5, 2)), rng.normal(size=(5, 3, 2))):
        turned = RIVAL.realise(actions)
        assert isinstance(turned, Linear)
        assert turned.horizon == 5
        assert turned.runs == (None if actions.ndim == 2 else 3)
        for t, x in enumerate(actions):
            assert turned.gradient(t, x).tolist() == against(t, x).tolist()
            assert np.asarray(turned.value(t, x)).tolist() == np.asarray(RIVAL.value(t, x)).tolist()


def test_the_past_of_a_slice_is_what_it_met():
    actions = np.random.default_rng(1).normal(size=(3, 2))
    turned = RIVAL.rounds(2, 5).realise(actions)
    assert turned.slopes.tolist() == [against(t + 2, x).tolist() for t, x in enumerate(actions)]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"rule": 3}, "rule must be a function, got 3"),
        ({"horizon": 0}, "horizon must be a whole number of rounds >= 1, got 0"),
        ({"dimension": 1.5}, "dimension must be a whole number >= 1, got 1.5"),
        ({"bound": 0.0}, "bound must be a finite number > 0, got 0.0"),
        ({"bound": NAN}, "bound must be a finite number > 0, got nan"),
    ],
)
def test_a_bad_adversary_is_named(changed, sentence):
    good = {"rule": against, "horizon": 5, "dimension": 2, "bound": 1.0}
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Adversarial(**good | changed)
