"""The cases are plugins: a specification names their problems once the module was given."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = """
name = "cases"
trials = 2
horizons = [30]

[[problems]]
name = "fair_scoring"
tolerance = 0.02

[[problems]]
name = "ev_charging"
site = "jpl"

[[problems]]
name = "risk_portfolio"

[[algorithms]]
name = "LeaderFollower"
tuning = "default"
"""
PLUGINS = ("cases.scoring", "cases.charging", "cases.portfolio")


def surefoot(*words):
    """Run a command at the top of the repository."""
    command = [sys.executable, "-m", "surefoot", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.cases
def test_a_specification_plays_their_problems(tmp_path):
    spec = tmp_path / "cases.toml"
    spec.write_text(SPEC)
    given = [word for name in PLUGINS for word in ("--plugin", name)]
    done = surefoot("run", spec, "--out", tmp_path / "out", *given)
    assert done.returncode == 0, done.stderr
    assert "3 cells" in done.stdout + done.stderr


@pytest.mark.slow
def test_without_the_plugin_their_names_are_unknown(tmp_path):
    spec = tmp_path / "cases.toml"
    spec.write_text(SPEC)
    done = surefoot("run", spec, "--out", tmp_path / "out")
    assert done.returncode != 0
    assert "unknown problem 'fair_scoring'" in " ".join(done.stderr.split())
