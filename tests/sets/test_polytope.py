import sys

import numpy as np
import pytest

from surefoot.core.optional import MissingExtraError
from surefoot.sets import Ball, Box, Halfspace, Nearest, Polytope, polytope

from .laws import Case, Laws, U, agree_with_clarabel

sparse = pytest.importorskip("scipy.sparse")
pytest.importorskip("qpsolvers")
pytest.importorskip("piqp")
pytest.importorskip("daqp")


class Certified(Case):
    """A case whose error is what the polytope proves of each projection."""

    def error(self, x):
        proven = [self.region.nearest(row).error for row in np.atleast_2d(x)]
        # HiGHS stops at 1e-10 of the depth of the polytope, a tenth of its size or more.
        return np.reshape(proven, (*np.shape(x)[:-1], 1)) + 1e-9 * self.size


def random_rows(rng, m, d):
    """Rows around 0, and enough of them on all sides for a bounded polytope."""
    rows = np.concatenate([rng.normal(size=(m, d)), np.eye(d), -np.eye(d)])
    return rows, np.concatenate([rng.uniform(0.2, 1.0, size=m), np.full(2 * d, 2.0)])


def case(A, b, size, centre=0.0):
    return Certified(Polytope(A, b), A.shape[1], size, 0.0, centre)


def interval(rng):
    return case(np.array([[2.0], [-1.0]]), np.array([1.0, 0.25]), 0.5)


def triangle(rng):
    return case(np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 2.0]]), np.array([0.0, 0.0, 2.0]), 2.0)


def random(rng):
    return case(*random_rows(rng, 12, 5), 2.0)


def repeated(rng):
    # Every row twice, the second time at another length: multipliers are not unique.
    A, b = random_rows(rng, 6, 4)
    return case(np.concatenate([A, 30 * A]), np.concatenate([b, 30 * b]), 2.0)


def lopsided(rng):
    # Rows of lengths from 1e-4 to 1e4.
    A, b = random_rows(rng, 6, 4)
    lengths = 10.0 ** rng.uniform(-4, 4, size=len(b))
    return case(lengths[:, None] * A, lengths * b, 2.0)


def small_and_far(rng):
    A, b = random_rows(rng, 6, 3)
    centre = rng.normal(size=3)
    return case(A, A @ centre + 1e-5 * b, 2e-5, centre)


def pyramid(rng):
    # Six faces meet at one corner in three dimensions.
    angles = np.arange(6) * np.pi / 3 + 0.1
    sides = np.stack([np.cos(angles), np.sin(angles), np.ones(6)], axis=1)
    A = np.concatenate([sides, [[0.0, 0.0, -1.0]]])
    return case(A, np.append(np.ones(6), 0.5), 2.0)


FAMILIES = [interval, triangle, random, repeated, lopsided, small_and_far, pyramid]


class TestLaws(Laws):
    pass


