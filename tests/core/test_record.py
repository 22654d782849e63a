"""A record is used as a named tuple is, and makes a part when that is read for the first time."""

import copy
import pickle

import numpy as np
import pytest

from surefoot import OGD, Ball
from surefoot.certified_pair import CertifiedState
from surefoot.core.record import Record, is_tree, rebuild
from surefoot.core.types import Info


class Pair(Record):
    """Two parts."""

    __slots__ = ("first", "second")

    def __init__(self, first, second=2):
        self.fill(first=first, second=second)

    @property
    def broken(self):
        """What fails for want of something else."""
        return self.first.missing


class Counting:
    """Where parts come from, and which were asked for."""

    def __init__(self):
        self.names = []

    def __getattr__(self, name):
        self.names.append(name)
        return name


def unmade():
    """A record without a part, and where these come from."""
    pair, source = Pair.__new__(Pair), Counting()
    vars(Record)["kernel"].__set__(pair, source)
    return pair, source


def test_a_record_is_used_as_a_named_tuple_is():
    pair = Pair(1)
    first, *rest = pair
    assert (first, rest) == (1, [2])
    assert (pair[0], pair[-1], pair[:1], len(pair)) == (1, 2, (1,), 2)
    assert Pair._fields == ("first", "second")
    assert Pair._field_defaults == {"second": 2}
    assert pair._asdict() == {"first": 1, "second": 2}
    assert pair._replace(second=5) == Pair(1, 5) == Pair._make([1, 5])
    assert pair != Pair(1, 5)
    assert pair != (1, 2)
    assert repr(pair) == "Pair(first=1, second=2)"
    with pytest.raises(TypeError, match="third"):
        pair._replace(third=1)


def test_a_record_never_changes():
    pair = Pair(1)
    with pytest.raises(AttributeError, match="Pair never changes: first cannot be set"):
        pair.first = 2
    with pytest.raises(AttributeError, match="Pair never changes: first cannot be deleted"):
        del pair.first
    with pytest.raises(AttributeError):
        pair.third = 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(pair)


def test_a_part_is_made_once_and_only_when_it_is_read():
    pair, source = unmade()
    assert source.names == []
    assert (pair.second, pair.second) == ("second", "second")
    assert source.names == ["second"]
    assert tuple(pair) == ("first", "second")
    assert source.names == ["second", "first"]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda pair: pair._replace()])
def test_a_copy_has_all_parts_and_needs_no_source(copied):
    pair, _ = unmade()
    again = copied(pair)
    assert type(again) is Pair
    assert again.kernel is None
    assert again == Pair("first", "second")


@pytest.mark.parametrize("kind", [CertifiedState, Info])
def test_the_records_of_the_library_are_pickled_by_their_parts(kind):
    parts = range(len(kind._fields))
    record = kind(*parts)
    again = pickle.loads(pickle.dumps(record))
    assert type(again) is kind
    assert again == record
    assert tuple(again) == tuple(parts)


def test_an_unknown_name_and_a_property_that_fails_are_named():
    with pytest.raises(AttributeError, match="'Pair' object has no attribute 'third'"):
        _ = Pair(1).third
    with pytest.raises(AttributeError, match="'int' object has no attribute 'missing'"):
        _ = Pair(1).broken


def test_trees_are_rebuilt_in_their_own_class():
    one, made = rebuild(Pair(1), [3, 4]), rebuild((1, 2), iter([3, 4]))
    assert one == Pair(3, 4)
    assert made == (3, 4)
    assert [is_tree(value) for value in (one, made, [1], np.zeros(2), None)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_jax_takes_states_apart_that_have_its_arrays(x64):
    state = CertifiedState(x64.numpy.zeros(2), (), (), None)
    OGD(eta=0.1, domain=Ball(1.0)).init(state.x)  # an action of JAX was seen
    doubled = x64.tree.map(lambda leaf: 2 * leaf + 1, state)
    assert type(doubled) is CertifiedState
    assert doubled.x.tolist() == [1.0, 1.0]
