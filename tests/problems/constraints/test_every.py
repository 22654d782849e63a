"""What every constraint must do, old and new, each on its kinks and ties too."""

import pickle
from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import csr_array

from surefoot import play
from surefoot.games.scan import as_tree
from surefoot.problems import Problem
from surefoot.problems.constraints import (
    Affine,
    CVaR,
    EllipsoidNorm,
    FunctionConstraint,
    JaxConstraint,
    L1Norm,
    L2Norm,
    LinfNorm,
    NuclearNorm,
    QuadraticForm,
    SecondOrderCone,
    SpectralNorm,
    max_of,
    shift,
)
from surefoot.problems.costs import Linear
from surefoot.rules import PFS
from surefoot.sets import Ball, Polytope
from surefoot.testing import check_constraint

D = 6
DOMAIN = Ball(4.0)
_rng = np.random.default_rng(20)
_ROWS = _rng.normal(size=(5, D))
_ROWS[1] = -0.7 * _ROWS[0]
_CENTRE = np.array([0.51, -0.27, 0.0, 1.1, -0.73, 0.13])
_FACTOR = _rng.normal(size=(D, D))
_ROTATION = np.linalg.qr(_rng.normal(size=(D, D)))[0]
_LOSSES = _rng.normal(size=(30, D))
_LOSSES[7:9] = _LOSSES[6]  # scenarios that always tie
_SLOPE = np.array([0.3, -0.2, 0.1, 0.0, 0.5, -0.4])

# Name: the constraint and its kinks and ties.
CASES = {
    "affine": (Affine(_ROWS, [1.0, 0.5, 2.0, 1.5, 0.75]), [np.zeros(D)]),
    "rotated box": (
        Affine(np.concatenate([_ROTATION, -0.5 * _ROTATION]), np.linspace(0.5, 1.0, 2 * D)),
        [np.zeros(D)],
    ),
    "affine with a tie": (
        Affine([[1.0, 0, 0, 2, 0, 0], [0, 3.0, 0, 0, 0, 0]], [1.0, 0.75]),
        [np.array([0.25, 0, 0, 0, 0, 0]), np.array([0.0, 1, 5, 1.625, 0, 0])],
    ),
    "normalized": (Affine(3 * _ROWS, [1.0, 0.5, 2.0, 1.5, 0.75]).normalize(), [np.zeros(D)]),
    "linf": (
        LinfNorm(0.75, D, centre=_CENTRE),
        [_CENTRE, _CENTRE + 0.5, _CENTRE - np.array([0, 1, 1, 0, 0, -1])],
    ),
    "l2": (L2Norm(1.5, centre=_CENTRE), [_CENTRE]),
    "l1": (L1Norm(1.5, D, centre=_CENTRE), [_CENTRE, _CENTRE * [1, 0, 1, 1, 2, 1]]),
    "ellipsoid": (EllipsoidNorm(_FACTOR @ _FACTOR.T + 0.1 * np.eye(D), _CENTRE), [_CENTRE]),
    "quadratic": (
        QuadraticForm(_FACTOR.T @ _FACTOR + 0.1 * np.eye(D), _SLOPE, 2.0),
        [np.zeros(D)],
    ),
    "flat quadratic": (
        QuadraticForm(_FACTOR[:, :3] @ _FACTOR[:, :3].T, _SLOPE, 1.0),
        [np.zeros(D)],
    ),
    "closed cone": (
        SecondOrderCone(_FACTOR, -_FACTOR @ _CENTRE, 0.1 * _SLOPE, 1.0),
        [_CENTRE],
    ),
    "open cone": (
        SecondOrderCone(0.5 * np.eye(D)[1:], c=[1.0, 0, 0, 0.25, 0, 0], d=0.5),
        [np.array([2.0, 0, 0, 0, 0, 0])],
    ),
    "spectral wide": (SpectralNorm((2, 3), 1.25), [np.zeros(D), np.array([1.0, 0, 0, 0, 1, 0])]),
    "spectral tall": (SpectralNorm((3, 2), 1.25), [np.zeros(D), np.array([0, -2.0, 2, 0, 0, 0])]),
    "nuclear": (NuclearNorm((2, 3), 2.0), [np.zeros(D), np.array([0, 0, 0, 3.0, 0, -4])]),
    "cvar": (CVaR(_LOSSES, 0.85, 0.5), [np.zeros(D)]),  # 4.5 scenarios: one counts by half
    "cvar of one": (CVaR(_LOSSES, 0.99, 0.5), [np.zeros(D)]),  # 0.3 scenarios: the worst one
    "sparse": (Affine(csr_array(np.round(_ROWS)), np.linspace(0.5, 2, 5)), [np.zeros(D)]),
    "max of": (max_of(L2Norm(1.5), Affine(_ROWS, np.ones(5)), L1Norm(2.0, D)), [np.zeros(D)]),
    "shifted": (shift(CVaR(_LOSSES, 0.8, 0.75), 0.125), [np.zeros(D)]),
    "shifted ball": (shift(LinfNorm(0.77, D, _CENTRE), 0.3), [np.zeros(D)]),
    "own functions": (
        FunctionConstraint(
            lambda x: (x * x).sum(axis=-1, keepdims=x.ndim > 1) - 1.0, lambda x: 2 * x, bound=8.0
        ),
        [np.zeros(D)],
    ),
    "jax": (
        JaxConstraint(lambda x: jnp.max(jnp.abs(x)) + 0.5 * jnp.sum(x * x) - 1.0, bound=5.0),
        [np.zeros(D), np.array([1.0, -1, 0, 0, 1, 0])],
    ),
}
NUMPY_ONLY = {"sparse", "own functions"}
# One of a kind is enough where JAX compiles each operation.
_TWINS = {"rotated box", "affine with a tie", "normalized", "flat quadratic", "open cone"}
COMPILED = [n for n in CASES if n not in NUMPY_ONLY | _TWINS | {"cvar of one", "shifted ball"}]


