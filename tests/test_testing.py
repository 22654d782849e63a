import math
from dataclasses import dataclass

import numpy as np
import pytest

from surefoot import sets
from surefoot.problems import costs
from surefoot.problems.constraints import Affine, Constraint, FunctionConstraint, L1Norm, L2Norm
from surefoot.problems.costs import (
    Absolute,
    Hinge,
    Linear,
    Logistic,
    LogPortfolio,
    Quadratic,
    Quantile,
)
from surefoot.sets import Ball
from surefoot.testing import check_constraint, check_costs

rng = np.random.default_rng(0)
POINTS = rng.normal(size=(60, 3))


def square(x):
    return (x * x).sum(axis=-1, keepdims=x.ndim > 1) - 1.0


@dataclass(frozen=True)
class Declaring(Constraint):
    """The unit ball, squared, with whatever it is told to declare."""

    bound: float | None = None
    sigma: tuple[float, float] | None = None
    point: object = None
    ball: object = None

    def query(self, x):
        g = square(x)
        return (float(g) if x.ndim == 1 else g), 2 * x

    def subgradient_bound(self, domain):
        return self.bound

    def exact_sigma(self, epsilon):
        return self.sigma

    @property
    def interior(self):
        return self.point

    @property
    def region(self):
        return self.ball


def test_what_is_right_passes():
    check_constraint(FunctionConstraint(square, lambda x: 2 * x), POINTS)
    farthest = np.linalg.norm(POINTS, axis=1).max()
    check_constraint(
        Declaring(2.001 * farthest, (math.sqrt(2), 0.5), np.zeros(3), Ball(1.0)), POINTS
    )


@pytest.mark.parametrize(
    "subgradient_of",
    [
        lambda x: -2 * x,  # the sign
        lambda x: 2.2 * x,  # a factor
        lambda x: 2 * (x + 0.1),  # another point
        lambda x: np.roll(2 * x, 1, axis=-1),  # the order
    ],
)
def test_a_wrong_subgradient_is_found_with_its_pair_and_amount(subgradient_of):
    wrong = FunctionConstraint(square, subgradient_of)
    with pytest.raises(AssertionError, match="the subgradient inequality must hold") as caught:
        check_constraint(wrong, POINTS)
    sentence = str(caught.value)
    x, y = (np.array(eval(part)) for part in sentence.split(" at x = ")[1].split(", y = "))
    amount = float(sentence.split(" by ")[1].split(" at ")[0])
    gap = square(x) + subgradient_of(x) @ (y - x) - square(y)
    assert gap == pytest.approx(amount, rel=1e-4)
    assert amount > 0


def test_a_function_that_is_not_convex_is_found():
    wrong = FunctionConstraint(lambda x: float(np.cos(x).sum()), lambda x: -np.sin(x))
    with pytest.raises(AssertionError, match="the subgradient inequality must hold"):
        check_constraint(wrong, POINTS, batch=False)


def test_a_breach_in_the_last_digits_is_rounding():
    almost = FunctionConstraint(
        lambda x: abs(x).sum(axis=-1, keepdims=x.ndim > 1), lambda x: np.sign(x) * (1 + 1e-12)
    )
    pair = np.array([[0.3, -0.7], [0.6, -1.4]])
    check_constraint(almost, pair)
    with pytest.raises(AssertionError, match="must hold"):
        check_constraint(almost, pair, tolerance=1e-15)


def test_a_slope_that_curvature_hides_at_a_distance_is_found_close_by():
    for factor in (1.99, 2.01):
        wrong = FunctionConstraint(square, lambda x, factor=factor: factor * x)
        with pytest.raises(AssertionError, match="the subgradient inequality must hold"):
            check_constraint(wrong, POINTS)


@pytest.mark.parametrize(
    ("value_of", "subgradient_of", "sentence"),
    [
        (lambda x: math.nan, lambda x: x, r"g\(x\) must be a finite number, got nan at x = \["),
        (lambda x: 1.0, lambda x: x[:2], r"s must be a finite vector of shape \(3,\), got "),
        (lambda x: 1.0, lambda x: x * math.inf, "s must be a finite vector"),
    ],
)
def test_what_is_no_number_or_no_vector_is_named(value_of, subgradient_of, sentence):
    with np.errstate(invalid="ignore"), pytest.raises(AssertionError, match=sentence):
        check_constraint(FunctionConstraint(value_of, subgradient_of), POINTS, batch=False)


