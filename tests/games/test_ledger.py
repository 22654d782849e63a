"""What a player asked for: counted in the loop, and what it said it would ask for."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests._own import Forgetful, State

from surefoot import OGD, PFS, Ball, algorithms, play, play_all, problems
from surefoot.algorithms import (
    DPP,
    DecayingOGD,
    EntropicDualAveraging,
    FrankWolfe,
    LevyKrause,
    Mahdavi,
    SinhaVaze,
    Tighten,
    Yuan,
    domain_of,
)
from surefoot.core.types import Info, Needs, needs_of
from surefoot.problems import Problem
from surefoot.problems.constraints import Affine, FunctionConstraint, L2Norm, LinfNorm, max_of
from surefoot.problems.costs import Linear, Quadratic
from surefoot.sets import Box, Polytope, Simplex

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
OPTIONS = {(Mahdavi, "no_violation"): {"gamma": 0.05}}
TUNED = [
    (kind, tuning)
    for kind in (getattr(algorithms, name) for name in algorithms.__all__)
    for tuning in getattr(kind, "tunings", ())
]


def declared(algorithm, rounds):
    needs = needs_of(algorithm)
    return {name: getattr(needs, name) * rounds for name in COUNTS}


def counts(ledger):
    return {name: getattr(ledger, name) for name in COUNTS}


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
    rounds = 40
    trace = play(player, PLAYABLE, horizon=rounds, start=start, engine="loop")
    assert trace.ledger.counted
    assert trace.ledger.rounds == rounds
    asked, most = counts(trace.ledger), declared(player.algorithm, rounds)
    if needs_of(kind).numpy_only:  # loops that depend on data: what is declared is a budget
        assert all(asked[name] <= most[name] for name in COUNTS)
    else:
        assert asked == most
    assert trace.ledger.inner_solves == 0


def test_every_algorithm_with_a_theorem_is_among_them():
    assert {kind for kind, _ in TUNED} == set(algorithms.ALGORITHMS)


def budget(player):
    return counts(play(player, PLAYABLE, horizon=25, engine="loop").ledger)


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


@pytest.mark.parametrize("engine", ["batch", "scan"])
@pytest.mark.parametrize("kind", [PFS, OGD, FrankWolfe, Yuan])
def test_batch_and_scan_multiply_out_what_the_loop_counts(kind, engine):
    player = tuned(kind, kind.tunings[-1])
    loop = play(player, PLAYABLE, horizon=30, engine="loop").ledger
    other = play(player, PLAYABLE, horizon=30, engine=engine).ledger
    assert counts(other) == counts(loop)
    assert (other.rounds, other.counted, loop.counted) == (30, False, True)


def test_each_player_has_a_ledger_of_its_own_rounds():
    players = [OGD(eta=eta, domain=FACES.region) for eta in (0.1, 0.2)]
    for engine in ("loop", "batch"):
        short, long = play_all(players, PLAYABLE, horizons=[7, 20], engine=engine)
        assert (short.ledger.projections, long.ledger.projections) == (7, 20)
        assert (short.ledger.rounds, long.ledger.rounds) == (7, 20)


def test_the_ledger_of_several_runs_is_that_of_one_of_them():
    toy = problems.paper_toy(30, trials=3)
    player = OGD.fixed(toy.constants, 30, toy.constraint.region)
    for engine in ("loop", "batch", "scan"):
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


def test_an_algorithm_that_projects_in_secret_is_found_out():
    honest = counts(play(Liar(FACES.region), PLAYABLE, horizon=10, engine="batch").ledger)
    assert honest["projections"] == honest["linear_minimisations"] == 0  # its own word
    found = play(Liar(FACES.region), PLAYABLE, horizon=10, engine="loop").ledger
    assert found.projections == 20
    assert found.linear_minimisations == 10
    assert counts(found) != declared(Liar(FACES.region), 10)


def test_the_secret_of_a_base_is_found_through_its_wrapper():
    found = play(Tighten(base=Liar(FACES.region), rho=0.1), PLAYABLE, horizon=10, engine="loop")
    assert found.ledger.projections == 20


@dataclass(frozen=True)
class Boaster(Liar):
    """Says that it asks for more than there is to be told."""

    needs: ClassVar[Needs] = Needs(constraint_values=2, constraint_subgradients=0)

    def step(self, state, feedback):
        return state, Info()


def test_what_is_counted_is_what_was_told():
    ledger = play(Boaster(FACES.region), PLAYABLE, horizon=10, engine="loop").ledger
    assert (ledger.constraint_values, ledger.constraint_subgradients) == (10, 0)
    assert (ledger.projections, ledger.linear_minimisations) == (0, 0)


def test_a_ball_around_the_set_does_not_count_and_the_ball_that_is_the_set_does():
    problem = replace(PLAYABLE, constraint=L2Norm(0.5))
    wide = PFS(eta=0.1, rho=0.01, domain=Ball(1.0))
    assert play(wide, problem, horizon=5, engine="loop").ledger.projections == 0
    same = PFS(eta=0.1, rho=0.01, domain=Ball(0.5))
    assert play(same, problem, horizon=5, engine="loop").ledger.projections == 5


@pytest.mark.parametrize(
    "constraint",
    [
        max_of(L2Norm(2.0), FACES),
        FunctionConstraint(lambda x: float(x @ x) - 4, lambda x: 2 * x, bound=4.0),
        LinfNorm(0.9, 2),
    ],
    ids=["no geometry", "yours", "another set"],
)
def test_a_method_that_projects_counts_also_where_the_problem_has_another_set(constraint):
    problem = replace(PLAYABLE, constraint=constraint)
    player = OGD(eta=0.1, domain=Box([-0.2, -0.3], [0.5, 0.4]))
    assert play(player, problem, horizon=9, engine="loop").ledger.projections == 9
    around = SinhaVaze(scale=0.1, rate=0.1, diameter=2.0, domain=Box([-1.0, -1.0], [1.0, 1.0]))
    assert play(around, problem, horizon=9, engine="loop").ledger.projections == 0


class Centred(OGD):
    """Holds a ball around the set beside the set."""

    around: Any

    def step(self, state, feedback):
        state, info = super().step(state, feedback)
        return State(self.around.project(state.x)), info


def test_of_several_sets_the_problems_own_counts():
    player = Centred(eta=0.1, domain=FACES.region, around=Ball(1.0))
    assert play(player, PLAYABLE, horizon=9, engine="loop").ledger.projections == 9


def test_counting_changes_neither_the_player_nor_the_game():
    player = DecayingOGD(eta=0.3, domain=FACES.region)
    loop = play(player, PLAYABLE, engine="loop")
    assert type(player.domain) is Box
    np.testing.assert_array_equal(loop.actions, play(player, PLAYABLE, engine="batch").actions)


TRIANGLE = Affine([[-1.0, 0.2], [0.1, -1.0], [1.0, 2.0]], [0.5, 0.4, 0.6])


@pytest.mark.parametrize("known", [True, False], ids=["the problem's set", "the player's alone"])
@pytest.mark.parametrize("kind", [OGD, FrankWolfe])
def test_inner_solves_are_the_calls_that_took_a_solver(kind, known):
    # Out through a corner for 6 rounds, then back inside with steps that need no projection.
    slopes = np.concatenate([np.full((6, 2), -1.0), np.full((6, 2), 0.1)])
    constraint = TRIANGLE if known else max_of(TRIANGLE, L2Norm(5.0))
    problem = Problem.of(Linear(slopes), constraint, Ball(2.0), [0.0, 0.0])
    domain = Polytope(TRIANGLE.A, TRIANGLE.b)
    player = OGD(eta=0.3, domain=domain) if kind is OGD else FrankWolfe(eta=0.3, domain=domain)
    loop = play(player, problem, engine="loop").ledger
    batch = play(player, problem, engine="batch").ledger
    # Without counting, as many as there can have been.
    assert batch.inner_solves == 12
    assert counts(loop) == counts(batch)
    assert loop.inner_solves == (6 if kind is OGD else 12)


def test_sets_with_a_closed_form_solve_nothing():
    for kind in (OGD, FrankWolfe):
        player = tuned(kind, kind.tunings[0])
        for engine in ("loop", "batch"):
            assert play(player, PLAYABLE, horizon=5, engine=engine).ledger.inner_solves == 0


@pytest.mark.parametrize("engine", ["loop", "batch"])
def test_time_is_told_for_all_rounds_and_for_one(engine):
    ledger = play(tuned(PFS, "tuned"), PLAYABLE, horizon=50, engine=engine).ledger
    assert 0 < ledger.seconds < 60
    assert ledger.microseconds_a_round == pytest.approx(1e6 * ledger.seconds / 50)
