import re
import warnings

import numpy as np
import pytest

from surefoot import PFS, Ball, Feedback
from surefoot.core import checks

NAN, INF = float("nan"), float("inf")


def refused(call, sentence):
    """Assert that a call is refused with exactly this sentence."""
    with pytest.raises(ValueError, match=re.escape(sentence)) as error:
        call()
    assert str(error.value) == sentence


@pytest.mark.parametrize("value", [0.5, 3, np.float64(0.5), np.int64(2), np.array(0.5)])
def test_numbers_of_every_kind_pass(value):
    checks.positive(eta=value)
    checks.nonnegative(eta=value)
    checks.finite(eta=value)
    checks.above(0.25, eta=value)
    checks.at_most(3.0, "the limit", eta=value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.0, "0.0"),
        (-0.5, "-0.5"),
        (NAN, "nan"),
        (INF, "inf"),
        (-INF, "-inf"),
        (np.float64(-2.5), "-2.5"),
        (np.array([[1.0], [-3.5], [0.0]]), "-3.5"),
        (None, "None"),
        (True, "True"),
        (np.True_, "np.True_"),
        ("0.5", "'0.5'"),
        (1j, "1j"),
        (np.complex128(1j), "np.complex128(1j)"),
        ([0.5], "[0.5]"),
        ({}, "{}"),
    ],
)
def test_what_is_not_positive_is_named_with_rule_and_value(value, shown):
    refused(lambda: checks.positive(eta=value), f"eta must be a finite number > 0, got {shown}")


def test_zero_is_nonnegative_and_less_is_not():
    checks.nonnegative(rho=0)
    checks.nonnegative(rho=-0.0)
    refused(
        lambda: checks.nonnegative(rho=-1e-300), "rho must be a finite number >= 0, got -1e-300"
    )


def test_limits_are_named():
    refused(lambda: checks.above(0.5, x=0.5), "x must be a finite number > 0.5, got 0.5")
    refused(
        lambda: checks.at_most(0.25, "epsilon", rho=0.3),
        "rho must be at most epsilon = 0.25, got 0.3",
    )
    refused(lambda: checks.at_most(1.0, "b", a=NAN), "a must be at most b = 1, got nan")
    refused(lambda: checks.finite(offset=-INF), "offset must be a finite number, got -inf")


@pytest.mark.parametrize("shape", [(2,), (1, 2), (2, 2), (2, 1, 1)])
def test_an_array_of_numbers_must_be_a_column(shape):
    # Entries of a flat array would go to the entries of an action, not to the runs.
    checks.positive(eta=np.ones((2, 1)))
    refused(
        lambda: checks.positive(eta=np.ones(shape)),
        f"eta.shape must be () or (B, 1), a column with one row per run, got {shape}",
    )


def test_numbers_of_other_backends_and_tracers_pass(backend):
    checks.positive(eta=backend.array(1.0))
    refused(
        lambda: checks.positive(eta=backend.array(-1.0)),
        "eta must be a finite number > 0, got -1.0",
    )
    if backend.name == "jax":
        import jax

        def rule(eta):
            checks.positive(eta=eta)
            return PFS(eta=eta, rho=eta, domain=Ball(1.0)).eta

        assert float(jax.jit(rule)(0.5)) == 0.5


@pytest.mark.parametrize("value", [2, 2.0, np.float64(2), np.float32(2), np.int8(2), np.array(2)])
def test_numbers_become_python_floats(value):
    number = checks.to_python_number(value)
    assert type(number) is float
    assert number == 2.0


def test_columns_and_other_backends_stay_as_they_are(backend):
    column, scalar = np.ones((2, 1)), backend.array(0.5)
    assert checks.to_python_number(column) is column
    number = checks.to_python_number(scalar)
    assert (type(number) is float) if backend.name == "numpy" else number is scalar


@pytest.mark.parametrize("value", [1, 20_000, np.int64(3)])
def test_whole_numbers_pass_as_ints(value):
    assert type(checks.check_horizon(value)) is int
    assert checks.check_horizon(value) == value
    assert checks.positive_int(value, "dimension") == value


@pytest.mark.parametrize("value", [0, -3, 1.0, 2.5, NAN, True, "10", None, np.array([3])])
def test_a_horizon_below_one_or_not_whole_is_refused(value):
    refused(
        lambda: checks.check_horizon(value),
        f"horizon must be a whole number of rounds >= 1, got {value!r}",
    )
    refused(
        lambda: checks.positive_int(value, "dimension"),
        f"dimension must be a whole number >= 1, got {value!r}",
    )


def test_a_horizon_that_bounds_cannot_be_computed_for_is_refused():
    assert checks.check_horizon(2**1000) == 2**1000
    for value in (2**1000 + 1, 10**400, 10**5_000):
        refused(
            lambda value=value: checks.check_horizon(value, "rounds"),
            "rounds must be at most 2^1000, because floats end at 2^1024, "
            f"got {checks.repr_line(value)}",
        )


