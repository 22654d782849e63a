"""What is left of a promise under errors, noise and delay, or without slopes: every number."""

from math import inf, sqrt

import pytest

from surefoot import Constants
from surefoot.guarantees import TheoremN, under_errors
from surefoot.rules import (
    InTurns,
    SinhaVazeConvex,
    ValuesAndCurvature,
    ValuesOnly,
    WithProbability,
    Zinkevich,
)

from ._worked import assert_worked

R, G_f, G_g, D = 1.7, 2.3, 0.6, 2.6
KNOWN = Constants(
    R=R, G_f=G_f, G_g=G_g, beta=1.3, start_slack=0.35, start_reach=2.9, value_error=0.04,
    slope_error=0.07, drift=0.002,
)  # fmt: skip
UNKNOWN = KNOWN.with_origin("given", G_f=None)
WORST = {("regret_bound", t): 3.4 * 2.3 * t for t in (7, 50)}
NOTHING = {("regret_bound", t): inf for t in (7, 50)}
FEASIBLE = {("round", t): 0.0 for t in (7, 50)}


def each(t, T=30):  # D^2/(2 eta) + (eta/2) G_f^2 t with eta = D/(G_f sqrt T)
    return D * G_f * sqrt(T) / 2 + D * G_f / sqrt(T) / 2 * t


IN_TURNS = {("regret_bound", t): 4 * each(copies) for t, copies in ((7, 2), (8, 2), (50, 13))}


@pytest.mark.parametrize(
    ("theorem", "table"),
    [
        (ValuesOnly(KNOWN), WORST | FEASIBLE),
        (ValuesOnly(UNKNOWN), NOTHING | FEASIBLE),
        (ValuesAndCurvature(KNOWN), WORST | FEASIBLE),
        (TheoremN(KNOWN), WORST | FEASIBLE),
        (TheoremN(UNKNOWN), NOTHING | FEASIBLE),
        (WithProbability(KNOWN, Zinkevich(KNOWN, 30, D)), WORST),
        (WithProbability(UNKNOWN, Zinkevich(KNOWN, 30, D)), NOTHING),
        (
            InTurns(KNOWN, Zinkevich(KNOWN, 30, D), 3),
            {"horizon": 120, "regret_exponent": 0.5} | IN_TURNS | FEASIBLE | {("round", 8): 0.0},
        ),
    ],
)
def test_the_numbers_of_what_is_left(theorem, table):
    assert_worked(theorem, table)


@pytest.mark.parametrize(
    ("theorem", "limits"),
    [
        (ValuesOnly(KNOWN, 30), {"G_g": 0.6, "the slack counted on": 0.35, "G_f": 2.3,
                                 "the horizon": 30}),
        (TheoremN(KNOWN, horizon=30), {"G_g": 0.67, "the slack counted on": 0.31,
                                       "the horizon": 30}),
        (TheoremN(KNOWN, slopes=False), {"the slack counted on": 0.31}),
        (TheoremN(Constants(R=R, G_g=G_g, start_slack=0.35, drift=0.002)),
         {"G_g": 0.6, "the slack counted on": 0.35}),
        (WithProbability(KNOWN, ValuesOnly(KNOWN, 30)), {"G_g": 0.6, "G_f": 2.3,
                                                         "the horizon": 30}),
        (InTurns(KNOWN, ValuesOnly(KNOWN, 30), 3), {"G_g": 0.6, "the slack counted on": 0.35,
                                                    "G_f": 2.3, "the horizon": 120}),
    ],
)  # fmt: skip
def test_the_premises_of_what_is_left(theorem, limits):
    assert {p.constant: p.limit for p in theorem.premises} == pytest.approx(limits, rel=1e-15)


def test_what_errors_leave_of_a_promise():
    exact = KNOWN.with_origin("given", value_error=None, slope_error=None, drift=None)
    assert under_errors(ValuesOnly(exact, 30)) == ValuesOnly(exact, 30)
    for name in ("value_error", "slope_error", "drift"):
        erring = exact.with_origin("given", **{name: 0.04})
        left = under_errors(ValuesOnly(erring, 30))
        assert left == TheoremN(erring, slopes=True, horizon=30)
        assert left.changing == (name == "drift")
    assert under_errors(Zinkevich(KNOWN, 30, D)) == TheoremN(KNOWN, slopes=False, horizon=30)


def test_what_a_promise_with_a_probability_is_called():
    name = "Zinkevich 2003, fixed step, with probability "
    exact = Zinkevich(KNOWN, 30, D)
    assert WithProbability(KNOWN, exact).name == name + "0.99"
    with pytest.raises(ValueError, match="failure must be strictly between 0 and 1, got 5"):
        WithProbability(KNOWN, exact, 5)
    assert WithProbability(KNOWN, exact, 0.2).name == name + "0.8"
    assert InTurns(KNOWN, exact, 3).name == "Zinkevich 2003, fixed step, 4 copies in turn"


@pytest.mark.parametrize(
    "wrap", [lambda g: WithProbability(KNOWN, g), lambda g: InTurns(KNOWN, g, 3)]
)
@pytest.mark.parametrize("wrong", [SinhaVazeConvex(KNOWN, 30), 0.35])
def test_only_a_promise_for_every_round_is_wrapped(wrap, wrong):
    with pytest.raises(ValueError, match=r"^the guarantee must be one for every round, got "):
        wrap(wrong)
