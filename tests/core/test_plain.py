"""Objects as plain data and back: to the last bit, by the library's own classes alone."""

import json
import math
from typing import NamedTuple

import numpy as np
import pytest

from surefoot import Ball, Constants, Feedback
from surefoot.core.errors import InvalidValueError
from surefoot.core.plain import NotPlainError, build, decode, describe, digest, encode, records_in
from surefoot.rules import OGD, PFS, LeaderFollower, SafetyFilter
from surefoot.sets import Box

BOX = Box([-0.1, -1 / 3], [0.1 + 0.2, 1e-310])
PLAYERS = [
    PFS(eta=0.1, rho=1 / 3, domain=Ball(1.5, [0.1, 0.2])),
    OGD(eta=np.array([[0.1], [0.2]]), domain=BOX),
    SafetyFilter(G_g=1.3, domain=BOX, rho=0.1, value_error=0.05),
    LeaderFollower(G_g=1.3, domain=Ball(1.0), leader=OGD(eta=0.1, domain=Ball(1.0))),
    LeaderFollower.default(Constants(R=1.0, G_g=2.0, start_slack=0.5)),
]


@pytest.mark.parametrize("player", PLAYERS, ids=lambda p: type(p).__name__)
def test_what_is_written_is_read_again_through_json(player):
    again = decode(json.loads(json.dumps(encode(player))))
    assert again == player
    assert repr(again) == repr(player)
    assert digest(again) == digest(player)


def test_a_state_comes_back_to_the_last_bit():
    player = LeaderFollower(G_g=1.3, domain=Ball(1.0))
    state = player.init(np.array([0.1, -0.2]))
    for t in range(5):
        seen = Feedback(np.array([1 / 3, t / 7]), -0.3, np.array([0.5, 1.1]))
        state, _ = player.step(state, seen)
    again = decode(json.loads(json.dumps(encode(state))), records_in(state))
    assert encode(again) == encode(state)
    first, second = (player.step(s, seen)[0].x for s in (state, again))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        -math.inf,
        (1.0, (2, None), "x"),
        {"a": (1, 2.5)},
        np.array([[1.5], [2.5]]),
        np.zeros((0, 3)),
        np.array(2.0),
        np.array([1, 2]),
        np.array([math.inf, 1.0]),
        [1.0, (2,), "x"],
        np.float64(0.1),
        np.float64(-math.inf),
        np.int64(7),
        np.bool_(True),
    ],
    ids=repr,
)
def test_numbers_arrays_and_tuples_keep_their_kind(value):
    again = decode(json.loads(json.dumps(encode(value))))
    assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        assert (again.dtype, again.shape) == (value.dtype, value.shape)
    np.testing.assert_equal(again, value)


def test_finite_numbers_are_a_list_also_where_their_squares_are_not():
    assert encode(np.array([3e200, -4e200])) == [3e200, -4e200]
    assert encode(np.array([3e200, math.inf]))["array"] == [3e200, {"number": "inf"}]


def test_an_array_of_any_length_is_part_of_the_digest():
    one, other = np.zeros(20), np.zeros(20)
    other[17] = 1e-300
    assert digest(Box(one - 1, one)) != digest(Box(one - 1, other))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"class": "Bal", "radius": 1.0}, r"got 'Bal'; did you mean 'Ball'\?$"),
        ({"radius": 1.0}, r"^player\.class must be one of the library, got None; known: "),
        ({"class": "Ball", "size": 1.0}, r"fields of Ball, got 'size'; known: radius, centre$"),
        (
            {"class": "Ball", "radius": "x"},
            r"^player\.radius must be a finite number > 0, got 'x'$",
        ),
        (
            {"class": "OGD", "eta": 0.1, "domain": {"class": "Ball", "radius": 0.0}},
            r"^player\.domain\.radius must be a finite number > 0, got 0\.0$",
        ),
        ({"class": "OGD", "eta": 0.1}, r"^player must have domain, which OGD needs$"),
        (
            {"class": "LeaderFollower", "G_g": 1.0, "cost": 2.0},
            r"fields of LeaderFollower, got 'cost'; known: G_g, domain, cuts, ",
        ),
    ],
)
def test_a_mistake_is_named_by_the_path_of_its_key(table, sentence):
    with pytest.raises(InvalidValueError, match=sentence):
        build(table)


class Own(NamedTuple):
    x: float


@pytest.mark.parametrize("value", [print, object(), {1, 2}], ids=["function", "object", "set"])
def test_what_is_no_plain_data_is_refused(value):
    with pytest.raises(NotPlainError, match="cannot be stored as plain data"):
        encode(value)


def test_nothing_in_a_file_can_name_a_module_or_a_class_of_others():
    for name in ("os.system", "Path", "surefoot.sets.Ball", "type", "Own"):
        with pytest.raises(NotPlainError, match=r"class .* is unknown"):
            decode({"class": name})
    assert decode(encode(Own(1.5)), {"Own": Own}) == Own(1.5)


def test_what_is_no_plain_data_is_left_out_and_given_again():
    data = encode({"leader": {"rule": sum}, "box": BOX}, leave_out=True)
    assert describe(data) == f"{{'leader': {{'rule': <sum>}}, 'box': {describe(encode(BOX))}}}"
    again = decode(json.loads(json.dumps(data)), given={"leader__rule": sum})
    assert again == {"leader": {"rule": sum}, "box": BOX}
    with pytest.raises(
        NotPlainError, match=r"^leader__rule \(a sum\) could not be stored: give it"
    ):
        decode(data)
    with pytest.raises(NotPlainError, match=r"^leader__rule must be the sum that it was, got <b"):
        decode(data, given={"leader__rule": max})
    assert encode(sum, leave_out=True, name="algorithm") == {"given": "algorithm", "kind": "sum"}
    assert digest(data) != digest(encode({"leader": {"rule": max}, "box": BOX}, leave_out=True))


def test_a_sparse_matrix_is_kept_as_its_rows():
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.csr_array(np.array([[0.0, 0.1], [1 / 3, 0.0]]))
    again = decode(json.loads(json.dumps(encode(rows))))
    assert (again.toarray() == rows.toarray()).all()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"class": "Ball", "radius": 1.0, "size": 2.0}, "^Ball has no field 'size'$"),
        ({"class": "Ball", "s" * 5000: 2.0}, r"^Ball has no field 's{159} \.\.\. of type str$"),
        ({"class": "x" * 5000}, r"^class 'x{159} \.\.\. of type str is unknown$"),
        ({"class": ["Ball"]}, r"^class \['Ball'\] is unknown$"),
        ({}, r"^a table must have a class, got \{\}$"),
        ({"array": [1.0], "type": "object", "shape": [1]}, "must have a class"),
        ({"array": [1.0], "type": "int64", "shape": [7]}, "cannot be read: cannot reshape"),
        ({"array": 3, "type": "int64"}, "cannot be read: "),
        ({"map": [1.0]}, "cannot be read: "),
        ([1.0, "x"], "cannot be read: could not convert"),
    ],
    ids=lambda part: repr(part)[:60],
)
def test_data_that_are_no_value_are_refused_in_one_sentence(data, sentence):
    with pytest.raises(NotPlainError, match=sentence):
        decode(data)


def test_tables_may_name_classes_of_a_plugin_that_the_caller_names():
    assert build({"class": "Own", "x": 1.5}, own={"Own": Own}) == Own(1.5)
