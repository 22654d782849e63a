"""Details of the engines and of the record that no verdict would show."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from surefoot import PFS, Ball, Problem, Tuned, play, problems
from surefoot.core.types import Array, Info
from surefoot.games import Regret
from surefoot.games.record import Block, BlockWatch, Recorder
from surefoot.games.verdict import judge
from surefoot.guarantees import EveryRound, Guarantee, Premise
from surefoot.problems.constraints import Drifting, L2Norm, LinfNorm, PlayedOnly
from surefoot.problems.costs import Linear

BALL = Ball(1.0)


class State(NamedTuple):
    x: np.ndarray


class Still:
    """Never moves."""

    def init(self, x1):
        return State(x1)

    def step(self, state, feedback):
        return state, Info()


def problem(horizon, constraint, start=(0.0, 0.0), slopes=(0.1, 0.0), **given):
    costs = Linear(np.tile(slopes, (horizon, 1)))
    return Problem.of(costs, constraint, BALL, np.array(start), infeasible_start=True, **given)


class Promise(Guarantee):
    """A bound on each round, and nothing else."""

    name, kind, regret_exponent, violation_exponent, premises = "mine", "bounded", None, None, ()
    horizon = None

    each: Array

    def regret_bound(self, t):
        return np.full(np.shape(t), np.inf)

    def bounds(self, t):
        return {"round": np.asarray(self.each)[np.asarray(t) - 1]}


class Safe(EveryRound):
    """Feasible in every round, for no reason."""

    name, regret_exponent, premises, horizon = "safe", None, (), None

    def regret_bound(self, t):
        return np.full(np.shape(t), np.inf)


@pytest.mark.parametrize(("above", "word"), [(0.0, "held"), (1e-15, "failed"), (1e-12, "failed")])
def test_feasible_means_at_most_zero_exactly(above, word):
    toy = problem(5, L2Norm(0.5), (0.5 + above, 0.0))
    assert judge(play(Tuned(Still(), Safe(toy.constants)), toy)).word == word


def test_the_bound_of_a_round_is_compared_with_that_round():
    toy = problem(30, LinfNorm(0.3, 2), slopes=(-0.1, 0.0))
    mover = PFS(eta=0.5, rho=0.0, domain=BALL)
    g = play(mover, toy).constraint
    assert (np.diff(g[:5]) > 0).all()
    assert judge(play(Tuned(mover, Promise(toy.constants, g)), toy)).word == "held"
    later = np.append(g[0] - 1e-9, g[1:])
    assert judge(play(Tuned(mover, Promise(toy.constants, later)), toy)).word == "failed"
    shifted = np.append(g[-1], g[:-1])
    assert judge(play(Tuned(mover, Promise(toy.constants, shifted)), toy)).word == "failed"


def test_a_peak_is_carried_over_blocks_of_which_no_round_is_kept():
    # Outside at the start alone; 3,000 rounds are two blocks.
    toy = problem(3_000, LinfNorm(0.3, 2), (0.6, 0.0))
    trace = play(PFS(eta=0.01, rho=0.1, domain=BALL), toy, every=None)
    assert float(trace.peak[-1]) == float(trace.violations.largest) == pytest.approx(0.3)


def test_the_first_round_that_is_lost_stays_the_first():
    recorder = Recorder(1, 8, 2, None, False, BlockWatch(None, 1, "off"))
    for start in (0, 4):
        g = np.array([[-1.0], [-1.0], [np.nan], [np.nan]])
        with np.errstate(invalid="ignore"):
            recorder.add(Block(start, np.zeros((4, 1)), g, None, None, None))
    assert recorder.lost.tolist() == [3]


def test_a_premise_is_watched_beyond_the_first_block():
    slopes = np.full((4_000, 2), 0.1)
    slopes[3_500] = [5.0, 0.0]
    toy = Problem.of(Linear(slopes), LinfNorm(0.5, 2), BALL, [0.0, 0.0], G_f=1.0)
    trace = play(PFS.tuned(toy.constants, 4_000), toy, watch="record")
    assert [(b.round, b.constant) for b in trace.breaches] == [(3_501, "G_f")]


def test_a_guarded_constraint_is_told_what_is_played():
    toy = problem(20, LinfNorm(0.3, 2), slopes=(-0.1, 0.0))
    guarded = replace(toy, constraint=PlayedOnly(LinfNorm(0.3, 2)))
    player = PFS(eta=0.5, rho=0.0, domain=BALL)
    assert (play(player, guarded).actions == play(player, toy).actions).all()


def test_a_theorem_about_one_constraint_is_refused_for_one_that_drifts():
    toy = problem(20, LinfNorm(0.3, 2))
    moving = replace(toy, constraint=Drifting(LinfNorm(0.3, 2), np.zeros(20)))
    with pytest.raises(ValueError, match="must have one constraint for all rounds, got a Drifting"):
        play(PFS.tuned(toy.constants, 20), moving)


def test_final_regret_is_the_upper_end_of_its_interval(monkeypatch):
    toy = problem(20, LinfNorm(0.3, 2))
    trace = play(PFS(eta=0.1, rho=0.0, domain=BALL), toy)
    ends = Regret(np.array([20]), np.array([2.0]), np.array([1.0]), None)
    monkeypatch.setattr(type(trace), "regret", lambda self, rounds: ends)
    assert trace.final_regret() == ends.upper[0]
    assert ends.upper[0] != ends.lower[0]


@pytest.mark.slow
def test_a_scan_watches_what_the_loop_watches():
    pytest.importorskip("jax")
    toy = problems.binding_toy(64, trials=2)
    player = PFS.tuned(toy.constants, 64)
    loop, scan = (play(player, toy, engine=engine) for engine in ("loop", "scan"))
    for seen, expected in zip(scan.observed, loop.observed, strict=True):
        assert seen == pytest.approx(expected, rel=1e-9)
    assert isinstance(player.guarantee.premises[0], Premise)


@pytest.mark.slow
def test_a_compiled_game_is_used_again_only_for_the_same_game():
    pytest.importorskip("jax")
    costs = Linear(np.random.default_rng(5).normal(size=(48, 2, 2)))
    player = PFS(eta=0.05, rho=0.01, domain=BALL)
    games = [Problem.of(costs, made, BALL, [0.0, 0.0]) for made in (LinfNorm(0.4, 2), L2Norm(0.4))]
    for game in games:
        for keep in (False, True):
            scan = play(player, game, engine="scan", keep_actions=keep)
            assert (scan.kept_actions is not None) == keep
            expected = play(player, game, engine="loop")
            assert scan.constraint == pytest.approx(expected.constraint, abs=1e-9)
