"""Every algorithm, every check, every backend. A new algorithm joins by one line in CASES."""

import pytest

from surefoot import OGD, PFS, Ball
from surefoot.sets import Box
from surefoot.testing import CHECKS, why_missing

CASES = [
    (PFS(eta=0.1, rho=0.05, domain=Ball(0.5)), [0.2, 0.4]),
    (PFS(eta=0.25, rho=0.0, domain=Ball(0.9, [1.0, 0.5, 0.1])), [0.9, 0.2, -0.2]),
    (PFS(eta=0.2, rho=0.02, domain=Ball(0.75)), [0.4]),
    (OGD(eta=0.2, domain=Ball(0.5)), [0.3, 0.2]),
    (OGD(eta=0.1, domain=Ball(1 / 3, [0.5, -0.25])), [0.3, -0.2]),
    (OGD(eta=0.1, domain=Box([-0.1, -0.2, -3.0], [0.7, 1 / 3, 0.1])), [0.3, -0.2, 0.0]),
]


@pytest.mark.parametrize(
    ("check", "backend"),
    [
        pytest.param(c, b, id=f"{c}, {b}", marks=[pytest.mark.torch] if b == "torch" else [])
        for c in CHECKS
        for b in c.backends
    ],
)
@pytest.mark.parametrize(("algorithm", "start"), CASES, ids=lambda value: repr(value))
def test_every_algorithm_passes_every_check(algorithm, start, check, backend):
    if reason := why_missing(backend):
        pytest.skip(reason)
    check(algorithm, start, backend=backend)