def test_a_batch_that_differs_is_found():
    def sum_over_everything(x):
        return float((x * x).sum()) - 1.0  # one number for the whole batch

    wrong = FunctionConstraint(sum_over_everything, lambda x: 2 * x)
    check_constraint(wrong, POINTS, batch=False)
    with pytest.raises(AssertionError, match="g of a batch must be that of its actions one by one"):
        check_constraint(wrong, POINTS)

    class Flat(Declaring):
        def query(self, x):
            g, s = super().query(x)
            return g if x.ndim == 1 else g[:, 0], s

    with pytest.raises(
        AssertionError, match=r"g of a batch must have shape \(60, 1\), got \(60,\)"
    ):
        check_constraint(Flat(), POINTS)


def test_a_batch_may_take_another_subgradient_at_a_tie():
    @dataclass(frozen=True)
    class Tied(Declaring):
        def query(self, x):
            if x.ndim == 1:
                return float(abs(x).max()), np.array([0.0, np.sign(x[1])])
            return abs(x).max(axis=1, keepdims=True), np.stack([np.sign(x[:, 0]), 0 * x[:, 0]], 1)

    check_constraint(Tied(), [[1.0, 1.0], [-2.0, 2.0], [3.0, -3.0]])


def test_a_bound_that_is_too_small_is_found_inside_the_domain_only():
    with pytest.raises(AssertionError, match="no subgradient in the domain may be longer than G_g"):
        check_constraint(Declaring(bound=2.0), POINTS)
    check_constraint(Declaring(bound=2.0), POINTS, domain=Ball(1.0))
    with pytest.raises(AssertionError, match=r"longer than G_g = 1\.9, got one of 2 at x = "):
        check_constraint(Declaring(bound=1.9), [[1.0, 0.0, 0.0]], domain=Ball(1.0))


def test_a_sigma_that_is_too_large_is_found():
    with pytest.raises(AssertionError, match=r"no subgradient where g >= -0\.5 may be shorter"):
        check_constraint(Declaring(sigma=(1.5, 0.5)), [[0.72, 0.0, 0.0]])
    check_constraint(Declaring(sigma=(1.4, 0.5)), [[0.72, 0.0, 0.0], [0.1, 0.0, 0.0]])


def test_a_wrong_interior_point_and_a_wrong_region_are_found():
    with pytest.raises(AssertionError, match=r"interior must be strictly feasible, got g = 0 at"):
        check_constraint(Declaring(point=np.array([1.0, 0.0, 0.0])), POINTS)
    for ball, side in ((Ball(2.0), "inside"), (Ball(0.5), "outside")):
        with pytest.raises(AssertionError, match=f"region must hold .* at a point {side}"):
            check_constraint(Declaring(ball=ball), [[0.0, 1.5, 0.0], [0.0, 0.0, 0.75]])


def test_constraints_of_the_library_pass_on_their_kinks():
    kinks = [[0.0, 0.0, 0.0], [1.0, 1.0, -1.0], [0.0, 2.0, -2.0]]
    check_constraint(L1Norm(1.0, 3), kinks)
    check_constraint(L2Norm(1.0), kinks)
    check_constraint(Affine(np.eye(3), np.ones(3)), kinks)


@pytest.mark.parametrize("points", [[1.0, 2.0], np.empty((0, 2)), [[math.nan, 1.0]]])
def test_points_that_are_none_are_refused(points):
    with pytest.raises(ValueError, match=r"points must be finite, of shape \(n, d\)"):
        check_constraint(L2Norm(1.0), points)


def test_a_slope_that_is_wrong_at_one_point_is_found_there():
    def wrong_at_the_last(x):
        return np.where(np.all(x == POINTS[-1], axis=-1, keepdims=True), -2 * x, 2 * x)

    with pytest.raises(AssertionError, match="must hold") as caught:
        check_constraint(FunctionConstraint(square, wrong_at_the_last), POINTS)
    assert f"at x = {POINTS[-1].tolist()}, y = " in str(caught.value)


