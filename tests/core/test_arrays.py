import math

import numpy as np
import pytest

from surefoot.core.arrays import (
    convert_like,
    dot,
    exp,
    find_largest,
    is_concrete,
    is_one_run,
    log,
    log1p,
    maximum,
    minimum,
    namespace,
    norm,
    sqrt,
    take_rows,
    to_numpy,
    where,
)
from surefoot.core.optional import MissingExtraError

A = [0.3, -1.7, 2.0]
B = [5.0, 0.25, -0.5]
ROWS_A = [A, [1.0, 2.0, -4.0]]
ROWS_B = [B, [-3.0, 0.5, 0.75]]
# 0.3 * 5 - 1.7 * 0.25 - 2 * 0.5 and -3 + 1 - 3, by hand.
DOTS = [0.075, -5.0]
# A sum of three products errs by less than 3u of the sum of their sizes, at most 7.
TOLERANCE = 3 * 7 * 2.0**-53


def test_inner_product_of_one_run_is_a_number(backend):
    value = dot(backend.array(A), backend.array(B))
    assert (type(value) is float) if backend.name == "numpy" else value.shape == ()
    assert float(value) == pytest.approx(DOTS[0], abs=TOLERANCE)


def test_inner_product_of_a_batch_is_a_column(backend):
    value = dot(backend.array(ROWS_A), backend.array(ROWS_B))
    assert backend.holds(value)
    assert tuple(value.shape) == (2, 1)
    assert backend.numpy(value)[:, 0] == pytest.approx(DOTS, abs=TOLERANCE)


def test_inner_product_of_a_batch_with_one_vector_is_a_column(backend):
    value = dot(backend.array(ROWS_A), backend.array(B))
    assert tuple(value.shape) == (2, 1)
    assert backend.numpy(value)[:, 0] == pytest.approx([0.075, 7.5], abs=TOLERANCE)


def test_norm_has_the_shape_of_the_inner_product(backend):
    one, batch = (
        norm(backend.array([2.0, -3.0, 6.0])),
        norm(backend.array([[2.0, -3.0, 6.0], [0, 0, 0]])),
    )
    assert (type(one) is float) if backend.name == "numpy" else one.shape == ()
    assert float(one) == 7.0
    assert tuple(batch.shape) == (2, 1)
    assert backend.numpy(batch).tolist() == [[7.0], [0.0]]


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8])
def test_numbers_of_one_numpy_run_are_floats_whatever_the_entries(dtype):
    a = np.array([3, 4], dtype=dtype)
    assert type(dot(a, a)) is float
    assert type(norm(a)) is float
    assert norm(a) == 5.0
    assert find_largest(a) == (4.0, 1)
    assert type(find_largest(a)[0]) is float


@pytest.mark.parametrize(
    ("operation", "arguments", "expected"),
    [
        (sqrt, (2.25,), 1.5),
        (exp, (0.0,), 1.0),
        (log, (1.0,), 0.0),
        (log1p, (0.0,), 0.0),
        (maximum, (-1.5, 0.5), 0.5),
        (maximum, (0.5, -1.5), 0.5),
        (minimum, (-1.5, 0.5), -1.5),
        (minimum, (0.5, -1.5), -1.5),
        (where, (True, 3.0, 4.0), 3.0),
        (where, (False, 3.0, 4.0), 4.0),
    ],
)
def test_numbers_of_one_run_stay_python_floats(operation, arguments, expected):
    value = operation(*arguments)
    assert type(value) is float
    assert value == expected


@pytest.mark.parametrize("shape", [(), (3,), (3, 1)])
def test_arithmetic_on_arrays_is_entry_by_entry(backend, shape):
    base = np.array([0.5, 2.25, 9.0])
    plain = (base[0] if shape == () else base).reshape(shape)
    x = backend.array(plain)
    same = [
        (sqrt(x), np.sqrt(plain)),
        (exp(x), np.exp(plain)),
        (log(x), np.log(plain)),
        (log1p(x), np.log1p(plain)),
        (maximum(x, 2.0), np.maximum(plain, 2.0)),
        (maximum(2.0, x), np.maximum(plain, 2.0)),
        (minimum(x, 2.0), np.minimum(plain, 2.0)),
        (minimum(2.0, x), np.minimum(plain, 2.0)),
        (maximum(x, 3.0 - x), np.maximum(plain, 3.0 - plain)),
        (minimum(x, 3.0 - x), np.minimum(plain, 3.0 - plain)),
        (where(x > 1.0, x, 0.0), np.where(plain > 1.0, plain, 0.0)),
        (where(x > 1.0, -1.0, x), np.where(plain > 1.0, -1.0, plain)),
    ]
    for value, expected in same:
        assert tuple(value.shape) == shape
        # Elementary functions of different libraries may differ in the last place.
        assert backend.numpy(value) == pytest.approx(expected, rel=4e-16)


