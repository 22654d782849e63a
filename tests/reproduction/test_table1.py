from dataclasses import replace

import pytest

from surefoot.core.types import Needs, needs_of
from surefoot.experiments import Results, dump_spec, parse_spec, run
from surefoot.experiments.paper.table1 import _rows, specification
from surefoot.rules import ALGORITHMS


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    names = {"PFS", "CertifiedPFS", "Mahdavi", "ScalarDPP", "OGD"}
    spec = specification(horizons=(50, 100, 200), trials=3)
    few = [row for row in spec.algorithms if row.name in names]
    folder = tmp_path_factory.mktemp("table1")
    outcome = run(replace(spec, algorithms=few), folder, workers=0)
    assert not outcome.failed, outcome.notes
    with Results.open(folder / "results.sqlite") as found:
        return [(place, cell) for place, cell in found.cells()]


def test_every_theorem_meets_every_problem():
    spec = specification()
    assert parse_spec(dump_spec(spec)).data == spec.data
    for kind in [k for k in ALGORITHMS if not needs_of(k).agents]:
        for tuning in kind.tunings:
            rows = [r for r in spec.algorithms if (r.name, r.tuning) == (kind.__name__, tuning)]
            met = [p.title for r in rows for p in spec.problems if not r.only or p.title in r.only]
            assert sorted(met) == ["binding toy", "paper toy", "random polytope"]


class Looping:
    needs = Needs(numpy_only=True)


def test_rules_that_cannot_be_compiled_are_played_less_far():
    (row,) = _rows(Looping, "tuned", [1_000, 10_000, 31_623], 30)
    assert row == {"name": "Looping", "tuning": "tuned", "horizons": [1_000, 10_000], "trials": 5}


@pytest.mark.slow
def test_no_bound_is_exceeded_and_every_promise_held(results):
    played = [cell for _, cell in results if cell.status == "done"]
    assert len(played) > 50
    assert {cell.facts.verdict.word for cell in played} == {"held"}
    shares = [cell.facts.regret_share for cell in played]
    assert max(share for share in shares if share is not None) <= 1
    assert sum(share is not None for share in shares) > 40  # the others promise none in advance


@pytest.mark.slow
def test_a_theorem_that_does_not_apply_says_which_horizon_it_needs(results):
    rejected = [cell for place, cell in results if place.algorithm == "Mahdavi.no_violation"]
    assert rejected
    assert all(
        cell.status == "rejected" and "horizon of at least" in cell.note for cell in rejected
    )


@pytest.mark.slow
def test_rows_with_a_solver_are_named_and_counted(results):
    calls = {
        (place.problem, place.algorithm): cell.facts.oracle
        for place, cell in results
        if place.horizon == 200 and cell.status == "done"
    }
    solver = calls["random polytope", "OGD.fixed, a solver a round"]
    assert 0 < solver["inner_solves"] <= solver["projections"] == 200
    assert calls["paper toy", "OGD.fixed"]["inner_solves"] == 0
    assert calls["random polytope", "PFS.anytime"]["projections"] == 0
