from dataclasses import replace

import numpy as np
import pytest

from surefoot.core.plain import json_plain
from surefoot.experiments import CellResult, Facts, Place, StoreError
from surefoot.experiments.record import BreachFacts, ComparatorFacts, from_plain
from surefoot.experiments.rows import (
    Row,
    algorithms,
    fit_rates,
    gather,
    mean_std,
    problems,
)
from surefoot.games import fit_rate

from .._cells import rows_of


def row_of(rows, algorithm, horizon=20_000, problem="paper toy"):
    (row,) = [
        r for r in rows if (r.problem, r.algorithm, r.horizon) == (problem, algorithm, horizon)
    ]
    return row


def cells_of(sample, algorithm, horizon=20_000, problem="paper toy"):
    key = problem, algorithm, horizon
    return [c for p, c in sample.cells if (p.problem, p.algorithm, p.horizon) == key]


def made(algorithm, regrets, problem="p", **facts):
    """Rows of one block each: one for every horizon that has regrets."""
    return [
        Row(
            problem=problem,
            algorithm=algorithm,
            horizon=T,
            trials=len(regret),
            status="done",
            facts=from_plain(Facts, facts, "facts"),
            arrays={"regret": np.array(regret)},
        )
        for T, regret in regrets.items()
    ]


# --- blocks --------------------------------------------------------------------------------------


def test_blocks_are_joined_along_their_trials(rows, sample):
    row = row_of(rows, "DPP")
    first, second = (cell.arrays for cell in cells_of(sample, "DPP"))
    assert row.trials == 5
    np.testing.assert_array_equal(row.arrays["regret"][3:], second["regret"])
    np.testing.assert_array_equal(row.arrays["best"], np.concatenate([first["best"]] * 2)[:5])
    np.testing.assert_array_equal(row.arrays["constraint"][:, :3], first["constraint"])
    np.testing.assert_array_equal(row.arrays["constraint"][:, 3:], second["constraint"])
    np.testing.assert_array_equal(row.arrays["rounds"], first["rounds"])
    np.testing.assert_array_equal(row.arrays["actions"], first["actions"])
    assert row.provenance["seconds"] == 0.25 + 0.5
    assert row.facts.regret_share == pytest.approx(0.3)


def test_the_gravest_verdict_of_the_blocks_is_the_rows(sample):
    held, other = cells_of(sample, "DPP")
    plain = json_plain(other.facts)
    broken = plain | {
        "verdict": {"word": "premise broken", "sentence": "round 9"},
        "breaches": [
            {"constant": "G_f", "round": 9, "trial": 4},
            {"constant": "G_g", "round": 4, "trial": 3},
        ],
        "comparator": {"gap": 0.125, "exact": False},
        "guarantee": plain["guarantee"] | {"regret_bound": 1e9, "bounds": {"positive_sum": 41.0}},
    }
    facts = from_plain(Facts, broken, "facts")
    early = replace(held.facts, breaches=(BreachFacts(constant="G_g", round=3, trial=2),))
    pairs = [
        (Place(address=a, problem="p", algorithm="a", horizon=20_000, block=b), cell)
        for b, (a, cell) in enumerate(
            [("x", replace(held, facts=early)), ("y", replace(other, facts=facts))]
        )
    ]
    (row,) = rows_of(pairs)
    assert row.verdict == "premise broken"
    assert not row.claims
    # Trials are counted over all blocks when they are played; the earlier of two breaches stays.
    assert {b.constant: (b.round, b.trial) for b in row.facts.breaches} == {
        "G_f": (9, 4),
        "G_g": (3, 2),
    }
    assert row.facts.comparator == ComparatorFacts(gap=0.125, exact=False)
    assert (row.guarantee.regret_bound, row.guarantee.bounds["positive_sum"]) == (1e9, 41.0)


def test_a_row_with_a_failed_block_has_the_others_trials_and_says_so(rows):
    row = row_of(rows, "Certified", 8_000)
    assert row.status == "failed"
    assert row.trials == 3
    assert row.note == "the solver gave up; 1 of 2 blocks of trials"


