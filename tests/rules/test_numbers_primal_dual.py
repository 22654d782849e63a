"""Primal and dual descent with a known margin: every number worked from the statement."""

from math import sqrt

import pytest

from surefoot import Constants
from surefoot.rules import PrimalDualTheorem

from ._worked import assert_worked

R, G_f, G_g, D_g, D, T = 1.7, 2.3, 0.6, 1.9, 3.4, 50_000
START = {"F": 5.1, "start_slack": 0.35}


@pytest.mark.parametrize(
    ("known", "margin", "F_0", "m"),
    [
        (START | {"slater_margin": 0.8, "slater_cost": 4.4}, 0.8, 4.4, 3),
        (START, 0.35, 5.1, 3),
        ({"slater_margin": 0.8}, 0.8, 3.4 * 2.3, 1),
    ],
)
def test_the_numbers_of_a_known_margin(known, margin, F_0, m):
    c = 4 * F_0 / margin
    G_d = G_f + sqrt(m) * G_g * c
    primal = D / (G_d * sqrt(T))
    dual = primal * c**2 / (2 * D**2)
    table = {"margin": margin, "cap": c, "primal_step": primal, "dual_step": dual, "rows": m}
    table |= {"regret_exponent": 0.5, "violation_exponent": 0.5}
    for t in (7, 50_000):
        rate = (primal * G_d**2 + dual * m * D_g**2) / 2
        table["regret_bound", t] = D**2 / (2 * primal) + rate * t
        for measure in ("rows", "positive_sum")[: 1 + (m == 1)]:
            table[measure, t] = 2 * D * G_d / c * sqrt(T)
    theorem = PrimalDualTheorem(Constants(R=R, G_f=G_f, G_g=G_g, D_g=D_g, rows=m, **known), T)
    assert_worked(theorem, table)


@pytest.mark.parametrize(
    ("margin", "F_0", "m", "D_g", "c", "decides"),
    [
        (0.8, 4.4, 3, 1.9, 22.0, "the drift of both steps"),
        (9.0, 400.0, 1, 0.1, 1600 / 9, "the cap"),
    ],
)
def test_the_horizon_that_a_known_margin_needs(margin, F_0, m, D_g, c, decides):
    G_d = G_f + sqrt(m) * G_g * c
    # (eta_P G_d^2 + eta_D m D_g^2)/2 <= F_0, and sqrt T > 8 F_0/(D G_d)
    roots = {
        "the drift of both steps": (D * G_d / 2 + c**2 / (4 * D * G_d) * m * D_g**2) / F_0,
        "the cap": 8 * F_0 / (D * G_d),
    }
    assert max(roots, key=roots.get) == decides
    known = Constants(R=R, G_f=G_f, G_g=G_g, D_g=D_g, rows=m, slater_margin=margin, slater_cost=F_0)
    least = int(max(roots.values()) ** 2) + 1
    assert least > 70
    with pytest.raises(ValueError, match=f"at least {least} rounds .* got {least - 1}$"):
        PrimalDualTheorem(known, least - 1)
    assert PrimalDualTheorem(known, least).cap == pytest.approx(c)


@pytest.mark.parametrize("slack", [None, -0.35])
def test_without_a_margin_nothing_is_promised(slack):
    known = Constants(R=R, G_f=G_f, G_g=G_g, D_g=1.9, rows=3, start_slack=slack)
    with pytest.raises(ValueError, match="needs slater_margin, the slack of one point in every"):
        PrimalDualTheorem(known, T)