@pytest.mark.slow
def test_clarabel_finds_the_same_projections():
    cp = pytest.importorskip("cvxpy")
    m, d, rng = 8, 4, np.random.default_rng(0)
    p, x = cp.Variable(d), cp.Parameter(d)
    A, b = cp.Parameter((m + 2 * d, d)), cp.Parameter(m + 2 * d)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(p - x)), [A @ p <= b])

    def draw():
        A.value, b.value = random_rows(rng, m, d)
        x.value = 2 * rng.normal(size=d)
        return x.value, Polytope(A.value, b.value).project(x.value)

    agree_with_clarabel(problem, p, draw, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("convert", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_the_true_projection_is_within_the_proven_error(convert):
    # p is the projection of p + A_I' z for every z >= 0 on rows I that are active at p.
    rng, off = np.random.default_rng(1), []
    for _ in range(100):
        d, m = int(rng.integers(1, 8)), int(rng.integers(1, 15))
        rows = rng.normal(size=(m, d))
        truth = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 3)
        active = rng.uniform(size=m) < 0.4
        b = rows @ truth + np.where(active, 0.0, rng.exponential(size=m))
        x = truth + rows[active].T @ rng.exponential(size=int(active.sum()))
        # An interior point: rows whose cone holds a half-line may have none.
        try:
            found = Polytope(convert(rows), b).nearest(x)
        except ValueError as error:
            assert "must have an interior" in str(error)  # noqa: PT017
            continue
        distance = np.linalg.norm(found.point - truth)
        # The truth itself is known to the rounding of b.
        assert distance <= found.error + 64 * U * (1 + np.linalg.norm(truth))
        assert found.error <= 1e-4 * (1 + np.linalg.norm(x))
        off.append(distance / (1 + np.linalg.norm(x)))
    # Far better than proven, which is the root of it; worst where rows are nearly parallel.
    assert len(off) > 80
    assert max(off) <= 1e-8
    assert np.median(off) <= (1e-11 if convert is sparse.csr_array else 1e-12)


def test_nearest_says_what_the_solver_left_and_what_is_proven():
    region = Polytope([[1.0, 2.0], [-1.0, 0.0], [0.0, -1.0]], [2.0, 0.0, 0.0])
    found = region.nearest(np.array([2.0, 2.0]))
    assert isinstance(found, Nearest)
    assert found.point == pytest.approx([1.2, 0.4], abs=1e-12)
    assert 0 <= found.residual <= 1e-12
    assert 0 < found.error <= 1e-6
    inside = np.array([0.25, 0.5])
    point, residual, error = region.nearest(inside)
    assert point is inside
    assert (residual, error) == (0.0, 0.0)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.3])
