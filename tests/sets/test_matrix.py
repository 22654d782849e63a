import numpy as np
import pytest

from surefoot.sets import NuclearBall, Simplex, SpectralBall

from .laws import BackendLaws, Case, Laws, U, agree_with_clarabel

BALLS = [SpectralBall, NuclearBall]


def case(ball, shape, radius):
    # The bound of the shrink, 16 k (m + n) u, twice over.
    k = min(shape)
    size = radius * (k**0.5 if ball is SpectralBall else 1)
    return Case(ball(shape, radius), shape[0] * shape[1], size, 32 * k * sum(shape))


def family(ball, name, shape, radius):
    def made(rng):
        return case(ball, shape, radius)

    made.__name__ = f"{ball.__name__}_{name}"
    return made


SHAPES = {
    "number": ((1, 1), 0.7),
    "small": ((2, 3), 1.25),
    "large": ((20, 12), 2.5),
    "tiny": ((3, 2), 1e-100),
    "huge": ((3, 3), 1e100),
}
FAMILIES = [family(ball, name, *sizes) for ball in BALLS for name, sizes in SHAPES.items()]
TYPICAL = [family(ball, "small", *SHAPES["small"]) for ball in BALLS]


class TestLaws(Laws):
    pass


class TestBackends(BackendLaws):
    differentiable = False


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.slow
def test_clarabel_finds_the_same_projections(ball):
    cp = pytest.importorskip("cvxpy")
    shape, rng = (3, 2), np.random.default_rng(0)
    p, x, radius = cp.Variable(shape), cp.Parameter(shape), cp.Parameter(nonneg=True)
    norm = cp.sigma_max if ball is SpectralBall else cp.normNuc
    problem = cp.Problem(cp.Minimize(cp.sum_squares(p - x)), [norm(p) <= radius])
    # The value of a matrix variable is read row by row, as the flat actions are.

    def draw():
        radius.value = rng.uniform(0.3, 3.0)
        x.value = 2 * rng.normal(size=shape)
        flat = x.value.ravel()
        return flat, ball(shape, radius.value).project(flat)

    agree_with_clarabel(problem, p, draw, 1e-9)


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (3, 3), (5, 2), (30, 30), (60, 7)])
def test_the_shrink_is_above_the_rounding_of_singular_values(ball, shape):
    # Matrices of low rank, with equal values, and orthogonal ones: what LAPACK finds hardest.
    rng = np.random.default_rng(sum(shape))
    rows, columns = shape
    drawn = rng.normal(size=(12, rows, columns))
    drawn[:3] = rng.normal(size=(3, rows, 1)) @ rng.normal(size=(3, 1, columns))
    u, _, v = np.linalg.svd(drawn[3:6], full_matrices=False)
    drawn[3:6] = u @ v
    drawn[6:8] = np.eye(rows, columns)
    x = 3 * drawn.reshape(12, -1)
    region = ball(shape, 1.1)
    for points in (region.project(x), region.minimize_linear(x)):
        assert region.contains(points).all()
        assert all(region.contains(p) for p in points)


def singular_values(x, shape):
    return np.linalg.svd(x.reshape(-1, *shape), compute_uv=False)


def test_singular_values_are_cut_off_or_projected_and_vectors_kept():
    rng = np.random.default_rng(5)
    shape = (4, 3)
    x = rng.normal(size=(30, 12))
    before = singular_values(x, shape)
    cut = singular_values(SpectralBall(shape, 1.2).project(x), shape)
    assert cut == pytest.approx(np.minimum(before, 1.2), abs=1e-13)
    shrunk = singular_values(NuclearBall(shape, 1.2).project(x), shape)
    assert shrunk == pytest.approx(Simplex(3, 1.2, filled=True).project(before), abs=1e-13)
    # The same left vectors: X P' is symmetric for both results.
    for ball in BALLS:
        p = ball(shape, 1.2).project(x).reshape(-1, *shape)
        product = x.reshape(-1, *shape) @ p.swapaxes(1, 2)
        assert product == pytest.approx(product.swapaxes(1, 2), abs=1e-12)


def test_equal_singular_values_are_treated_alike():
    # Twice an orthogonal matrix: both values 2.
    x = np.array([1.2, 1.6, -1.6, 1.2])
    assert SpectralBall((2, 2), 0.5).project(x) == pytest.approx(x / 4, abs=256 * U)
    assert NuclearBall((2, 2), 0.5).project(x) == pytest.approx(x / 8, abs=256 * U)


def test_rows_come_before_columns():
    # diag(3, 0) with a third column: only the first entry is touched.
    x = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.5])
    expected = [1.0, 0.0, 0.0, 0.0, 0.0, 0.5]
    assert SpectralBall((2, 3), 1.0).project(x) == pytest.approx(expected, abs=512 * U)


def test_linear_minima_are_minus_the_dual_norm():
    rng = np.random.default_rng(7)
    shape = (3, 4)
    c = rng.normal(size=(10, 12))
    values = singular_values(c, shape)
    spectral = SpectralBall(shape, 1.5).minimize_linear(c)
    assert np.vecdot(c, spectral) == pytest.approx(-1.5 * values.sum(axis=1))
    nuclear = NuclearBall(shape, 1.5).minimize_linear(c)
    assert np.vecdot(c, nuclear) == pytest.approx(-1.5 * values[:, 0])


@pytest.mark.parametrize("ball", BALLS)
def test_radii_may_differ_from_run_to_run(ball):
    x = np.random.default_rng(8).normal(size=(2, 6))
    radii = np.array([[0.5], [0.8]])
    p = ball((2, 3), radii).project(x)
    for i in range(2):
        assert p[i] == pytest.approx(ball((2, 3), radii[i, 0]).project(x[i]), abs=256 * U)


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((4, 1.0), "shape must be (rows, columns), got 4"),
        (((2, 3, 4), 1.0), "shape must be (rows, columns), got (2, 3, 4)"),
        (((2, 0), 1.0), "shape[1] must be a whole number >= 1, got 0"),
        (((2, 3), -1.0), "radius must be a finite number > 0, got -1.0"),
    ],
)
def test_bad_arguments_are_named(ball, arguments, sentence):
    with pytest.raises(ValueError) as error:
        ball(*arguments)
    assert str(error.value) == sentence
