"""Adversaries push where they say they do, with slopes of the length they say."""

import numpy as np
import pytest

from surefoot import PFS, Ball, play
from surefoot.problems import ADVERSARIES, adversarial_cube

ADAPTIVE = ("out", "uncut")
OBLIVIOUS = tuple(name for name in ADVERSARIES if name not in ADAPTIVE)


@pytest.mark.parametrize("d", [1, 2, 5, 50])
@pytest.mark.parametrize("name", OBLIVIOUS)
def test_slopes_given_beforehand_have_the_stated_norm(name, d):
    slopes = adversarial_cube(name, horizon=60, dimension=d, size=2.5, seed=3).costs.slopes
    assert slopes.shape == (60, d)
    # A computed norm of d entries errs by at most d + 2 roundings.
    np.testing.assert_allclose(np.linalg.norm(slopes, axis=1), 2.5, rtol=(d + 4) * 2.0**-53)


@pytest.mark.parametrize("d", [1, 2, 5, 50])
@pytest.mark.parametrize("name", ADAPTIVE)
def test_slopes_chosen_after_the_action_have_the_stated_norm(name, d):
    costs = adversarial_cube(name, horizon=60, dimension=d, size=2.5).costs
    points = np.random.default_rng(0).normal(size=(40, d))
    points[0] = 0.0
    points[1, 1:] = 0.0
    slopes = costs.gradient(7, points)
    assert (np.linalg.norm(slopes, axis=1) == 2.5).all()
    np.testing.assert_array_equal(costs.gradient(7, points[3]), slopes[3])


def test_the_constant_one_keeps_its_slope_and_the_alternating_one_its_line():
    constant = adversarial_cube("constant", horizon=9, dimension=3, seed=1).costs.slopes
    assert (constant == constant[0]).all()
    alternating = adversarial_cube("alternating", horizon=9, dimension=3, seed=1).costs.slopes
    np.testing.assert_array_equal(alternating[1:], -alternating[:-1])
    np.testing.assert_allclose(alternating[0], constant[0], rtol=1e-15)


def test_the_random_one_turns_every_round_and_the_corner_one_in_growing_phases():
    random = adversarial_cube("random", horizon=9, dimension=3, seed=1).costs.slopes
    assert len(np.unique(random, axis=0)) == 9
    slopes = adversarial_cube("corners", horizon=2_000, dimension=7, seed=1).costs.slopes
    assert (np.abs(slopes) == np.abs(slopes[0, 0])).all()  # each towards a corner
    turns = np.flatnonzero((slopes[1:] != slopes[:-1]).any(axis=1)) + 1
    phases = np.diff(turns, prepend=0)
    assert (np.diff(phases) > 0).all()
    assert len(phases) >= 3


def test_out_pushes_through_the_nearest_face():
    costs = adversarial_cube("out", horizon=9, dimension=3, size=2.0).costs
    np.testing.assert_array_equal(costs.gradient(0, np.array([0.1, -0.4, 0.3])), [0, 2.0, 0])
    np.testing.assert_array_equal(costs.gradient(0, np.array([0.1, -0.2, 0.3])), [0, 0, -2.0])


def test_uncut_pushes_through_the_second_nearest_face():
    costs = adversarial_cube("uncut", horizon=9, dimension=3, size=2.0).costs
    np.testing.assert_array_equal(costs.gradient(0, np.array([0.1, -0.4, 0.3])), [0, 0, -2.0])
    np.testing.assert_array_equal(costs.gradient(0, np.array([-0.2, -0.4, 0.1])), [2.0, 0, 0])
    # Nothing to prefer among faces that are equally far: some uncut one, never the cut one.
    np.testing.assert_array_equal(costs.gradient(0, np.array([0.4, 0.0, 0.0])), [0, -2.0, 0])
    np.testing.assert_array_equal(costs.gradient(0, np.zeros(3)), [0, -2.0, 0])


@pytest.mark.parametrize("x", [0.3, -0.3, 0.0])
def test_in_one_dimension_both_push_through_the_only_face_in_reach(x):
    out, uncut = (adversarial_cube(n, horizon=9, dimension=1).costs for n in ADAPTIVE)
    wanted = [1.0] if x < 0 else [-1.0]
    np.testing.assert_array_equal(out.gradient(0, np.array([x])), wanted)
    np.testing.assert_array_equal(uncut.gradient(0, np.array([x])), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("name", [n for n in ADVERSARIES if n not in ("alternating", "random")])
def test_the_boundary_is_reached_by_those_who_mean_to(name, d):
    cube = adversarial_cube(name, horizon=3_000, dimension=d, seed=2)
    trace = play(PFS.tuned(cube.constants, 3_000), cube, every=None)
    rho = trace.guarantee.rho
    assert -3 * rho < trace.violations.largest <= 0


def test_a_step_along_the_uncut_face_is_not_corrected():
    # Without tightening, and near the corner, one step of length 0.2 violates by what is left.
    cube = adversarial_cube("uncut", horizon=2, dimension=2)
    trace = play(PFS(eta=0.2, rho=0.0, domain=Ball(2.0)), cube, start=[0.45, 0.4])
    np.testing.assert_allclose(trace.actions[1], [0.45, 0.6], rtol=1e-15)
    assert trace.violations.largest == pytest.approx(0.1)


def test_constants_hold_and_are_derived():
    for name in ADVERSARIES:
        cube = adversarial_cube(name, horizon=9, dimension=4, radius=0.25, size=3.0)
        c = cube.constants
        assert (c.G_f, c.G_g, c.sigma, c.R) == (3.0, 1.0, 0.5, 0.5)
        assert (c.start_slack, c.epsilon) == (0.25, 0.125)
        assert cube.name == f"cube, {name}"


def test_the_same_seed_gives_the_same_stream_and_another_one_another():
    for name in OBLIVIOUS:
        a, b, c = (adversarial_cube(name, horizon=9, seed=s).costs.slopes for s in (4, 4, 5))
        np.testing.assert_array_equal(a, b)
        assert name == "corners" or (a != c).any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"adversary": "kind"}, "adversary must be one of 'constant', 'alternating', "),
        ({"horizon": 0}, "horizon must be a whole number of rounds >= 1, got 0"),
        ({"dimension": 0}, "dimension must be a whole number >= 1, got 0"),
        ({"dimension": 2.5}, "dimension must be a whole number >= 1, got 2.5"),
        ({"radius": -1.0}, "radius must be a finite number > 0, got -1.0"),
        ({"size": float("nan")}, "size must be a finite number > 0, got nan"),
    ],
)
def test_bad_arguments_are_named(options, sentence):
    with pytest.raises(ValueError) as raised:
        adversarial_cube(**{"adversary": "out", "horizon": 5, **options})
    assert str(raised.value).startswith(sentence)
