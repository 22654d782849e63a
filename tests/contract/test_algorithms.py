"""Every algorithm, every check, every backend.

An algorithm without cases here is checked as its theorems tune it.
"""

import pytest
from tests._tuned import tuned_cases

from surefoot import OGD, PFS, Ball, Constants, kernel
from surefoot.certified import Certified
from surefoot.core.types import needs_of
from surefoot.knowledge import Curvature, CurvatureRows
from surefoot.rules import (
    ALGORITHMS,
    DPP,
    LBSGD,
    AdaGradFTRL,
    AdaGradOGD,
    CertifiedDualAveraging,
    CertifiedOGD,
    CertifiedPFS,
    DecayingOGD,
    DoublingPFS,
    DualAveraging,
    EntropicDualAveraging,
    FrankWolfe,
    Jenatton,
    LeaderFollower,
    LevyKrause,
    Mahdavi,
    MahdaviLinear,
    MovingBalls,
    OptimisticDualAveraging,
    ScalarDPP,
    ScheduledPFS,
    SinhaVaze,
    StrongSinhaVaze,
    Tighten,
    ValuesFollower,
    Yuan,
)
from surefoot.sets import Box, Ellipsoid, L1Ball, Simplex, smooth_of
from surefoot.testing import CHECKS, why_missing