STREAMS = {
    "linear": Linear(rng.normal(size=(30, 3))),
    "quadratic": Quadratic(rng.normal(size=(30, 4, 3)), 2.5),
    "absolute": Absolute(rng.normal(size=(30, 3)), rng.normal(size=30)),
    "quantile": Quantile(rng.normal(size=(30, 3)), rng.normal(size=30), 0.3),
    "logistic": Logistic(rng.normal(size=(30, 3)), np.sign(rng.normal(size=30))),
    "hinge": Hinge(rng.normal(size=(30, 3)), np.sign(rng.normal(size=30))),
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_streams_of_the_library_pass(name):
    check_costs(STREAMS[name], POINTS[:20])


def test_costs_with_a_domain_of_their_own_pass_inside_it():
    portfolio = LogPortfolio(np.exp(0.1 * rng.normal(size=(30, 3))))
    check_costs(portfolio, sets.Simplex(3).project(POINTS[:20]))


def own_costs(**changes):
    given = {
        "value_of": lambda t, x: (t + 1.0) * (x * x).sum(axis=-1, keepdims=x.ndim > 1),
        "gradient_of": lambda t, x: 2 * (t + 1.0) * x,
        "horizon": 7,
        "dimension": 3,
    }
    return costs.FromFunctions(**given | changes)


def test_the_round_of_a_wrong_gradient_is_named():
    check_costs(own_costs(), POINTS)

    def late(t, x):
        return 2 * (t + 1.0) * x if t < 5 else -x

    with pytest.raises(AssertionError, match=r"the gradient inequality must hold, .* in round 6$"):
        check_costs(own_costs(gradient_of=late), POINTS)
    check_costs(own_costs(gradient_of=late), POINTS, rounds=[0, 4])


def test_the_run_of_a_wrong_gradient_is_named():
    class Wrong(Linear):
        def gradient(self, t, x):
            return super().gradient(t, x) * np.where(self.slopes[t][..., :1] > 100, 2.0, 1.0)

        def run(self, index):
            return Wrong(Linear(self.slopes).run(index).slopes)

    slopes = rng.normal(size=(5, 3, 2))
    slopes[2, 2, 0] = 200.0
    with pytest.raises(AssertionError, match=r"in round 3 of run 2$"):
        check_costs(Wrong(slopes), POINTS[:, :2])


def test_declared_bounds_and_moduli_of_costs_are_checked():
    check_costs(own_costs(bound=14 * 5.0, strong_convexity=2.0), POINTS)
    with pytest.raises(AssertionError, match="no gradient in the domain may be longer than G_f"):
        check_costs(own_costs(bound=14 * 1.0), POINTS)
    with pytest.raises(
        AssertionError, match=r"grad'\(y - x\) \+ 1.05 \|y - x\|\^2 = .* in round 1$"
    ):
        check_costs(own_costs(strong_convexity=2.1), POINTS)


def test_costs_that_are_not_convex_or_not_finite_are_found():
    wrong = own_costs(
        value_of=lambda t, x: np.cos(x).sum(axis=-1, keepdims=x.ndim > 1),
        gradient_of=lambda t, x: -np.sin(x),
    )
    with pytest.raises(AssertionError, match="the gradient inequality must hold"):
        check_costs(wrong, POINTS)
    with pytest.raises(AssertionError, match=r"f\(x\) must be a finite number, got inf"):
        check_costs(own_costs(value_of=lambda t, x: math.inf), POINTS)
    with pytest.raises(AssertionError, match="grad must be a finite vector"):
        check_costs(own_costs(gradient_of=lambda t, x: x[:1]), POINTS)


def test_a_batch_of_costs_that_differs_is_found():
    wrong = own_costs(value_of=lambda t, x: (t + 1.0) * float((x * x).sum()))
    check_costs(wrong, POINTS, batch=False)
    with pytest.raises(AssertionError, match="f of a batch must be that of its actions"):
        check_costs(wrong, POINTS)
