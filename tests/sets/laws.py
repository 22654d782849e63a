"""What every projection must do, for the tests of each set to ask of it."""

import copy
import pickle
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import surefoot.sets
from surefoot.core.types import Set

U = 2.0**-53


class Case(NamedTuple):
    """A set, where it is, how large, and how well its projection is computed.

    A computed projection is at most ``factor`` u of the largest number that enters it (that of
    the point, the centre and the set) away from the true one.
    """

    region: Any
    dimension: int
    size: float
    factor: float
    centre: Any = 0.0

    def error(self, x):
        reach = np.linalg.norm(x, axis=-1, keepdims=True) + np.linalg.norm(self.centre)
        return self.factor * U * (reach + self.size)

    def points(self, rng, n=24):
        """Points inside and outside, near and far, with ties and zeros, and on the edge."""
        d = self.dimension
        spread = self.size * 10.0 ** rng.uniform(-2, 2, size=(n, 1))
        drawn = rng.normal(size=(n, d)) / d**0.5
        drawn[1::6] = np.round(2 * drawn[1::6]) / 2
        drawn[2::6] *= rng.uniform(size=drawn[2::6].shape) < 0.5
        drawn[3::6] = np.sign(drawn[3::6]) / d**0.5
        drawn = self.centre + spread * drawn
        edge = self.region.project(drawn[: n // 4])
        return np.concatenate([drawn, edge, np.zeros((1, d)), self.centre + np.zeros((1, d))])


SIZES = {
    "one_entry": (1, 0.7),
    "small": (3, 1.25),
    "large": (60, 2.5),
    "tiny": (7, 1e-100),
    "huge": (7, 1e100),
}


def sizes(case, **more):
    """One family for each size, small ones second: `case` takes a dimension and a size."""

    def family(name, size):
        def made(rng):
            return case(*size, **more)

        made.__name__ = "_".join([*more, name])
        return made

    return [family(name, size) for name, size in SIZES.items()]


def numbers(region):
    """The numbers and arrays that a set was made from and that are not 0."""
    values = {f.name: getattr(region, f.name) for f in fields(region) if f.init}
    return {n: v for n, v in values.items() if isinstance(v, (float, np.ndarray)) and np.any(v)}


class Laws:
    """Tests of each of a module's FAMILIES: functions from a generator to a Case."""

    bounded = True

    @pytest.fixture
    def case(self, family):
        return family(np.random.default_rng(11))

    @pytest.fixture
    def x(self, case):
        return case.points(np.random.default_rng(12))

    def test_a_projection_is_in_the_set_exactly(self, case, x):
        region = case.region
        assert isinstance(region, Set)
        p = region.project(x)
        assert region.contains(p).shape == (len(x), 1)
        assert region.contains(p).all()
        # Sums of one point and of a batch are taken in other orders.
        assert all(region.contains(q) is True for q in p)
        ones = np.array([region.project(point) for point in x])
        assert region.contains(ones).all()
        assert all(region.contains(q) is True for q in ones)

    def test_projecting_again_changes_nothing(self, case, x):
        region = case.region
        p = region.project(x)
        assert np.array_equal(region.project(p), p)
        for point in x:
            once = region.project(point)
            assert np.array_equal(region.project(once), once)

    def test_points_of_the_set_stay_where_they_are(self, case, x):
        inside = case.region.contains(x)[:, 0]
        assert np.array_equal(case.region.project(x)[inside], x[inside])

    def test_a_batch_is_its_points_one_by_one(self, case, x):
        p = case.region.project(x)
        ones = np.array([case.region.project(point) for point in x])
        assert (np.linalg.norm(ones - p, axis=1) <= case.error(x)[:, 0]).all()

    def test_projection_brings_no_two_points_further_apart(self, case, x):
        p, error = case.region.project(x), case.error(x)[:, 0]
        before = np.linalg.norm(x[:, None] - x, axis=-1)
        after = np.linalg.norm(p[:, None] - p, axis=-1)
        assert (after <= before * (1 + 8 * U) + error[:, None] + error).all()

    def test_nothing_in_the_set_is_nearer_than_the_projection(self, case, x):
        # The variational inequality (x - p)'(y - p) <= 0 for every y of the set. With p off by
        # `error` it is off by that times the two lengths.
        p, error = case.region.project(x), case.error(x)[:, 0]
        away, along = x - p, p - p[:, None]  # along[i, j] = y_j - p_i
        lengths = np.linalg.norm(away, axis=1)[:, None] + np.linalg.norm(along, axis=-1)
        assert (np.vecdot(away[:, None], along) <= error[:, None] * lengths).all()

    def test_no_point_of_the_set_has_a_smaller_linear_cost(self, case, x):
        region = case.region
        rng = np.random.default_rng(3)
        c = rng.normal(size=(6, case.dimension))
        c[0] = np.round(c[0])
        if not self.bounded:
            with pytest.raises(ValueError, match="must be given a bounded set"):
                region.minimize_linear(c)
            return
        v, y = region.minimize_linear(c), region.project(x)
        assert region.contains(v).all()
        room = np.linalg.norm(c, axis=1, keepdims=True) * case.error(x).T
        assert (np.vecdot(c, v)[:, None] <= c @ y.T + room).all()
        assert region.contains(region.minimize_linear(0.0 * c)).all()
        for row, corner in zip(c, v, strict=True):
            one = region.minimize_linear(row)
            assert region.contains(one) is True
            assert row @ one == pytest.approx(row @ corner, abs=case.error(x).max())

    def test_two_points_are_at_most_a_diameter_apart(self, case, x):
        region = case.region
        p = region.project(np.concatenate([x, -x]))
        if self.bounded:
            c = np.random.default_rng(4).normal(size=(40, case.dimension))
            p = np.concatenate([p, region.minimize_linear(c)])
        separately = np.linalg.norm(p[:, None] - p, axis=-1).max()
        assert separately <= region.diameter + 2 * case.error(x).max()

    @pytest.mark.parametrize(
        "again", [copy.copy, copy.deepcopy, lambda region: pickle.loads(pickle.dumps(region))]
    )
    def test_copies_are_equal_and_do_the_same(self, case, x, again):
        other = again(case.region)
        assert other == case.region
        assert np.array_equal(other.project(x), case.region.project(x))

    def test_a_set_of_other_numbers_is_another(self, case, family):
        assert case.region == family(np.random.default_rng(11)).region
        assert case.region != "a set"
        for name, value in numbers(case.region).items():
            assert case.region != replace(case.region, **{name: (1 - 2.0**-40) * value})

    def test_a_set_cannot_be_changed(self, case):
        for name in case.region.__dataclass_fields__:
            with pytest.raises(AttributeError):
                setattr(case.region, name, 1.0)
            value = getattr(case.region, name)
            if isinstance(value, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    value[0] = 1.0

    def test_the_representation_evaluates_back_unless_it_is_large(self, case, x):
        if "<array of shape" in repr(case.region):
            assert len(repr(case.region)) < 300
            return
        names = {name: getattr(surefoot.sets, name) for name in surefoot.sets.__all__}
        with np.printoptions(floatmode="unique", threshold=10_000):
            back = eval(repr(case.region), {**names, "array": np.array})
        assert back == case.region

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
    def test_a_point_that_is_not_finite_is_refused_or_becomes_nan(self, case, x, bad):
        region, good = case.region, x[:1]
        rows = np.concatenate([good, good, good])
        rows[1, -1] = bad
        which = rf"must be finite, got {bad} at index \d+$"
        with pytest.raises(ValueError, match="the point to project " + which):
            region.project(rows[1])
        assert region.contains(rows[1]) is False
        assert region.contains(rows).tolist()[1] == [False]
        operations = [region.project]
        if self.bounded:
            operations.append(region.minimize_linear)
            with pytest.raises(ValueError, match="c " + which):
                region.minimize_linear(rows[1])
        for operation in operations:
            results = operation(rows)
            assert np.isnan(results[1]).any()
            off = np.linalg.norm(results[[0, 2]] - operation(good), axis=1)
            assert (off <= case.error(good)[0]).all()

    def test_a_point_of_another_dimension_is_refused(self, case):
        if case.region.dimension is None:
            pytest.skip("a ball around 0 has no dimension of its own")
        wrong = np.zeros(case.dimension + 1)
        for operation in (case.region.project, case.region.contains):
            with pytest.raises(ValueError, match=f"must have {case.dimension} entries, got shape"):
                operation(wrong)


class BackendLaws:
    """Tests of each of a module's TYPICAL families: few, since compiling takes long."""

    bounded = True
    differentiable = True

    @pytest.fixture
    def case(self, typical):
        return typical(np.random.default_rng(13))

    @pytest.fixture
    def x(self, case):
        return case.points(np.random.default_rng(14), n=12)

    def test_every_backend_gives_the_same_points(self, request, backend, case, x):
        region = case.region
        for points in (x, x[0], x[-1]):
            given = backend.array(points)
            # One by one, JAX compiles the operations for each shape, which takes long.
            at_once = backend.name == "jax" and points.ndim > 1
            project, contains, minimize_linear = (
                request.getfixturevalue("x64").jit(operation) if at_once else operation
                for operation in (region.project, region.contains, region.minimize_linear)
            )
            p, inside = project(given), contains(given)
            assert backend.holds(p)
            assert p.dtype == backend.xp.float64
            assert tuple(p.shape) == points.shape
            off = np.linalg.norm(backend.numpy(p) - region.project(points), axis=-1)
            assert (off <= case.error(points)[..., 0]).all()
            # In the set as this library computes it, and as NumPy does.
            assert backend.numpy(contains(p)).all()
            assert np.all(region.contains(backend.numpy(p)))
            again = project(p)
            assert np.array_equal(backend.numpy(again), backend.numpy(p))
            assert backend.numpy(inside).shape == (() if points.ndim == 1 else (len(x), 1))
            assert np.array_equal(backend.numpy(given), points)
            if self.bounded:
                v = minimize_linear(given)
                assert backend.holds(v)
                assert backend.numpy(contains(v)).all()
                costs = np.vecdot(points, backend.numpy(v) - region.minimize_linear(points))
                limit = np.linalg.norm(points, axis=-1) * case.error(points)[..., 0]
                assert (abs(costs) <= limit).all()

    def test_compiled_with_its_numbers_as_arguments_it_gives_the_same_points(self, x64, case, x):
        project = x64.jit(lambda given, x: replace(case.region, **given).project(x))
        for points in (x, x[0]):
            p = np.asarray(project(numbers(case.region), points))
            off = np.linalg.norm(p - case.region.project(points), axis=-1)
            assert (off <= case.error(points)[..., 0]).all()
            assert np.all(case.region.contains(p))

    def test_mapped_over_points_it_gives_the_same_points(self, x64, case, x):
        p = np.asarray(x64.jit(x64.vmap(case.region.project))(x64.numpy.asarray(x)))
        off = np.linalg.norm(p - case.region.project(x), axis=-1)
        assert (off <= case.error(x)[:, 0]).all()

    def test_the_derivative_of_a_projection_is_finite_everywhere(self, x64, case, x):
        if not self.differentiable:
            pytest.skip("singular vectors have no derivative where singular values are equal")
        jacobian = x64.jit(x64.vmap(x64.jacobian(case.region.project)))(x64.numpy.asarray(x))
        assert np.isfinite(jacobian).all()
        # A projection is non-expansive, and so is its derivative where it has one.
        assert (np.linalg.norm(jacobian, 2, axis=(1, 2)) <= 1 + 1e-6).all()


def agree_with_clarabel(problem, found, draw, tolerance, count=200):
    """Compare projections with those of an interior-point solver, on random instances.

    Args:
        problem: a cvxpy problem, the least |p - x|^2 under constraints with parameters.
        found: its variable p.
        draw: sets the parameters and returns x and our projection of it.
        tolerance: the duality gap Clarabel is asked for, relative and absolute.
        count: how many instances.
    """
    outside = 0
    for _ in range(count):
        x, p = draw()
        options = {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance}
        problem.solve(solver="CLARABEL", **options)
        theirs = np.ravel(found.value)
        # Both objectives are the optimum up to the gap and what Clarabel leaves of the constraints;
        # |q - x|^2 - |p* - x|^2 >= |q - p*|^2 for every q of the set, so the points are together
        # up to the root of that.
        gap = tolerance * (1 + x @ x)
        assert (p - x) @ (p - x) == pytest.approx((theirs - x) @ (theirs - x), abs=8 * gap)
        assert np.linalg.norm(p - theirs) <= 2 * gap**0.5
        outside += not np.array_equal(p, x)
    assert outside > count / 2  # else the test would be about nothing