@pytest.mark.parametrize("convert", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_a_careless_solver_changes_the_proven_error_and_not_feasibility(monkeypatch, convert, size):
    A, b = random_rows(np.random.default_rng(2), 9, 4)
    region = Polytope(convert(A), b)
    x = np.array([3.0, -2.0, 1.0, 0.5])
    good = region.nearest(x)
    rng = np.random.default_rng(3)

    def make_careless(solve):
        def careless(*program):
            q, z = solve(*program)
            return q + size * rng.normal(size=q.shape), z + size * rng.normal(size=z.shape)

        return careless

    for name in ("_solve_dense", "_solve_sparse"):
        monkeypatch.setattr(polytope, name, make_careless(getattr(polytope, name)))
    found = region.nearest(x)
    assert region.contains(found.point) is True
    assert np.linalg.norm(found.point - good.point) <= found.error + good.error
    assert found.error > 2 * good.error


def test_where_active_sets_fail_the_interior_point_method_answers(monkeypatch):
    A, b = random_rows(np.random.default_rng(2), 9, 4)
    region, x = Polytope(A, b), np.array([3.0, -2.0, 1.0, 0.5])
    good = region.nearest(x)
    monkeypatch.setattr(polytope, "_solve_dense", lambda *program: None)
    found = region.nearest(x)
    assert region.contains(found.point) is True
    assert found.point == pytest.approx(good.point, abs=1e-9)


def test_without_multipliers_nothing_better_than_the_distance_to_x_is_proven(monkeypatch):
    A, b = random_rows(np.random.default_rng(2), 9, 4)
    region = Polytope(sparse.csr_array(A), b)
    x, solve = np.array([3.0, -2.0, 1.0, 0.5]), polytope._solve_sparse
    blind = lambda *program: (solve(*program)[0], np.zeros(17))  # noqa: E731
    monkeypatch.setattr(polytope, "_solve_sparse", blind)
    found = region.nearest(x)
    assert found.error == pytest.approx(np.linalg.norm(x - found.point), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_scaling_scales_the_result(scale):
    A, b = random_rows(np.random.default_rng(4), 9, 4)
    x = np.array([3.0, -2.0, 1.0, 0.5])
    plain, scaled = Polytope(A, b), Polytope(A, scale * b)
    assert scaled.project(scale * x) == pytest.approx(scale * plain.project(x), abs=1e-11 * scale)
    assert scaled.contains(scaled.minimize_linear(x)) is True
    corner = scale * plain.minimize_linear(x)
    assert scaled.minimize_linear(x) == pytest.approx(corner, abs=1e-8 * scale)
    rows = Polytope(scale * A, scale * b)
    assert rows.project(x) == pytest.approx(plain.project(x), abs=1e-11)


def test_sparse_rows_give_what_dense_ones_give():
    rng = np.random.default_rng(5)
    A, b = random_rows(rng, 10, 6)
    A *= rng.uniform(size=A.shape) < 0.7
    A, b = A[A.any(axis=1)], b[A.any(axis=1)]
    x, c = 3 * rng.normal(size=(5, 6)), rng.normal(size=(3, 6))
    dense = Polytope(A, b)
    for kind in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix):
        region = Polytope(kind(A), b)
        assert region == Polytope(sparse.csr_array(A), b)
        assert region != Polytope(sparse.csr_array(2 * A), b)
        assert np.array_equal(region.contains(x), dense.contains(x))
        assert region.project(x) == pytest.approx(dense.project(x), abs=1e-11)
        assert region.contains(region.project(x)).all()
        assert np.vecdot(c, region.minimize_linear(c)) == pytest.approx(
            np.vecdot(c, dense.minimize_linear(c)), abs=1e-9
        )
        assert region.bounding_ball().radius == pytest.approx(dense.bounding_ball().radius)
        assert region.contains(region.interior)


@pytest.mark.slow
def test_a_large_sparse_polytope_never_becomes_dense():
    # The rows x_i + x_{i+1} <= 1 and the box: 6 * 10^4 non-zeros, where dense rows were 10^9.
    d = 20_000
    steps = sparse.diags_array([np.ones(d), np.ones(d - 1)], offsets=[0, 1], shape=(d - 1, d))
    A = sparse.vstack([steps, sparse.eye_array(d), -sparse.eye_array(d)])
    region = Polytope(A, np.ones(A.shape[0]))
    x = 2 * np.random.default_rng(6).normal(size=d)
    found = region.nearest(x)
    assert region.contains(found.point) is True
    assert found.error <= 1e-4 * np.linalg.norm(x)


def test_boxes_and_half_spaces_agree_with_their_closed_forms():
    rng = np.random.default_rng(7)
    lower, upper = -rng.uniform(0.2, 1.0, size=4), rng.uniform(0.2, 1.0, size=4)
    box = Polytope(np.concatenate([np.eye(4), -np.eye(4)]), np.concatenate([upper, -lower]))
    x, c = 2 * rng.normal(size=(10, 4)), rng.normal(size=(5, 4))
    assert box.project(x) == pytest.approx(Box(lower, upper).project(x), abs=1e-11)
    corners = Box(lower, upper).minimize_linear(c)
    assert box.minimize_linear(c) == pytest.approx(corners, abs=1e-11)
    a = rng.normal(size=4)
    half = Polytope([a], [0.5])
    assert half.project(x) == pytest.approx(Halfspace(a, 0.5).project(x), abs=1e-11)


def test_the_interior_point_is_as_deep_as_can_be():
    region = Polytope([[-3.0, 0.0], [0.0, -1.0], [3.0, 4.0]], [0.0, 0.0, 12.0])
    # The inscribed circle of the triangle with sides 4, 3 and 5 has radius 1.
    assert region.interior == pytest.approx([1.0, 1.0], abs=1e-9)
    assert region.interior is region.interior
    assert not region.interior.flags.writeable


def test_the_interior_of_a_small_polytope_far_away_is_found():
    A, b = random_rows(np.random.default_rng(8), 5, 3)
    centre = np.array([1e6, -3e6, 2e6])
    region = Polytope(A, A @ centre + 1e-3 * b)
    assert region.contains(region.interior) is True
    assert np.linalg.norm(region.interior - centre) <= 2e-3


def test_a_point_of_a_tenth_of_the_depth_that_was_promised_is_not_taken(monkeypatch):
    solved, calls = polytope._linprog, []

    def coarse(c, rows, right, limits):
        found = solved(c, rows, right, limits)
        if not calls:  # the first answer is near a face, and says that it is deep
            found.x[0] += 0.9 * found.x[-1]
        calls.append(1)
        return found

    monkeypatch.setattr(polytope, "_linprog", coarse)
    region = Polytope(np.vstack([np.eye(3), -np.eye(3)]), np.full(6, 0.5))
    assert region.interior == pytest.approx(np.zeros(3), abs=1e-9)
    assert len(calls) == 2


def test_the_bounding_ball_holds_the_polytope_and_is_that_of_its_box():
    region = Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 2.0]], [0.0, 0.0, 2.0])
    ball = region.bounding_ball()
    assert isinstance(ball, Ball)
    assert ball.centre == pytest.approx([1.0, 0.5])
    assert ball.radius == pytest.approx(5**0.5 / 2)
    assert region.diameter == ball.diameter
    rng = np.random.default_rng(9)
    region = Polytope(*random_rows(rng, 12, 5))
    corners = region.minimize_linear(rng.normal(size=(100, 5)))
    assert region.bounding_ball().contains(corners).all()


