"""What a round tells the player, and what the game keeps for itself."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, Feedback, play
from surefoot.core.types import Info, Needs, needs_of
from surefoot.games.game import Oracle
from surefoot.problems import Problem
from surefoot.problems.constraints import (
    Affine,
    AffineStream,
    FunctionConstraint,
    L2Norm,
    LinfNorm,
    max_of,
)
from surefoot.problems.costs import Linear
from surefoot.rules import DPP, Yuan
from surefoot.rules.states import ActionState

ROWS = Affine([[1.0, 2.0], [-3.0, 0.5], [0.0, -1.0]], [0.5, 0.375, 0.5])
SLOPES = np.array([[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25], [2.0, 0.75]])
PROBLEM = Problem.of(Linear(SLOPES), ROWS, Ball(1.0), [0.05, -0.1])
X = np.array([0.375, -0.25])
ENGINES = pytest.mark.parametrize("engine", ["loop", "batch", "scan"])


def ask(needs, x=X, t=1, *, constraint=ROWS, watched=True):
    return Oracle(Linear(SLOPES), constraint, needs, watched).ask(t, x)


def test_a_player_is_told_gradient_value_and_subgradient_at_its_action():
    seen = ask(Needs())
    gradient, g, s, cost = seen.feedback[:4]
    assert gradient.tolist() == [0.5, 3.0]
    assert (g, s.tolist()) == (-0.25, [0.0, -1.0])  # -0.625, -1.625 and -0.25
    assert cost is None
    assert seen.cost == -0.5625
    assert seen.largest == g
    assert seen.steepest == 1.0


@pytest.mark.parametrize(
    ("needs", "told"),
    [
        (Needs(), (True, True)),
        (Needs(constraint_subgradients=0), (True, False)),
        (Needs(constraint_values=0), (False, True)),
        (Needs(constraint_values=0, constraint_subgradients=0), (False, False)),
        (Needs(separately=True), (True, True)),
        (Needs(separately=True, constraint_subgradients=0), (True, False)),
    ],
)
@pytest.mark.parametrize("x", [X, np.array([X, -X])], ids=["one run", "a batch"])
def test_what_is_not_needed_is_not_told_and_the_game_knows_it_all_the_same(needs, told, x):
    seen, all_of_it = ask(needs, x), ask(Needs(), x)
    value, slope = seen.feedback.constraint_value, seen.feedback.constraint_subgradient
    assert (value is not None, slope is not None) == told
    np.testing.assert_array_equal(seen.largest, all_of_it.largest)
    np.testing.assert_array_equal(seen.cost, all_of_it.cost)


def test_constraints_kept_apart_come_as_values_and_rows():
    seen = ask(Needs(separately=True))
    np.testing.assert_array_equal(seen.feedback.constraint_value, [-0.625, -1.625, -0.25])
    np.testing.assert_array_equal(seen.feedback.constraint_subgradient, ROWS.A)
    assert seen.largest == -0.25
    assert type(seen.largest) is float
    assert seen.steepest == np.sqrt(9.25)  # the longest row, not that of the largest
    batch = ask(Needs(separately=True), np.array([X, -X]))
    assert batch.feedback.constraint_value.shape == (2, 3)
    assert batch.feedback.constraint_subgradient.shape == (2, 3, 2)
    assert batch.largest.shape == batch.steepest.shape == (2, 1)
    np.testing.assert_array_equal(batch.largest[:, 0], [ROWS.value(X), ROWS.value(-X)])


def test_norms_are_taken_where_they_are_watched():
    assert ask(Needs(), watched=False).steepest == 0.0
    assert ask(Needs(separately=True), watched=False).steepest == 0.0


def test_a_stream_of_constraints_answers_for_its_round():
    stream = AffineStream([[[1.0, 2.0]], [[-3.0, 0.5]]], [[0.5], [0.375]])
    first, second = (ask(Needs(), t=t, constraint=stream) for t in (0, 1))
    assert (first.largest, second.largest) == (-0.625, -1.625)
    assert second.feedback.constraint_subgradient.tolist() == [-3.0, 0.5]


def test_needs_are_the_papers_unless_said_otherwise():
    class Silent:
        pass

    class Wrong:
        needs = "all of it"

    assert needs_of(Silent()) == needs_of(Wrong()) == needs_of(PFS) == Needs()
    assert needs_of(DPP).separately
    assert (Needs().cost_gradients, Needs().constraint_values, Needs().work) == (1, 1, "d")


class Kept(NamedTuple):
    x: Any
    told: Any


@dataclass(frozen=True)
class Listener:
    """Stands still and keeps what it was told; counted in the loop as all are."""

    needs: Needs

    def init(self, x1):
        return Kept(x1, ())

    def step(self, state, feedback):
        HEARD.append(feedback)
        return state, Info()


HEARD: list[Feedback] = []


@pytest.mark.parametrize("engine", ["loop", "batch"])
@pytest.mark.parametrize(
    "needs",
    [
        Needs(),
        Needs(constraint_values=0, constraint_subgradients=0),
        Needs(separately=True),
        Needs(separately=True, constraint_subgradients=0),
        Needs(constraint_values=0),
    ],
    ids=["all", "none", "apart", "values apart", "subgradient"],
)
def test_a_game_tells_a_player_what_it_needs(needs, engine):
    HEARD.clear()
    trace = play(Listener(needs), PROBLEM, engine=engine)
    assert len(HEARD) == 4
    for k, feedback in enumerate(HEARD):
        gradient, g, s, cost = feedback[:4]
        assert gradient.ravel().tolist() == SLOPES[k].tolist()
        assert (g is not None) == bool(needs.constraint_values)
        assert (s is not None) == bool(needs.constraint_subgradients)
        assert cost is None
        if g is not None and needs.separately:
            assert g.shape == ((3,) if engine == "loop" else (1, 3))
    # The trace does not depend on what the player wants to hear.
    assert trace.constraint.tolist() == [ROWS.value(PROBLEM.start)] * 4


@ENGINES
def test_players_that_do_not_look_at_the_constraint_leave_a_full_trace(engine):
    player = OGD(eta=0.2, domain=Ball(0.6))
    trace = play(player, PROBLEM, engine=engine)
    values = [ROWS.value(x) for x in trace.actions]
    np.testing.assert_allclose(trace.constraint, values, atol=1e-15)
    assert trace.violations.largest == pytest.approx(max(values))
    np.testing.assert_array_equal(trace.observed.cost_gradient, np.sqrt(9.25))


@ENGINES
def test_a_player_with_constraints_apart_is_not_told_their_maximum(engine):
    both = max_of(L2Norm(0.5), LinfNorm(0.4, 2))
    problem = Problem.of(Linear(SLOPES), both, Ball(1.0), [0.05, -0.1])
    assert problem.constants.rows == 5
    player = DPP(V=1.0, alpha=2.0, rows=5, domain=Ball(1.0))
    assert play(player, problem, engine=engine).status == "ok"
    few = DPP(V=1.0, alpha=2.0, rows=2, domain=Ball(1.0))
    with pytest.raises(ValueError, match=r"constraint_value.shape must end in 2, .* got \("):
        play(few, problem, engine=engine)


@pytest.mark.parametrize(
    ("value", "slope", "sentence"),
    [
        (lambda x: float(x[0]), lambda x: np.zeros(3), "constraint_subgradient.shape must be"),
        (lambda x: x, lambda x: np.zeros(2), r"value_of\(x\).shape must be \(\), "),
    ],
)
@pytest.mark.parametrize(
    "player", [PFS(eta=0.1, rho=0.0, domain=Ball(1.0)), Yuan(eta=0.1, theta=1.0, domain=Ball(1.0))]
)
def test_a_users_functions_of_another_shape_are_named_before_the_first_round(
    player, value, slope, sentence
):
    problem = Problem(
        costs=Linear(SLOPES),
        constraint=FunctionConstraint(value, slope),
        domain=Ball(1.0),
        start=[0.0, 0.0],
        constants=PROBLEM.constants,
    )
    with pytest.raises(ValueError, match=f"^{sentence}"):
        play(player, problem)


def test_a_state_of_ogd_needs_no_constraint():
    player = OGD(eta=0.5, domain=Ball(2.0))
    seen = ask(needs_of(player)).feedback
    assert seen == Feedback(seen.cost_gradient)
    assert player.update(ActionState(X), seen).x.tolist() == [0.125, -1.75]
