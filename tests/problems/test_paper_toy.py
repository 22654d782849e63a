"""The paper's toy: streams as published, constants as the assumptions demand."""

import math

import numpy as np
import pytest

from surefoot.problems import HORIZONS, SETTINGS, binding_toy, paper_toy

DRAWN = 20_000


def redrawn(trials, seed):
    """The order of the published scripts: two columns of targets, then noise times 0, a trial."""
    rng = np.random.default_rng(seed)
    targets = []
    for _ in range(trials):
        first = rng.uniform(-1, 0, (DRAWN, 1))
        second = rng.uniform(-1, 0, (DRAWN, 1))
        rng.normal(0, 1, (DRAWN, 4))
        targets.append(np.hstack([first, second]))
    return np.stack(targets, axis=1)


@pytest.mark.parametrize("seed", [0, 1])
def test_streams_are_the_published_ones(seed):
    toy = paper_toy(trials=3, seed=seed)
    np.testing.assert_array_equal(toy.costs.targets, redrawn(3, seed))


@pytest.mark.parametrize("horizon", [1, 17, 2_000])
def test_a_shorter_horizon_is_the_beginning_and_fewer_trials_are_the_first(horizon):
    whole = paper_toy(trials=3).costs.targets
    np.testing.assert_array_equal(paper_toy(horizon, 2).costs.targets, whole[:horizon, :2])


def test_a_longer_horizon_draws_as_many_as_it_needs():
    costs = paper_toy(DRAWN + 5, trials=1).costs
    assert costs.targets.shape == (DRAWN + 5, 1, 2)
    assert costs.targets.max() <= 0


def test_the_binding_sibling_is_moved_by_a_half():
    whole = paper_toy(50, trials=2).costs.targets
    np.testing.assert_array_equal(binding_toy(50, trials=2).costs.targets, whole - 0.5)


def test_costs_constraint_and_start_are_the_papers():
    toy = paper_toy(5, trials=1)
    x = np.array([[0.25, -0.5]])
    v = toy.costs.targets[2]
    assert toy.costs.value(2, x)[0, 0] == pytest.approx(3 * float(((x - v) ** 2).sum()), rel=1e-15)
    np.testing.assert_allclose(toy.costs.gradient(2, x), 6 * (x - v), rtol=1e-15)
    assert toy.constraint.value(np.array([0.1, -0.75])) == 0.25
    np.testing.assert_array_equal(toy.start, [0.0, 0.0])
    assert (toy.domain.radius, toy.domain.centre) == (1.0, None)
    assert toy.costs.runs == 1


@pytest.mark.parametrize(
    ("make", "G_f"), [(paper_toy, 6 * (1 + math.sqrt(2))), (binding_toy, 6 + 9 * math.sqrt(2))]
)
def test_the_constants_are_true_for_every_target_that_could_be_drawn(make, G_f):
    toy = make(500, trials=4)
    c = toy.constants
    assert (c.R, c.G_g, c.epsilon, c.start_slack) == (1.0, 1.0, 0.25, 0.5)
    assert c.sigma == pytest.approx(math.sqrt(0.5), rel=1e-15)
    assert c.G_f == pytest.approx(G_f, rel=1e-15)
    # What was drawn is below, and its farthest corner would attain it.
    assert 0.95 * G_f < toy.costs.gradient_bound(toy.domain) < G_f
    assert c.origins["G_f"] == "derived"


def test_the_binding_sibling_does_bind():
    targets = binding_toy(2_000, trials=5).costs.targets.mean(axis=0)
    assert (targets < -0.5).all()
    assert (paper_toy(2_000, trials=5).costs.targets.mean(axis=0) > -0.53).all()


def test_the_settings_are_those_of_figure_text_and_scripts():
    xi = 1 - math.sqrt(0.5)
    plotted, written, released = SETTINGS
    assert plotted.parameters(10_000) == pytest.approx((xi * 0.25 / 100, 0.01), rel=1e-12)
    assert written.parameters(10_000) == pytest.approx(
        (xi * 0.25 / math.sqrt(2) / 100, 0.0025), rel=1e-12
    )
    assert released.parameters(10_000) == pytest.approx(
        (xi * 0.25 / (6 + 6 * math.sqrt(2)) / 100, 0.01), rel=1e-12
    )
    assert HORIZONS == (2000, 4000, 6000, 8000, 10000, 12000, 14000, 16000, 18000, 20000)


@pytest.mark.parametrize("make", [paper_toy, binding_toy])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"horizon": 0}, "horizon must be a whole number of rounds >= 1, got 0"),
        ({"horizon": 1.5}, "horizon must be a whole number of rounds >= 1, got 1.5"),
        ({"trials": 0}, "trials must be a whole number >= 1, got 0"),
        ({"trials": 2.0}, "trials must be a whole number >= 1, got 2.0"),
    ],
)
def test_bad_sizes_are_named(make, options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make(**options)
