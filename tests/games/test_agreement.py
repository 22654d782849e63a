"""A rule that is written for one run plays many, and says so once."""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests._own import State, Stepping

from surefoot import OGD, Ball, Problem, play, play_all, problems
from surefoot.core.types import Info
from surefoot.games import EngineWarning
from surefoot.problems.constraints import FunctionConstraint
from surefoot.problems.costs import Quadratic


class Branching(Stepping):
    """Steps along the cost, or away from the limit: decided by an `if`."""

    def step(self, state, feedback):
        if feedback.constraint_value > -0.1:
            return State(state.x - self.eta * feedback.constraint_subgradient), Info()
        return super().step(state, feedback)


class Mixing(Stepping):
    """Divides by a norm over all entries of all runs."""

    def step(self, state, feedback):
        gradient = feedback.cost_gradient
        return State(state.x - self.eta * gradient / np.linalg.norm(gradient)), Info()


class Sound(Mixing):
    """The same with a norm for each run."""

    def step(self, state, feedback):
        gradient = feedback.cost_gradient
        size = np.sqrt((gradient**2).sum(axis=-1, keepdims=True))
        return State(state.x - self.eta * gradient / size), Info()


TOY = problems.paper_toy(60, trials=4)


def test_a_rule_with_an_if_plays_many_trials_in_the_loop_and_one_warning_names_it():
    with pytest.warns(EngineWarning) as told:
        trace = play(Branching(0.05), TOY)
    (only,) = told
    assert str(only.message).startswith("Branching.step takes the numbers of all runs")
    assert only.filename == __file__
    assert trace.engine == "loop"
    assert "Branching.step" in trace.engine_note
    wanted = play(Branching(0.05), TOY, engine="loop")
    np.testing.assert_array_equal(trace.actions, wanted.actions)
    np.testing.assert_array_equal(trace.total_cost, wanted.total_cost)
    assert trace.violations.count.tolist() == wanted.violations.count.tolist()


def test_an_if_that_is_met_late_begins_the_game_anew():
    class Counting(NamedTuple):
        x: Any
        t: int

    class Later(Stepping):
        def init(self, x1):
            return Counting(x1, 0)

        def step(self, state, feedback):
            late = state.t >= 40
            step = feedback.cost_gradient
            if late and feedback.constraint_value > -0.1:
                step = feedback.constraint_subgradient
            return Counting(state.x - self.eta * step, state.t + 1), Info()

    with pytest.warns(EngineWarning, match="Later.step"):
        trace = play(Later(0.05), TOY)
    wanted = play(Later(0.05), TOY, engine="loop")
    np.testing.assert_array_equal(trace.cost_sum, wanted.cost_sum)
    np.testing.assert_array_equal(trace.violations.total, wanted.violations.total)


def test_a_rule_that_mixes_the_runs_is_found_though_nothing_raises():
    with pytest.warns(EngineWarning, match=r"Mixing is written for one run.*: its 4 runs"):
        trace = play(Mixing(0.05), TOY)
    assert trace.engine == "loop"


def test_a_rule_that_keeps_the_runs_apart_is_a_batch_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = play(Sound(0.05), TOY)
    assert trace.engine == "batch"
    np.testing.assert_allclose(
        trace.actions, play(Sound(0.05), TOY, engine="loop").actions, rtol=1e-12
    )


def test_several_players_of_one_branching_type_fall_back_together():
    with pytest.warns(EngineWarning, match="its 8 runs are played one by one"):
        first, second = play_all([Branching(0.05), Branching(0.1)], TOY, horizons=[60, 30])
    assert first.engine == second.engine == "loop"
    assert (first.horizon, second.horizon) == (60, 30)


@pytest.mark.parametrize("rule", [Branching(0.05), Mixing(0.05)])
def test_a_batch_that_was_asked_for_is_refused_in_a_sentence(rule):
    with pytest.raises(ValueError, match=r"batch.*: play it with engine='loop' or 'auto'"):
        play(rule, TOY, engine="batch")


def test_other_errors_of_a_rule_are_its_own():
    class Wrong(Sound):
        def step(self, state, feedback):
            raise ValueError("no step today")

    with pytest.raises(ValueError, match="round 1: no step today"):
        play(Wrong(0.05), TOY)


def test_the_library_s_own_rules_are_not_tried_twice(monkeypatch):
    asked = []
    monkeypatch.setattr(
        OGD, "init", lambda self, x1, _own=OGD.init: asked.append(1) or _own(self, x1)
    )
    play(OGD.fixed(TOY.constants, 60, TOY.benchmark.region), TOY)
    assert len(asked) == 1


def test_a_constraint_from_functions_of_one_action_plays_many_trials():
    limit = FunctionConstraint(lambda x: float(x @ x) - 1.0, lambda x: 2 * x, bound=2.0)
    wishes = np.random.default_rng(1).normal(size=(20, 3, 2))
    own = Problem.of(Quadratic(wishes, 1.0), limit, Ball(1.0), [0.0, 0.0])
    with pytest.warns(EngineWarning, match="FunctionConstraint is written for one run"):
        trace = play(OGD(eta=0.1, domain=Ball(1.0)), own)
    assert trace.runs == 3
    many = FunctionConstraint(
        lambda x: (x * x).sum(axis=-1, keepdims=x.ndim > 1) - 1.0, lambda x: 2 * x, bound=2.0
    )
    both = play(OGD(eta=0.1, domain=Ball(1.0)), replace(own, constraint=many))
    assert both.engine == "batch"
    np.testing.assert_allclose(both.actions, trace.actions, rtol=1e-12, atol=1e-15)
