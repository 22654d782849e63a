"""Limits of linear models on an audit set: their constants, by hand and by attack."""

from fractions import Fraction

import numpy as np
import pytest

from surefoot import Feedback
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Curvature, CurvatureRows
from surefoot.problems.audit import KAPPA, Churn, Covariance, Parity, _largest_eigenvalue
from surefoot.rules import RegionFilter

WIDE = np.longdouble
EXTRA = np.finfo(WIDE).eps < 1e-18
needs_wide = pytest.mark.skipif(not EXTRA, reason="longdouble is float64 here")


def sigmoid(t):
    return WIDE(0.5) * (1 + np.tanh(WIDE(0.5) * t))


def audit_set(seed, n=60, d=3):
    random = np.random.default_rng(seed)
    group = random.random(n) < 0.4
    group[:2] = True, False
    features = random.normal(size=(n, d)) * [1.0, 3.0, 0.2][:d] + np.outer(group, [0.8, 0.0, 0.1])
    return features, group


def with_ones(features):
    return np.column_stack([features, np.ones(len(features))])


def parity_of(features, group, w):
    """Return the difference of mean probabilities and its gradient, in extended precision."""
    rows, w = with_ones(features).astype(WIDE), np.asarray(w).astype(WIDE)
    p = sigmoid(rows @ w)
    value, slope = WIDE(0), np.zeros(len(w), WIDE)
    for inside, sign in ((group, 1), (~group, -1)):
        value += sign * p[inside].mean()
        slope += sign * ((p * (1 - p))[inside] @ rows[inside]) / WIDE(inside.sum())
    return value, slope


def exact(values):
    return [[Fraction(float(v)) for v in row] for row in values]


def is_semidefinite(matrix):
    """Return whether a symmetric matrix of fractions has no negative eigenvalue: by pivots."""
    A = [row[:] for row in matrix]
    for i in range(len(A)):
        if A[i][i] < 0 or (A[i][i] == 0 and any(A[i][j] for j in range(i, len(A)))):
            return False
        for j in range(i + 1, len(A)):
            if A[i][i]:
                share = A[j][i] / A[i][i]
                A[j] = [a - share * b for a, b in zip(A[j], A[i], strict=True)]
    return True


def test_the_largest_curvature_of_the_sigmoid_by_hand():
    # kappa^2 = 1/108, and at p = 1/2 - sqrt(3)/6 it is attained.
    assert Fraction(KAPPA * (1 + 2.0**-48)) ** 2 > Fraction(1, 108)
    assert abs(Fraction(KAPPA) ** 2 - Fraction(1, 108)) < Fraction(1, 10**17)
    p = 0.5 - 3**0.5 / 6
    assert p * (1 - p) * (1 - 2 * p) == pytest.approx(KAPPA, rel=1e-15)
    t = np.linspace(-40, 40, 200_001).astype(WIDE)
    p = sigmoid(t)
    assert np.abs(p * (1 - p) * (1 - 2 * p)).max() <= KAPPA * (1 + 2.0**-48)


@pytest.mark.parametrize("seed", range(6))
def test_an_eigenvalue_is_rounded_up_and_hardly(seed):
    features, group = audit_set(seed)
    rows = with_ones(features * 10.0 ** (2 * seed - 4))
    bound = _largest_eigenvalue(rows[group], rows[~group])
    S = [[Fraction(0)] * 4 for _ in range(4)]
    for part in (exact(rows[group]), exact(rows[~group])):
        for z in part:
            for i in range(4):
                for j in range(4):
                    S[i][j] += z[i] * z[j] / len(part)

    def above(top):
        top = Fraction(top)
        return is_semidefinite([[top * (i == j) - S[i][j] for j in range(4)] for i in range(4)])

    assert above(bound)
    assert not above(bound * (1 - 1e-9))


def test_an_eigenvalue_of_one_direction_and_of_tiny_rows():
    ones = np.ones((5, 3))  # S is singular, and its largest eigenvalue is 3
    assert 3.0 <= _largest_eigenvalue(ones) <= 3.0 * (1 + 1e-9)
    assert 3e-200 <= _largest_eigenvalue(1e-100 * ones) <= 3.1e-200


@needs_wide
@pytest.mark.parametrize("seed", range(4))
def test_random_weights_never_curve_more_than_beta(seed):
    features, group = audit_set(seed)
    limit, random = Parity(features, group, at_most=0.05), np.random.default_rng(seed)
    rows, worst = with_ones(features).astype(WIDE), 0.0
    for _ in range(300):
        w, v = random.normal(size=(2, 4)).astype(WIDE) * random.choice([0.03, 0.3, 1.0, 3.0])
        p = sigmoid(rows @ w)
        bend = p * (1 - p) * (1 - 2 * p) * (rows @ v) ** 2
        worst = max(worst, float(abs(bend[group].mean() - bend[~group].mean()) / (v @ v)))
        # The quadratic bound itself, both ways, over a step of any length.
        (before, slope), (after, _) = (parity_of(features, group, x) for x in (w, w + v))
        assert abs(after - before - slope @ v) <= limit.beta * (v @ v) / 2 * (1 + 1e-15)
    assert 0.02 * limit.beta < worst <= limit.beta