def test_a_refused_row_has_a_reason_and_no_numbers(rows):
    row = row_of(rows, "Jenatton")
    assert (row.status, row.played, row.arrays) == ("rejected", False, {})
    assert row.note == "rho must be < epsilon = 0.25"
    assert row.verdict == ""


def test_cells_that_are_not_there_yet_have_no_row(sample, tmp_path):
    kept = [(p, c) for p, c in sample.cells if p.horizon == 2_000 and p.block == 0]
    plan = [p for p, _ in sample.cells if p.horizon <= 8_000]
    rows = rows_of(kept, plan)
    assert {row.horizon for row in rows} == {2_000}
    assert row_of(rows, "DPP", 2_000).note == "1 of 2 blocks of trials"
    assert row_of(rows, "DPP", 2_000).status == "done"


def test_a_damaged_cell_counts_as_failed_and_hides_no_other(results, sample):
    lost = cells_of(sample, "DPP")[1].address

    class Damaged:
        have, places = results.have, results.places

        def get(self, address):
            if address == lost:
                raise StoreError("its array 'regret' is not what was written")
            return results.get(address)

    rows = gather(Damaged())
    row = row_of(rows, "DPP")
    assert row.damaged == {lost: "its array 'regret' is not what was written"}
    assert (row.status, row.trials) == ("failed", 3)
    assert "'regret' is not what was written" in row.note
    assert row_of(rows, "OGD").trials == 5


# --- helpers -------------------------------------------------------------------------------------


def test_algorithms_are_in_the_order_of_the_plan_however_rows_are(rows):
    plan = ["PFS, Corollary 1", "DPP", "PFS as plotted", "Certified", "OGD", "Jenatton"]
    assert algorithms(rows) == plan
    assert algorithms(rows[::-1]) == plan
    assert problems(rows) == ["paper toy", "sparse budget"]


def test_mean_and_std_are_of_the_trials_and_a_lost_trial_is_not_left_out():
    (row,) = made("a", {10: [1.0, 4.0, 7.0]})
    assert mean_std(row, "regret") == (4.0, pytest.approx(np.sqrt(6.0)))
    (lost,) = made("a", {10: [1.0, np.nan]})
    assert np.isnan(mean_std(lost, "regret")).all()


def test_a_rate_is_fitted_trial_by_trial(rows, sample):
    (fit,) = fit_rates([r for r in rows if (r.problem, r.algorithm) == ("paper toy", "OGD")])
    regret = [
        np.concatenate([c.arrays["regret"] for c in cells_of(sample, "OGD", T)])
        for T in (2_000, 8_000, 20_000)
    ]
    assert fit.rate == fit_rate([2_000, 8_000, 20_000], regret)
    assert fit.horizons == (2_000, 8_000, 20_000)
    assert fit.reason == "5 trials"


def test_where_a_trial_has_no_logarithm_the_mean_is_fitted_and_that_is_said():
    (fit,) = fit_rates(made("a", {100: [-1.0, 5.0], 400: [3.0, 5.0], 1600: [8.0, 8.0]}))
    assert fit.rate.slope == pytest.approx(0.5)
    assert fit.reason == "mean of the trials: the smallest regret of a trial is -1"


@pytest.mark.parametrize(
    ("regrets", "reason"),
    [
        ({100: [1.0], 400: [2.0]}, "a rate needs three horizons, there are 2"),
        ({100: [1.0], 400: [0.0], 900: [2.0]}, "no logarithm: the smallest mean regret is 0"),
    ],
)
def test_no_rate_comes_with_its_reason(regrets, reason):
    (fit,) = fit_rates(made("a", regrets))
    assert fit.rate is None
    assert fit.reason == reason


def test_an_unplayed_cell_has_no_fit():
    place = Place(address="x", problem="p", algorithm="a", horizon=5, block=0)
    cell = CellResult(address="x", spec={}, status="set aside", note="it killed its worker twice")
    assert fit_rates(rows_of([(place, cell)])) == []
