"""A fleet's next machine: the rank that conformal prediction takes."""

import numpy as np
import pytest

from surefoot import Constants, LeaderFollower, Tuned
from surefoot.problems.calibration import fleet_constant
from surefoot.rules import WithProbability


@pytest.mark.parametrize(
    ("n", "delta", "rank"), [(19, 0.05, 19), (59, 0.05, 57), (9, 0.1, 9), (1, 0.5, 1), (3, 0.6, 2)]
)
def test_the_rank_is_that_of_the_theorem(n, delta, rank):
    assert fleet_constant(np.random.default_rng(n).permutation(n) + 1.0, delta) == rank


def test_the_next_machine_exceeds_it_as_seldom_as_promised():
    rng = np.random.default_rng(8)
    missed = 0
    for _ in range(4_000):
        *fleet, new = rng.lognormal(size=60)
        missed += new > fleet_constant(fleet, 0.05)
    # 3 of 60 ranks are above: 5 %, give or take four standard deviations.
    assert abs(missed / 4_000 - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 4_000)


def test_the_origin_is_told_and_the_guarantee_has_a_probability():
    known = Constants(R=1.0, start_slack=0.5).with_origin(
        "conformal", G_g=fleet_constant(np.linspace(1.0, 2.0, 30), 0.05)
    )
    player, guarantee = LeaderFollower.default(known)
    assert known.origins["G_g"] == "conformal"
    found = Tuned(player, WithProbability(known, guarantee, 0.05)).guarantee
    assert "with probability 0.95" in found.name


@pytest.mark.parametrize(
    ("constants", "delta", "sentence"),
    [
        (
            [1.0] * 10,
            0.05,
            "at least 19 machines for delta = 0.05, got 10",
        ),
        ([1.0], 0.0, "delta must be strictly between 0 and 1"),
        ([1.0, -1.0, 2.0], 0.5, "constants must be at least 0, got -1"),
        ([1.0, np.nan], 0.5, "constants"),
        ([], 0.5, "constants"),
    ],
)
def test_bad_input_is_one_sentence(constants, delta, sentence):
    with pytest.raises(ValueError, match=sentence):
        fleet_constant(constants, delta)
