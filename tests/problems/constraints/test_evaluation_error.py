"""The rounding that each constraint states for itself, held against exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot.problems import constraints
from surefoot.sets import Ball

D = 4


def exact(x):
    return [Fraction(float(v)) for v in x]


def inner(a, b):
    return sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0))


def root(q, bits=400):
    """The square root of a fraction, right to 2^-200 of itself and more."""
    scaled = (q.numerator << bits) // q.denominator
    return Fraction(math.isqrt(scaled), 1 << (bits // 2))


def times(M, x):
    return [inner(exact(row), x) for row in M]


def affine(g, x):
    return max(inner(exact(a), x) - Fraction(float(b)) for a, b in zip(g.A, g.b, strict=True))


def quadratic(g, x):
    return inner(x, times(g.Q, x)) / 2 + inner(exact(g.q), x) - Fraction(g.r)


def cone(g, x):
    y = [a + b for a, b in zip(times(g.A, x), exact(g.b), strict=True)]
    return root(inner(y, y)) - inner(exact(g.c), x) - Fraction(g.d)


def offset(g, x):
    return [a - b for a, b in zip(x, exact(g.interior), strict=True)]


def ellipsoid(g, x):
    z = offset(g, x)
    return root(inner(z, times(g.P, z))) - 1


def l2(g, x):
    z = offset(g, x)
    return root(inner(z, z)) - Fraction(g.radius)


def l1(g, x):
    return sum(map(abs, offset(g, x))) - Fraction(g.radius)


def linf(g, x):
    return max(map(abs, offset(g, x))) - Fraction(g.radius)


def cvar(g, x):
    losses = sorted(times(g.losses, x), reverse=True)
    tail = (1 - Fraction(g.level)) * len(losses)
    weights = [min(Fraction(1), max(tail - j, Fraction(0))) for j in range(len(losses))]
    return inner(weights, losses) / tail - Fraction(g.limit)


def spectral(g, x):
    a, b, c, d = x
    frobenius, det = inner(x, x), a * d - b * c
    return root((frobenius + root(frobenius**2 - 4 * det**2)) / 2) - Fraction(g.radius)


def nuclear(g, x):
    a, b, c, d = x
    return root(inner(x, x) + 2 * abs(a * d - b * c)) - Fraction(g.radius)


def shifted(g, x):
    return quadratic(g.constraint, x) + Fraction(g.rho)


def cases(rng, far):
    """One of each, with its exact value and a ball that is as far from the origin as asked."""
    centre = far * rng.normal(size=D)
    F = rng.normal(size=(D, D))
    Q = F @ F.T
    # Numbers of the size that a face near the centre has, so that terms cancel.
    A = rng.normal(size=(6, D))
    q = rng.normal(size=D)
    through = float(0.5 * centre @ Q @ centre + q @ centre)
    losses = rng.normal(size=(9, D))
    yield "affine", constraints.Affine(A, A @ centre + 0.1), affine, centre
    yield "quadratic", constraints.QuadraticForm(Q, q, through), quadratic, centre
    yield "flat", constraints.QuadraticForm(np.outer(q, q), q, through), quadratic, centre
    yield (
        "cone",
        constraints.SecondOrderCone(F, -F @ centre, q, -float(q @ centre) + 1),
        cone,
        centre,
    )
    yield "ellipsoid", constraints.EllipsoidNorm(Q + np.eye(D), centre), ellipsoid, centre
    yield "l2", constraints.L2Norm(0.7, centre), l2, centre
    yield "l1", constraints.L1Norm(0.7, D, centre), l1, centre
    yield "linf", constraints.LinfNorm(0.7, D, centre), linf, centre
    yield "cvar", constraints.CVaR(losses, 0.6, float((losses @ centre).max())), cvar, centre
    yield "spectral", constraints.SpectralNorm((2, 2), 1.0), spectral, centre
    yield "nuclear", constraints.NuclearNorm((2, 2), 1.0), nuclear, centre
    yield (
        "shifted",
        constraints.shift(constraints.QuadraticForm(Q, q, through), through / 3),
        shifted,
        centre,
    )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), power=st.integers(-6, 9), small=st.integers(-7, 2))
def test_the_error_bounds_value_and_subgradient_inequality_in_exact_arithmetic(seed, power, small):
    rng = np.random.default_rng(seed)
    radius = 10.0**small
    for name, g, value, centre in cases(rng, 10.0**power):
        ball = Ball(radius, centre)
        e = g.evaluation_error(ball)
        assert e is not None, name
        x = ball.project(centre + radius * rng.normal(size=D) / rng.choice([1.0, 100.0]))
        y = ball.project(centre + radius * rng.normal(size=D))
        seen, s = g.query(x)
        at_x, at_y = exact(x), exact(y)
        e = Fraction(e)
        assert abs(Fraction(seen) - value(g, at_x)) <= e, name
        way = [b - a for a, b in zip(at_x, at_y, strict=True)]
        assert value(g, at_y) >= Fraction(seen) + inner(exact(s), way) - e, name


def test_the_errors_are_no_wild_guess():
    # Near the origin at scale 1 the bound is a few hundred roundings of 1, not 1e-6.
    for name, g, _, _ in cases(np.random.default_rng(0), 1.0):
        assert g.evaluation_error(Ball(1.0, np.zeros(D))) < 1e-11, name


def test_far_from_the_origin_the_error_grows_with_the_terms():
    near, far = (constraints.QuadraticForm(np.eye(2), [0.0, 0.0], r) for r in (0.5, 0.5e12))
    assert near.evaluation_error(Ball(1.0)) < 2e-14
    # x'x/2 is 5e11 at a norm of 1e6, and one rounding of it 6e-5.
    assert 6e-5 < far.evaluation_error(Ball(1.0, [1e6, 0.0])) < 1e-2


def test_a_row_that_is_never_the_largest_costs_no_digits():
    near, far = [[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0]]
    alone = constraints.Affine(near, [1.0, 1.0]).evaluation_error(Ball(2.0))
    g = constraints.Affine([*near, *far], [1.0, 1.0, 1e14])
    assert g.evaluation_error(Ball(2.0)) == alone


def test_what_is_not_known_is_not_guessed():
    own = constraints.FunctionConstraint(lambda x: float(x @ x) - 1, lambda x: 2 * x, bound=2.0)
    assert own.evaluation_error(Ball(1.0)) is None
    assert constraints.max_of(own, constraints.L2Norm(1.0)).evaluation_error(Ball(1.0)) is None
    told = constraints.FunctionConstraint(own.value_of, own.subgradient_of, bound=2.0, error=1e-12)
    assert told.evaluation_error(Ball(1.0)) == 1e-12
    assert (
        constraints.L2Norm(1.0).evaluation_error(Ball(1.0)) is None
    )  # the length of an action is not known
    assert (
        constraints.max_of(constraints.L2Norm(1.0), constraints.LinfNorm(1.0, 2)).evaluation_error(
            Ball(1.0)
        )
        < 1e-14
    )


def test_wrappers_pass_the_errors_on():
    ball = Ball(1.0, np.zeros(2))
    g = constraints.max_of(constraints.LinfNorm(0.5, 2), constraints.L2Norm(0.5))
    assert constraints.PlayedOnly(g).evaluation_error(ball) == g.evaluation_error(ball)
    moved = constraints.shift(g, 0.25)
    assert moved.evaluation_error(ball) == 2 * g.evaluation_error(ball) + 2.0**-54


@pytest.mark.parametrize("name", ["beta", "error"])
def test_bounds_of_ones_own_functions_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be a finite number >= 0, got -1.0"):
        constraints.FunctionConstraint(len, len, **{name: -1.0})
