import numpy as np
import pytest

from surefoot.sets import Ball, Ellipsoid

from .laws import BackendLaws, Case, Laws, U, agree_with_clarabel


def definite(rng, lengths):
    """A matrix whose ellipsoid has semi-axes of these lengths, in random directions."""
    lengths = np.asarray(lengths)
    q, _ = np.linalg.qr(rng.normal(size=(len(lengths), len(lengths))))
    return (q / lengths**2) @ q.T


def case(rng, lengths, centre=None):
    d = len(lengths)
    # The matrix itself is known to u of its largest entry, so the edge along the longest axis to
    # the ratio of the eigenvalues times that.
    ratio = (max(lengths) / min(lengths)) ** 2
    region = Ellipsoid(definite(rng, lengths), centre)
    return Case(region, d, max(lengths), 32 * (d + 4) * ratio, 0.0 if centre is None else centre)


def one_entry(rng):
    return case(rng, [0.7])


def small(rng):
    return case(rng, [0.5, 1.0, 3.0])


def round_(rng):
    return case(rng, [2.0] * 4)


def large(rng):
    return case(rng, np.linspace(0.5, 4.0, 40))


def flat(rng):
    return case(rng, [1e-4, 1.0, 1.0, 2.0])


def tiny(rng):
    return case(rng, [1e-100, 2e-100, 5e-100])


def huge(rng):
    return case(rng, [1e100, 2e100, 5e100])


def shifted(rng):
    return case(rng, [0.5, 1.0, 3.0], 4 * rng.normal(size=3))


def far(rng):
    # Six digits are left for the ellipsoid itself.
    return case(rng, [1e-10, 3e-10], rng.normal(size=2))


def lost(rng):
    # The centre's own rounding is larger than the ellipsoid.
    return case(rng, [1e-18, 3e-18], rng.normal(size=2))


FAMILIES = [one_entry, small, round_, large, flat, tiny, huge, shifted, far, lost]
TYPICAL = [shifted]


TestLaws, TestBackends = Laws, BackendLaws


@pytest.mark.slow
def test_clarabel_finds_the_same_projections():
    cp = pytest.importorskip("cvxpy")
    d, rng = 4, np.random.default_rng(0)
    p, x = cp.Variable(d), cp.Parameter(d)
    # |L'(p - c)| <= 1 with P = LL'; L'c is a parameter of its own, for the problem to be compiled
    # once.
    factor, moved = cp.Parameter((d, d)), cp.Parameter(d)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(p - x)), [cp.norm(factor @ p - moved) <= 1])

    def draw():
        P = definite(rng, rng.uniform(0.3, 3.0, size=d))
        centre, x.value = rng.normal(size=d), 3 * rng.normal(size=d)
        factor.value = np.linalg.cholesky(P).T
        moved.value = factor.value @ centre
        return x.value, Ellipsoid(P, centre).project(x.value)

    agree_with_clarabel(problem, p, draw, 1e-8)


def test_a_round_ellipsoid_is_a_ball():
    rng = np.random.default_rng(2)
    x, centre = 5 * rng.normal(size=(30, 3)), rng.normal(size=3)
    ellipsoid, ball = Ellipsoid(np.eye(3) / 4, centre), Ball(2.0, centre)
    assert ellipsoid.project(x) == pytest.approx(ball.project(x), abs=256 * U)
    assert ellipsoid.minimize_linear(x) == pytest.approx(ball.minimize_linear(x), abs=256 * U)
    assert ellipsoid.diameter == 4.0


def test_the_way_to_the_projection_is_normal_to_the_surface():
    rng = np.random.default_rng(3)
    P = definite(rng, [0.5, 1.0, 3.0, 10.0])
    x = 20 * rng.normal(size=(50, 4))
    p = Ellipsoid(P).project(x)
    normal = p @ P
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    way = x - p
    across = way - np.vecdot(way, normal)[:, None] * normal
    # The projection is known to 400 d u of its size, 400 the ratio of the eigenvalues.
    assert np.linalg.norm(across, axis=1).max() <= 64 * 400 * U * np.linalg.norm(x, axis=1).max()
    assert (np.vecdot(way, normal) > 0).all()


