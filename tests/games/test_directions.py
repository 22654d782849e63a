"""Random directions are those of one stream per run, however the rounds are cut into blocks."""

import numpy as np
import pytest

from surefoot.games.game import Directions

SEED, RUNS, ROUNDS, D = 7, 3, 12, 2


def by_numpy(run):
    """The unit vectors of a run, drawn at once."""
    seed = np.random.SeedSequence(SEED, spawn_key=(run,))
    drawn = np.random.default_rng(seed).normal(size=(ROUNDS, D))
    return drawn / np.sqrt((drawn**2).sum(axis=1))[:, None]


@pytest.mark.parametrize(
    "blocks",
    [
        [(0, 12)],
        [(0, 5), (5, 12)],
        [(0, 1), (1, 2), (2, 12)],
        [(3, 7)],  # nobody has asked for the rounds before
        [(0, 4), (6, 9)],  # nor for those between
        [(0, 9), (2, 5), (5, 12)],  # asked for again, and on
    ],
)
def test_blocks_are_cut_from_one_stream(blocks):
    each = Directions(SEED, RUNS, D)
    together = Directions(SEED, RUNS, D)
    wanted = np.stack([by_numpy(run) for run in range(RUNS)], axis=1)
    for first, stop in blocks:
        np.testing.assert_allclose(each.draw(first, stop, 1), wanted[first:stop, 1], rtol=1e-15)
        some = together.draw(first, stop, slice(None))
        np.testing.assert_allclose(some, wanted[first:stop], rtol=1e-15)
