import math
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from surefoot import OGD, Ball, Constants
from surefoot.rules import AdaGradNorm, AdaGradOGD, DecayingOGD, DecayingStep, StronglyConvexDescent
from surefoot.sets import Box, Halfspace, Simplex

from ._gradients import actions_of, told

BOX = Box([-1.0, -0.5], [1.25, 0.75])
WIDE = Box([-1e9, -1e9], [1e9, 1e9])
X = np.array([0.5, -0.25])
BOTH = pytest.mark.parametrize("kind", [DecayingOGD, AdaGradOGD])


def test_a_decaying_step_is_divided_by_the_root_of_its_round():
    player = DecayingOGD(eta=0.5, domain=WIDE)
    x = actions_of(player, X, [[1.0, -2.0]] * 9)
    steps = np.diff(x, axis=0)
    assert steps[0] == pytest.approx([-0.5, 1.0], rel=1e-15)
    assert steps[3] == pytest.approx([-0.25, 0.5], rel=1e-14)
    assert steps[8] == pytest.approx([-0.5 / 3, 1.0 / 3], rel=1e-14)


def test_a_fast_step_is_divided_by_its_round():
    player = DecayingOGD(eta=0.5, domain=WIDE, fast=True)
    steps = np.diff(actions_of(player, X, [[1.0, -2.0]] * 4), axis=0)
    assert steps[0] == pytest.approx([-0.5, 1.0], rel=1e-15)
    assert steps[1] == pytest.approx([-0.25, 0.5], rel=1e-15)
    assert steps[3] == pytest.approx([-0.125, 0.25], rel=1e-14)


def test_the_action_and_not_the_sum_is_projected():
    player = DecayingOGD(eta=0.25, domain=BOX)
    x = actions_of(player, X, [[-8.0, 1.0], [4.0, 0.0]])
    assert x[1].tolist() == [1.25, -0.5]  # clipped, both
    assert x[2] == pytest.approx([1.25 - 1 / math.sqrt(2), -0.5], rel=1e-15)


def test_fast_steps_on_quadratics_play_the_mean_of_the_targets_seen():
    # x - (x - v)/t is the running mean of the v, wherever the first action was.
    rng, H = np.random.default_rng(5), 2.5
    targets = rng.normal(size=(40, 2))
    player = DecayingOGD(eta=1 / H, domain=WIDE, fast=True)
    state = player.init(X)
    for t, v in enumerate(targets, 1):
        state = player.update(state, told(H * (state.x - v)))
        assert state.x == pytest.approx(targets[:t].mean(axis=0), abs=1e-14)


def test_the_first_round_of_decaying_steps_is_that_of_fixed_ones():
    for fast in (False, True):
        decaying = DecayingOGD(eta=0.3, domain=BOX, fast=fast)
        fixed = OGD(eta=0.3, domain=BOX)
        grad = [[0.7, -3.0]]
        np.testing.assert_array_equal(actions_of(decaying, X, grad), actions_of(fixed, X, grad))


def test_an_adagrad_step_is_divided_by_the_norm_of_all_gradients():
    player = AdaGradOGD(eta=0.5, domain=WIDE)
    x = actions_of(player, X, [[3.0, -4.0], [0.0, 12.0]])
    assert x[1] == pytest.approx([0.5 - 0.3, -0.25 + 0.4], rel=1e-15)
    # The root of 25 + 144 is 13.
    assert x[2] == pytest.approx([0.2, 0.15 - 0.5 * 12 / 13], rel=1e-14)


def test_nothing_moves_before_the_first_gradient():
    x = actions_of(AdaGradOGD(eta=0.5, domain=BOX), X, [[0.0, 0.0]] * 3 + [[1e-9, 0.0]])
    np.testing.assert_array_equal(x[:4], [X] * 4)
    assert x[4] == pytest.approx([0.0, -0.25], abs=1e-15)  # the first move has length eta


@given(
    st.lists(st.lists(st.floats(-4, 4), min_size=2, max_size=2), min_size=1, max_size=8),
    st.integers(-60, 60),
)
def test_adagrad_does_not_notice_the_unit_of_the_costs(gradients, exponent):
    gradients = np.round(np.array(gradients), 3)
    player = AdaGradOGD(eta=0.4, domain=BOX)
    # A power of 4 scales a square, its root and their quotient without rounding.
    np.testing.assert_array_equal(
        actions_of(player, X, gradients), actions_of(player, X, 4.0**exponent * gradients)
    )


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_adagrad_takes_gradients_of_any_size(size):
    x = actions_of(AdaGradOGD(eta=0.5, domain=WIDE), X, [[3 * size, -4 * size]])
    assert x[1] == pytest.approx([0.2, 0.15], rel=1e-14)