def test_the_curvature_of_parity_is_attained():
    # Both groups where the sigmoid curves most, one this way and one that: all of kappa S.
    turn = float(np.log((0.5 + 3**0.5 / 6) / (0.5 - 3**0.5 / 6)))  # sigma'' is largest there
    limit = Parity([[-turn], [turn]], [True, False], at_most=0.5)
    p = 0.5 - 3**0.5 / 6
    bend = p * (1 - p) * (1 - 2 * p)
    S = 2 * np.array([[turn**2, 0.0], [0.0, 1.0]])  # the mixed terms of A and B cancel
    assert bend * turn**2 * 2 == pytest.approx(bend * S[0, 0])
    assert limit.beta == pytest.approx(KAPPA * 2 * turn**2, rel=1e-9)
    step = 1e-3
    values = [limit.read([1.0 + k * step, 0.0])[0][0] for k in (-1, 0, 1)]
    second = (values[0] - 2 * values[1] + values[2]) / step**2
    assert abs(second) == pytest.approx(limit.beta, rel=1e-3)


def test_churn_is_by_hand_and_exactly():
    features = np.array([[3.0, -1.0], [1.0, 2.0], [0.5, 0.25]])
    deployed, w = [0.5, -0.25, 0.125], [0.75, 0.5, -0.5]
    limit = Churn(features, deployed, at_most=0.25)
    rows = exact(with_ones(features))
    change = [sum(a * (Fraction(x) - Fraction(y)) for a, x, y in zip(z, w, deployed, strict=True))
              for z in rows]  # fmt: skip
    value, slope = limit.read(w)
    assert value == pytest.approx(float(sum(c * c for c in change) / 3 - Fraction(1, 4)), rel=1e-14)
    for j in range(3):
        mean = sum(2 * c * z[j] for c, z in zip(change, rows, strict=True)) / 3
        assert slope[j] == pytest.approx(float(mean), rel=1e-15)
    assert limit.read(deployed)[0] == -0.25
    S = features_gram(with_ones(features))
    assert limit.beta == pytest.approx(2 * np.linalg.eigvalsh(S)[-1], rel=1e-9)
    assert limit.beta >= 2 * np.linalg.eigvalsh(S)[-1]


def features_gram(rows):
    return rows.T @ rows / len(rows)


def test_a_covariance_says_nothing_of_parity():
    # The docstring's counterexample: every weight of the one feature has a covariance of 0.
    rows, group = [[-1.0], [1.0], [0.0], [0.0]], [True, True, False, False]
    covariance, parity = Covariance(rows, group, 0.02), Parity(rows, group, 0.02)
    sigma = lambda t: 1 / (1 + np.exp(-t))  # noqa: E731
    for w, b in ((8.0, -4.0), (-3.0, 1.0), (20.0, -10.0)):
        assert covariance.read([w, b])[0].max() == -0.02
        expected = abs((sigma(b + w) + sigma(b - w)) / 2 - sigma(b)) - 0.02
        assert parity.read([w, b])[0].max() == pytest.approx(expected, rel=1e-12)
    assert parity.read([8.0, -4.0])[0].max() > 0.45


@needs_wide
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_a_reading_errs_by_less_than_is_said(scale):
    features, group = audit_set(7, n=200)
    random, reach = np.random.default_rng(1), 2 * scale
    deployed = 0.1 * scale * np.ones(4)
    parity, churn = Parity(features, group, 0.05), Churn(features, deployed, 0.3)
    covariance = Covariance(features, group, 0.02)
    rows = with_ones(features).astype(WIDE)
    member = group.astype(WIDE) - group.astype(WIDE).mean()
    worst = dict.fromkeys(("parity", "churn", "covariance"), 0.0)
    for _ in range(50):
        w = random.normal(size=4)
        w *= reach / np.linalg.norm(w) * random.random()
        change = rows @ (w.astype(WIDE) - deployed.astype(WIDE))
        line = member @ rows / len(rows)
        line[-1] = 0
        truths = {
            "parity": (parity, *parity_of(features, group, w), WIDE(0.05)),
            "churn": (churn, (change @ change) / 200, 2 * (change @ rows) / 200, WIDE(0.3)),
            "covariance": (covariance, line @ w.astype(WIDE), line, WIDE(0.02)),
        }
        for name, (limit, value, slope, most) in truths.items():
            g, s = (np.atleast_1d(part) for part in limit.read(w))
            error = float(abs(g[0] - (value - most)))
            error += reach * float(np.linalg.norm((np.atleast_2d(s)[0] - slope).astype(float)))
            worst[name] = max(worst[name], error / limit.evaluation_error(reach))
    assert max(worst.values()) <= 1
    assert min(worst.values()) > 1e-5  # it is no wild guess


