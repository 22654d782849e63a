from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, play
from surefoot.games.verdict import judge
from surefoot.guarantees import Tuned
from surefoot.problems import Problem, binding_toy
from surefoot.problems.constraints import Affine, LinfNorm
from surefoot.problems.costs import Linear
from surefoot.rules import Corollary3, CVVPro, Theorem1

T = 40


class Fixed(Corollary3):
    """A promise with numbers of the test's own, which no premise can break."""

    premises = ()
    kind = "bounded"
    limits: ClassVar = {}
    bound = np.inf

    def bounds(self, t):
        each = np.broadcast_to(np.asarray(self.bound)[np.asarray(t) - 1], np.shape(t))
        return {"round": each} | {name: np.asarray(limit) for name, limit in self.limits.items()}


@pytest.fixture(scope="module")
def problem():
    # Out through a face and in again: the largest g is that of round 21.
    slopes = np.where(np.arange(T)[:, None] < T // 2, [0.0, -1.0], [0.0, 1.0])
    costs = Linear(slopes)
    return Problem.of(costs, LinfNorm(0.5, 2), Ball(1.0), [0.25, 0.2])


def trace_of(problem, every, **promise):
    """A player that does not know of the constraint, held against a promise."""
    made = type("Promise", (Fixed,), promise)(problem.constants, T)
    return play(Tuned(OGD(eta=0.02, domain=Ball(1.0)), made), problem, every=every)


@pytest.mark.parametrize("every", [1, 8, None])
def test_a_peak_between_kept_rounds_is_not_overlooked(problem, every):
    free = trace_of(problem, every, bound=np.full(T, np.inf))
    worst = float(free.violations.largest)
    assert 0 < worst < 0.2
    assert judge(trace_of(problem, every, bound=np.full(T, worst))).word == "held"
    below = trace_of(problem, every, bound=np.full(T, np.nextafter(worst, 0)))
    assert judge(below).word == "failed"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["loop", "batch", "scan"])
@pytest.mark.parametrize("every", [700, None])
def test_each_round_is_held_against_its_own_bound_whatever_is_kept(engine, every):
    if engine == "scan":
        pytest.importorskip("jax")
    horizon, short = 2_300, 2_100  # more than one block
    toy = binding_toy(horizon, trials=2)
    player = OGD(eta=0.02, domain=Ball(1.0))
    seen = play(player, toy, engine=engine).constraint
    tight = seen.max(axis=1)
    assert (np.diff(tight[:short]) < 0).any()  # a bound of a later round may be smaller

    def words(bound):
        made = type("Promise", (Fixed,), {"bound": bound})(toy.constants, horizon)
        how = {"engine": engine, "every": every, "keep_actions": False, "watch": "off"}
        traces = (play(Tuned(player, made), toy, horizon=T, **how) for T in (short, horizon))
        return [judge(trace).word for trace in traces]

    assert words(tight) == ["held", "held"]
    for late, told in ((1_000, ["failed", "failed"]), (2_200, ["held", "failed"])):
        below = tight.copy()
        below[late] = np.nextafter(below[late], -np.inf)
        assert words(below) == told


def test_a_bound_on_each_round_that_was_not_compared_is_not_called_kept(problem):
    trace = replace(trace_of(problem, 1, bound=np.full(T, np.inf)), excess=None)
    told = judge(trace)
    assert told.word == "not checked"
    assert "g was not compared with the bound of its round" in told.sentence


def test_a_late_peak_is_held_against_the_bound_of_its_round_though_none_is_kept():
    # Out to g = 0.3 for round 900 alone, where the bound that falls from 1.215 is 0.161.
    slopes = np.zeros((1_000, 2))
    slopes[898], slopes[899] = [-0.8, 0.0], [0.8, 0.0]
    flat = Problem.of(Linear(slopes), Affine([[1.0, 0.0]], [0.5]), Ball(1.0), [0.0, 0.0])
    promise = CVVPro.fixed(flat.constants, 1_000).guarantee
    trace = play(Tuned(OGD(eta=1.0, domain=Ball(1.0)), promise), flat, every=None)
    assert (int(trace.violations.count), int(trace.violations.first_violation)) == (1, 900)
    told = judge(trace)
    assert told.word == "failed"
    assert "g exceeds the bound of its round, by 0.139 at most" in told.sentence
    inside = play(Tuned(PFS(eta=1.0, rho=0.4, domain=Ball(1.0)), promise), flat, every=None)
    assert "held: g within the bound of its round, 0.153 in the last" in judge(inside).sentence


@pytest.mark.parametrize(
    ("measure", "kind"), [("sum_positive", "sum_positive"), ("sum_squared", "sum_squared")]
)
def test_sums_are_held_against_their_own_measure(problem, measure, kind):
    open_ = np.full(T, np.inf)
    seen = float(getattr(trace_of(problem, None, bound=open_).violations, measure))
    for limit, word in ((seen, "held"), (np.nextafter(seen, 0), "failed")):
        trace = trace_of(problem, None, bound=open_, kind=kind, limits={measure: limit})
        assert judge(trace).word == word


@pytest.mark.parametrize(("first", "word"), [(27, "held"), (26, "failed")])
def test_after_t0_is_judged_by_the_last_violation(problem, first, word):
    trace = trace_of(problem, None, bound=np.full(T, np.inf), kind="after t0", first_feasible=first)
    assert int(trace.violations.feasible_from) == 27
    assert judge(trace).word == word


def test_a_regret_above_its_bound_fails_with_both_numbers():
    toy = binding_toy(200, trials=3)
    trace = play(PFS.tuned(toy.constants, 200), toy, every=None)
    bound = float(trace.guarantee.regret_bound(200))
    assert judge(trace, np.array([1.0, bound])).word == "held"
    assert "exceeds" not in judge(trace, np.array([1.0, bound])).sentence
    told = judge(trace, np.array([1.0, bound * 1.01]))
    assert told.word == "failed"
    assert f"regret {bound * 1.01:.6g} exceeds its bound {bound:.6g}" in told.sentence


def test_a_broken_premise_comes_before_what_it_led_to(problem):
    theorem = Theorem1(problem.constants.with_origin("given", G_f=0.5), eta=0.01, rho=0.1)
    player = Tuned(PFS(eta=0.4, rho=0.0, domain=Ball(1.0)), theorem)
    told = judge(play(player, problem, watch="record"))
    assert told.word == "premise broken"
    assert "|grad f| = 1 exceeds G_f = 0.5" in told.sentence
    assert judge(play(player.algorithm, problem)).word == "not claimed"
