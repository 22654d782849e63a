import csv
import math

import numpy as np
import pytest

from surefoot.algorithms import OGD, PFS, CertifiedPFS, Mahdavi, ScalarDPP
from surefoot.experiments import table1
from surefoot.problems import paper_toy, random_polytope

HORIZONS = (50, 100, 200)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def records():
    problems = [paper_toy(200, 3), random_polytope(3, 8, horizon=200, trials=3)]
    seen = []
    found = table1.measure(
        problems,
        HORIZONS,
        algorithms=(PFS, CertifiedPFS, Mahdavi, ScalarDPP, OGD),
        engine="batch",
        progress=lambda name, done, total: seen.append((name, done, total)),
    )
    return found, seen


def test_every_row_is_there_once(records):
    rows = [(r.problem, r.algorithm, r.horizon) for r in records[0]]
    jobs = sum(len(k.tunings) for k in (PFS, CertifiedPFS, Mahdavi, ScalarDPP, OGD))
    assert len(rows) == len(set(rows)) == 2 * jobs * len(HORIZONS)


def test_no_bound_is_exceeded_and_every_promise_held(records):
    played = [r for r in records[0] if r.trials]
    assert all(r.held for r in played)
    assert all(r.regret_share <= 1 for r in played)
    assert all(not r.violation_share > 1 for r in played)


def test_a_theorem_that_does_not_apply_says_which_horizon_it_needs(records):
    rows = [r for r in records[0] if r.algorithm == "Mahdavi.no_violation"]
    assert rows
    assert all(r.trials == 0 and "horizon of at least" in r.note for r in rows)
    assert all(r.held is None and math.isnan(r.regret) for r in rows)


def test_rows_with_a_solver_say_so_and_count_it(records):
    (row,) = [
        r
        for r in records[0]
        if r.algorithm == "OGD.fixed" and r.horizon == 200 and "polytope" in r.problem
    ]
    assert 0 < row.inner_solves <= row.projections == 1  # a point inside needs no solver
    assert "a solver a round" in row.note
    free = [r for r in records[0] if r.algorithm == "PFS.anytime"]
    assert all(r.projections == r.inner_solves == 0 for r in free)


def test_progress_counts_up_to_the_whole(records):
    done = [d for _, d, _ in records[1]]
    assert done == list(range(len(done)))
    assert {total for _, _, total in records[1]} == {len(done)}


def test_exponents_are_fitted_from_the_means(records):
    fits = {(f.problem, f.algorithm): f for f in table1.fits(records[0])}
    fit = fits["paper toy", "PFS.anytime"]
    rows = [r for r in records[0] if (r.problem, r.algorithm) == ("paper toy", "PFS.anytime")]
    slope = np.polyfit(np.log(HORIZONS), np.log([r.regret for r in rows]), 1)[0]
    assert fit.regret.slope == pytest.approx(slope)
    assert fit.hard is None


def test_the_table_is_saved_and_printed(records, tmp_path):
    table1.save(records[0], tmp_path / "new" / "table.csv")
    with (tmp_path / "new" / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(records[0])
    assert float(rows[0]["regret"]) == records[0][0].regret
    text = table1.describe(records[0])
    assert "paper toy" in text
    assert "Mahdavi.no_violation" in text
    assert " NO " not in text