def test_words_are_chosen_from_a_list():
    checks.one_of(("loop", "batch"), engine="batch")
    refused(
        lambda: checks.one_of(("loop", "batch"), engine="lop"),
        "engine must be one of 'loop', 'batch', got 'lop'",
    )


def test_what_cannot_be_called_is_refused():
    checks.function(rule=len)
    refused(lambda: checks.function(rule=3), "rule must be a function, got 3")


def test_vectors_are_copied_frozen_and_float64(backend):
    given = backend.array([1.0, -2.0])
    made = checks.to_vector(given, "centre")
    assert type(made) is np.ndarray
    assert made.dtype == np.float64
    assert made.tolist() == [1.0, -2.0]
    assert not made.flags.writeable
    given_as_ints = np.array([1, 2])
    made = checks.to_vector(given_as_ints, "centre")
    given_as_ints[0] = 9
    assert made.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "v.shape must be that of a vector that is not empty, got (0,)"),
        (3.0, "v.shape must be that of a vector that is not empty, got ()"),
        ([[1.0]], "v.shape must be that of a vector that is not empty, got (1, 1)"),
        ([1.0, NAN, INF], "v must be finite, got nan at index 1"),
        ([1.0, 2.0, -INF], "v must be finite, got -inf at index 2"),
        (["a"], "v must be a vector of numbers, got ['a']"),
        ([1.0, [2.0]], "v must be a vector of numbers, got [1.0, [2.0]]"),
        (None, "v must be a vector of numbers, got None"),
        ([1.0, 2.0], "v.shape must be (3,), got (2,)"),
    ],
)
def test_bad_vectors_are_named_with_rule_and_value(value, sentence):
    refused(lambda: checks.to_vector(value, "v", length=3), sentence)


def test_bad_matrices_are_named_with_rule_and_value():
    assert checks.to_matrix([[1, 2], [3, 4]], "A").tolist() == [[1.0, 2.0], [3.0, 4.0]]
    refused(
        lambda: checks.to_matrix([1.0], "A"),
        "A.shape must be that of a matrix that is not empty, got (1,)",
    )
    refused(
        lambda: checks.to_matrix([[1.0, 2.0], [INF, 1.0]], "A"),
        "A must be finite, got inf at index (1, 0)",
    )


@pytest.mark.parametrize("value", [[1, 2], (1.0, 2.0), np.array([1, 2]), np.array([1.0, 2.0])])
def test_lists_and_whole_numbers_become_float64_actions(value):
    x = checks.to_action(value)
    assert type(x) is np.ndarray
    assert x.dtype == np.float64
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("shape", [(2,), (3, 2)])
def test_actions_keep_their_backend_and_shape(backend, shape):
    x = backend.array(np.full(shape, 0.25))
    made = checks.to_action(x)
    assert backend.holds(made)
    assert backend.numpy(made).tolist() == np.full(shape, 0.25).tolist()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "x1 must be an array of shape (d,) or (B, d), got None"),
        ("ab", "x1 must be an array of shape (d,) or (B, d), got 'ab'"),
        (0.5, "x1 must be an array of shape (d,) or (B, d), got 0.5"),
        ([1.0, [2.0]], "x1 must be an array of shape (d,) or (B, d), got [1.0, [2.0]]"),
        (np.array(0.5), "x1.shape must be (d,) or (B, d) with no empty axis, got ()"),
        ([], "x1.shape must be (d,) or (B, d) with no empty axis, got (0,)"),
        (np.zeros((0, 2)), "x1.shape must be (d,) or (B, d) with no empty axis, got (0, 2)"),
        (np.zeros((1, 2, 3)), "x1.shape must be (d,) or (B, d) with no empty axis, got (1, 2, 3)"),
        ([0.0, NAN], "x1 must be finite, got nan at index 1"),
        ([[0.0, 1.0], [0.0, -INF]], "x1 must be finite, got -inf at index (1, 1)"),
        ([1j], "x1.dtype must be float64, got 'complex128'"),
        ([True], "x1.dtype must be float64, got 'bool'"),
        (["a"], "x1.dtype must be float64, got '<U1'"),
        (np.array([1.0], dtype=np.float16), "x1.dtype must be float64, got 'float16'"),
    ],
)
def test_bad_actions_are_named_with_rule_and_value(value, sentence):
    refused(lambda: checks.to_action(value), sentence)


def test_infinities_are_found_on_every_backend(backend):
    refused(
        lambda: checks.to_action(backend.array([0.0, INF])), "x1 must be finite, got inf at index 1"
    )


