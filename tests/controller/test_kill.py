import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and kill -9")


def kill(folder, times, *names, script="_kill.py"):
    # One thread: a process with several must not fork.
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name(script), folder, str(times), *names],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_filter_that_is_killed_many_times_ends_as_if_it_had_not_been(tmp_path):
    killed, runs, same, lost, different, _ = kill(tmp_path, 30, "safety filter", "hull filter")
    assert (killed, lost, different) == (30, 0, 0)
    assert same == runs


@pytest.mark.slow
def test_200_times_killed_no_decision_is_lost_and_every_run_ends_bit_for_bit(tmp_path):
    killed, runs, same, lost, different, stretches = kill(tmp_path, 200)
    assert (killed, lost, different) == (200, 0, 0)
    assert same == runs >= 8
    assert stretches > 60  # of rounds played between two kills: most find a loop at work


@pytest.mark.slow
def test_a_fleet_that_is_killed_12_times_loses_no_call_and_plays_as_if_it_had_not_been(tmp_path):
    found = kill(tmp_path, 12, script="_kill_fleet.py")
    killed, stretches, acknowledged, lost, different, is_same, files, snapshots = found
    assert (killed, acknowledged, lost, different, is_same) == (12, 120, 0, 0, True)
    assert stretches > 6  # of calls between two kills: most find a fleet at work
    assert files >= 3
    assert snapshots >= 1
