"""Honest journals: constants are right, readings err by no more than they may; none is blamed.

``python -m tests.controller._honest 200`` plays 200 seeds of every plant.
"""

import pytest

from surefoot.controller.check import check

from ._honest import PLANTS, play

# What a checker blamed that kept bounds by round, knew one anchor, and had one tolerance for rows.
ONCE_BLAMED = {
    "ahead, late, both": range(6),
    "descent, errors": range(12),
    "units": range(6),
    "lengths, errors": range(6),
    "average, errors": range(6),
}


@pytest.mark.parametrize("name", ONCE_BLAMED)
def test_what_was_blamed_once_is_not(name, tmp_path):
    for seed in ONCE_BLAMED[name]:
        report = check(str(play(tmp_path / f"run{seed}", name, seed)))
        assert report.is_right, (seed, report.said[0])


@pytest.mark.parametrize("name", PLANTS)
def test_no_honest_journal_is_blamed_and_no_quiet_round_is_left_unchecked(name, tmp_path):
    report = check(str(play(tmp_path / "eventful", name, 0)))
    assert report.is_right, report.said[0]
    path = play(tmp_path / "quiet", name, 0, rounds=20, eventful=False)
    report = check(str(path))
    assert report.is_right, report.said[0]
    first = int(report.said[0].split()[1])
    assert first == 0 if name in NOT_JUDGED else first >= 16, report.said


# Certified lengths under drift are called "not checked".
NOT_JUDGED = ("lengths, drift", "lengths, both")
