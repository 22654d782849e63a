"""``--plugin``: an own problem and an own algorithm in the commands."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from _plugin import CODE, SPEC, forgetful  # noqa: F401  a fixture

pytestmark = pytest.mark.usefixtures("forgetful")


@pytest.fixture
def own(desk):
    (desk.folder / "mine.py").write_text(CODE)
    desk.spec.write_text(SPEC)
    return desk


def test_without_the_plugin_an_unknown_name_says_how(own):
    code, out, err = own.do("run limits.toml")
    assert (code, out) == (2, "")
    assert "unknown problem 'depot'" in err
    assert "unknown algorithm 'Careful'" in err
    assert err.count("(for your own give --plugin MODULE)") == 2


def test_a_plugin_that_is_not_there_is_a_mistake_in_the_command(own):
    code, out, err = own.do("run limits.toml --plugin yours")
    assert (code, out) == (2, "")
    assert err.startswith("surefoot: there is no module 'yours' in ")


@pytest.mark.slow
def test_the_commands_know_what_the_plugin_has(own):
    assert "Careful  " in own.do("list algorithms --plugin mine").out
    described = own.do("list depot --plugin mine --json").data["problem"]
    assert described["arguments"] == [
        {"name": "limit", "required": False, "default": 0.6, "about": "what the floor carries"}
    ]
    assert "near       any             0.1" in own.do("list Careful --plugin mine").out
    found = own.do("calibrate depot --plugin mine --set limit=0.4 --json").data
    assert found["constants"]["start_slack"]["value"] == pytest.approx(0.4)


def test_a_report_of_what_a_plugin_played_needs_no_plugin(own):
    assert own.do("run limits.toml --plugin mine --workers 0 --no-report --json").data["done"] == 8
    again = own.do("run limits.toml --plugin mine --workers 0 --no-report --json").data
    assert (again["done"], again["present"]) == (0, 8)


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_with_the_same_results_and_is_reported(desk, tmp_path):
    (tmp_path / "mine.py").write_text(CODE)
    spec = SPEC.replace("trials = 3", "trials = 31").replace("[20, 40]", "[300]")
    (tmp_path / "spec.toml").write_text(spec)
    run = [sys.executable, "-m", "surefoot", "run", "spec.toml", "--plugin", "mine"]
    run += ["--workers", "2"]

    def cells(folder):
        file = tmp_path / folder / "results.sqlite"
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as base:
                return base.execute("SELECT address, status FROM cells ORDER BY address").fetchall()
        except sqlite3.OperationalError:  # not there yet, or without its table
            return []

    def arrays(folder):
        with closing(sqlite3.connect(tmp_path / folder / "results.sqlite")) as base:
            return sorted(base.execute("SELECT address, arrays FROM cells"))

    process = subprocess.Popen(
        [*run, "--no-report"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    limit = time.monotonic() + 120
    while len(cells("out/own")) < 2 and time.monotonic() < limit:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    there = len(cells("out/own"))
    assert 2 <= there < 8
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"{there} in the file already" in done.stdout, done.stdout
    assert "depot, 31 trials" in done.stdout
    page = (tmp_path / "out" / "own" / "report.html").read_text()
    assert "Careful" in page
    assert {status for _, status in cells("out/own")} == {"done"}
    whole = desk.do("run spec.toml --plugin mine --workers 0 --no-report --out whole")
    assert "8 played" in whole.out
    assert cells("whole") == cells("out/own")
    assert arrays("whole") == arrays("out/own")
