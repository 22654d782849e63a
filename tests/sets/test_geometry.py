"""What the ball, the box and the half-space have in common, at every size and place."""

import copy
import pickle

import numpy as np
import pytest

from surefoot.core.types import Set
from surefoot.sets import Ball, Box, Halfspace

U = 2.0**-53
DIMENSIONS = [1, 2, 50, 1000]
SCALES = [1e-100, 1e-3, 1.0, 1e100]


def direction(rng, d):
    v = rng.normal(size=d)
    return v / np.linalg.norm(v)


def ball(d, scale, rng):
    return Ball(0.7 * scale), 0.7 * scale


def shifted_ball(d, scale, rng):
    return Ball(0.7 * scale, centre=3.0 * scale * direction(rng, d)), 3.7 * scale


def far_ball(d, scale, rng):
    # Six digits are left for the ball itself.
    return Ball(1e-10 * scale, centre=scale * direction(rng, d)), scale


def lost_ball(d, scale, rng):
    # The centre's own rounding is larger than the ball.
    return Ball(1e-18 * scale, centre=scale * direction(rng, d)), scale


def box(d, scale, rng):
    lower = scale * rng.uniform(-2.0, 1.0, size=d)
    return Box(lower, lower + scale * rng.uniform(0.0, 1.0, size=d)), 2.0 * scale * d**0.5


def halfspace(d, scale, rng):
    # A normal of another size than the points: 1e-3 of it or 1e20 times as much.
    return Halfspace(rng.choice([1e-3, 1e20]) * direction(rng, d), 0.3 * scale), 300 * scale


FAMILIES = [ball, shifted_ball, far_ball, lost_ball, box, halfspace]


