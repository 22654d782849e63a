"""A round, journalled or not, and a tuning are short walks, so that they can be read."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import surefoot
from surefoot import Constants, Controller, kernel
from surefoot.rules import LeaderFollower
from surefoot.sets import Ball

ROOT = str(Path(surefoot.__file__).parent)
WITH_KERNEL = pytest.mark.skipif(kernel.name() != "kernel", reason="the kernel was not built")


def walk(act):
    """Return the files of the calls of the library that an act makes, in their order."""
    files = []

    def look(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            files.append(frame.f_code.co_filename.removeprefix(ROOT))

    sys.setprofile(look)
    try:
        act()
    finally:
        sys.setprofile(None)
    return files


def walk_of_a_round(**options):
    """Return the walk of the sixth round."""
    slope = np.array([1.0, 0.0])
    with Controller(LeaderFollower(G_g=1.0, domain=Ball(2.0)), np.zeros(2), **options) as loop:
        for _ in range(6):
            x = loop.ask()
            seen = {"cost_gradient": x - 1.0, "constraint_value": float(x[0]) - 0.5}
            files = walk(lambda seen=seen: loop.tell(constraint_subgradient=slope, **seen))
    return files


@WITH_KERNEL
def test_a_round_is_a_short_walk():
    files = walk_of_a_round()
    changes = sum(a != b for a, b in pairwise(files))
    assert len(files) <= 40
    assert len(set(files)) <= 10, sorted(set(files))
    assert changes <= 32


@WITH_KERNEL
def test_a_journalled_round_is_a_short_walk(tmp_path):
    files = walk_of_a_round(journal=tmp_path / "run.jsonl")
    assert len(files) <= 91
    assert len(set(files)) <= 14, sorted(set(files))
    assert sum(a != b for a, b in pairwise(files)) <= 58


def test_a_tuning_is_a_short_walk():
    constants = Constants(R=2.0, G_f=1.0, G_g=1.0, start_slack=0.5)
    LeaderFollower.default(constants)  # what is made once for a class
    assert len(walk(lambda: LeaderFollower.default(constants))) <= 60
