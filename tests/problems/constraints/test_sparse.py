import numpy as np
import pytest
from scipy import sparse

from surefoot import play
from surefoot.problems import Problem
from surefoot.problems.constraints import Affine, max_of
from surefoot.problems.costs import Linear
from surefoot.rules import DPP, PFS
from surefoot.sets import Ball, Polytope


def random_rows(m=40, d=25, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.2)
    A[np.arange(m), rng.integers(d, size=m)] = 1.5  # no zero row
    return A, rng.uniform(0.1, 1.0, size=m)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_it_is_the_dense_constraint(form):
    A, b = random_rows()
    g, dense = Affine(form(A), b), Affine(A, b)
    X = np.random.default_rng(1).normal(size=(30, 25))
    for x in (*X, X):
        value, s = g.query(x)
        np.testing.assert_allclose(value, dense.query(x)[0], rtol=1e-13)
        np.testing.assert_array_equal(s, dense.query(x)[1])
        assert type(s) is np.ndarray
    domain = Ball(2.0)
    assert g.subgradient_bound(domain) == pytest.approx(dense.subgradient_bound(domain))
    np.testing.assert_allclose(g.normalize().A.toarray(), dense.normalize().A)
    np.testing.assert_allclose(g.normalize().b, dense.normalize().b)
    np.testing.assert_array_equal(g.interior, np.zeros(25))


def test_of_rows_that_tie_the_first_counts():
    g = Affine(sparse.csr_array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]), [1.0, 1.0])
    np.testing.assert_array_equal(g.subgradient(np.zeros(3)), [0.0, 1.0, 0.0])


def test_entries_given_twice_are_added_and_the_argument_is_not_changed():
    A = sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    g = Affine(A, [0.0, 0.0])
    np.testing.assert_array_equal(g.subgradient(np.array([0.0, 1.0])), [0.0, 3.0])
    assert A.nnz == 3
    B = sparse.csr_array(np.eye(2))
    g = Affine(B, [0.0, 0.0])
    B.data[0] = 7.0
    assert g.value(np.array([1.0, 0.0])) == 1.0


def test_all_rows_kept_apart_stay_sparse_for_one_action():
    A, b = random_rows()
    g = Affine(sparse.csr_array(A), b)
    x = np.random.default_rng(2).normal(size=25)
    values, rows = g.query_all(x)
    assert rows is g.A
    np.testing.assert_allclose(values, A @ x - b)
    # A multiplier for each row, as a primal-dual method has them.
    np.testing.assert_allclose(values @ rows, values @ A)
    both = max_of(g, Affine(np.ones((2, 25)), [1.0, 2.0])).query_all(x)
    assert both[1].shape == (42, 25)
    assert type(both[1]) is np.ndarray


@pytest.mark.parametrize("watch", ["record", "off"])
def test_a_method_with_a_queue_for_each_row_plays_sparse_rows_as_dense_ones(watch):
    A = np.vstack([np.eye(3), -0.5 * np.eye(3)])
    costs = Linear(np.random.default_rng(3).normal(size=(30, 3)))
    traces = []
    for g in (Affine(A, np.full(6, 0.3)), Affine(sparse.csr_array(A), np.full(6, 0.3))):
        problem = Problem.of(costs, g, Ball(1.5), np.zeros(3))
        traces.append(play(DPP.tuned(problem.constants, 30, Ball(1.5)), problem, watch=watch))
    assert traces[0].actions == pytest.approx(traces[1].actions, rel=1e-12, abs=1e-14)
    if watch == "record":
        assert traces[1].observed.constraint_subgradient == 1.0


def test_the_region_is_the_sparse_polytope():
    A, b = random_rows()
    region = Affine(sparse.csr_array(A), b).region
    assert isinstance(region, Polytope)
    assert region == Polytope(sparse.csr_array(A), b)


def test_its_data_cannot_be_written():
    g = Affine(sparse.csr_array(np.eye(2)), [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        g.A.data[0] = 3.0
    assert g != Affine(sparse.csr_array(np.eye(2)), [1.0, 3.0])
    assert g != Affine(sparse.csr_array([[1.0, 0.0], [0.0, 2.0]]), [1.0, 2.0])
    assert g != Affine(np.eye(2), [1.0, 2.0])


def test_other_backends_are_refused_in_a_sentence(x64):
    g = Affine(sparse.csr_array(np.eye(2)), [1.0, 2.0])
    with pytest.raises(TypeError, match="of sparse rows must be given NumPy actions, got Array"):
        g.query(x64.numpy.zeros(2))


def test_a_compiled_game_is_refused_in_the_same_sentence():
    g = Affine(sparse.csr_array(np.eye(2)), [1.0, 2.0])
    problem = Problem.of(Linear(np.ones((8, 2))), g, Ball(3.0), [0.0, 0.0])
    player = PFS(eta=0.1, rho=0.1, domain=Ball(3.0))
    with pytest.raises(TypeError, match="an Affine of sparse rows must be given NumPy actions"):
        play(player, problem, engine="scan")
    trace = play(player, problem, engine="batch")
    assert trace.status == "ok"


@pytest.mark.parametrize(
    ("A", "b", "sentence"),
    [
        (sparse.csr_array((0, 3)), [], "A.shape must be that of a matrix that is not empty"),
        (sparse.csr_array([[1.0, 0.0], [0.0, 0.0]]), [1.0, 1.0], "zeros in row 1"),
        (
            sparse.csr_array([[1.0, 0.0], [0.0, np.nan]]),
            [1.0, 1.0],
            r"A must be finite, got nan at index \(1, 1\)",
        ),
        (sparse.csr_array(np.eye(2)), [1.0], r"b.shape must be \(2,\), got \(1,\)"),
        (sparse.csr_array(np.eye(2)), [1.0, np.nan], "b must be finite, got nan"),
    ],
)
def test_bad_input_is_named(A, b, sentence):
    with pytest.raises(ValueError, match=sentence):
        Affine(A, b)


def test_a_query_touches_the_entries_that_are_there():
    # 20,000 columns and rows dense would be 3.2 GB; here it is half a megabyte.
    rng = np.random.default_rng(3)
    m = d = 20_000
    rows = np.repeat(np.arange(m), 2)
    A = sparse.csr_array((rng.normal(size=2 * m), (rows, rng.integers(d, size=2 * m))), (m, d))
    g = Affine(A, np.ones(m))
    x = rng.normal(size=d)
    value, s = g.query(x)
    i = int((A @ x - 1).argmax())
    assert value == (A @ x - 1)[i]
    assert np.count_nonzero(s) <= 2
    np.testing.assert_array_equal(s, A[[i]].toarray()[0])