def test_a_careless_solver_makes_the_bounding_ball_no_smaller(monkeypatch):
    A, b = random_rows(np.random.default_rng(9), 12, 5)
    corners = Polytope(A, b).minimize_linear(np.concatenate([np.eye(5), -np.eye(5)]))
    solved = polytope._linprog

    def careless(*program):
        found = solved(*program)
        found.ineqlin.marginals *= 0.99  # multipliers too small: their bound alone would be, too
        return found

    monkeypatch.setattr(polytope, "_linprog", careless)
    ball = Polytope(A, b).bounding_ball()
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    assert (ball.centre - lower <= ball.radius).all()
    assert ball.radius >= np.linalg.norm(upper - lower) / 2
    assert ball.contains(corners).all()


def test_a_linear_minimum_where_there_is_none_is_refused():
    wedge = Polytope([[1.0, 1.0], [1.0, -1.0]], [1.0, 1.0])
    assert wedge.minimize_linear(np.array([-2.0, 0.0])) == pytest.approx([1.0, 0.0], abs=1e-9)
    sentence = (
        r"the polytope must be bounded, got one that is unbounded towards \[-1\. +-0\.5\]: "
        "add rows that bound it, or intersect it with a box"
    )
    with pytest.raises(ValueError, match=sentence):
        wedge.minimize_linear(np.array([4.0, 2.0]))
    for ask in (wedge.bounding_ball, lambda: wedge.diameter):
        with pytest.raises(ValueError, match="the polytope must be bounded"):
            ask()
    p = wedge.project(np.array([[5.0, 1.0], [-1e8, 3.0]]))
    assert p == pytest.approx(np.array([[1.0, 0.0], [-1e8, 3.0]]), abs=1e-9)


@pytest.mark.slow
def test_a_point_on_the_edge_is_inside_in_a_batch_as_it_is_alone():
    # One product with A for many points would take the sums in another order.
    rng = np.random.default_rng(10)
    A = rng.normal(size=(3, 40))
    x = rng.normal(size=(400, 40))
    for row in x:
        region = Polytope(A, A @ row)
        batch = np.stack([row, row - 1e-3 * A[0], row + A[1]])
        assert region.contains(batch)[0, 0] == region.contains(row)
        p = region.project(batch)
        assert region.contains(p).all()
        assert p[0] == pytest.approx(row, abs=1e-9)


EMPTY = Polytope([[1.0, 0.0], [0.0, 1.0], [-2.0, 0.0]], [1.0, 5.0, -3.0])
FLAT = Polytope([[1.0, 1.0], [-1.0, 0.0], [-2.0, -2.0], [0.0, -1.0]], [1.0, 0.0, -2.0, 0.0])


