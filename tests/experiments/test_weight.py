"""A sweep is a short walk: few files, so that it can be read."""

import sys
from pathlib import Path

import pytest

import surefoot
from surefoot import kernel
from surefoot.experiments import build_spec, run

ROOT = str(Path(surefoot.__file__).parent)


@pytest.mark.skipif(kernel.name() != "kernel", reason="the kernel was not built")
def test_a_sweep_of_two_cells_visits_few_files(tmp_path):
    rows = [{"name": "PFS", "tuning": "anytime"}, {"name": "OGD", "tuning": "fixed"}]
    spec = build_spec(
        {
            "name": "two",
            "trials": 2,
            "horizons": [50],
            "problems": [{"name": "paper_toy"}],
            "algorithms": rows,
        }
    )
    visited = set()

    def look(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            visited.add(frame.f_code.co_filename.removeprefix(ROOT))

    sys.setprofile(look)
    try:
        outcome = run(spec, tmp_path, workers=0)
    finally:
        sys.setprofile(None)
    assert outcome.done == 2
    assert len(visited) <= 45, sorted(visited)  # TOML has one writer, that of plant files too
