import numpy as np
import pytest

from surefoot.experiments import CellResult, Place
from surefoot.experiments.paper.reproduction import CURVES, claims as claims_of_rows, is_read_as
from surefoot.experiments.record import OTHER_CONSTANTS, REPRODUCED

from ..experiments._cells import rows_of

HORIZONS = (2_000, 10_000, 20_000)
FIRST, SECOND = "paper toy", "paper toy, second streams"
RELEASED = "DPP-T as released (violation script)"


def cell(problem, algorithm, horizon, block=0, **arrays):
    address = f"{problem}/{algorithm}/{horizon}/{block}"
    place = Place(
        address=address, problem=problem, algorithm=algorithm, horizon=horizon, block=block
    )
    return place, CellResult(address=address, spec={}, status="done", arrays=arrays)


def numbers(
    level, *, positive_sum=0.0, largest=-0.01, sum_positive=0.0, g=(-0.4, -0.2, -0.1, -0.05)
):
    """Three trials whose mean is the level."""
    rounds = np.array([150, 300, 450, 600, 750, 900, 1200])
    path = np.full((7, 3), -0.3)
    path[[1, 3, 5, 6]] = np.array(g)[:, None]  # the rounds that Figure 2 would show
    return {
        "regret": level + np.array([-3.0, 1.0, 2.0]),
        "positive_sum": positive_sum + np.array([-0.5, 0.0, 0.5]),
        "sum_positive": np.full(3, sum_positive),
        "largest": np.array([largest, largest - 1.0, largest - 2.0]),
        "rounds": rounds,
        "constraint": path,
    }


def experiment(**changed):
    """Cells as the paper's figures would have them, but for what is changed by label."""
    published = {
        ("PFS as plotted", FIRST): (88.0, 191.0, 267.0),
        ("PFS as written", FIRST): (112.0, 250.0, 353.0),
        ("DPP", FIRST): (45.0, 102.0, 142.0),
        ("DPP-T as written", FIRST): (484.0, 2055.0, 2247.0),
        ("DPP-T as released", FIRST): (333.0, 520.0, 600.0),
    }
    found = []
    for label in ("PFS as plotted", "PFS as written", "DPP", "DPP-T as written", RELEASED):
        for at, T in enumerate(HORIZONS):
            outside = {
                "positive_sum": (15.0, 31.0, 37.0)[at],
                "largest": 0.1,
                "sum_positive": 200.0,
            }
            outside["g"] = (-0.4, 0.03, -0.1, 0.05)
            mild = {"largest": 0.02, "sum_positive": 3.0}
            more = outside if label == "DPP" else mild if "DPP-T" in label else {}
            more = more | changed.get(label, {})
            found.append(cell(SECOND, label, T, **numbers(more.pop("level", 10.0), **more)))
    for (label, problem), levels in published.items():
        for level, T in zip(levels, HORIZONS, strict=True):
            more = {"g": (-0.4, 0.03, -0.1, 0.05)} if label == "DPP" else {}
            more = more | changed.get(label, {})
            level = more.pop("level", level)
            found.append(cell(problem, label, T, **numbers(level, **more)))
    return found


def claims(cells):
    return claims_of_rows(rows_of(cells))


def verdicts(found):
    return {(c.figure, c.statement): c.verdict for c in found}


def test_every_figure_has_a_verdict_that_is_its_worst_parts():
    found = claims(experiment())
    wholes = {c.figure: c.verdict for c in found if "as a whole" in c.statement}
    assert wholes == {
        "1a": OTHER_CONSTANTS, "1b": REPRODUCED, "1c": REPRODUCED, "2": REPRODUCED,
    }  # fmt: skip


def test_a_curve_that_only_other_constants_give_says_which_and_has_all_numbers():
    (pfs,) = [c for c in claims(experiment()) if c.statement == "PFS, regret"]
    assert pfs.verdict == OTHER_CONSTANTS
    assert pfs.settings == "PFS as plotted"
    assert pfs.published == {"2000": 88.0, "10000": 191.0, "20000": 267.0}
    assert pfs.measured == {"2000": 88.0, "10000": 191.0, "20000": 267.0}
    assert "PFS as written: 112.0 / 250.0 / 353.0" in pfs.reason


def test_the_stated_constants_come_first():
    found = claims(experiment(**{"PFS as written": {"level": 190.0}}))
    (pfs,) = [c for c in found if c.statement == "PFS, regret"]
    assert pfs.verdict == OTHER_CONSTANTS  # one horizon that fits is not a curve
    same = [c for c in CURVES if c.name == "DPP" and c.figure == "1a"]
    assert verdicts(claims(experiment()))["1a", "DPP, regret"] == REPRODUCED
    assert same[0].stated == "DPP"


def test_a_curve_that_nothing_gives_is_not_reproduced():
    found = claims(experiment(DPP={"positive_sum": 12.0}))
    (dpp,) = [c for c in found if c.statement == "DPP, [sum g]+"]
    assert dpp.verdict == "not reproduced"
    assert dpp.measured == {"2000": 12.0, "10000": 12.0, "20000": 12.0}
    assert verdicts(found)["1b", "Figure 1b as a whole"] == "not reproduced"


@pytest.mark.parametrize(
    ("changed", "statement", "verdict"),
    [
        (
            {"PFS as written": {"largest": 1e-9}},
            "PFS does not violate in any round",
            OTHER_CONSTANTS,
        ),
        (
            {"PFS as written": {"largest": 1e-9}, "PFS as plotted": {"largest": 0.1}},
            "PFS does not violate in any round",
            "not reproduced",
        ),
        (
            {"DPP-T as written": {"sum_positive": 21.0}},
            "DPP violates, DPP-T far less",
            OTHER_CONSTANTS,
        ),
        ({"DPP": {"largest": 0.0}}, "DPP violates, DPP-T far less", "not reproduced"),
    ],
)
def test_figure_1c_is_about_every_round(changed, statement, verdict):
    assert verdicts(claims(experiment(**changed)))["1c", statement] == verdict


def test_figure_2_looks_at_the_actions_that_it_shows():
    away = {"g": (-0.05, -0.1, -0.2, -0.4)}
    inside = {"g": (-0.4, -0.3, -0.2, -0.1)}
    found = verdicts(claims(experiment(**{"PFS as written": away, "DPP": inside})))
    statement = "PFS approaches the boundary gradually and from inside"
    assert found["2", statement] == OTHER_CONSTANTS
    assert found["2", "DPP's actions leave the feasible set"] == "not reproduced"


def test_blocks_of_trials_are_put_together():
    cells = [c for c in experiment() if c[0].algorithm != "DPP" or c[0].problem != FIRST]
    for T, level in zip(HORIZONS, (45.0, 102.0, 142.0), strict=True):
        g = (-0.4, 0.03, -0.1, 0.05)
        cells.append(cell(FIRST, "DPP", T, 0, **numbers(level + 40.0, g=g)))
        cells.append(cell(FIRST, "DPP", T, 1, **numbers(level - 40.0, g=g)))
    assert verdicts(claims(cells))["1a", "DPP, regret"] == REPRODUCED


def test_a_reading_is_two_units_or_two_percent():
    assert is_read_as(90.0, 88.0)
    assert not is_read_as(90.1, 88.0)
    assert is_read_as(611.9, 600.0)
    assert not is_read_as(587.9, 600.0)
