"""What a constraint knows of the constants, and where each number comes from."""

import re

import numpy as np
import pytest

from surefoot import Ball
from surefoot.problems.constraints import Affine, FunctionConstraint, L2Norm, LinfNorm, max_of

from ._brute import brute_sigma

DOMAIN = Ball(2.0)
START = np.array([0.3, -0.4])
TRIANGLE = Affine([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]], np.ones(3))


def test_the_structure_gives_sigma_exactly():
    known = LinfNorm(1.0, 2).constants(DOMAIN, START)
    assert dict(known.origins) == {
        "R": "given",
        "G_g": "derived",
        "sigma": "derived",
        "epsilon": "derived",
        "start_slack": "derived",
        "start_reach": "derived",
    }
    assert known.R == 2.0
    assert known.G_g == 1.0
    assert known.sigma == pytest.approx(0.5**0.5, rel=1e-15)
    assert known.epsilon == 0.5
    assert known.start_slack == 0.6
    assert known.start_reach == pytest.approx(2.5, rel=1e-14)
    assert known.start_reach >= 2.5


@pytest.mark.parametrize(
    "g", [TRIANGLE, max_of(L2Norm(1.0), Affine([[1.0, 0.0]], [0.9]))], ids=["triangle", "max of"]
)
def test_the_start_gives_sigma_by_the_local_form_otherwise(g):
    known = g.constants(DOMAIN, START)
    slack = -g.value(START)
    assert known.origins["sigma"] == known.origins["epsilon"] == "local"
    assert known.epsilon == 0.5 * slack
    assert known.sigma == pytest.approx(0.5 * slack / 2.5, rel=1e-14)
    assert known.sigma <= 0.5 * slack / 2.5  # rounded down, as a lower bound must be
    asked = g.constants(DOMAIN, START, epsilon=0.25 * slack)
    assert asked.epsilon == 0.25 * slack
    assert asked.sigma == pytest.approx(0.75 * slack / 2.5, rel=1e-14)


@pytest.mark.parametrize("start", [[0.0, 0.0], [0.3, -0.4], [0.8, 0.1]])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_local_sigma_is_below_the_shortest_subgradient_of_its_level_set(start, share):
    slack = -TRIANGLE.value(np.array(start))
    known = TRIANGLE.constants(Ball(3.0), start, epsilon=share * slack)
    assert known.sigma <= brute_sigma(TRIANGLE, share * slack)


@pytest.mark.parametrize("start", [None, np.array([2.0, 0.0]), np.array([1.0, 0.0])])
def test_without_structure_or_a_strictly_feasible_start_there_is_no_sigma(start):
    known = TRIANGLE.constants(DOMAIN, start)
    assert known.sigma is None
    assert known.epsilon is None
    assert known.G_g == pytest.approx(1.0, rel=1e-14)
    if start is not None:
        assert known.start_slack == 1.0 - start[0]


def test_nothing_is_guessed_of_a_users_functions():
    own = FunctionConstraint(lambda x: float(x @ x) - 1.0, lambda x: 2 * x)
    assert own.constants(DOMAIN).G_g is None
    known = own.constants(DOMAIN, START)
    assert known.G_g is None
    assert known.origins["sigma"] == "local"
    assert known.start_slack == 0.75


def test_a_bound_that_the_start_disproves_is_refused():
    # From slack 0.75 at 0.5 to 0 within 2.5, some subgradient must be longer than 0.15.
    own = FunctionConstraint(lambda x: float(x @ x) - 1.0, lambda x: 2 * x, bound=0.1)
    with pytest.raises(ValueError, match=r"sigma must be at most G_g = 0.1, got 0.1499"):
        own.constants(DOMAIN, START)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 0.6, 2.0, float("nan")])
def test_a_level_that_the_start_cannot_give_is_refused(epsilon):
    g = max_of(LinfNorm(1.0, 2))
    sentence = f"epsilon must be > 0 and below 0.6, the slack of the start, got {epsilon!r}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        g.constants(DOMAIN, START, epsilon=epsilon)


def test_a_level_that_nothing_can_give_is_refused():
    sentence = (
        "epsilon must come with a strictly feasible start where the structure of g gives no sigma, "
        "got epsilon = 0.1 with start_slack = "
    )
    with pytest.raises(ValueError, match=re.escape(sentence + "None")):
        TRIANGLE.constants(DOMAIN, epsilon=0.1)
    with pytest.raises(ValueError, match=re.escape(sentence + "-1.0")):
        TRIANGLE.constants(DOMAIN, np.array([2.0, 0.0]), epsilon=0.1)


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ([0.0, float("nan")], "start must be finite, got nan at index 1"),
        ([[0.0, 0.0]], "start.shape must be that of a vector that is not empty, got (1, 2)"),
        ([0.0], "start.shape must be (2,), got (1,)"),
        ([0.0, [1.0]], "start must be a vector of numbers, got [0.0, [1.0]]"),
    ],
)
def test_a_bad_start_is_named(start, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        TRIANGLE.constants(DOMAIN, start)


def test_a_start_of_any_backend_will_do(backend):
    known = LinfNorm(1.0, 2).constants(DOMAIN, backend.array(START))
    assert known == LinfNorm(1.0, 2).constants(DOMAIN, START)
    assert type(known.start_slack) is float