def test_a_nan_is_not_lost_in_a_maximum(backend):
    assert math.isnan(maximum(math.nan, 0.0))
    assert math.isnan(minimum(math.nan, 0.0))
    x = backend.array([[math.nan], [1.0]])
    assert np.isnan(backend.numpy(maximum(x, 0.0))).tolist() == [[True], [False]]
    assert np.isnan(backend.numpy(minimum(0.0, x))).tolist() == [[True], [False]]


def test_largest_of_equals_is_the_first(backend):
    value, index = find_largest(backend.array([-1.0, 3.0, 2.0, 3.0]))
    assert float(value) == 3.0
    assert int(index) == 1
    assert (type(index) is int) == (backend.name == "numpy")
    value, index = find_largest(backend.array([[2.0, 2.0, 2.0], [-5.0, -4.0, -4.0]]))
    assert tuple(value.shape) == (2, 1)
    assert backend.numpy(value)[:, 0].tolist() == [2.0, -4.0]
    assert backend.numpy(index).tolist() == [0, 1]


def test_largest_shows_a_nan(backend):
    value, index = find_largest(backend.array([1.0, math.nan, 2.0]))
    assert math.isnan(float(value))
    assert int(index) == 1


def test_row_takes_the_rows_that_largest_found(backend):
    table = backend.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    _, one = find_largest(backend.array([0.0, 7.0, 7.0]))
    _, batch = find_largest(backend.array([[0.0, 7.0, 7.0], [9.0, 7.0, 7.0]]))
    assert backend.numpy(take_rows(table, one)).tolist() == [3.0, 4.0]
    assert backend.numpy(take_rows(table, batch)).tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_constants_move_to_the_backend_of_the_action(backend):
    data = np.array([1.5, -2.0])
    data.setflags(write=False)
    moved = convert_like(data, backend.array([0.0, 0.0]))
    assert backend.holds(moved)
    assert backend.numpy(moved).tolist() == [1.5, -2.0]
    assert backend.numpy(moved).dtype == np.float64


@pytest.mark.torch
def test_torch_cannot_write_into_read_only_data():
    torch = pytest.importorskip("torch")
    data = np.array([1.5, -2.0])
    data.setflags(write=False)
    convert_like(data, torch.zeros(2, dtype=torch.float64))[0] = 9.0
    parameter = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    assert convert_like(data, parameter).tolist() == [1.5, -2.0]


def test_actions_of_one_run_are_told_from_batches(backend):
    assert is_one_run(backend.array(A)) is True
    assert is_one_run(backend.array(ROWS_A)) is False


def test_a_tracer_has_no_values(x64):
    seen = []

    def look(x):
        seen.append(is_concrete(x))
        return x

    x64.jit(look)(x64.numpy.zeros(2))
    x64.grad(lambda x: look(x).sum())(x64.numpy.zeros(2))
    x64.vmap(look)(x64.numpy.zeros((3, 2)))
    assert seen == [False, False, False]
    assert is_concrete(x64.numpy.zeros(2))
    assert is_concrete(np.zeros(2))
    assert is_concrete(1.0)


def test_operations_compile_and_map_to_the_same_numbers(x64):
    jnp = x64.numpy
    a, b = jnp.asarray(ROWS_A), jnp.asarray(ROWS_B)
    batch = dot(a, b)
    assert jnp.array_equal(x64.jit(dot)(a, b), batch)
    assert jnp.array_equal(x64.vmap(dot)(a, b), batch[:, 0])
    values, indices = x64.vmap(find_largest)(a)
    assert values.tolist() == [2.0, 2.0]
    assert indices.tolist() == [2, 1]


def test_what_is_no_array_is_refused_by_name():
    with pytest.raises(TypeError, match=r"expected an array of NumPy.*got <class 'str'>"):
        namespace("x")


def test_torch_without_its_extra_is_one_sentence(monkeypatch):
    # A stand-in will do: the module name is all that tells a tensor.
    tensor = type("Tensor", (), {"__module__": "torch"})()
    monkeypatch.setitem(__import__("sys").modules, "array_api_compat.torch", None)
    with pytest.raises(MissingExtraError) as error:
        namespace(tensor)
    assert str(error.value) == (
        "playing with torch tensors needs array_api_compat, which is not installed: "
        "pip install 'surefoot[torch]'"
    )


def test_values_come_back_as_numpy(backend):
    values = to_numpy(backend.array(ROWS_A))
    assert type(values) is np.ndarray
    assert values.dtype == np.float64
    assert values.tolist() == ROWS_A


@pytest.mark.torch
def test_values_of_a_tensor_that_carries_gradients_come_back_too():
    torch = pytest.importorskip("torch")
    x = torch.tensor(A, dtype=torch.float64, requires_grad=True)
    assert to_numpy(x).tolist() == A
