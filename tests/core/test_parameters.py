"""Declared parameters: what a constructor refuses, and what a reader is told."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, Constants
from surefoot.core import parameters as tk
from surefoot.core.errors import InvalidTypeError
from surefoot.core.parameters import Declared, algorithm, parameters_of
from surefoot.problems.constraints import L2Norm
from surefoot.rules import Jenatton, ValuesFollower
from surefoot.sets import Box


class Everything(Declared):
    """One parameter of each kind; annotations are not read."""

    step: Any = tk.positive(default=1.0)
    lag: "float | None" = tk.nonnegative(default=None)
    part: str = tk.share(default=0.5)
    rounds: int = tk.count(default=1)
    depth: int = tk.count(2, default=2)
    quick: bool = tk.flag(default=False)
    word: str = tk.choice("up", "down", default="up")
    domain: Any = tk.projectable(default=Ball(1.0))
    corners: Any = tk.minimising(default=Ball(1.0))
    base: Any = algorithm(default=OGD(eta=0.1, domain=Ball(1.0)))
    cost: Any = tk.function(default=abs)
    rows: Any = tk.anything(default=())


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("step", 0.0, "step must be a finite number > 0, got 0.0"),
        ("step", np.array([[1.0], [-2.0]]), "step must be a finite number > 0, got "),
        ("step", True, "step must be a finite number > 0, got True"),
        ("step", None, "step must be a finite number > 0, got None"),
        ("lag", -1.0, "lag must be a finite number >= 0, got -1.0"),
        ("part", 1.0, "part must be strictly between 0 and 1, got 1.0"),
        ("rounds", 0, "rounds must be a whole number >= 1, got 0"),
        ("rounds", 2.0, "rounds must be a whole number >= 1, got 2.0"),
        ("depth", 1, "depth must be a whole number >= 2, got 1"),
        ("quick", 1, "quick must be True or False, got 1"),
        ("word", "left", "word must be one of 'up', 'down', got 'left'"),
        ("domain", 2.0, "domain must be a set with a projection, got 2.0: Ball(2.0) is the ball"),
        ("domain", Ball, "domain must be a set with a projection, got <class"),
        ("domain", L2Norm(1.0), "domain must be a set with a projection, got the constraint"),
        ("corners", 3, "corners must be a set that minimises linear functions, got 3"),
        ("base", OGD, "base must be an algorithm with init and step, got "),
        ("cost", 3, "cost must be a function, got 3"),
    ],
)
def test_a_constructor_refuses_in_one_sentence(name, value, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        Everything(**{name: value})


def test_numbers_are_kept_as_python_has_them_and_columns_as_they_are():
    column = np.array([[0.1], [0.2]])
    made = Everything(step=np.float32(0.5), rounds=np.int64(3), quick=np.True_, lag=column)
    assert [type(v) for v in (made.step, made.rounds, made.quick)] == [float, int, bool]
    assert made.lag is column
    with pytest.raises(FrozenInstanceError):
        made.step = 2.0


def test_parameters_are_told_in_order_with_what_they_may_be():
    told = parameters_of(Everything)
    assert list(told)[:3] == ["step", "lag", "part"]
    assert [p.form for p in told.values()] == [
        *("number", "number", "number", "whole", "whole", "switch", "word"),
        *("set", "set", "object", "object", "object"),
    ]
    assert told["word"][:4] == ("word", "word", "one of 'up', 'down'", "up")
    required = [p.name for p in parameters_of(PFS).values() if p.is_required]
    assert required == ["eta", "rho", "domain"]
    assert parameters_of(Jenatton)["beta"].rule == "strictly between 0 and 1"
    assert parameters_of(int) == {}


def test_a_derived_class_has_the_parameters_of_both():
    class More(Everything):
        more: float = tk.positive()

    assert list(parameters_of(More)) == [*parameters_of(Everything), "more"]
    with pytest.raises(ValueError, match=r"^more must be a finite number > 0, got -1\.0$"):
        More(more=-1.0)
    with pytest.raises(ValueError, match=r"^step must be a finite number > 0, got -1\.0$"):
        More(more=1.0, step=-1.0)


def test_two_are_equal_where_their_parameters_are():
    def made(last):
        parts = (np.zeros(2), np.zeros(3), OGD(eta=0.1, domain=Box([0.0, last], [1.0, 3.0])))
        return Everything(step=np.array([[1.0], [2.0]]), rows=parts)

    one, same, other = made(2.0), made(2.0), made(2.5)
    assert one == same
    assert one == pickle.loads(pickle.dumps(one)) == copy.deepcopy(one)
    assert one != other
    assert one != replace(one, rows=one.rows[:2])
    assert one != OGD(eta=0.1, domain=Ball(1.0))
    assert hash(Everything()) == hash(Everything())
    assert {Everything(): 1}[Everything()] == 1


class Pair(Declared, kw_only=False):
    """One of which not every field is declared."""

    left: Any
    right: Any = tk.positive(default=None)


def test_an_undeclared_field_is_anything_and_compared_by_entry():
    one = Pair(np.array([1.0, 2.0]))
    assert one == Pair(np.array([1.0, 2.0])) == pickle.loads(pickle.dumps(one))
    assert one != Pair(np.array([1.0, 2.5]))
    assert one != Pair(np.array([1.0, 2.0]), 2.0)
    assert one != (np.array([1.0, 2.0]), None)
    with pytest.raises(ValueError, match=r"^right must be a finite number > 0, got 0\.0$"):
        Pair(1.0, 0.0)


class Segment(Declared, kw_only=False):
    """One whose parameters are given by position."""

    start: Any = tk.positive()
    end: Any = tk.positive(default=2.0)


def test_parameters_may_be_given_by_position():
    assert Segment(1.0) == Segment(1.0, 2.0) == Segment(start=1.0, end=2.0)
    with pytest.raises(TypeError):
        Everything(1.0)


def test_a_repr_can_be_typed_and_large_arrays_are_named_by_their_shape():
    rule = OGD(eta=0.5, domain=Ball(1.0))
    assert eval(repr(rule)) == rule
    wide = Everything(step=np.ones((17, 1)))
    assert "step=<array of shape (17, 1)>" in repr(wide)


@pytest.mark.parametrize("opening", ["", "from __future__ import annotations\n"])
def test_the_parameters_of_a_rule_of_yours_are_checked_however_it_imports(opening):
    source = f"""{opening}
