"""A round is declared once: whatever handles it follows the table, or refuses the field."""

import inspect
from typing import NamedTuple

import numpy as np
import pytest
from tests._tuned import tuned_cases

from surefoot import Controller, Feedback, kernel, kernel_bridge
from surefoot.controller import Fleet, feedback as door
from surefoot.controller.check.keys import RECORDS
from surefoot.controller.loop import Run
from surefoot.controller.service import ControllerService
from surefoot.core import feedback as declaration
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import FIELDS, NEXT, FeedbackField, list_report, refuse_unused
from surefoot.kernel_bridge import step_in_place
from surefoot.knowledge import LipschitzHull
from surefoot.rules import ALGORITHMS, Averaged, ChangeOver, CostProbing, Delayed, LeaderFollower
from surefoot.rules.wrappers.wrapper import Wrapper
from surefoot.sets import Ball

HULL = LipschitzHull(G_g=1.0, reach=2.0)
FOLLOWER = LeaderFollower(G_g=1.0, domain=Ball(2.0))


def names(select):
    return {field.name for field in FIELDS if select(field)}


def test_the_table_has_a_row_for_each_field_in_their_order():
    assert [field.name for field in FIELDS] == list(Feedback._fields)
    assert set(NEXT) == {"proposal", "within", "direction", "hint", "context"}
    assert all(field.needs in ("", *Feedback._fields) for field in FIELDS)


def test_a_round_is_usual_where_nothing_but_five_fields_is_reported():
    usual = {
        "cost_gradient",
        "constraint_value",
        "constraint_subgradient",
        "cost_value",
        "proposal",
    }
    for name in Feedback._fields:
        if name != "age":  # which a door does not take
            assert door._is_usual(Feedback(**{name: 1.0}), None) == (name in usual)
    assert not door._is_usual(Feedback(), 0.1)


@pytest.mark.parametrize("kind", [Controller, Fleet])
def test_tell_takes_the_fields_of_the_table(kind):
    told = names(lambda field: field.fleet if kind is Fleet else field.tell)
    others = {"self", "missing", "drift", "members"}
    assert set(inspect.signature(kind.tell).parameters) - others == told


def test_a_service_takes_the_fields_of_the_table():
    keys = set(ControllerService(Controller(FOLLOWER, np.zeros(2))).commands["tell"])
    assert keys - {"missing", "drift"} == names(lambda field: field.tell)


def test_the_checker_knows_the_keys_of_the_table():
    keys = {field.journal for field in FIELDS} - {None}
    assert keys <= set(RECORDS["round"].split())


def test_what_is_not_reported_is_not_listed():
    assert list_report(Feedback(cost_gradient=np.ones(2), age=0)).keys() == {"cost_gradient"}
    assert list_report(Feedback(age=2)) == {"age": 2}


def test_what_a_rule_does_not_use_is_refused_by_name():
    with pytest.raises(InvalidValueError, match=r"^age is not used by Mine: leave it out$"):
        refuse_unused(Feedback(age=2), frozenset({"hint"}), "Mine")
    with pytest.raises(InvalidValueError, match=r"^feedback must be a Feedback, got 3$"):
        refuse_unused(3, frozenset(), "Mine")
    refuse_unused(Feedback(hint=np.ones(1), cost_value=1.0), frozenset({"hint"}), "Mine")


# --- a field that came later ----------------------------------------------------------------------


@pytest.fixture
def weighted(monkeypatch):
    """Return feedback with a field that no part of the library knows, and declare it."""
    fields = {name: Feedback.__annotations__[name] for name in Feedback._fields}
    plain = NamedTuple("Weighted", [*fields.items(), ("weight", float)])
    kind = type("Weighted", (plain, Feedback), {})
    row = FeedbackField("weight", "number", "seen", "python", "weight")
    for module in (declaration, door, kernel_bridge):
        monkeypatch.setattr(module, "FIELDS", (*FIELDS, row))

    def report(**fields):
        return kind(**Feedback()._asdict() | fields, weight=2.0)

    return report


@pytest.mark.parametrize("kind", ALGORITHMS, ids=lambda kind: kind.__name__)
def test_a_field_that_a_rule_does_not_know_is_refused_at_the_door(kind, weighted):
    for player, start in tuned_cases(kind):
        run = Run.of(player, start)
        state = run.begin().state
        with pytest.raises(InvalidValueError, match=r"^weight is not used by \w+: leave it out$"):
            door.read_feedback(run, state, weighted(cost_gradient=np.ones(len(start))))


@pytest.mark.parametrize("engine", kernel.engines())
@pytest.mark.parametrize(
    "player",
    [
        FOLLOWER,
        Delayed(base=FOLLOWER, delay=1),
        Delayed(base=FOLLOWER, delay=1, late=True),
        Averaged(base=FOLLOWER, sigma=0.1),
        CostProbing(base=FOLLOWER, length=0.01),
    ],
    ids=lambda player: type(player).__name__,
)
def test_both_engines_refuse_a_field_that_they_do_not_know(player, engine, weighted):
    round_ = {"cost_gradient": np.ones(2), "constraint_value": -0.5, "cost_value": 1.0}
    if isinstance(player, CostProbing):
        del round_["cost_gradient"]
    feedback = weighted(**round_, constraint_subgradient=np.array([1.0, 0.0]))
    with kernel.engine(engine):
        state = player.init(np.zeros(2))
        with pytest.raises(InvalidValueError, match="weight is not used by"):
            player.step(state, feedback)


@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
def test_the_kernel_leaves_a_field_that_it_does_not_know_to_python(weighted):
    player = LeaderFollower(G_g=1.0, domain=Ball(2.0))  # the kernel is told the fields of its day
    state = player.init(np.zeros(2))
    rule = player.compiled.rule(player, state.x)
    block, out = rule.block_of(state), np.empty(rule.out)
    usual = Feedback(np.ones(2), -0.5, np.array([1.0, 0.0]))
    heavy = weighted(**list_report(usual))
    assert not step_in_place(rule, block, heavy, out)
    assert not step_in_place(rule, block, usual, out)  # of another class: the fields may be others
    assert step_in_place(rule, block, heavy._replace(weight=None), out)


def test_a_wrapper_uses_nothing_unless_it_says_so():
    assert Wrapper.uses == frozenset()
    assert all(kind.uses <= set(Feedback._fields) for kind in (Averaged, ChangeOver, Delayed))
