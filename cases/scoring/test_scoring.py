"""Fair scoring: the limits are covariances, and rows kept apart lose little to an insider."""

import numpy as np
import pytest

from cases.cones import project
from cases.scoring import census_people, fair_scoring
from cases.scoring.__main__ import Insider, play_all
from surefoot.core.feedback import Feedback
from surefoot.games import play
from surefoot.rules import CertifiedDualAveraging, CertifiedOGD
from surefoot.testing import check_constraint


def test_a_limit_is_the_covariance_of_score_and_group():
    audit, scored = census_people()
    x = np.random.default_rng(0).normal(size=40)
    score = audit.features @ x
    wanted = [np.cov(score, group, bias=True)[0, 1] for group in audit.groups.T]
    np.testing.assert_allclose(audit.covariances() @ x, wanted, atol=1e-12)
    g = fair_scoring(0.03, horizon=5).constraint.query_all(x)[0]
    np.testing.assert_allclose(g[:4], [*(np.array(wanted) - 0.03), *(-np.array(wanted) - 0.03)])
    assert np.linalg.norm(scored.features, axis=1) == pytest.approx(1.0)
    assert set(scored.classes) == {-1.0, 1.0}


def test_the_features_leak_the_groups():
    audit, _ = census_people()
    # Husbands are men: a score of that feature alone says who is one.
    assert abs(audit.covariances()[0]).max() > 0.02


def test_the_constraint_keeps_its_promises():
    p = fair_scoring(horizon=5)
    points = np.random.default_rng(1).normal(size=(8, 40))
    check_constraint(p.constraint, points, domain=p.domain, batch=False)
    assert p.constraint.value(p.start) == -0.01


@pytest.mark.cases
@pytest.mark.parametrize("rule", [CertifiedOGD, CertifiedDualAveraging])
def test_every_served_model_is_inside_and_learns(rule):
    p = fair_scoring(horizon=2_000)
    trace = play(rule.default(p.constants), p)
    assert trace.violations.largest.max() <= 0
    assert trace.total_cost < 0.52 * 2_000  # 0.69 to begin with


@pytest.mark.cases
def test_the_insider_projects_onto_the_limits_of_the_audit():
    insider = Insider(lazy=False)
    y = 30.0 * np.random.default_rng(0).normal(size=40)
    x = project(y, *insider.known)
    assert np.linalg.norm(x) <= 20.0
    assert (insider.rows @ x).max() <= 0.01
    # Any other point of the set is on the far side of the plane through x across y - x.
    for z in 0.01 * np.random.default_rng(1).normal(size=(20, 40)):
        assert (y - x) @ (z - x) <= 1e-5 * np.linalg.norm(y)


@pytest.mark.cases
def test_all_rules_are_played_and_certified_ones_stay_inside():
    for rival in ("cooper", "humancompatible.train"):
        pytest.importorskip(rival)  # PyTorch
    runs = play_all(True)
    assert len(runs) == 10
    assert [run.outside for run in runs if run.certified] == [0] * 4


@pytest.mark.cases
@pytest.mark.parametrize("kind", ["cooper", "alm"])
def test_runs_of_a_rival_do_not_know_of_each_other(kind):
    for rival in ("cooper", "humancompatible.train"):
        pytest.importorskip(rival)  # PyTorch
    from cases.scoring.multipliers import Multipliers

    rule, x1 = Multipliers(kind, 0.1, 2), np.zeros(3)
    seen = Feedback(np.ones(3), np.array([0.5, -1.0]), np.eye(2, 3))
    one, other = rule.init(x1), rule.init(x1)  # runs are begun together
    for _ in range(2):
        one, _ = rule.step(one, seen)
    other, _ = rule.step(other, seen)
    alone, _ = rule.step(rule.init(x1), seen)
    np.testing.assert_array_equal(other.x, alone.x)
    assert (one.x != other.x).any()
