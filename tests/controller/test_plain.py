import numpy as np
import pytest
from tests._own import WholeSpace

from surefoot import OGD, PFS, Ball, Constants
from surefoot.algorithms import ALGORITHMS, EntropicDualAveraging, FrankWolfe, catalogue
from surefoot.algorithms.certified import CertifiedState
from surefoot.algorithms.descent import DescentState
from surefoot.controller._plain import NotPlainError, Plain, classes_in, from_plain, to_plain
from surefoot.sets import (
    Box,
    Ellipsoid,
    Halfspace,
    L1Ball,
    NuclearBall,
    Polytope,
    Product,
    Simplex,
    Slab,
    SpectralBall,
)

CONSTANTS = Constants(
    R=1.5,
    G_f=3.0,
    G_g=1.25,
    sigma=0.3,
    epsilon=0.25,
    start_slack=0.4,
    start_reach=2.0,
    F=7.0,
    D_g=2.5,
    rows=3,
    strong_convexity=0.125,
    beta=1.75,
    cost_bound=9.0,
    origins={"G_f": "estimated", "sigma": "slater"},
)
SETS = [
    Ball(1.25),
    Ball(0.75, centre=[0.1, -0.3]),
    Box([-1.0, -0.1], [0.3, 2.0]),
    Halfspace([0.3, -1.0], 0.7),
    L1Ball(0.75),
    Simplex(3, 0.5),
    Slab([0.3, -1.0], -0.1, 0.7),
    Ellipsoid([[2.0, 0.3], [0.3, 1.0]]),
    SpectralBall((2, 3), 0.7),
    NuclearBall((2, 3), 0.7),
    Polytope([[1.0, 0.3], [-1.0, 0.1], [0.2, -1.0]], [1.0, 0.5, 0.25]),
    Product([Ball(1.5), Box([-1.0], [0.25])], sizes=(2, 1)),
]


def again(value, **options):
    own = classes_in(value)
    plain = to_plain(value, own=own)
    made = from_plain(plain, own=own, **options)
    assert to_plain(made, own=own) == plain
    return made


TUNED = [
    entry
    for horizon in (100, 10**7)
    for region in (Ball(0.25), Box.cube(0.25, 2), Simplex(3, 0.5))
    for entry in catalogue(CONSTANTS, horizon, Ball(1.5), region)
    if entry.tuned is not None
]


def test_every_algorithm_is_among_those_stored():
    assert {entry.algorithm for entry in TUNED} == {kind.__name__ for kind in ALGORITHMS}


@pytest.mark.parametrize("entry", TUNED, ids=lambda entry: entry.name)
def test_every_algorithm_and_guarantee_comes_back_as_it_was(entry):
    made = again(entry.tuned)
    assert made == entry.tuned
    assert repr(made) == repr(entry.tuned)
    assert made.guarantee.constants.origins == entry.tuned.guarantee.constants.origins


@pytest.mark.parametrize("region", SETS, ids=repr)
def test_every_set_comes_back_as_it_was(region):
    made = again(OGD(eta=0.3, domain=region))
    assert made.domain == region
    assert type(made.domain) is type(region)


def test_a_sparse_matrix_comes_back():
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.csr_array(np.array([[1.0, 0.0], [0.0, -2.0], [-1.0, 0.25]]))
    region = Polytope(rows, [1.0, 0.5, 0.25])
    assert again(FrankWolfe(eta=0.1, domain=region)).domain == region


@pytest.mark.parametrize(
    "value",
    [
        0.1,
        -0.0,
        5e-324,
        float("inf"),
        float("-inf"),
        3,
        True,
        None,
        "word",
        (1.5, (2, None)),
        [0.1, "a"],
        {"a": 0.1, "array": {"class": 3}},
        np.float64(0.1),
        np.array(-0.0),
        np.array([[1, 2], [3, 4]], dtype=np.int32),
        np.zeros((0, 3)),
        np.array([True, False]),
        CertifiedState(np.ones(2), (), DescentState(0.1, 1e300)),
    ],
    ids=repr,
)
def test_values_come_back_with_their_types_and_bits(value):
    made = again(value)
    assert type(made) is type(value)
    if isinstance(value, (np.ndarray, np.generic)):
        assert made.dtype == value.dtype
        assert made.shape == value.shape
        assert made.tobytes() == value.tobytes()
    elif isinstance(value, CertifiedState):
        assert all(np.array_equal(a, b) for a, b in zip(made, value, strict=True))
    else:
        assert repr(made) == repr(value)


def test_nan_comes_back():
    assert np.isnan(again(float("nan")))


@pytest.mark.parametrize(
    "value",
    [print, {3: 0.1}, np.array(["a"]), object(), 1 + 2j, {1, 2}],
    ids=["function", "number as key", "words", "object", "complex", "set"],
)
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(NotPlainError, match="cannot be stored as plain data"):
        to_plain((0.5, value))


def test_what_is_a_users_own_is_left_out_and_given_again():
    mine = WholeSpace()
    plain = to_plain({"algorithm": OGD(eta=0.25, domain=mine)}, may_leave_out=True)
    assert from_plain(plain, given={"domain": mine})["algorithm"].domain is mine
    with pytest.raises(
        NotPlainError, match=r"^domain \(a WholeSpace\) could not be stored: give it"
    ):
        from_plain(plain)
    with pytest.raises(
        NotPlainError, match=r"^domain must be the WholeSpace that it was, got Ball"
    ):
        from_plain(plain, given={"domain": Ball(1.0)})
    with pytest.raises(NotPlainError, match=r"\(domain\), got colour$"):
        from_plain(plain, given={"domain": mine, "colour": 3})


def test_a_field_of_a_field_is_named_with_both():
    region = Product([Ball(1.5), WholeSpace()], sizes=(2, 1))
    plain = to_plain({"algorithm": OGD(eta=0.25, domain=region)}, may_leave_out=True)
    with pytest.raises(NotPlainError, match=r"^domain__sets__1 \(a WholeSpace\)"):
        from_plain(plain)


def test_nothing_is_to_be_given_where_nothing_was_left_out():
    with pytest.raises(NotPlainError, match=r"\(nothing was\), got domain$"):
        from_plain(to_plain(PFS(eta=0.1, rho=0.1, domain=Ball(1.0))), given={"domain": Ball(1.0)})


@pytest.mark.parametrize("name", ["Popen", "os.system", "object"])
def test_a_class_that_is_not_the_librarys_is_not_made(name):
    with pytest.raises(NotPlainError, match="is no class that is known here"):
        from_plain(Plain(f'{{"class": "{name}"}}', b""))


def test_a_class_of_the_same_name_is_not_taken_for_the_librarys():
    class PFS:
        pass

    with pytest.raises(NotPlainError):
        to_plain(PFS())


def test_constructors_check_what_is_read():
    plain = to_plain(EntropicDualAveraging(eta=0.25, domain=Simplex(3, 0.5)))
    with pytest.raises(ValueError, match=r"eta must be a finite number > 0, got -0\.25"):
        from_plain(plain._replace(text=plain.text.replace("0.25", "-0.25")))
