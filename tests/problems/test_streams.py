"""Seeds of streams apart from those of the geometry; the rest is tested with the registry."""

import numpy as np
import pytest

from surefoot import problems


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (problems.random_polytope(3, 9, horizon=4, trials=2, seed=5), -2.113912289101473),
        (problems.fair_logistic(3, horizon=4, seed=5), -0.5264191452247814),
        (
            problems.adversarial_cube("corners", horizon=9, dimension=3, size=1.7, seed=5),
            0.9814954576223638,
        ),
        (
            problems.adversarial_cube("random", horizon=9, dimension=3, size=1.7, seed=5),
            2.3287940972321968,
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_without_a_seed_of_their_own_streams_are_what_they_always_were(problem, expected):
    assert np.sum(problem.costs.gradient(1, problem.start)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("adversary", ["constant", "alternating", "random", "corners"])
def test_slopes_of_several_trials_have_their_size_and_their_own_directions(adversary):
    cube = problems.adversarial_cube(
        adversary, horizon=70, dimension=3, size=1.75, trials=4, streams=9
    )
    slopes = cube.costs.slopes
    assert slopes.shape == (70, 4, 3)
    assert np.linalg.norm(slopes, axis=-1) == pytest.approx(np.full((70, 4), 1.75))
    assert len(np.unique(slopes[40], axis=0)) > 1
    one = problems.adversarial_cube(adversary, horizon=70, dimension=3, size=1.75, streams=9)
    assert np.array_equal(one.costs.slopes, slopes[:, 0])


def test_a_seed_of_streams_is_not_negative():
    with pytest.raises(ValueError, match="streams must be a whole number >= 0, got -1"):
        problems.paper_toy(3, 1, streams=-1)