from surefoot.core import parameters
from surefoot.core.algorithm import OneConstraint

class Mine(parameters.Declared, OneConstraint):
    eta: float = parameters.positive()
    least: None | float = parameters.positive(default=None)
"""
    made = {"__name__": __name__}
    exec(source, made)
    for wrong in ({"eta": -1.0}, {"eta": 1.0, "least": -1.0}):
        with pytest.raises(ValueError, match=r"must be a finite number > 0, got -1\.0$"):
            made["Mine"](**wrong)
    assert made["Mine"](eta=1.0).least is None


def test_a_misspelt_parameter_is_refused_with_the_nearest():
    with pytest.raises(
        InvalidTypeError, match=r"^Constants has no parameter 'Gg'; did you mean 'G_g'"
    ):
        Constants(R=1.0, Gg=1.0)
    with pytest.raises(
        InvalidTypeError, match=r"^Constants has no parameter 'zzz'; known: R, G_f, "
    ):
        Constants(R=1.0, zzz=1.0)


def test_only_parameters_are_suggested_and_listed():
    with pytest.raises(InvalidTypeError) as caught:
        PFS(sorce=1)
    assert str(caught.value) == "PFS has no parameter 'sorce'; known: eta, rho, domain"
    with pytest.raises(InvalidTypeError, match=r"^PFS has no parameter 'source'"):
        PFS(source=1)


@pytest.mark.parametrize(
    ("tuning", "wrong", "sentence"),
    [
        (PFS.chosen, "roh", "PFS.chosen has no parameter 'roh'; did you mean 'rho'?"),
        (PFS.tuned, "horizn", "PFS.tuned has no parameter 'horizn'; did you mean 'horizon'?"),
        (
            ValuesFollower.default,
            "ramp",
            "ValuesFollower.default has no parameter 'ramp': ValuesFollower(...) has it",
        ),
    ],
)
def test_a_misspelt_parameter_of_a_tuning_is_refused_with_its_own(tuning, wrong, sentence):
    with pytest.raises(InvalidTypeError) as caught:
        tuning(Constants(R=1.0, G_g=1.0), **{wrong: 1})
    assert str(caught.value) == sentence


class Placed(Declared, kw_only=False):
    """Two parameters that need no name, and of others what to take instead."""

    unsupported: ClassVar = {"depth": "take Everything, which has it"}

    left: Any = tk.number()
    right: float | None = tk.number(default=None)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Everything(0.5), "Everything takes parameters by name, as step=..., got 0.5"),
        (lambda: Placed(1.0, 2.0, 3.0), "Placed takes at most 2 parameters, got 3.0 as one more"),
        (lambda: Placed(1.0, left=2.0), "Placed takes left once, got it twice"),
        (lambda: Placed(right=1.0), "Placed needs left, got none"),
        (lambda: Placed(1.0, depth=2), "Placed has no parameter 'depth': take Everything, which"),
        (lambda: ValuesFollower(), "ValuesFollower needs G_g and domain, got none"),
        (lambda: ValuesFollower.unknown(), "ValuesFollower.unknown needs domain, got none"),
        (lambda: ValuesFollower.unknown(Ball(1.0), 2.0), "ValuesFollower.unknown takes parameters"),
    ],
)
def test_a_call_with_other_parameters_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(InvalidTypeError, match=f"^{re.escape(sentence)}"):
        make()


def test_a_type_error_of_the_constructor_itself_is_not_hidden():
    class Faulty(Declared):
        step: float = tk.positive()

        def __post_init__(self) -> None:
            super().__post_init__()
            raise TypeError("its own")

    with pytest.raises(TypeError, match=r"^its own$") as caught:
        Faulty(step=1.0)
    assert not isinstance(caught.value, InvalidTypeError)


def test_what_a_tuning_returns_is_not_taken_for_its_algorithm():
    tuned = ValuesFollower.unknown(Ball(1.0))
    with pytest.raises(ValueError, match="an algorithm with init and step: give tuned"):
        Everything(base=tuned)
    assert Everything(base=tuned.algorithm).base is tuned.algorithm
