"""A journalled round is a short walk: few files, and none of it twice."""

import sys
from pathlib import Path

import numpy as np
import pytest

import surefoot
from surefoot import Controller, kernel
from surefoot.rules import LeaderFollower
from surefoot.sets import Ball

ROOT = str(Path(surefoot.__file__).parent)


@pytest.mark.skipif(kernel.name() != "kernel", reason="the kernel was not built")
def test_a_journalled_round_visits_few_files(tmp_path):
    player = LeaderFollower(G_g=1.0, domain=Ball(2.0))
    visited = set()

    def look(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            visited.add(frame.f_code.co_filename.removeprefix(ROOT))

    with Controller(player, np.zeros(2), journal=tmp_path / "run.jsonl") as controller:
        for _ in range(6):
            visited.clear()
            x = controller.ask()
            told = {"cost_gradient": x - 1.0, "constraint_value": float(x[0]) - 0.5}
            sys.setprofile(look)
            try:
                controller.tell(constraint_subgradient=np.array([1.0, 0.0]), **told)
            finally:
                sys.setprofile(None)
    assert len(visited) <= 12, sorted(visited)