def points(region, d, scale, rng, n=40):
    """Points outside and inside, near and far, and on the edge as nearly as floats can be."""
    centre = getattr(region, "centre", None)
    near = np.zeros(d) if centre is None else centre
    size = getattr(region, "radius", scale)
    spread = size * 10.0 ** rng.uniform(-3, 2, size=(n, 1))
    drawn = near + spread * rng.normal(size=(n, d)) / d**0.5
    return np.concatenate([drawn, region.project(drawn[: n // 4])])


@pytest.fixture(params=DIMENSIONS, ids=lambda d: f"d={d}")
def d(request):
    return request.param


@pytest.fixture(params=SCALES, ids=lambda s: f"scale={s:g}")
def scale(request):
    return request.param


@pytest.fixture
def case(family, d, scale):
    rng = np.random.default_rng(7 * d + 1)
    region, size = family(d, scale, rng)
    x = points(region, d, scale, rng)
    # How far a computed projection may be from the true one: a few (d + 8) u of the largest
    # number that enters it. Ball and half-space say so where they go inside by as much.
    error = 12 * (d + 8) * U * (np.linalg.norm(x, axis=1, keepdims=True) + size)
    return region, x, error


def test_a_projection_is_in_the_set_exactly(case):
    region, x, _ = case
    assert isinstance(region, Set)
    p = region.project(x)
    inside = region.contains(p)
    assert inside.shape == (len(x), 1)
    assert inside.all()
    for point in x[::8]:
        assert region.contains(region.project(point)) is True


def test_projecting_again_changes_nothing(case):
    region, x, _ = case
    p = region.project(x)
    assert np.array_equal(region.project(p), p)
    for point in x[::8]:
        once = region.project(point)
        assert np.array_equal(region.project(once), once)


def test_points_of_the_set_stay_where_they_are(case):
    region, x, _ = case
    inside = region.contains(x)[:, 0]
    assert np.array_equal(region.project(x)[inside], x[inside])


def test_a_batch_is_its_points_one_by_one(case):
    region, x, error = case
    p = region.project(x)
    for i in range(0, len(x), 8):
        one = region.project(x[i])
        assert one.shape == x[i].shape
        assert np.linalg.norm(one - p[i]) <= error[i, 0]


def test_projection_brings_no_two_points_further_apart(case):
    region, x, error = case
    p = region.project(x)
    before = np.linalg.norm(x[1:] - x[:-1], axis=1)
    after = np.linalg.norm(p[1:] - p[:-1], axis=1)
    assert (after <= before * (1 + 8 * U) + (error[1:] + error[:-1])[:, 0]).all()


def test_nothing_in_the_set_is_nearer_than_the_projection(case):
    region, x, error = case
    # The variational inequality: (x - p)'(u - p) <= 0 for every u of the set. With p off by
    # `error`, it is off by that times the two lengths; evaluating it adds less.
    p = region.project(x)
    for u in (p[::-1], np.roll(p, 1, axis=0)):
        away, along = x - p, u - p
        lengths = np.linalg.norm(away, axis=1) + np.linalg.norm(along, axis=1)
        assert (np.vecdot(away, along) <= error[:, 0] * lengths).all()


@pytest.mark.parametrize("family", [f for f in FAMILIES if f is not halfspace])
def test_no_point_of_the_set_has_a_smaller_linear_cost(case, d):
    region, x, error = case
    rng = np.random.default_rng(3)
    u = region.project(x)
    c = rng.normal(size=(6, d))
    v = region.minimize_linear(c)
    assert region.contains(v).all()
    cost = np.vecdot(c, v)[:, None]
    others = c @ u.T
    assert (cost <= others + np.linalg.norm(c, axis=1, keepdims=True) * error.T).all()
    for i in range(len(c)):
        one = region.minimize_linear(c[i])
        assert region.contains(one) is True
        assert np.linalg.norm(one - v[i]) <= error.max()


def small(family):
    return family(3, 1.0, np.random.default_rng(5))[0]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_are_equal_and_do_the_same(family, again):
    region = small(family)
    other = again(region)
    assert other == region
    assert type(other) is type(region)
    x = np.array([0.3, -2.0, 5.0])
    assert np.array_equal(other.project(x), region.project(x))


def test_sets_of_other_numbers_or_types_are_not_equal(family):
    region = small(family)
    assert region != small(box if family is not box else ball)
    assert region != family(3, 2.0, np.random.default_rng(5))[0]
    assert region != "a set"


def test_the_representation_evaluates_back(family):
    region = small(family)
    names = {"Ball": Ball, "Box": Box, "Halfspace": Halfspace, "array": np.array}
    # Eight digits are shown of an array, all of a number.
    back = eval(repr(region), names)
    x = np.array([0.3, -2.0, 5.0])
    assert back.project(x) == pytest.approx(region.project(x), abs=1e-7)


def test_a_set_cannot_be_changed(family):
    region = small(family)
    for name in region.__dataclass_fields__:
        with pytest.raises(AttributeError):
            setattr(region, name, 1.0)
        value = getattr(region, name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 1.0


def test_every_backend_gives_the_same_points(backend, family):
    region = small(family)
    x = np.array([[0.3, -2.0, 5.0], [0.0, 0.0, 0.0], [1e-3, 4.0, -0.2]])
    for points in (x, x[0], x[1]):
        given = backend.array(points)
        kept = copy.deepcopy(backend.numpy(given))
        p, inside = region.project(given), region.contains(given)
        assert backend.holds(p)
        assert tuple(p.shape) == points.shape
        assert p.dtype == backend.xp.float64
        # The orders of summation differ.
        assert backend.numpy(p) == pytest.approx(region.project(points), rel=1e-14, abs=1e-14)
        assert backend.numpy(inside).tolist() == np.asarray(region.contains(points)).tolist()
        assert np.array_equal(backend.numpy(given), kept)
        if not isinstance(region, Halfspace):
            v = region.minimize_linear(given)
            assert backend.holds(v)
            assert backend.numpy(v) == pytest.approx(region.minimize_linear(points), rel=1e-14)


@pytest.mark.slow
def test_projections_compile_and_map_to_the_same_points(x64, family):
    region, jnp = small(family), x64.numpy
    x = jnp.asarray([[0.3, -2.0, 5.0], [0.0, 0.0, 0.0], [1e-3, 4.0, -0.2]])
    p = region.project(x)
    assert jnp.allclose(x64.jit(region.project)(x), p, rtol=1e-15, atol=1e-15)
    assert jnp.allclose(x64.vmap(region.project)(x), p, rtol=1e-15, atol=1e-15)


def test_the_derivative_of_a_projection_is_finite_everywhere(x64, family):
    region, jnp = small(family), x64.numpy
    edge = region.project(np.array([0.3, -2.0, 5.0]))
    centre = getattr(region, "centre", None)
    derivative = x64.jit(x64.jacobian(region.project))
    for x in (np.zeros(3), np.array([0.3, -2.0, 5.0]), edge, edge if centre is None else centre):
        jacobian = derivative(jnp.asarray(x))
        assert jnp.isfinite(jacobian).all()
        # A projection is non-expansive, and so is its derivative where it has one.
        assert float(jnp.linalg.norm(jacobian, 2)) <= 1 + 1e-12


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy on inf - inf
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_point_that_is_not_finite_has_no_projection(family, bad):
    region = small(family)
    good = np.array([0.3, -2.0, 5.0])
    for i in range(3):
        x = good.copy()
        x[i] = bad
        with pytest.raises(ValueError, match=rf"must be finite, got {bad} at index {i}$"):
            region.project(x)
        batch = region.project(np.stack([good, x, good]))
        assert np.isnan(batch[1]).any()
        assert np.isfinite(batch[[0, 2]]).all()
        assert batch[0] == pytest.approx(region.project(good), rel=1e-14)