ERRORS = {"value_error": 1e-3, "slope_error": 0.02, "drift": 1e-5}
CASES = [
    (PFS(eta=0.1, rho=0.05, domain=Ball(0.5)), [0.2, 0.4]),
    (PFS(eta=0.25, rho=0.0, domain=Ball(0.9, [1.0, 0.5, 0.1])), [0.9, 0.2, -0.2]),
    (PFS(eta=0.2, rho=0.02, domain=Ball(0.75)), [0.4]),
    (CertifiedPFS(G_g=3.0, domain=Ball(0.5), rho=0.4), [0.2, 0.4]),
    (CertifiedPFS(G_g=4.0, domain=Ball(0.9, [1.0, 0.5, 0.1]), rho=0.02), [0.9, 0.2, -0.2]),
    (CertifiedPFS(G_g=1.5, domain=Ball(0.75), rho=0.03, decreasing=False, eta=0.2), [0.4]),
    (CertifiedPFS(G_g=3.0, domain=Ball(0.5), rho=0.04, eta=0.3, ratchet=False), [0.2, 0.4]),
    (CertifiedPFS(G_g=3.0, domain=Ball(0.5), rho=0.1, sigma=0.3), [0.3, 0.2]),
    (CertifiedPFS(G_g=3.0, domain=Ball(0.5), rho=0.1, evaluation_error=1e-3), [0.3, 0.2]),
    (CertifiedPFS(G_g=3.0, domain=Ball(0.5), rho=0.1, **ERRORS), [0.3, 0.2]),
    (LeaderFollower(G_g=3.0, domain=Ball(0.5), cuts=2, **ERRORS), [0.3, 0.2]),
    (LeaderFollower(G_g=3.0, domain=Ball(0.5), cuts=4), [0.2, 0.4]),
    (LeaderFollower(G_g=4.0, domain=Ball(0.9, [1.0, 0.5, 0.1]), cuts=2), [0.9, 0.2, -0.2]),
    (LeaderFollower(G_g=1.5, domain=Ball(0.75), cuts=3), [0.4]),
    (LeaderFollower(G_g=3.0, domain=Ball(0.5), cuts=2, strong_convexity=1.0), [0.2, 0.4]),
    (
        LeaderFollower(G_g=3.0, domain=Ball(0.5), cuts=2, leader=OGD(eta=0.1, domain=Ball(0.5))),
        [0.3, 0.2],
    ),
    (LeaderFollower.unknown(Ball(0.5)).algorithm, [0.3, 0.2]),
    # With so small a G_f it changes over after a few rounds, and begins blocks.
    (
        LeaderFollower.promised(Constants(R=0.5, G_f=0.01, G_g=3.0, start_slack=0.1)).algorithm,
        [0.2, 0.4],
    ),
    (
        LeaderFollower.promised(
            Constants(R=0.75, G_f=9.0, G_g=1.5, start_slack=0.1), 900
        ).algorithm,
        [0.4],
    ),
    # Short probes would divide the rounding of each backend by their length.
    (ValuesFollower(G_g=3.0, domain=Ball(0.5), cuts=2, probe=0.4), [0.2, 0.4]),
    (ValuesFollower(G_g=1.5, domain=Ball(0.75), cuts=2, probe=0.4), [0.4]),
    (CertifiedOGD(knowledge=CurvatureRows(beta=1.0, rows=3, reach=1.5), radius=1.0), [0.2, 0.4]),
    (CertifiedOGD(knowledge=CurvatureRows(beta=(0.5, 0.0), reach=1.5), radius=1.0), [0.4]),
    (CertifiedOGD(knowledge=Curvature(beta=2.0, reach=1.5), radius=1.0, eta=0.3), [0.4]),
    (CertifiedOGD.unknown(Ball(0.75)).algorithm, [0.4]),
    (
        CertifiedDualAveraging(
            knowledge=CurvatureRows(beta=1.0, rows=3, reach=1.5), radius=1.0, far=0.5
        ),
        [0.2, 0.4],
    ),
    (CertifiedDualAveraging(knowledge=Curvature(beta=2.0, reach=1.5), radius=1.0), [0.4]),
    (MovingBalls(knowledge=CurvatureRows(beta=1.0, rows=3, reach=1.5), eta=0.4), [0.2, 0.4]),
    (MovingBalls(knowledge=Curvature(beta=2.0, reach=1.5, convex=False), eta=0.3), [0.4]),
    (LBSGD(weight=0.05, beta=1.0, cost_curvature=1.5), [0.2, 0.4]),
    (ScheduledPFS(rho=0.1, step_size=2.0, domain=Ball(0.5)), [0.2, 0.4]),
    (
        ScheduledPFS(
            rho=0.2, step_size=0.9, domain=Ball(0.75), power=1.0, offset=3.0, running=True
        ),
        [0.4],
    ),
    (
        ScheduledPFS(
            rho=0.1, step_size=0.5, domain=Ball(0.5), power=0.0, running=True, adagrad=0.2
        ),
        [0.3, 0.2],
    ),
    (DoublingPFS(eta=0.2, rho=0.1, domain=Ball(0.5)), [0.2, 0.4]),
    (OGD(eta=0.2, domain=Ball(0.5)), [0.3, 0.2]),
    (OGD(eta=0.1, domain=Ball(1 / 3, [0.5, -0.25])), [0.3, -0.2]),
    (OGD(eta=0.1, domain=Box([-0.1, -0.2, -3.0], [0.7, 1 / 3, 0.1])), [0.3, -0.2, 0.0]),
    (DecayingOGD(eta=0.6, domain=Ball(0.5)), [0.3, 0.2]),
    (DecayingOGD(eta=0.5, domain=Box([-0.1, -0.2], [0.7, 1 / 3]), fast=True), [0.3, -0.2]),
    (AdaGradOGD(eta=0.4, domain=Ball(1 / 3, [0.5, -0.25])), [0.3, -0.2]),
    (AdaGradOGD(eta=0.7, domain=L1Ball(0.8)), [0.4]),
    (DualAveraging(eta=0.1, domain=Ball(0.5)), [0.3, 0.2]),
    (DualAveraging(eta=0.2, domain=Simplex(3, filled=True)), [0.3, 0.2, 0.1]),
    (AdaGradFTRL(eta=0.7, domain=Box([-0.1, -0.2, -3.0], [0.7, 1 / 3, 0.1])), [0.3, -0.2, 0.0]),
    (AdaGradFTRL(eta=0.5, domain=Box([-0.75], [0.75])), [0.4]),
    (OptimisticDualAveraging(eta=0.4, domain=Ball(0.5)), [0.3, 0.2]),
    (OptimisticDualAveraging(eta=0.7, domain=L1Ball(0.8)), [0.4]),
    (EntropicDualAveraging(eta=0.5, domain=Simplex(3)), [0.5, 0.25, 0.25]),
    (FrankWolfe(eta=0.3, domain=Box([-0.1, -0.2, -3.0], [0.7, 1 / 3, 0.1])), [0.3, -0.2, 0.0]),
    (FrankWolfe(eta=0.2, domain=Ball(1 / 3, [0.5, -0.25]), step_size=0.3), [0.3, -0.2]),
    (FrankWolfe(eta=0.2, domain=Simplex(3), step_size=0.2), [0.5, 0.25, 0.25]),
    (FrankWolfe(eta=0.2, domain=L1Ball(0.8)), [0.3, -0.2]),
    (LevyKrause(smooth=smooth_of(Ball(0.6)), eta=0.3), [0.3, -0.2]),
    (
        LevyKrause(smooth=smooth_of(Ellipsoid([[4.0, 1.0], [1.0, 2.0]])), eta=0.5, decreasing=True),
        [0.2, -0.1],
    ),
    (Mahdavi(eta=0.1, delta=0.7, rows=3, domain=Ball(0.5)), [0.2, 0.4]),
    (Mahdavi(eta=0.2, delta=0.0, rows=2, domain=Ball(0.75), gamma=0.02), [0.4]),
    (MahdaviLinear(eta=0.15, rows=3, domain=Ball(0.5)), [0.2, 0.4]),
    (MahdaviLinear(eta=0.2, rows=2, domain=Ball(0.75)), [0.4]),
    (Jenatton(eta=0.3, theta=1.5, beta=0.4, decay=0.4, domain=Ball(0.5)), [0.2, 0.4]),
    (Jenatton(eta=0.6, theta=0.8, beta=0.7, decay=1.0, domain=Ball(0.75)), [0.4]),
    (Yuan(eta=0.1, theta=0.3, domain=Ball(0.5)), [0.2, 0.4]),
    (Yuan(eta=0.5, theta=0.9, domain=Ball(0.9, [1.0, 0.5, 0.1]), decay=1.0), [0.9, 0.2, -0.2]),
    (DPP(V=1.5, alpha=4.0, rows=3, domain=Ball(0.5)), [0.2, 0.4]),
    (DPP(V=0.5, alpha=3.0, rows=2, domain=Ball(0.75), queue=0.2), [0.4]),
    (ScalarDPP(V=1.5, alpha=4.0, domain=Ball(0.5)), [0.2, 0.4]),
    (ScalarDPP(V=0.5, alpha=3.0, domain=Ball(0.9, [1.0, 0.5, 0.1]), queue=0.2), [0.9, 0.2, -0.2]),
    (Tighten(base=ScalarDPP(V=1.5, alpha=4.0, domain=Ball(0.5)), rho=0.1), [0.2, 0.4]),
    (Tighten(base=DPP(V=1.5, alpha=4.0, rows=3, domain=Ball(0.5)), rho=0.1), [0.2, 0.4]),
    (SinhaVaze(scale=0.3, rate=0.25, diameter=1.0, domain=Ball(0.5)), [0.2, 0.4]),
    (SinhaVaze(scale=0.1, rate=1.5, diameter=1.5, domain=Ball(0.75)), [0.4]),
    (StrongSinhaVaze(V=2.0, strong_convexity=1.5, domain=Ball(0.5)), [0.3, 0.2]),
    (
        StrongSinhaVaze(V=0.7, strong_convexity=1.5, domain=Box([-0.1, -0.2], [0.7, 1 / 3])),
        [0.3, -0.2],
    ),
]