@pytest.mark.parametrize(
    "ask",
    [
        lambda region: region.interior,
        lambda region: region.project(np.array([3.0, 3.5])),
        lambda region: region.project(np.array([[3.0, 3.5]])),
        lambda region: region.minimize_linear(np.array([1.0, 0.5])),
        lambda region: region.bounding_ball(),
    ],
)
def test_a_polytope_without_an_interior_is_refused_in_a_sentence(ask):
    with pytest.raises(ValueError) as error:
        ask(EMPTY)
    assert str(error.value) == (
        "the polytope must not be empty, got rows 0, 2 that no point satisfies together: "
        "every point is at least 0.25 outside one of them"
    )
    with pytest.raises(ValueError) as error:
        ask(FLAT)
    assert str(error.value) == (
        "the polytope must have an interior, got rows 0, 2 that leave none: if they are an "
        "equality Cx = e written as two inequalities, write x = x0 + Ny with C x0 = e and the "
        "columns of N spanning the null space of C, and state the polytope in y"
    )


def test_rows_that_leave_no_room_but_for_rounding_are_not_called_empty():
    # The second is -3 times the first, and off by less than solvers see, to either side.
    for nudge in (-1e-13, 0.0, 4 * U, 1e-11):
        region = Polytope([[0.1, 0.7], [-0.3, -2.1], [1.0, 0.0]], [0.3, -0.9 * (1 + nudge), 5.0])
        with pytest.raises(ValueError, match="must have an interior, got rows 0, 1 that"):
            region.minimize_linear(np.array([1.0, 2.0]))


def test_the_way_out_of_an_equality_works():
    # x + y = 1 with x, y >= 0 is x0 + N t, t between the ends.
    x0, N = np.array([0.5, 0.5]), np.array([[1.0], [-1.0]])
    A, b = np.array([[-1.0, 0.0], [0.0, -1.0]]), np.zeros(2)
    inner = Polytope(A @ N, b - A @ x0)
    x = np.array([2.0, 0.5])
    t = inner.project(np.linalg.lstsq(N, x - x0)[0])
    assert x0 + N @ t == pytest.approx([1.0, 0.0], abs=1e-9)


@pytest.mark.parametrize(
    ("A", "b", "sentence"),
    [
        ([[1.0, np.nan]], [1.0], "A must be finite, got nan at index (0, 1)"),
        (sparse.csr_array([[1.0, np.nan]]), [1.0], "A must be finite, got nan at index (0, 1)"),
        ([[1.0, 2.0]], [np.inf], "b must be finite, got inf at index 0"),
        ([[1.0, 2.0]], [1.0, 2.0], "b.shape must be (1,), got (2,)"),
        ([[1.0, 2.0], [0.0, 0.0]], [1.0, 2.0], "A must have no zero row, got zeros in row 1"),
        (
            sparse.csr_array([[0.0, 0.0], [1.0, 0.0]]),
            [1.0, 2.0],
            "A must have no zero row, got zeros in row 0",
        ),
        (
            sparse.csr_array((0, 3)),
            [1.0],
            "A.shape must be that of a matrix that is not empty, got (0, 3)",
        ),
        ([1.0, 2.0], [1.0], "A.shape must be that of a matrix that is not empty, got (2,)"),
    ],
)
def test_bad_arguments_are_named(A, b, sentence):
    with pytest.raises(ValueError) as error:
        Polytope(A, b)
    assert str(error.value) == sentence


def test_other_libraries_arrays_are_refused():
    strict = pytest.importorskip("array_api_strict")
    region = Polytope([[1.0]], [1.0])
    for ask in (region.project, region.contains, region.minimize_linear, region.nearest):
        with pytest.raises(TypeError, match="a Polytope must be given NumPy arrays, got"):
            ask(strict.asarray([2.0]))


@pytest.mark.parametrize("module", ["daqp", "qpsolvers", "piqp", "scipy.optimize"])
def test_without_the_solvers_one_sentence_says_what_to_install(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    A = np.array([[1.0, 2.0], [-1.0, 0.0], [0.0, -1.0]])
    kind = sparse.csr_array if module in ("qpsolvers", "piqp") else np.array
    region = Polytope(kind(A), [2.0, 0.0, 0.0])
    x = np.array([0.25, 0.5])
    assert region.contains(x) is True
    assert region.project(x) is x
    with pytest.raises(MissingExtraError, match=r"pip install 'surefoot\[solve\]'"):
        region.project(np.array([2.0, 2.0]))
