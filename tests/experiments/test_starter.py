"""The specification that a newcomer starts from."""

import re
from dataclasses import replace

from surefoot.experiments.cells import cells_of, play_cell
from surefoot.experiments.toml import parse_spec, starter

STARTER = starter("first")


def test_it_is_read_and_played_in_every_row():
    spec = parse_spec(STARTER)
    assert sum(job.rounds for _, job in cells_of(spec)) < 500_000
    short = replace(spec, horizons=[6], trials=2, problems=spec.problems[1:2])
    results = [play_cell(cell.address, cell.spec) for _, cell in cells_of(short)]
    assert len(results) == len(spec.algorithms)
    assert {result.status for result in results} == {"done"}, [r.note for r in results]


def test_what_is_commented_out_may_be_put_in():
    text, count = re.subn(r"^# (\w+ = )", r"\1", STARTER, flags=re.MULTILINE)
    assert count == 6
    spec = parse_spec(text)
    assert spec.problems[0].arguments == {"published": 0}
    assert spec.algorithms[-1].constants == {"G_f": 14.5}


def test_its_lines_fit_a_terminal():
    assert max(map(len, STARTER.split("\n"))) <= 100