@pytest.fixture(params=CASES)
def case(request):
    return request.param


def generic(seed, n=40, scale=1.5):
    """Points where nothing ties, in the domain."""
    X = np.random.default_rng(seed).normal(size=(n, D)) * scale
    return DOMAIN.project(X)


def with_region(names):
    return [n for n in names if CASES[n][0].region is not None]


EXACT = [n for n in CASES if CASES[n][0].exact_sigma(None) is not None]


def on_level(constraint, epsilon, seed, n=300):
    """Points with g just above -epsilon, on random rays from the deepest known point."""
    inside = np.asarray(constraint.interior)
    rays = np.random.default_rng(seed).normal(size=(n, D))
    low, high = np.zeros((n, 1)), np.full((n, 1), 1e-3)
    for _ in range(40):
        high = np.where(constraint.value(inside + high * rays) < -epsilon, 2 * high, high)
    reached = constraint.value(inside + high * rays) >= -epsilon
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = constraint.value(inside + middle * rays) < -epsilon
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (inside + high * rays)[reached[:, 0]]


def test_ten_thousand_pairs_and_the_kinks_satisfy_what_the_constraint_declares(case):
    constraint, kinks = CASES[case]
    points = np.concatenate([generic(1, 100), kinks, [0.5 * k for k in kinks]])
    check_constraint(constraint, points, domain=DOMAIN)


def test_a_batch_is_its_actions_one_by_one(case):
    constraint, _ = CASES[case]
    X = generic(2)
    values, subgradients = constraint.query(X)
    assert values.shape == (len(X), 1)
    for x, g, s in zip(X, values[:, 0], subgradients, strict=True):
        one = constraint.query(x)
        assert type(one[0]) is float
        assert one[0] == pytest.approx(g, rel=1e-12, abs=1e-13)
        np.testing.assert_allclose(one[1], s, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in COMPILED if name != "jax"])
