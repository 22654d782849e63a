"""Cells: their order, their addresses, their engines."""

from itertools import islice

import pytest

from surefoot.experiments import build_spec, cells as cells_module
from surefoot.experiments.build import BLOCK
from surefoot.experiments.cells import cells_of

DATA = {
    "name": "x",
    "trials": 70,
    "horizons": [90, 40],
    "problems": [{"name": "paper_toy", "label": "toy"}, {"name": "rotated_box", "trials": 35}],
    "algorithms": [
        {"name": "PFS", "tuning": "anytime"},
        {"name": "OGD", "tuning": "fixed", "only": ["toy"], "horizons": [40, 10], "trials": 5},
    ],
}


def cells(**changes):
    return list(cells_of(build_spec(DATA | changes)))


def test_cells_come_by_problem_horizon_block_and_algorithm():
    found = [(p.problem, p.horizon, p.block, p.algorithm, c.spec["trials"]) for p, c in cells()]

    def pfs(problem, horizon, *blocks):
        return [(problem, horizon, i, "PFS.anytime", trials) for i, trials in enumerate(blocks)]

    first, *others = pfs("toy", 40, 30, 30, 10)
    assert found == [
        ("toy", 10, 0, "OGD.fixed", 5),
        first,
        ("toy", 40, 0, "OGD.fixed", 5),
        *others,
        *pfs("toy", 90, 30, 30, 10),
        *pfs("rotated_box", 40, 30, 5),
        *pfs("rotated_box", 90, 30, 5),
    ]
    rounds = sum(horizon * trials for _, horizon, _, _, trials in found)
    assert sum(job.rounds for _, job in cells_of(build_spec(DATA))) == rounds


def test_a_cell_says_everything_and_no_labels():
    place, cell = cells(recording={"every": 7, "horizons": [90]})[5]
    assert place.address == cell.address
    assert cell.spec == {
        "problem": {"name": "paper_toy", "arguments": {"published": None}},
        "algorithm": {"name": "PFS", "tuning": "anytime"},
        "horizon": 90,
        "block": 0,
        "trials": 30,
        "seed": 0,
        "recording": {"every": 7, "actions": 0},
        "engine": "auto",
    }


def addresses(**changes):
    return {p.address for p, _ in cells(**changes)}


def test_labels_order_and_company_do_not_change_an_address():
    first, second = DATA["algorithms"]
    before = addresses()
    assert len(before) == 12
    assert addresses(algorithms=[second, first]) == before
    assert addresses(algorithms=[first | {"label": "other"}, second], name="y") == before
    assert addresses(algorithms=[first]) < before
    assert addresses(horizons=[90, 40, 41]) > before
    # Fewer trials are the same first blocks.
    assert len(addresses(trials=60) & before) == 10


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"engine": "loop"},
        {"recording": {"every": 5}},
        {"problems": [{"name": "paper_toy", "published": 1, "label": "toy"}]},
        {"algorithms": [{"name": "PFS", "tuning": "anytime", "constants": {"G_f": 15.0}}]},
        {"algorithms": [{"name": "PFS", "tuning": "tuned"}]},
    ],
    ids=lambda c: next(iter(c)),
)
def test_what_is_played_changes_the_address(changes):
    assert not addresses(**changes) & addresses()


def test_the_version_is_in_the_address(monkeypatch):
    before = addresses()
    monkeypatch.setattr(cells_module, "__version__", "another")
    assert not addresses() & before


def test_a_number_written_as_a_whole_one_is_the_same_cell():
    def row(eta):
        return [{"name": "PFS", "parameters": {"eta": eta, "rho": 0}}]

    assert addresses(algorithms=row(1)) == addresses(algorithms=row(1.0))


def test_cells_are_made_one_at_a_time():
    rows = [
        {"name": "PFS", "parameters": {"eta": 1 + i, "rho": 0}, "label": str(i)} for i in range(100)
    ]
    spec = build_spec(DATA | {"algorithms": rows, "trials": 60, "horizons": list(range(1, 1_000))})
    # Hundreds of thousands in all.
    assert len(list(islice(cells_of(spec), 50))) == 50


PFS = [{"name": "PFS", "tuning": "anytime"}]


def test_a_specification_may_insist_on_an_engine():
    assert {c.spec["engine"] for _, c in cells(engine="loop")} == {"loop"}
    assert BLOCK == 30
