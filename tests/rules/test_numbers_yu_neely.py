"""Queues that look one step ahead: every number worked from the statement."""

from math import sqrt

import pytest

from surefoot import Constants
from surefoot.rules import YuNeelyTheorem

from ._worked import assert_worked

R, G_f, G_g, D_g, T = 1.7, 2.3, 0.6, 1.9, 50
ALL = {"start_reach": 2.9, "F": 5.1, "rows_lipschitz": 0.7}


@pytest.mark.parametrize(
    ("known", "slack", "m", "D_0", "F", "beta", "first"),
    [
        (ALL | {"slater_margin": 0.8, "start_slack": 0.35}, 0.8, 3, 2.9, 5.1, 0.7, -0.35),
        (ALL | {"slater_margin": 0.3, "start_slack": 0.35}, 0.35, 3, 2.9, 5.1, 0.7, -0.35),
        (ALL | {"slater_margin": 0.3, "epsilon": 0.45}, 0.45, 3, 2.9, 5.1, 0.7, 1.9),
        ({"slater_margin": 0.8}, 0.8, 3, 3.4, 7.82, sqrt(3) * 0.6, 1.9),
        (ALL | {"start_slack": 0.35}, 0.35, 2, 2.9, 5.1, 0.7, -0.35),
        (ALL | {"start_slack": 0.35}, 0.35, 1, 2.9, 5.1, 0.7, -0.35),
    ],
)
def test_the_numbers_of_queues_that_look_ahead(known, slack, m, D_0, F, beta, first):
    root, alpha, values = sqrt(50), (beta**2 + 1) / 2 * sqrt(50), sqrt(m) * D_g
    c = F + G_f**2 / (2 * root)
    queue = (values + c / (slack * root)) ** 2 + (beta**2 + 1) * 3.4**2 + 2 * c / root + values**2
    table = {"gamma": 50**0.25, "alpha": alpha, "slack": slack, "lipschitz": beta, "rows": m}
    table |= {"regret_exponent": 0.5, "violation_exponent": 0.0}
    for t in (7, 50):
        table["regret_bound", t] = alpha * D_0**2 + G_f**2 * t / (2 * root)
        table["rows", t] = first + sqrt(queue)
        if m == 1:
            table["positive_sum", t] = first + sqrt(queue)
    theorem = YuNeelyTheorem(Constants(R=R, G_f=G_f, G_g=G_g, D_g=D_g, rows=m, **known), T)
    assert_worked(theorem, table)
    limits = {p.constant: p.limit for p in theorem.premises}
    flat = {"the curvature of a linear g": 0.0}
    assert limits == {"G_f": G_f, "G_g": G_g, "the horizon": T} | flat
