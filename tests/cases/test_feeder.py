"""PV on a feeder: the power flow is what it says, and certified powers keep all limits."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from surefoot.core.errors import InvalidValueError
from surefoot.problems.cases import (
    CertifiedFeeder,
    Feeder,
    linearised,
    pv_feeder,
    uniform_share,
)

pytestmark = pytest.mark.cases


@pytest.fixture(scope="module")
def feeder():
    pytest.importorskip("power_grid_model")
    return pv_feeder()


@pytest.fixture(scope="module")
def betas(feeder):
    return feeder.curvatures(points=2)


def test_the_feeder_is_the_one_that_is_described(feeder):
    assert [len(feeder.data[kind]) for kind in ("node", "line", "sym_gen")] == [97, 95, 54]
    assert len(np.unique(feeder.data["sym_gen"]["node"])) == 54
    full = feeder.values(feeder.rated)
    assert min(full[:96].max(), full[96:191].max(), full[191:].max()) > 0.05  # all kinds bind
    np.testing.assert_array_equal(pv_feeder().values(feeder.rated), full)


def test_without_pv_the_transformer_carries_the_loads_and_their_losses(feeder):
    load = feeder.data["sym_load"]
    apparent = np.hypot(load["p_specified"].sum(), load["q_specified"].sum())
    carried = 315e3 * np.sqrt(1 + 2 * feeder.values(0 * feeder.rated)[-1])
    assert apparent < carried < 1.03 * apparent


def test_the_bound_of_a_curvature_holds_at_points_that_were_not_used(feeder, betas):
    draw = np.random.default_rng(1)
    for near in (0.1, 0.5, 1.0):
        x, y = draw.uniform(size=(2, 54)) * feeder.rated
        step = near * (y - x)
        g, s = feeder.measure(x)
        bend = abs(feeder.values(x + step) - g - s @ step)
        assert (bend <= 0.5 * betas * (step @ step) + 1e-9).all()


def test_certified_powers_exceed_nothing_and_deliver_more_than_a_uniform_share(feeder, betas):
    certified = feeder.run(CertifiedFeeder(betas), 40)
    assert certified.over == 0
    assert certified.worst <= 0
    share = feeder.run(uniform_share(feeder), 40)
    assert share.over == 0
    assert certified.delivered > 1.4 * share.delivered
    assert feeder.run(lambda second: second.upper, 2).over == 2


def test_without_curvature_the_same_rule_is_over(feeder, betas):
    assert feeder.run(CertifiedFeeder(1e-3 * betas), 3).over > 0
    assert feeder.run(linearised(feeder), 2).over == 2


def test_more_than_the_sun_gives_is_refused(feeder):
    with pytest.raises(InvalidValueError, match="powers of second 0 must be within the sun's"):
        feeder.run(lambda second: second.upper + 1.0, 1)


def test_the_page_has_a_row_per_rule(feeder, betas, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    page = importlib.import_module("benchmarks.cases.feeder")
    monkeypatch.setattr(Feeder, "curvatures", lambda self: betas)
    monkeypatch.setattr(page.importlib.util, "find_spec", lambda name: None)
    lines = list(page.measure(None, 3))
    assert [line.split(" | ")[2] for line in lines[2:6]] == ["3", "0", "0", "3"]
    assert "was not run" in lines[-1]
