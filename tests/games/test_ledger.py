"""What a player asks for: what it declares, and what is counted while it plays."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from tests._own import Forgetful, State

from surefoot import OGD, PFS, Ball, play, problems, rules
from surefoot.core.types import Info, Needs, needs_of
from surefoot.problems import Problem
from surefoot.problems.constraints import Affine, L2Norm, max_of
from surefoot.problems.costs import Linear, Quadratic
from surefoot.rules import (
    ALGORITHMS,
    DPP,
    DecayingOGD,
    EntropicDualAveraging,
    FrankWolfe,
    LevyKrause,
    Mahdavi,
    Tighten,
    domain_of,
)
from surefoot.sets import Box, Polytope, Simplex

from ._counting import count_calls

COUNTS = (
    "cost_gradients",
    "constraint_values",
    "constraint_subgradients",
    "projections",
    "linear_minimisations",
)
# The smallest that tightening takes here is just below.
T = 700
FACES = Affine(np.vstack([np.eye(2), -np.eye(2)]), [0.6, 0.5, 0.5, 0.7])
COSTS = Quadratic(0.2 * np.random.default_rng(0).normal(size=(T, 2)), 0.1)
PLAYABLE = Problem.of(COSTS, FACES, Ball(1.0), [0.0, 0.0])
OPTIONS = {(Mahdavi, "no_violation"): {"tightening": 0.05}}
TUNED = [
    (kind, tuning)
    for kind in (getattr(rules, name) for name in rules.__all__)
    for tuning in getattr(kind, "tunings", ())
]


def declared(algorithm, rounds):
    needs = needs_of(algorithm)
    return {name: getattr(needs, name) * rounds for name in COUNTS}


def counts(ledger):
    return {name: getattr(ledger, name) for name in COUNTS}


def count(player, **options):
    calls, _ = count_calls(player, PLAYABLE, **options)
    return {name: calls[name] for name in COUNTS}


def tuned(kind, tuning):
    domain = domain_of(kind, PLAYABLE.domain, FACES.region, tuning)
    if kind is EntropicDualAveraging:
        domain = Simplex(2)
    if kind is LevyKrause:
        domain = Ball(0.5)
    choose, options = getattr(kind, tuning), OPTIONS.get((kind, tuning), {})
    return choose(PLAYABLE.constants, T, domain, **options)


@pytest.mark.parametrize(("kind", "tuning"), TUNED, ids=lambda v: getattr(v, "__name__", v))
def test_every_algorithm_asks_for_what_it_says_it_asks_for(kind, tuning):
    player = tuned(kind, tuning)
    start = [0.25, 0.75] if kind is EntropicDualAveraging else None
    asked, most = count(player, horizon=40, start=start), declared(player.algorithm, 40)
    if needs_of(kind).numpy_only:  # loops that depend on data: what is declared is a budget
        assert all(asked[name] <= most[name] for name in COUNTS)
    else:
        assert asked == most


def test_every_algorithm_with_a_theorem_is_among_them():
    assert {kind for kind, _ in TUNED} == set(ALGORITHMS)


def budget(player):
    return counts(play(player, PLAYABLE, horizon=25).ledger)


FEEDBACK = dict.fromkeys(COUNTS[:3], 25) | dict.fromkeys(COUNTS[3:], 0)
INSIDE = {"cost_gradients": 25} | dict.fromkeys(COUNTS[1:], 0)


def test_pfs_asks_for_one_value_and_one_subgradient_and_never_projects_onto_the_set():
    assert budget(PFS.tuned(PLAYABLE.constants, T)) == FEEDBACK


def test_constraints_kept_apart_are_one_question_a_round():
    assert budget(DPP.tuned(PLAYABLE.constants, T)) == FEEDBACK


def test_ogd_asks_for_one_projection_and_for_nothing_of_the_constraint():
    assert budget(OGD.fixed(PLAYABLE.constants, T, FACES.region)) == INSIDE | {"projections": 25}


def test_frank_wolfe_asks_for_one_linear_minimisation_and_no_projection():
    player = FrankWolfe.tuned(PLAYABLE.constants, T, FACES.region)
    assert budget(player) == INSIDE | {"linear_minimisations": 25}


def test_the_ledger_of_several_runs_is_that_of_one_of_them():
    toy = problems.paper_toy(30, trials=3)
    player = OGD.fixed(toy.constants, 30, toy.constraint.region)
    for engine in ("loop", "batch"):
        assert play(player, toy, engine=engine).ledger.projections == 30


@dataclass(frozen=True)
class Liar(Forgetful):
    """Says that it asks for nothing but g, and projects twice a round."""

    needs: ClassVar[Needs] = Needs()
    domain: Any

    def step(self, state, feedback):
        aside = self.domain.project(state.x + 0.125)
        corner = self.domain.minimize_linear(feedback.cost_gradient)
        return State(self.domain.project(0.9 * aside + 0.1 * corner)), Info()


def test_the_counters_find_an_algorithm_that_projects_in_secret():
    word = counts(play(Liar(FACES.region), PLAYABLE, horizon=10).ledger)
    assert word["projections"] == word["linear_minimisations"] == 0
    asked = count(Liar(FACES.region), horizon=10)
    assert (asked["projections"], asked["linear_minimisations"]) == (20, 10)


def test_the_counters_find_the_secret_of_a_base_through_its_wrapper():
    asked = count(Tighten(base=Liar(FACES.region), rho=0.1), horizon=10)
    assert asked["projections"] == 20


def test_counting_changes_neither_the_player_nor_the_game():
    player = DecayingOGD(eta=0.3, domain=FACES.region)
    _, trace = count_calls(player, PLAYABLE)
    assert type(player.domain) is Box
    np.testing.assert_array_equal(trace.actions, play(player, PLAYABLE, engine="loop").actions)


TRIANGLE = Affine([[-1.0, 0.2], [0.1, -1.0], [1.0, 2.0]], [0.5, 0.4, 0.6])


@pytest.mark.parametrize("known", [True, False], ids=["the problem's set", "the player's alone"])
@pytest.mark.parametrize("kind", [OGD, FrankWolfe])
def test_inner_solves_are_at_most_the_calls_that_may_take_a_solver(kind, known):
    constraint = TRIANGLE if known else max_of(TRIANGLE, L2Norm(5.0))
    problem = Problem.of(Linear(np.ones((12, 2))), constraint, Ball(2.0), [0.0, 0.0])
    domain = Polytope(TRIANGLE.A, TRIANGLE.b)
    assert play(kind(eta=0.3, domain=domain), problem).ledger.inner_solves == 12


def test_sets_with_a_closed_form_solve_nothing():
    for kind in (OGD, FrankWolfe):
        player = tuned(kind, kind.tunings[0])
        assert play(player, PLAYABLE, horizon=5).ledger.inner_solves == 0


@pytest.mark.parametrize("engine", ["loop", "batch"])
def test_time_is_told_for_all_rounds_and_for_one(engine):
    ledger = play(tuned(PFS, "tuned"), PLAYABLE, horizon=50, engine=engine).ledger
    assert 0 < ledger.seconds < 60
    assert ledger.microseconds_a_round == pytest.approx(1e6 * ledger.seconds / 50)
