import math

import numpy as np
import pytest

from surefoot.problems.constraints import NuclearNorm, SpectralNorm
from surefoot.sets import Ball, NuclearBall, SpectralBall

SHAPES = [(1, 1), (1, 5), (5, 1), (2, 3), (3, 2), (4, 4)]


def matrices(shape, n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, *shape)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1, 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_those_of_the_full_decomposition(shape):
    for X in matrices(shape):
        values = np.linalg.svd(X, compute_uv=False)
        x = X.reshape(-1)
        spectral_norm = SpectralNorm(shape, 0.5).value(x) + 0.5
        assert spectral_norm == pytest.approx(values[0], rel=1e-13, abs=1e-15)
        nuclear_norm = NuclearNorm(shape, 0.5).value(x) + 0.5
        assert nuclear_norm == pytest.approx(values.sum(), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_spectral_subgradient_is_the_top_singular_pair(shape):
    for X in matrices(shape, seed=1):
        U, _, Vt = np.linalg.svd(X)
        s = SpectralNorm(shape, 1.0).subgradient(X.reshape(-1))
        np.testing.assert_allclose(s.reshape(shape), np.outer(U[:, 0], Vt[0]), atol=1e-9)


def test_singular_values_that_tie_give_one_of_the_pairs():
    g = SpectralNorm((2, 2), 1.0)
    value, s = g.query(np.array([0.0, 3.0, -3.0, 0.0]))
    assert value == pytest.approx(2.0)
    S = s.reshape(2, 2)
    assert np.linalg.matrix_rank(S) == 1
    assert np.linalg.norm(S) == pytest.approx(1.0)
    assert s @ [0.0, 3.0, -3.0, 0.0] == pytest.approx(3.0)


def test_at_the_zero_matrix_the_subgradients_are_legal():
    spectral_norm, nuclear_norm = SpectralNorm((2, 3), 1.5), NuclearNorm((2, 3), 1.5)
    for value, s in (spectral_norm.query(np.zeros(6)), spectral_norm.query(np.zeros((1, 6)))):
        assert value == -1.5
        assert np.linalg.norm(s.reshape(2, 3), "nuc") <= 1 + 1e-15
    value, s = nuclear_norm.query(np.zeros(6))
    assert value == -1.5
    assert np.linalg.norm(s.reshape(2, 3), 2) <= 1 + 1e-15


@pytest.mark.parametrize("shape", [(3, 3), (2, 4)])
def test_the_shortest_subgradients_are_as_long_as_sigma_says(shape):
    k = min(shape)
    rng = np.random.default_rng(2)
    U = np.linalg.qr(rng.normal(size=(shape[0], k)))[0]
    V = np.linalg.qr(rng.normal(size=(shape[1], k)))[0]
    others = rng.normal(size=(2000, math.prod(shape)))
    # All singular values equal: the mean of the pairs is a subgradient, 1/sqrt(k) long.
    g = SpectralNorm(shape, 2.0)
    sigma, epsilon = g.exact_sigma(0.5)
    x, s = 1.5 * (U @ V.T).reshape(-1), (U @ V.T).reshape(-1) / k
    assert g.value(x) == pytest.approx(-epsilon)
    assert (g.value(others)[:, 0] >= g.value(x) + (others - x) @ s - 1e-12).all()
    assert np.linalg.norm(s) == pytest.approx(sigma)
    # Rank one: the one pair is a subgradient of the nuclear norm, 1 long.
    h = NuclearNorm(shape, 2.0)
    sigma, epsilon = h.exact_sigma(0.5)
    s = np.outer(U[:, 0], V[:, 0]).reshape(-1)
    x = 1.5 * s
    assert h.value(x) == pytest.approx(-epsilon)
    assert (h.value(others)[:, 0] >= h.value(x) + (others - x) @ s - 1e-12).all()
    assert np.linalg.norm(s) == pytest.approx(sigma)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bounds_hold_as_computed_and_are_attained(shape):
    X = matrices(shape, 400, seed=3).reshape(400, -1)
    for g, expected in (
        (SpectralNorm(shape, 1.0), 1.0),
        (NuclearNorm(shape, 1.0), math.sqrt(min(shape))),
    ):
        bound = g.subgradient_bound(Ball(1.0))
        assert bound == pytest.approx(expected, rel=1e-12)
        lengths = np.linalg.norm(g.subgradient(X), axis=1)
        assert lengths.max() <= bound
        assert lengths.max() == pytest.approx(bound)


def test_the_regions_are_the_balls_of_matrices():
    assert SpectralNorm((2, 3), 1.5).region == SpectralBall((2, 3), 1.5)
    assert NuclearNorm([2, 3], 1.5).region == NuclearBall((2, 3), 1.5)


@pytest.mark.parametrize("kind", [SpectralNorm, NuclearNorm])
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((3, 1.0), r"shape must be \(rows, columns\), got 3"),
        (((2, 3, 4), 1.0), r"shape must be \(rows, columns\), got \(2, 3, 4\)"),
        (((0, 3), 1.0), r"shape\[0\] must be a whole number >= 1, got 0"),
        (((2, 2.5), 1.0), r"shape\[1\] must be a whole number >= 1, got 2.5"),
        (((2, 2), -1.0), "radius must be a finite number > 0, got -1.0"),
    ],
)
def test_bad_input_is_named(kind, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        kind(*arguments)
