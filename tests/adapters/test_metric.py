"""The certified point nearest in a metric: Theorem Metric, and safety whatever the metric."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from surefoot import Ball, SafetyFilter
from surefoot.adapters._keeper import Keeper
from surefoot.adapters._metric import check_metric, solve_in_metric, take_in_metric
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Info
from surefoot.knowledge import Choices, Curvature, CurvatureRows, LipschitzHull, Together
from surefoot.knowledge.nearest import Bounds
from surefoot.rules import RegionFilter
from surefoot.sets import Box

D = 3
SEEDS = st.integers(0, 2**32 - 1)


class At:
    """A state, which has an action."""

    def __init__(self, x):
        self.x = x


def nearest_in(K, x, target, metric):
    """What take_in_metric makes of the Euclidean projection onto a known set."""
    taken = []

    def take(w):
        taken.append(K.project(w))
        return At(taken[-1]), Info(taken[-1])

    return take_in_metric(take, take(target), x, target, metric)[0].x, taken


def draw(seed):
    """A box or a ball, with a point of it, often on its border, and a metric."""
    random = np.random.default_rng(seed)
    box = Box(-random.uniform(0.1, 1, D), random.uniform(0.1, 1, D))
    ball = Ball(random.uniform(0.2, 1), centre=random.normal(size=D))
    K = box if seed % 3 == 0 else ball
    x = K.project(random.normal(size=D) * random.choice([0.1, 3.0]))
    return random, K, x, check_metric(10 ** random.uniform(-3, 0, D), D)


@given(SEEDS)
@settings(max_examples=60)
def test_it_rests_exactly_where_minus_m_is_normal_to_the_set(seed):
    # Theorem Metric (a): -m is normal at x if and only if x is the projection of x - m.
    random, K, x, metric = draw(seed)
    outwards = random.normal(size=D) * 2
    normal = outwards - K.project(outwards)  # normal at that projection
    if normal @ normal > 1e-6:
        at = K.project(outwards)
        p = at + normal / metric
        end = nearest_in(K, at, p, metric)[0]
        np.testing.assert_allclose(end, at, atol=1e-7)
    m = random.normal(size=D)
    end = nearest_in(K, x, x - 0.1 * m / metric, metric)[0]
    if np.linalg.norm(K.project(x - m) - x) > 1e-6:
        assert (end != x).any()


@given(SEEDS, st.floats(1e-3, 10.0))
@settings(max_examples=60)
def test_the_step_descends_along_m_by_half_its_squared_length_in_the_metric(seed, eta):
    # Theorem Metric (d); the exact solution has it without the half, (b).
    random, K, x, metric = draw(seed)
    m = random.normal(size=D)
    end, taken = nearest_in(K, x, x - eta * m / metric, metric)
    assert any((end == point).all() for point in taken)  # an answer of the set, nothing else
    step = end - x
    assert m @ step <= -0.5 / eta * (step @ (metric * step)) + 1e-12
    if isinstance(K, Box):  # its nearest point is the same in every metric
        exact = K.project(x - eta * m / metric) - x
        np.testing.assert_allclose(step, exact, atol=1e-12)
        assert m @ exact <= -1.0 / eta * (exact @ (metric * exact)) + 1e-12


@given(SEEDS, st.floats(0.05, 0.99))
@settings(max_examples=60)
def test_a_smooth_cost_falls_where_the_rate_is_below_its_smoothness(seed, share):
    # (c) and (d): eta L < min D, with f = |A(x - c)|^2/2 and L the largest eigenvalue of A'A.
    random, K, x, metric = draw(seed)
    A, c = random.normal(size=(D, D)), random.normal(size=D)
    H = A.T @ A
    eta = share * metric.min() / np.linalg.eigvalsh(H)[-1]

    def f(y):
        return 0.5 * (y - c) @ H @ (y - c)

    m = H @ (x - c)
    end = nearest_in(K, x, x - eta * m / metric, metric)[0]
    if np.linalg.norm(K.project(x - m) - x) > 1e-5:
        assert f(end) < f(x)
    else:
        assert f(end) <= f(x) + 1e-12


@given(SEEDS)
@settings(max_examples=60)
def test_the_exact_solution_satisfies_the_conditions_of_optimality(seed):
    random = np.random.default_rng(seed)
    rows, n = 1 + seed % 3, 6
    metric = check_metric(10 ** random.uniform(-3, 0, n), n)
    s, beta = random.normal(size=(rows, n)), random.choice([0.0, 0.5, 3.0], rows)
    bounds = Bounds(-random.uniform(0, 1, rows), s, beta, 0 * beta, np.full(rows, 1e-12))
    q = random.normal(size=n)
    u, is_found = solve_in_metric(q, metric, bounds)
    assert is_found
    over = bounds.values(u)
    assert (over <= 1e-9).all()
    normals = s + beta[:, None] * u
    active = over > -1e-9
    pull = metric * (q - u)  # a combination of the active normals with weights of at least 0
    if not active.any():
        np.testing.assert_allclose(pull, 0.0, atol=1e-9)
        return
    weights = np.linalg.lstsq(normals[active].T, pull)[0]
    np.testing.assert_allclose(weights @ normals[active], pull, atol=1e-6)
    assert (weights >= -1e-6).all()


def test_the_disc_by_hand():
    # f = -(4a + b); Adam's step is along (1, 1) for ever, its metric is the gradient's size.
    # Best: (4, 1)/sqrt 17. Euclid's rest: (1, 1)/sqrt 2.
    known, metric = Curvature(beta=2.0, reach=1.0), np.array([4.0, 1.0])
    ends = {}
    for name, given_ in (("Euclid", None), ("own", metric)):
        keeper = Keeper(RegionFilter(knowledge=known), np.zeros(2))
        for _ in range(500):
            x = keeper.played
            keeper.offer(x + 0.01, float(x @ x) - 1.0, 2.0 * x, metric=given_)
        ends[name] = keeper.played
    np.testing.assert_allclose(ends["Euclid"], [0.70711, 0.70711], atol=1e-5)
    np.testing.assert_allclose(ends["own"], [0.97014, 0.24254], atol=1e-4)


STEEP = np.diag([1.0, 2.0, 4.0])  # g = x'Ax/2 - 1/2 + x[0]/8
REACH = 1.3
FILTERS = {
    "safety": SafetyFilter(G_g=6.0, domain=Ball(REACH), rho=0.1),
    "hull": RegionFilter(knowledge=LipschitzHull(G_g=6.0, reach=REACH)),
    "curvature": RegionFilter(knowledge=Curvature(beta=4.0, reach=REACH)),
    "curvature in a box": RegionFilter(
        knowledge=Curvature(beta=4.0, domain=Box([-0.3] * D, [0.45] * D))
    ),
    "rows": RegionFilter(knowledge=CurvatureRows(beta=(4.0, 0.0), reach=REACH)),
    "together": RegionFilter(
        knowledge=Together(
            rows=(LipschitzHull(G_g=6.0, reach=REACH), Curvature(beta=0.0, reach=REACH)),
            domain=Box([-1.0] * D, [1.0] * D),
        )
    ),
}
ROW = (Fraction(1), Fraction(-1), Fraction(1, 2))


def exact_limits(x, count):
    """The limits in rationals."""
    x = [Fraction(float(n)) for n in x]
    curved = sum(Fraction(float(a)) * n * n for a, n in zip(np.diag(STEEP), x, strict=True)) / 2
    flat = sum(a * n for a, n in zip(ROW, x, strict=True)) - Fraction(1, 8)
    return (curved - Fraction(1, 2) + x[0] / 8, flat)[:count]


def read(x, count):
    values = np.array([float(g) for g in exact_limits(x, count)])
    slopes = np.stack([STEEP @ x + np.array([0.125, 0, 0]), np.array([float(n) for n in ROW])])
    return (values[0], slopes[0]) if count == 1 else (values, slopes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FILTERS)
def test_random_metrics_are_as_safe_as_euclids(name, dtype):
    safe, random = FILTERS[name], np.random.default_rng(5)
    keeper = Keeper(safe, np.zeros(D), dtype)
    count, closest = safe.knowledge.row_count, Fraction(-1)
    for t in range(60):
        x = keeper.action().astype(np.float64)
        limits = exact_limits(x, count)
        assert max(limits) <= 0
        if safe.domain is not None:
            assert safe.domain.contains(x)
        closest = max(closest, *limits)
        metric = 10.0 ** random.uniform(-12, 3, D)
        wish = 3 * random.normal(size=D) if t > 40 else x + np.array([0.3, 0.2, 0.1])
        info = keeper.offer(wish, *read(x, count), metric=metric)
        assert info.contradictions == ()
        assert keeper.certificate.cut == (keeper.state.x != wish).any()
    assert closest > -0.11  # it went to the border


def test_a_filter_moves_along_its_border_to_where_it_must_rest():
    # g = |x|^2/2 - 1/2, m = -(2, 1, 0): the right end is m's direction, on the border kept.
    want, metric = np.array([2.0, 1.0, 0.0]), np.array([1.0, 0.05, 0.3])
    for safe, length in (
        (SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.02), np.sqrt(0.96)),
        (RegionFilter(knowledge=CurvatureRows(beta=(1.0,), reach=1.0)), 1.0),
        (RegionFilter(knowledge=Curvature(beta=1.0, domain=Ball(1.0))), 1.0),
    ):
        keeper, costs = Keeper(safe, np.zeros(D)), []
        for _ in range(400):
            x = keeper.played
            costs.append(-want @ x)
            keeper.offer(x + 0.01 * want / metric, 0.5 * float(x @ x) - 0.5, x, metric=metric)
        np.testing.assert_allclose(x, length * want / np.sqrt(5), atol=2e-3)
        assert all(b <= a + 1e-9 for a, b in pairwise(costs))


def test_a_step_that_is_certified_is_taken_as_it_is_in_every_metric():
    keeper = Keeper(FILTERS["curvature"], np.zeros(D))
    keeper.offer([0.1, 0.0, 0.05], *read(np.zeros(D), 1), metric=np.array([1e-6, 1.0, 1e6]))
    assert keeper.played.tolist() == [0.1, 0.0, 0.05]
    assert not keeper.certificate.cut


@pytest.mark.parametrize("name", FILTERS)
def test_the_widest_metrics_and_the_farthest_wishes_are_taken(name):
    safe, random = FILTERS[name], np.random.default_rng(2)
    keeper = Keeper(safe, np.zeros(D), np.float32)
    count = safe.knowledge.row_count
    for _ in range(80):
        x = keeper.action().astype(np.float64)
        assert max(exact_limits(x, count)) <= 0
        wish = 10 ** random.uniform(0, 140) * random.normal(size=D)
        keeper.offer(wish, *read(x, count), metric=10.0 ** random.uniform(-300, 300, D))


@pytest.mark.parametrize("metric", [[1.0, 0.0, 1.0], [1.0, -1.0, 1.0], [1.0, np.inf, 1.0]])
def test_what_is_no_metric_is_rejected_and_nothing_changes(metric):
    keeper = Keeper(FILTERS["curvature"], np.zeros(D))
    with pytest.raises(InvalidValueError, match="metric must be positive and finite"):
        keeper.offer(np.ones(D), *read(np.zeros(D), 1), metric=np.array(metric))
    with pytest.raises(InvalidValueError, match=r"metric.shape must be \(3,\)"):
        keeper.offer(np.ones(D), *read(np.zeros(D), 1), metric=np.ones(2))
    assert keeper.state.memory.rounds == 0


def test_choices_are_rejected_with_a_metric_that_scales_and_taken_without():
    steps = Choices([-1.0] * D, [1.0] * D, step=0.25)
    keeper = Keeper(RegionFilter(knowledge=LipschitzHull(G_g=6.0, domain=steps)), np.zeros(D))
    reading = read(np.zeros(D), 1)
    with pytest.raises(InvalidValueError, match="domain must be convex where steps are scaled"):
        keeper.offer(np.ones(D), *reading, metric=np.array([1.0, 2.0, 1.0]))
    keeper.offer(np.array([-0.2, 0, 0]), *reading, metric=np.full(D, 7.0))
    assert steps.contains(keeper.played)
