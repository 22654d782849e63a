"""Numbers of every kind become float64 without loss, or are refused in one sentence."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

from surefoot import (
    PFS,
    Ball,
    Constants,
    Feedback,
    Problem,
    SurefootError,
    play,
)
from surefoot.core import checks
from surefoot.problems import constraints
from surefoot.problems.costs import FromFunctions, Linear, Quadratic
from surefoot.sets import Box, Ellipsoid, Halfspace, L1Ball, Polytope

EYE = np.eye(2)
VECTORS = {
    "Ball": lambda v: Ball(1.0, v).centre,
    "Box": lambda v: Box(v, [9.0, 9.0]).lower,
    "Halfspace": lambda v: Halfspace(v, 1.0).normal,
    "L1Ball": lambda v: L1Ball(1.0, v).centre,
    "Ellipsoid": lambda v: Ellipsoid(EYE, v).centre,
    "Polytope": lambda v: Polytope(EYE, v).b,
    "Affine": lambda v: constraints.Affine(EYE, v).b,
    "L1Norm": lambda v: constraints.L1Norm(1.0, 2, v).centre,
    "L2Norm": lambda v: constraints.L2Norm(1.0, v).centre,
    "LinfNorm": lambda v: constraints.LinfNorm(1.0, 2, v).centre,
    "QuadraticForm": lambda v: constraints.QuadraticForm(EYE, v, 1.0).q,
    "SecondOrderCone": lambda v: constraints.SecondOrderCone(EYE, v).b,
    "Drifting": lambda v: constraints.Drifting(constraints.L2Norm(1.0), v).offsets,
    "Problem": lambda v: (
        Problem.of(Linear([[1.0, 0.0]]), constraints.L2Norm(9.0), Ball(9.0), v).start
    ),
}
MATRICES = {
    "Affine": lambda m: constraints.Affine(m, [1.0, 1.0]).A,
    "Polytope": lambda m: Polytope(m, [1.0, 1.0]).A,
    "CVaR": lambda m: constraints.CVaR(m, 0.5, 1.0).losses,
    "Ellipsoid": lambda m: Ellipsoid(m).P,
    "EllipsoidNorm": lambda m: constraints.EllipsoidNorm(m).P,
    "QuadraticForm": lambda m: constraints.QuadraticForm(m, [0.0, 0.0], 1.0).Q,
    "SecondOrderCone": lambda m: constraints.SecondOrderCone(m).A,
    "Linear": lambda m: Linear(m).slopes,
    "Quadratic": lambda m: Quadratic(m, 1.0).targets,
    "AffineStream": lambda m: constraints.AffineStream([m], [[1.0, 1.0]]).A[0],
}


class Doubled(np.ndarray):
    """A subclass whose arithmetic is its own."""

    def __matmul__(self, other):
        return 2 * np.asarray(self) @ other


def good_vectors():
    pandas = pytest.importorskip("pandas")
    yield [3, 4]
    yield (3.0, 4)
    yield np.array([3, 4], dtype=np.int8)
    yield np.array([3, 4], dtype=np.float32)
    yield np.array([3, 4], dtype=">f8")
    yield np.ma.array([3.0, 4.0])
    yield np.array([3.0, 4.0]).view(Doubled)
    yield pandas.Series([3.0, 4.0])


def bad_vectors():
    pandas = pytest.importorskip("pandas")
    yield "3, 4"
    yield ["3.0", "4.0"]
    yield [3.0, None]
    yield np.array([3.0, 4.0 + 1e-3j])
    yield np.array([3.0, 4.0], dtype=object)
    yield [Fraction(3), Fraction(4)]
    yield np.ma.array([3.0, 4.0], mask=[False, True])
    yield np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    yield pandas.Series([3.0, None], dtype="Float64")
    yield pandas.Series(["3.0", "4.0"])
    yield [[3.0], [4.0, 5.0]]
    yield {"a": 3.0, "b": 4.0}
    yield len
    yield [3.0, float("nan")]
    yield [3.0, 1e200]


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_taken_for_what_they_are(name):
    for given in good_vectors():
        taken = VECTORS[name](given)
        assert type(taken) is np.ndarray
        assert taken.dtype == np.float64
        assert taken.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("name", VECTORS)
def test_what_is_no_vector_of_numbers_is_refused_in_one_sentence(name):
    for given in bad_vectors():
        with pytest.raises(SurefootError) as refused:
            VECTORS[name](given)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 300


@pytest.mark.parametrize("name", MATRICES)
def test_tables_and_other_arrays_are_taken_for_what_they_are(name):
    pandas = pytest.importorskip("pandas")
    wanted = [[4.0, 1.0], [1.0, 2.0]]
    for given in (
        wanted,
        pandas.DataFrame(wanted),
        np.ma.array(wanted),
        np.array(wanted).view(Doubled),
        np.array(wanted, dtype=np.int8),
        np.array(wanted, dtype=np.float32),
    ):
        taken = MATRICES[name](given)
        assert type(taken) is np.ndarray
        assert taken.dtype == np.float64
        assert taken.tolist() == wanted


@pytest.mark.parametrize("name", MATRICES)
def test_what_is_no_matrix_of_numbers_is_refused_in_one_sentence(name):
    pandas = pytest.importorskip("pandas")
    for given in (
        None,
        "4",
        [["4.0", "1.0"], ["1.0", "2.0"]],
        [[4.0, None], [1.0, 2.0]],
        np.array([[4.0, 1.0], [1.0, 2.0 + 1j]]),
        np.ma.array([[4.0, 1.0], [1.0, 2.0]], mask=[[0, 1], [0, 0]]),
        pandas.DataFrame({"a": [4.0, 1.0], "b": ["1", "2"]}),
    ):
        with pytest.raises(SurefootError) as refused:
            MATRICES[name](given)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "make", [constraints.QuadraticForm, lambda Q, q, r: constraints.EllipsoidNorm(Q)]
)
def test_a_form_that_is_not_convex_is_refused_whatever_holds_it(make, backend):
    pandas = pytest.importorskip("pandas")
    indefinite = [[1.0, 0.0], [0.0, -1.0]]
    for given in (indefinite, pandas.DataFrame(indefinite), backend.array(indefinite)):
        with pytest.raises(SurefootError, match="must be positive"):
            make(given, [0.0, 0.0], 1.0)


@pytest.mark.parametrize("radius", ["-0.3", "1", None, True, 1 + 2j, [1.0], {}, np.bool_(True)])
def test_what_is_no_number_is_refused(radius):
    for kind in (Ball, constraints.L2Norm, L1Ball):
        with pytest.raises(SurefootError, match="radius must be a finite number > 0, got"):
            kind(radius)


def test_a_table_is_no_number():
    pandas = pytest.importorskip("pandas")
    for given in (pandas.Series([1.0]), pandas.DataFrame([[1.0]]), np.ma.array([[1.0]])):
        with pytest.raises(SurefootError, match="radius must be a finite number > 0, got"):
            Ball(given)


@pytest.mark.parametrize("size", [1e-152, 1e-200, 1e152, 1e200])
def test_scales_whose_squares_leave_float64_are_refused(size):
    for make in (
        Ball,
        L1Ball,
        constraints.L2Norm,
        lambda r: constraints.L1Norm(r, 2),
        lambda r: Constants(R=r),
    ):
        with pytest.raises(SurefootError, match="where squares stay in float64, got"):
            make(size)
    with pytest.raises(SurefootError, match="where squares stay in float64, got"):
        Constants(R=1.0, G_g=size)
    assert Ball(1e-150).radius == 1e-150
    assert Ball(1e150).radius == 1e150


@pytest.mark.parametrize("given", ["-0.3", b"-0.3", True, None, 1j, np.complex128(1 + 2j), [1.0]])
def test_a_value_told_must_be_a_number(given):
    player = PFS(eta=0.1, rho=0.0, domain=Ball(1.0))
    state = player.init(np.zeros(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SurefootError, match="constraint_value"):
            player.update(state, Feedback(np.zeros(2), given, np.ones(2)))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8, bool])
def test_integer_slopes_do_not_overflow(kind):
    # 100 squared leaves int8, and 100 + 100 does too.
    s = np.array([100, 100]).astype(kind)
    gradient, g, taken = checks.read_feedback(np.zeros(2), Feedback(s, np.int8(-3), s))
    assert taken.dtype == gradient.dtype == np.float64
    assert taken.tolist() == gradient.tolist() == s.astype(float).tolist()
    assert (type(g), g) == (float, -3.0)
    own = constraints.FunctionConstraint(lambda x: -1, lambda x: s, bound=200.0)
    value, taken = own.query(np.zeros(2))
    assert (type(value), value, taken.dtype) == (float, -1.0, np.float64)
    costs = FromFunctions(
        value_of=lambda t, x: 0, gradient_of=lambda t, x: s, horizon=1, dimension=2
    )
    assert costs.gradient(0, np.zeros(2)).dtype == np.float64


def test_integer_actions_do_not_overflow():
    x = np.array([100, 100], dtype=np.int8)
    far = 100 * 2**0.5
    assert constraints.L2Norm(1.0).value(x) == far - 1
    assert constraints.L2Norm(1.0).query(x)[0] == far - 1
    assert np.linalg.norm(Ball(1.0).project(x)) == pytest.approx(1.0)
    assert not Ball(1.0).contains(x)
    assert not L1Ball(130.0).contains(np.array([-128, -128], dtype=np.int8))


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_slopes_rounded_to_less_than_float64_must_be_owned_up_to(kind):
    s = np.array([1 / 3, 0.0], dtype=kind)
    with pytest.raises(SurefootError, match=r"constraint_subgradient.dtype must be float64, got "):
        checks.read_feedback(np.zeros(2), Feedback(np.zeros(2), -1.0, s))
    with pytest.raises(SurefootError, match=r"subgradient_of\(x\).dtype must be float64, got "):
        constraints.FunctionConstraint(lambda x: -1.0, lambda x: s).query(np.zeros(2))
    with pytest.raises(SurefootError, match=r"value_of\(x\).dtype must be float64, got "):
        constraints.FunctionConstraint(lambda x: kind(-1), lambda x: x).query(np.zeros(2))
    value, taken = constraints.FunctionConstraint(
        lambda x: kind(-1), lambda x: s, error=1e-3
    ).query(np.zeros(2))
    assert (value, taken.dtype) == (-1.0, np.float64)
    # A rounded cost gradient costs regret at most.
    gradient, _, _ = checks.read_feedback(np.zeros(2), Feedback(s, -1.0, np.zeros(2)))
    assert gradient.dtype == np.float64


def test_a_constraint_is_asked_with_a_list_too():
    assert constraints.LinfNorm(0.5, 2).value([0.25, -1.0]) == 0.5
    assert constraints.LinfNorm(0.5, 2).query((0.25, -1.0))[0] == 0.5
    assert constraints.L2Norm(1.0).subgradient([3, 4]).tolist() == [0.6, 0.8]
    for wrong in ("x", None, [1.0, None], 0.5, [1.0]):
        with pytest.raises(SurefootError, match=r"^x"):
            constraints.LinfNorm(0.5, 2).value(wrong)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"domain": 1.0}, "domain must be a Ball that holds the feasible set, as Ball"),
        ({"domain": Box([-1.0, -1.0], [1.0, 1.0])}, "domain must be a Ball that holds the feas"),
        ({"domain": len}, "domain must be a Ball that holds the feasible set, as Ball"),
        ({"domain": Ball(1.0, [0.0])}, "domain.dimension must be 2, that of the costs, got 1"),
        ({"constraint": lambda x: x}, "constraint must be a Constraint or a ConstraintStream"),
        ({"constraint": Box([0.0, 0.0], [1.0, 1.0])}, "constraint must be a Constraint or a"),
        ({"costs": [[1.0, 0.0]]}, "costs must be a cost stream, as Linear"),
        ({"costs": None}, "costs must be a cost stream, as Linear"),
        ({"start": "here"}, "start must be a vector of numbers, got 'here'"),
    ],
)
def test_a_part_of_another_kind_is_named_with_the_right_one(change, sentence):
    parts = {
        "costs": Linear([[1.0, 0.0]]),
        "constraint": constraints.L2Norm(0.5),
        "domain": Ball(1.0),
        "start": [0.0, 0.0],
    }
    with pytest.raises(SurefootError, match=f"^{sentence}"):
        Problem.of(**parts | change)


@pytest.mark.parametrize("problem", [None, 3, constraints.L2Norm(0.5)])
def test_what_is_no_problem_is_not_played(problem):
    with pytest.raises(SurefootError, match=r"problem must be a Problem, as Problem.of"):
        play(PFS(eta=0.1, rho=0.0, domain=Ball(1.0)), problem)