CHOSEN = {type(algorithm).__name__ for algorithm, _ in CASES}
CASES += [case for kind in ALGORITHMS if kind.__name__ not in CHOSEN for case in tuned_cases(kind)]
# Its theorems are about smooth sets, which the box of the small problem is not.
SMOOTH = [LevyKrause]


def test_every_algorithm_of_the_catalogue_has_a_case():
    assert {type(algorithm).__name__ for algorithm, _ in CASES} >= {a.__name__ for a in ALGORITHMS}


@pytest.mark.parametrize("kind", [kind for kind in ALGORITHMS if kind not in SMOOTH])
def test_a_theorem_of_every_algorithm_applies_to_the_small_problem(kind):
    cases = tuned_cases(kind)
    around = {"ChangeOver"}  # what a tuning puts around its rule
    assert {type(algorithm).__name__ for algorithm, _ in cases} - around == {kind.__name__}
    for algorithm, start in cases:
        assert algorithm.init(start).x.tolist() == start


# One case of each rule is for each commit, all others are for the slow tests; so is the strict
# backend, which checks every array operation, but for these few rules.
FIRST = {type(algorithm).__name__: algorithm for algorithm, _ in reversed(CASES)}
STRICT = ("CertifiedPFS", "DPP", "OGD", "PFS", "Yuan")


# What every case must pass on every backend; the rest is of the rule and not of its parameters.
NUMBERS = [c for c in CHECKS if "numbers" in c.name or "float64" in c.name]


def is_played(algorithm, check, backend):
    """Whether a check tells something of this case that no other tells."""
    if backend == "numpy":
        return True
    if needs_of(algorithm).numpy_only:  # loops that depend on data
        return False
    first = FIRST[type(algorithm).__name__] is algorithm
    if backend == "jax":  # one by one, each operation is compiled for itself; arrays never change
        return (first and "pure" not in check.name) or "scan" in check.name
    return first or check in NUMBERS


def marks(algorithm, backend):
    if backend == "torch":
        return [pytest.mark.torch]
    name = type(algorithm).__name__
    quick = backend == "numpy" or name in STRICT
    return [] if quick and FIRST[name] is algorithm else [pytest.mark.slow]


def engines(algorithm, backend):
    """The engines that a check is told by: the kernel steps certified pairs of NumPy's arrays."""
    both = backend == "numpy" and isinstance(algorithm, Certified)
    return kernel.engines() if both else kernel.engines()[:1]


@pytest.mark.parametrize(
    ("algorithm", "start", "check", "backend", "engine"),
    [
        pytest.param(a, start, c, b, e, id=f"{a!r}-{start}-{c}, {b}, {e}", marks=marks(a, b))
        for a, start in CASES
        for c in CHECKS
        for b in c.backends
        if is_played(a, c, b)
        for e in engines(a, b)
    ],
)
def test_every_algorithm_passes_every_check(algorithm, start, check, backend, engine):
    if reason := why_missing(backend):
        pytest.skip(reason)
    with kernel.engine(engine):
        check(algorithm, start, rounds=12 if backend == "numpy" else 8, backend=backend)