@needs_wide
@pytest.mark.parametrize("kind", ["parity", "churn", "covariance"])
def test_hostile_proposals_stay_inside_of_every_limit(kind):
    features, group = audit_set(3)
    deployed = np.array([0.3, -0.2, 0.5, 0.1])
    limit = {
        "parity": Parity(features, group, 0.05),
        "churn": Churn(features, deployed, 0.04),
        "covariance": Covariance(features, group, 0.02),
    }[kind]
    rows = with_ones(features)
    safe, random = RegionFilter(knowledge=limit.knowledge(reach=4.0)), np.random.default_rng(0)
    state = safe.init(deployed if kind == "churn" else np.zeros(4))
    closest = -1.0
    for _ in range(150):
        w = state.x
        if kind == "parity":
            g = abs(parity_of(features, group, w)[0]) - WIDE(0.05)
        elif kind == "churn":
            point = [Fraction(a) - Fraction(b) for a, b in zip(w, deployed, strict=True)]
            change = [sum(a * b for a, b in zip(z, point, strict=True)) for z in exact(rows)]
            g = sum(c * c for c in change) / len(rows) - Fraction(0.04)
        else:
            share = Fraction(int(group.sum()), len(group))
            scores = [sum(a * Fraction(b) for a, b in zip(z, w, strict=True)) for z in exact(rows)]
            mean = sum((int(b) - share) * t for b, t in zip(group, scores, strict=True))
            g = abs(mean / len(rows)) - Fraction(0.02)
        assert g <= 0
        closest = max(closest, float(g))
        reading = limit.read(w)
        side = np.atleast_2d(reading[1])[0] * random.choice([-1.0, 1.0, 1.0])
        wish = w + random.normal(size=4) * random.choice([0.01, 1.0, 100.0]) + 10 * side
        state = safe.update(state, Feedback(None, *reading, proposal=wish))
    assert closest > -2e-3


def test_knowledge_is_of_the_right_form():
    features, group = audit_set(0)
    parity, covariance = Parity(features, group, 0.1), Covariance(features, group, 0.1)
    churn = Churn(features, np.zeros(4), 0.1)
    both, line, one = (limit.knowledge(2.0) for limit in (parity, covariance, churn))
    assert (type(both), both.convex, both.row_count) == (CurvatureRows, False, 2)
    assert (type(line), line.convex, line.constants["beta"]) == (CurvatureRows, True, 0.0)
    assert (type(one), one.convex, one.row_count) == (Curvature, True, 1)
    assert both.constants["beta"] == parity.beta
    for limit, known in ((parity, both), (covariance, line), (churn, one)):
        assert limit.origin == "proved"
        assert known.reach == 2.0
        assert 0 < known.errors.evaluation == limit.evaluation_error(2.0) < 1e-10


def test_what_is_given_is_copied_and_stays():
    features, group = audit_set(0)
    limit = Parity(features, group, 0.1)
    before = limit.read(np.ones(4))[0].tolist()
    features[:] = 0.0
    group[:] = True
    assert limit.read(np.ones(4))[0].tolist() == before
    with pytest.raises(AttributeError):
        limit.at_most = 1.0


GOOD = [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Parity([0.0, 1.0], [1, 0], 0.1), "features.shape must"),
        (lambda: Parity([[0.0], [np.nan]], [1, 0], 0.1), "features must be finite, got nan"),
        (lambda: Parity(GOOD, [1, 0], 0.1), r"group.shape must be \(3,\), one entry per row"),
        (lambda: Parity(GOOD, [1, 1, 1], 0.1), "rows of both kinds, got true in each"),
        (lambda: Covariance(GOOD, [0, 0, 0], 0.1), "rows of both kinds, got false in each"),
        (lambda: Parity(GOOD, [1, 0, 2], 0.1), "group must be true or false, or 1 or 0"),
        (lambda: Parity(GOOD, ["a", "b", "a"], 0.1), "group must be true or false, or 1 or 0"),
        (lambda: Parity(GOOD, [1, 0, 1], 0.0), "at_most must be a finite number > 0"),
        (lambda: Churn(GOOD, [1.0], 0.1), r"deployed.shape must be \(2,\)"),
        (lambda: Churn(GOOD, [3.0, 4.0], 0.1).knowledge(4.0), "reach must be at least 5, the dep"),
        (lambda: Churn(GOOD, [0.0, 0.0], np.inf), "at_most must be"),
        (lambda: Parity(GOOD, [1, 0, 1], 0.1).knowledge(0.0), "reach must be a finite number > 0"),
        (lambda: Parity(GOOD, [1, 0, 1], 0.1).read([0.0]), r"w.shape must be \(2,\)"),
        (lambda: Parity(GOOD, [1, 0, 1], 0.1).read(np.zeros(2, np.float32)), "float32"),
        (lambda: Churn(GOOD, [0.0, 0.0], 0.1).read([0.0, np.inf]), "w must be finite"),
    ],
)
def test_what_is_wrong_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(InvalidValueError, match=sentence):
        make()