@pytest.mark.parametrize(
    "domain", [BOX, Ball(0.75), Ball(0.7, [0.2, -0.1]), Halfspace([1.0, 2.0], 0.5)]
)
@pytest.mark.parametrize("make", [DecayingOGD, AdaGradOGD])
def test_every_action_is_feasible_exactly(make, domain):
    gradients = np.random.default_rng(0).normal(size=(300, 2)) - 1.0
    x = actions_of(make(eta=2.0, domain=domain), X, gradients)
    assert all(domain.contains(point) is True for point in x)
    assert np.ptp(x, axis=0).min() > 0.1


@BOTH
def test_a_zero_gradient_leaves_the_action(kind):
    x = actions_of(kind(eta=0.5, domain=BOX), X, [[0.5, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(x[2], x[1])


@BOTH
def test_one_dimension(kind):
    x = actions_of(kind(eta=0.25, domain=Box([-0.4], [0.9])), np.array([0.1]), [[-2.0]])
    assert x[1, 0] == pytest.approx(0.6 if kind is DecayingOGD else 0.35, rel=1e-15)


@BOTH
def test_columns_give_each_run_its_own_step(kind):
    etas = [0.1, 0.4]
    player = kind(eta=np.array(etas)[:, None], domain=BOX)
    gradients = np.random.default_rng(1).normal(size=(6, 2))
    together = actions_of(player, np.array([X, X]), np.repeat(gradients[:, None], 2, axis=1))
    for r, eta in enumerate(etas):
        alone = actions_of(kind(eta=eta, domain=BOX), X, gradients)
        assert together[:, r] == pytest.approx(alone, rel=1e-13, abs=1e-15)


KNOWN = Constants(R=1.5, G_f=7.0, strong_convexity=2.5)


def test_tuned_steps_are_the_theorems():
    D = math.hypot(2.25, 1.25)
    anytime = DecayingOGD.anytime(KNOWN, None, BOX)
    assert anytime.guarantee == DecayingStep(KNOWN, D)
    assert anytime.algorithm == DecayingOGD(eta=D / 7.0, domain=BOX)
    strong = DecayingOGD.strongly_convex(KNOWN, 50, BOX)
    assert strong.guarantee == StronglyConvexDescent(KNOWN)
    assert strong.algorithm == DecayingOGD(eta=0.4, domain=BOX, fast=True)
    adaptive = AdaGradOGD.adaptive(KNOWN, None, BOX)
    assert adaptive.guarantee == AdaGradNorm(KNOWN, D)
    assert adaptive.algorithm.eta == pytest.approx(D / math.sqrt(2), rel=1e-15)


@pytest.mark.parametrize("choose", [DecayingOGD.anytime, AdaGradOGD.adaptive])
@pytest.mark.parametrize("domain", [Halfspace([1.0, 2.0], 0.5), None])
def test_a_set_without_end_has_no_diameter_to_step_by(choose, domain):
    with pytest.raises(ValueError, match=r"^domain must be bounded, got .* with diameter"):
        choose(KNOWN, 10, domain)


def test_a_set_without_end_is_no_hindrance_to_strongly_convex_costs():
    half = Halfspace([1.0, 2.0], 0.5)
    assert DecayingOGD.strongly_convex(KNOWN, None, half).algorithm.domain == half


@pytest.mark.parametrize("missing", ["G_f", "strong_convexity"])
def test_a_missing_constant_is_named(missing):
    known = {"G_f": 7.0, "strong_convexity": 2.5}
    known.pop(missing)
    sentence = f"strongly convex needs {missing}, which is unknown: give it"
    with pytest.raises(ValueError, match=sentence):
        DecayingOGD.strongly_convex(Constants(R=1.0, **known), 10, BOX)


@BOTH
@pytest.mark.parametrize("eta", [0.0, -0.1, math.nan, math.inf, None, "0.1", True])
def test_a_step_size_out_of_range(kind, eta):
    sentence = f"^eta must be a finite number > 0, got {re.escape(repr(eta))}$"
    with pytest.raises(ValueError, match=sentence):
        kind(eta=eta, domain=BOX)


@BOTH
@pytest.mark.parametrize("domain", [None, 1.0, Box])
def test_a_domain_without_a_projection(kind, domain):
    sentence = f"^domain must be a set with a projection, got {re.escape(repr(domain))}(: Ball.*)?$"
    with pytest.raises(ValueError, match=sentence):
        kind(eta=0.1, domain=domain)


@BOTH
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_a_gradient_that_is_not_finite(kind, bad):
    player = kind(eta=0.1, domain=BOX)
    with pytest.raises(ValueError, match=r"^the point to project must be finite, got "):
        player.update(player.init(X), told([1.0, bad]))
    batch = player.update(player.init(np.array([X, X])), told([[1.0, 0.5], [1.0, bad]]))
    assert np.isfinite(batch.x[0]).all()
    assert np.isnan(batch.x[1]).any()


@BOTH
def test_a_start_outside_is_refused(kind):
    with pytest.raises(ValueError, match=r"^x1 must be in the domain Simplex"):
        kind(eta=0.1, domain=Simplex(2)).init([0.7, 0.7])
