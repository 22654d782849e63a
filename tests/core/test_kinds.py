"""The sentences that annotations give to arguments of the wrong kind."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

from surefoot import PFS, Ball, Problem, Trace, play, problems
from surefoot.core import kinds
from surefoot.core.errors import InvalidTypeError, InvalidValueError
from surefoot.core.types import Array
from surefoot.problems.constraints import LinfNorm
from surefoot.sets import Box


class Pair(NamedTuple):
    """Two fields."""

    ball: Ball
    rows: tuple[Array, ...]


@kinds.told
def reach(ball: Ball, point: Any = None, t: int = 0) -> Any:
    """Return something that needs the ball, the point's name, or a list."""
    if point is not None:
        return point.name
    return 1 / ball.radius if t == 0 else [1][t]


def test_the_first_argument_of_a_wrong_kind_is_named():
    with pytest.raises(InvalidTypeError, match=r"^ball must be a Ball, got 3$"):
        reach(3)
    assert reach(Ball(2.0)) == 0.5


def test_arguments_may_be_named_and_a_default_is_not_blamed():
    assert reach(t=0, ball=Ball(2.0)) == 0.5

    @kinds.told
    def repeated(word: str, times: Array = None) -> Any:
        return word * times

    assert repeated("a", times=2) == "aa"
    with pytest.raises(TypeError, match="can't multiply"):
        repeated("a")
    with pytest.raises(TypeError, match=r"repeated\(\) missing 1 required positional"):
        repeated()


def test_an_argument_that_lacks_an_attribute_is_named():
    rule = r"^point must be something with an attribute 'name', got 0.5$"
    with pytest.raises(InvalidTypeError, match=rule):
        reach(Ball(1.0), 0.5)


def test_a_round_that_there_is_not_is_named():
    with pytest.raises(InvalidValueError, match=r"^t must be a round that there is, got 7$"):
        reach(Ball(1.0), t=7)


def test_a_failure_that_no_argument_explains_is_raised_as_it_was():
    @kinds.told
    def broken(x: float) -> float:
        return {}[x]

    with pytest.raises(KeyError):
        broken(1.0)


def test_fields_are_compared_with_their_annotations():
    kinds.check_fields(Pair(Ball(1.0), (np.ones(2),)))
    with pytest.raises(InvalidTypeError, match=r"^rows of a Pair must be a tuple"):
        kinds.check_fields(Pair(Ball(1.0), (3.0,)))


def test_domains_states_and_constructors_say_what_they_want():
    g = LinfNorm(0.5, 2)
    with pytest.raises(InvalidTypeError, match=r"^domain must be a Ball, got Box\("):
        g.constants(Box([-1.0, -1.0], [1.0, 1.0]))
    player = PFS(eta=0.1, rho=0.1, domain=Ball(1.0))
    with pytest.raises(InvalidTypeError, match=r"^state must be a PFSState, got 0.25$"):
        player.update(0.25, None)


def test_a_trace_of_something_else_is_refused():
    toy = problems.binding_toy(horizon=5, trials=1)
    trace = play(PFS(eta=0.1, rho=0.1, domain=toy.domain), toy)
    fields = {name: getattr(trace, name) for name in Trace.__slots__}
    assert Trace(**fields).horizon == 5
    with pytest.raises(InvalidTypeError, match=r"^problem of a Trace must be a Problem, got 1$"):
        Trace(**fields | {"problem": 1})
    with pytest.raises(InvalidValueError, match=r"^cost of a Trace must have an entry for each"):
        Trace(**fields | {"cost": trace.cost[:2]})


def test_functions_that_are_told_are_pickled_by_their_name():
    assert pickle.loads(pickle.dumps(problems.paper_toy)) is problems.paper_toy
    assert isinstance(problems.paper_toy(horizon=2, trials=1), Problem)
