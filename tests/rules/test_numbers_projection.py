"""Methods that stay inside: every number worked from the statements, at lopsided constants."""

from math import log, sqrt

import pytest

from surefoot import Constants
from surefoot.rules import (
    AdaGradNorm,
    DecayingStep,
    DualAveragingTheorem,
    EntropicTheorem,
    FrankWolfeTheorem,
    StronglyConvexDescent,
    Zinkevich,
)

from ._worked import assert_worked

G_f, D, H, T, d, total = 2.3, 2.6, 0.45, 50, 6, 1.9
KNOWN = Constants(R=1.7, G_f=G_f, strong_convexity=H)
FIXED = 2.6 / (2.3 * sqrt(50))
ENTROPIC = sqrt(2 * log(6) / 50) / 2.3


def line(t):
    return D**2 / (2 * FIXED) + FIXED / 2 * G_f**2 * t


# Theorem, exponent, parameters, the regret bound, other bounds by name and further arguments.
NUMBERS = [
    (
        Zinkevich(KNOWN, T, D),
        0.5,
        {"eta": FIXED},
        line,
        {
            ("interval_bound",): line,
            ("dynamic_bound", 3.7): lambda t: (
                (D**2 + 2 * D * 3.7) / (2 * FIXED) + FIXED / 2 * G_f**2 * t
            ),
        },
    ),
    (DualAveragingTheorem(KNOWN, T, D), 0.5, {"eta": FIXED}, line, {}),
    (DecayingStep(KNOWN, D), 0.5, {"eta": D / G_f}, lambda t: 3 / 2 * D * G_f * sqrt(t), {}),
    (
        StronglyConvexDescent(KNOWN),
        0.0,
        {"eta": 1 / H},
        lambda t: G_f**2 / (2 * H) * (1 + log(t)),
        {},
    ),
    (AdaGradNorm(KNOWN, D), 0.5, {"eta": D / sqrt(2)}, lambda t: sqrt(2 * t) * D * G_f, {}),
    (
        EntropicTheorem(KNOWN, T, d, total),
        0.5,
        {"eta": ENTROPIC},
        lambda t: (
            total * log(d) / ENTROPIC
            + ENTROPIC * total / 2 * G_f**2 * t
            + 2 * total * (1 - 1 / d) * G_f
        ),
        {},
    ),
    (
        FrankWolfeTheorem(KNOWN, T, D, is_tuned=False),
        0.75,
        {"eta": D / (2 * G_f * T**0.75)},
        lambda t: 8 * D * G_f * T**0.75,
        {},
    ),
    (
        FrankWolfeTheorem(KNOWN, T, D, is_tuned=True),
        0.75,
        {"eta": D / (2 * G_f) * (3 / T) ** 0.75, "step_size": sqrt(3 / T)},
        lambda t: 4 / 3**0.75 * D * G_f * T**0.75,
        {},
    ),
]


@pytest.mark.parametrize(
    ("theorem", "exponent", "parameters", "regret", "others"),
    NUMBERS,
    ids=lambda v: getattr(v, "name", ""),
)
def test_the_numbers_of_methods_that_stay_inside(theorem, exponent, parameters, regret, others):
    table = dict(parameters, regret_exponent=exponent)
    for t in (7, 50):
        table |= {("regret_bound", t): regret(t), ("round", t): 0.0}
        table |= {(name, t, *more): bound(t) for (name, *more), bound in others.items()}
    assert_worked(theorem, table)


def test_two_is_the_least_dimension_of_a_simplex():
    # s ln 2/eta + (eta s/2) G^2 t + s G with eta = sqrt(2 ln 2/50)/G
    bound = EntropicTheorem(KNOWN, T, 2, total).regret_bound([7, 50])
    eta = sqrt(log(2) / 25) / G_f
    wanted = [total * log(2) / eta + eta * total / 2 * G_f**2 * t + total * G_f for t in (7, 50)]
    assert bound == pytest.approx(wanted, rel=1e-12)