@pytest.mark.parametrize(
    "backend", ["array-api-strict", pytest.param("torch", marks=pytest.mark.torch)], indirect=True
)
def test_other_backends_give_the_same(name, backend):
    constraint, _ = CASES[name]
    X = generic(3, 7)
    for x in (X[0], X):
        value, subgradient = constraint.query(backend.array(x))
        expected = constraint.query(x)
        assert backend.holds(value)
        assert backend.holds(subgradient)
        np.testing.assert_allclose(backend.numpy(value), expected[0], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(backend.numpy(subgradient), expected[1], rtol=1e-9, atol=1e-11)
        values, subgradients = constraint.query_all(backend.array(x))
        expected = constraint.query_all(x)
        assert subgradients.shape == expected[1].shape
        np.testing.assert_allclose(backend.numpy(values), expected[0], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_with_its_numbers_as_arguments_it_gives_the_same(name, x64):
    constraint, _ = CASES[name]
    numbers = as_tree(constraint)
    hash(x64.tree.structure(numbers))
    compiled = x64.jit(lambda constraint, x: (constraint.query(x), constraint.query_all(x)))
    X = generic(4, 5)
    for x in (X[0], X):
        seen, expected = compiled(numbers, x), (constraint.query(x), constraint.query_all(x))
        for ours, wanted in zip(seen, expected, strict=True):
            np.testing.assert_allclose(ours[0], wanted[0], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(seen[0][1], expected[0][1], rtol=1e-9, atol=1e-11)
        assert seen[1][1].shape == expected[1][1].shape


@pytest.mark.parametrize("name", ["cvar", "spectral tall", "shifted"])
@pytest.mark.slow
def test_a_compiled_game_is_the_batch_game(name):
    constraint, _ = CASES[name]
    costs = Linear(np.random.default_rng(5).normal(size=(60, 3, D)))
    problem = Problem.of(costs, constraint, DOMAIN, constraint.interior)
    player = PFS(eta=0.1, rho=0.05, domain=DOMAIN)
    batch, scan = (play(player, problem, engine=engine) for engine in ("batch", "scan"))
    np.testing.assert_allclose(scan.actions, batch.actions, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(scan.constraint, batch.constraint, rtol=1e-9, atol=1e-10)


def test_the_largest_of_all_kept_apart_is_the_constraint(case):
    constraint, _ = CASES[case]
    X = generic(6, 9)
    values, subgradients = constraint.query_all(X)
    m = values.shape[1]
    assert subgradients.shape == (len(X), m, D)
    np.testing.assert_allclose(values.max(axis=1, keepdims=True), constraint.value(X), atol=1e-12)
    top = subgradients[np.arange(len(X)), values.argmax(axis=1)]
    np.testing.assert_allclose(top, constraint.subgradient(X), atol=1e-12)
    one, rows = constraint.query_all(X[0])
    assert rows.shape == (m, D)
    np.testing.assert_allclose(one, values[0], rtol=1e-12, atol=1e-13)


def test_as_many_are_kept_apart_as_are_counted(case):
    constraint, _ = CASES[case]
    assert constraint.rows == constraint.query_all(generic(6, 1)[0])[0].size


@pytest.mark.parametrize("domain", [DOMAIN, Ball(2.5, _CENTRE)], ids=["around 0", "elsewhere"])
def test_no_constraint_kept_apart_is_beyond_the_largest_value(case, domain):
    constraint, _ = CASES[case]
    rng = np.random.default_rng(8)
    centre = np.zeros(D) if domain.centre is None else domain.centre
    rays = rng.normal(size=(400, D))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    points = centre + domain.radius * np.concatenate([rays, rays * rng.random((400, 1)), 0 * rays])
    if case in ("affine", "sparse"):  # the ends of the rows, where the bound is attained
        rows = constraint.A.toarray() if case == "sparse" else constraint.A
        ends = domain.radius * rows / np.linalg.norm(rows, axis=1, keepdims=True)
        points = np.concatenate([points, centre + ends, centre - ends])
    seen = np.abs(constraint.query_all(points)[0]).max()
    for start in (np.zeros(D), 0.5 * _CENTRE):
        bound = constraint.value_bound(domain, start)
        assert seen <= bound * (1 + 1e-12)
    if case in ("affine", "sparse"):
        assert seen == pytest.approx(bound, rel=1e-12)


def test_constants_come_with_their_origin(case):
    constraint, _ = CASES[case]
    start = constraint.interior if constraint.interior is not None else np.zeros(D)
    known = constraint.constants(DOMAIN, start)
    assert known.origins["G_g"] == "derived"
    assert known.origins["sigma"] == ("derived" if case in EXACT else "local")
    assert 0 < known.sigma <= known.G_g
    assert known.start_slack == -constraint.value(np.asarray(start)) > 0


def test_the_local_sigma_is_the_one_formula_for_those_without_structure():
    constraint, _ = CASES["cvar"]
    known = constraint.constants(DOMAIN, np.zeros(D))
    assert known.start_slack == 0.5
    assert known.epsilon == 0.25
    assert known.sigma == pytest.approx(0.25 / 4.0, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_no_subgradient_on_the_level_set_is_shorter_than_sigma(name, share):
    constraint, _ = CASES[name]
    epsilon = 2 * share * constraint.exact_sigma(None)[1]
    sigma, level = constraint.exact_sigma(epsilon)
    assert level == epsilon
    X = on_level(constraint, epsilon, seed=7)
    assert len(X) >= 100
    lengths = np.linalg.norm(constraint.subgradient(X), axis=1)
    assert lengths.min() >= sigma


def test_sigma_does_not_grow_with_the_depth_of_the_level():
    for name in EXACT:
        constraint, _ = CASES[name]
        middle = constraint.exact_sigma(None)[1]
        sigmas = [constraint.exact_sigma(share * middle)[0] for share in (0.1, 0.5, 1.0, 1.9)]
        assert all(a >= b for a, b in pairwise(sigmas)), name


@pytest.mark.slow
@pytest.mark.parametrize("name", with_region(CASES))
def test_projections_onto_the_region_are_feasible_exactly(name):
    constraint, _ = CASES[name]
    solved = isinstance(constraint.region, Polytope)
    X = generic(8, 20 if solved else 200, scale=2.0)
    together = constraint.region.project(X)
    assert (constraint.value(together) <= 0).all()
    assert (constraint.value(X) > 0).mean() > 0.25
    for x, p in zip(X, together, strict=True):
        one = constraint.region.project(x)
        assert constraint.value(one) <= 0
        assert constraint.value(p) <= 0
        np.testing.assert_allclose(one, p, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", with_region(EXACT))
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_lemma_1_holds_with_the_exact_sigma(name, share):
    constraint, _ = CASES[name]
    sigma, epsilon = constraint.exact_sigma(None)
    rho = share * epsilon
    tightened = shift(constraint, rho)
    solved = isinstance(tightened.region, Polytope)
    X = generic(9, 40 if solved else 200)
    distance = np.linalg.norm(X - tightened.region.project(X), axis=1)
    bound = np.maximum(tightened.value(X)[:, 0], 0.0) / sigma
    # A solver's projection is a hair farther away than the nearest point.
    assert (distance <= bound * (1 + 1e-9) + (1e-7 if solved else 1e-12)).all()
    # The bound is not idle: somewhere the distance is a part of it.
    assert (distance[bound > 0] / bound[bound > 0]).max() > 0.1


@pytest.mark.parametrize("name", [n for n in CASES if n not in {"own functions", "jax"}])
def test_it_is_equal_to_its_copy_and_survives_pickling(name):
    constraint, _ = CASES[name]
    copy = pickle.loads(pickle.dumps(constraint))
    assert copy == constraint
    x = generic(10, 1)[0]
    assert copy.value(x) == constraint.value(x)
    others = [CASES[n][0] for n in CASES if n != name]
    assert all(constraint != other for other in others)


@pytest.mark.parametrize("name", [n for n in CASES if n not in {"own functions", "jax"}])
def test_a_lost_run_stays_lost_and_leaves_the_others_alone(name):
    constraint, _ = CASES[name]
    X = generic(11, 4)
    expected = constraint.query(X)
    X[2] = np.nan
    value, s = constraint.query(X)
    assert np.isnan(value[2, 0])
    others = [0, 1, 3]
    np.testing.assert_allclose(value[others], expected[0][others], rtol=1e-12)
    np.testing.assert_allclose(s[others], expected[1][others], rtol=1e-12, atol=1e-14)
    assert np.isnan(constraint.value(X[2]))


@pytest.mark.parametrize("name", [n for n in CASES if n not in {"own functions", "jax"}])
def test_an_action_of_another_length_is_named(name):
    constraint, _ = CASES[name]
    for x in (np.zeros(D + 1), np.zeros((3, 1))):
        with pytest.raises(ValueError, match=r"x must have 6 entries"):
            constraint.query(x)


@pytest.mark.parametrize("name", [n for n in CASES if n not in {"own functions", "jax"}])
def test_an_action_may_be_a_list(name):
    constraint, _ = CASES[name]
    x = generic(5, 1)[0]
    assert constraint.query(x.tolist())[0] == constraint.query(x)[0]
    (values, slopes), told = constraint.query_all(x.tolist()), constraint.query_all(x)
    np.testing.assert_array_equal(values, told[0])
    assert slopes.shape == told[1].shape


def boxes(seed, n=300):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        a, b = rng.uniform(0.1, 3.0, size=D), rng.uniform(0.1, 1.0, size=2 * D)
        yield LinfNorm(float(b[0]), D, rng.normal(size=D))
        yield Affine(np.concatenate([np.diag(a), -np.diag(a)]), b)


def test_the_limits_of_a_box_do_not_round_outwards():
    far = np.array([30.0, -40, 50, -60, 70, -80])
    for constraint in boxes(12):
        for x in (far, -far):
            p = constraint.region.project(x)
            assert constraint.value(p) <= 0
            assert constraint.value(p) > -1e-14


def test_normalized_rows_have_norm_one_and_the_same_feasible_set():
    g = Affine(10.0 ** np.arange(-2, 3)[:, None] * _ROWS, 10.0 ** np.arange(-2, 3) * 0.5)
    unit = g.normalize()
    np.testing.assert_allclose(np.linalg.norm(unit.A, axis=1), 1.0)
    assert unit.subgradient_bound(DOMAIN) == pytest.approx(1.0)
    X = generic(13, 300, scale=0.5)
    np.testing.assert_array_equal(g.value(X) <= 0, unit.value(X) <= 0)
    assert 0 < (g.value(X) <= 0).sum() < 300
    # g is then the distance to the farthest violated half-space.
    x = X[int(g.value(X).argmax())]
    faces = [Affine(a[None], [b]).region for a, b in zip(g.A, g.b, strict=True)]
    steps = [np.linalg.norm(x - face.project(x)) for face in faces]
    assert unit.value(x) == pytest.approx(max(steps))


@pytest.mark.parametrize(
    ("constraint", "point"),
    [
        (Affine([[1.0, 2.0]], [0.5]), [0.0, 0.0]),
        (Affine([[3.0, 4.0]], [-5.0]), [-1.2, -1.6]),  # one unit behind the face at -1
        (Affine([[2.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [4.0, -1, 3, 1]), [1.5, 1.0]),
        (Affine([[2.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [4.0, -2, 3, 1]), None),
        (Affine([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.0]], [-1.0, 2.0, 3.0]), None),  # not known
        (LinfNorm(1.0, 2, [0.3, 0.4]), [0.3, 0.4]),
        (LinfNorm(1.0, 2), [0.0, 0.0]),
        (L2Norm(1.0, [0.3, 0.4]), [0.3, 0.4]),
        (L2Norm(1.0), None),
        (max_of(L2Norm(1.0), L1Norm(3.0, 2, [0.7, 0.0]), LinfNorm(2.0, 2)), [0.0, 0.0]),
        (max_of(L2Norm(1.0, [3.0, 0.0]), L2Norm(1.0, [-3.0, 0.0])), None),
    ],
)
def test_the_strictly_feasible_point_that_is_known(constraint, point):
    if point is None:
        assert constraint.interior is None
    else:
        np.testing.assert_allclose(constraint.interior, point)
        assert constraint.value(np.asarray(constraint.interior)) < 0