def test_a_point_on_an_axis_moves_along_it():
    # Outside the longest axis, and outside the shortest: zero entries stay exactly zero.
    flat = Ellipsoid(np.diag([4.0, 1.0, 0.25]))
    x = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, -7.0], [0.0, 1.5, 0.0]])
    expected = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, -2.0], [0.0, 1.0, 0.0]])
    assert flat.project(x) == pytest.approx(expected, abs=512 * U)
    assert (flat.project(x)[expected == 0] == 0).all()


def test_the_root_is_found_for_axes_and_points_of_all_sizes():
    # At the largest ratio of eigenvalues that is not refused, and points that make Newton's steps
    # many: each entry as far outside its own axis as its length to some power says.
    rng = np.random.default_rng(4)
    for _ in range(300):
        d = int(rng.integers(1, 12))
        lengths = 10.0 ** -rng.uniform(0, 6, size=d)
        region = Ellipsoid(np.diag(lengths**-2.0))
        x = rng.normal(size=d) * lengths ** rng.uniform(-1, 2) * 10.0 ** rng.uniform(0, 3)
        p = region.project(x)
        if p is x:
            continue
        # With a diagonal matrix p'Pp has no rounding to speak of, so the point is on the surface
        # to what it was drawn inside by, and lambda_i p_i mu = x_i - p_i for one mu.
        value = ((p / lengths) ** 2).sum()
        assert 1 - 64 * (d + 4) * U <= value <= 1
        along = (x - p) @ (p / lengths**2) / ((p / lengths**2) ** 2).sum()
        assert x - p == pytest.approx(along * p / lengths**2, rel=1e-9, abs=1e-13 * abs(x).max())


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_scaling_scales_the_result(scale):
    rng = np.random.default_rng(1)
    x, P = 3 * rng.normal(size=(20, 3)), definite(rng, [0.5, 1.0, 3.0])
    scaled = Ellipsoid(P / scale**2).project(scale * x)
    assert scaled == pytest.approx(scale * Ellipsoid(P).project(x), abs=1e-13 * scale)


def test_its_axes_are_those_of_the_matrix():
    region = Ellipsoid([[2.0, 1.0], [1.0, 3.0]])
    rebuilt = (region.axes * region.curvatures) @ region.axes.T
    assert rebuilt == pytest.approx(np.array([[2.0, 1.0], [1.0, 3.0]]))
    assert region.dimension == 2


def test_a_matrix_may_be_off_symmetry_by_rounding():
    P = definite(np.random.default_rng(6), [0.5, 1.0, 3.0])
    P[0, 1] *= 1 + 4 * U
    region = Ellipsoid(P)
    assert np.array_equal(region.P, region.P.T)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([[1.0, 0.5], [0.0, 1.0]],), "P must be symmetric, got 0.5 at (0, 1) and 0 at (1, 0)"),
        (([[1.0, 0.0]],), "P.shape must be that of a square matrix, got (1, 2)"),
        (
            ([[1.0, 0.0], [0.0, -2.0]],),
            "P must be positive definite, got eigenvalues from -2 to 1",
        ),
        (
            ([[1.0, 1.0], [1.0, 1.0]],),
            "P must be positive definite, got eigenvalues from",
        ),
        (([[1.0, float("nan")], [0.0, 1.0]],), "P must be finite, got nan at index (0, 1)"),
        (([[1.0]], [0.0, 1.0]), "centre.shape must be (1,), got (2,)"),
    ],
)
def test_bad_arguments_are_named(arguments, sentence):
    with pytest.raises(ValueError) as error:
        Ellipsoid(*arguments)
    assert str(error.value).startswith(sentence)