def test_float32_is_upcast_and_said_once(backend, monkeypatch):
    monkeypatch.setattr(checks, "_said_precision", False)
    x = backend.xp.asarray([0.25, -0.5], dtype=backend.xp.float32)
    player = PFS(eta=0.1, rho=0.0, domain=Ball(1.0))
    with pytest.warns(
        checks.PrecisionWarning, match="x1 is float32 and was converted to float64"
    ) as said:
        state = player.init(x)
    assert said[0].filename == __file__  # the caller's line, not one of the library's
    assert state.x.dtype == backend.xp.float64
    assert backend.numpy(state.x).tolist() == [0.25, -0.5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        player.init(x)


def test_jax_outside_64_bit_mode_is_refused(monkeypatch):
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(checks, "_said_precision", False)
    with jax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (jax.numpy.zeros(2), jax.numpy.zeros(2, dtype=int)):
            with pytest.raises(ValueError, match=r"x1.dtype must be float64, got float32: enable"):
                checks.to_action(x)
    assert not checks._said_precision


ONE, BATCH = np.array([0.5, -0.25]), np.array([[0.5, -0.25], [0.0, 1.0], [2.0, 0.0]])


@pytest.mark.parametrize("g", [-0.5, -1, np.float64(-0.5), np.array(-0.5), np.longdouble(-0.5)])
def test_the_value_of_one_numpy_run_is_a_float(g):
    gradient, value, s = checks.read_feedback(ONE, Feedback(ONE, g, -ONE))
    assert type(value) is float
    assert value == float(g)
    assert gradient is ONE
    assert s.tolist() == (-ONE).tolist()


def test_the_value_of_one_run_elsewhere_is_an_array(backend):
    x = backend.array(ONE)
    _, value, _ = checks.read_feedback(x, Feedback(x, backend.array(-0.5), x))
    assert float(value) == -0.5
    assert (type(value) is float) if backend.name == "numpy" else value.shape == ()


def test_the_values_of_a_batch_are_a_column(backend):
    x = backend.array(BATCH)
    column = backend.array([[1.0], [2.0], [3.0]])
    assert checks.read_feedback(x, Feedback(x, column, x))[1] is column
    filled = checks.to_number(-2, x, "g")
    assert tuple(filled.shape) == (3, 1)
    assert backend.numpy(filled).tolist() == [[-2.0]] * 3


SHAPE = ", that of the action, got"


@pytest.mark.parametrize(
    ("feedback", "sentence"),
    [
        ((ONE[:1], 0.0, ONE), f"cost_gradient.shape must be (2,){SHAPE} (1,)"),
        ((BATCH, 0.0, ONE), f"cost_gradient.shape must be (2,){SHAPE} (3, 2)"),
        (([1.0, 2.0], 0.0, ONE), f"cost_gradient must be an array of shape (2,){SHAPE} [1.0, 2.0]"),
        ((None, 0.0, ONE), f"cost_gradient must be an array of shape (2,){SHAPE} None"),
        ((ONE, 0.0, np.zeros(3)), f"constraint_subgradient.shape must be (2,){SHAPE} (3,)"),
        ((ONE, 0.0, 1.0), f"constraint_subgradient must be an array of shape (2,){SHAPE} 1.0"),
        ((ONE, None, ONE), "constraint_value must be one number, got None"),
        ((ONE, "a", ONE), "constraint_value must be one number, got 'a'"),
        (
            (ONE, np.zeros(1), ONE),
            "constraint_value.shape must be (), that of one number, got (1,)",
        ),
        ((ONE, BATCH, ONE), "constraint_value.shape must be (), that of one number, got (3, 2)"),
        (
            (ONE, np.zeros((1, 1)), ONE),
            "constraint_value.shape must be (), that of one number, got (1, 1)",
        ),
    ],
)
def test_feedback_that_does_not_fit_one_run_is_named(feedback, sentence):
    refused(lambda: checks.read_feedback(ONE, Feedback(*feedback)), sentence)


@pytest.mark.parametrize(
    ("g", "sentence"),
    [
        (np.zeros(3), "constraint_value.shape must be (3, 1), got (3,)"),
        (np.zeros((1, 1)), "constraint_value.shape must be (3, 1), got (1, 1)"),
        (np.zeros((4, 1)), "constraint_value.shape must be (3, 1), got (4, 1)"),
        (np.zeros((3, 2)), "constraint_value.shape must be (3, 1), got (3, 2)"),
        ([0.0], "constraint_value must be a number or an array of shape (3, 1), got [0.0]"),
    ],
)
def test_values_that_do_not_fit_a_batch_are_named(g, sentence):
    refused(lambda: checks.read_feedback(BATCH, Feedback(BATCH, g, BATCH)), sentence)


@pytest.mark.parametrize("seen", [None, (ONE, 0.0, ONE), 3])
def test_what_is_no_feedback_is_refused(seen):
    refused(lambda: checks.read_feedback(ONE, seen), f"feedback must be a Feedback, got {seen!r}")
