"""What a trace tells of its game: verdict, regret, a quick look."""

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball, play, problems
from surefoot.core.display import mean_and_spread
from surefoot.guarantees import Tuned
from surefoot.problems import Problem, adversarial_cube
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Linear
from surefoot.rules import Corollary3, Theorem1

PLAYER = PFS(eta=0.02, rho=0.01, domain=Ball(1.0))


@pytest.fixture(scope="module")
def toy():
    return problems.binding_toy(200, trials=3)


@pytest.fixture(scope="module")
def trace(toy):
    return play(PFS.tuned(toy.constants, 200), toy)


class Cumulative(Corollary3):
    """A promise on the sum alone, which no premise can break."""

    kind, premises = "cumulative", ()
    limit = 0.0

    def bounds(self, t):
        return {"positive_sum": np.full_like(np.asarray(t, dtype=float), self.limit)}


class Looser(Cumulative):
    """The same with a sum that may be positive."""

    limit = 1e3


class Lowered(Corollary3):
    """Corollary 3 with a bound that is too low to be true."""

    premises = ()

    def bounds(self, t):
        return {"round": super().bounds(t)["round"] - 10}


def test_a_guarantee_that_held_is_told_with_the_largest_g(trace):
    worst = float(trace.violations.largest.max())
    assert worst < 0
    assert trace.verdict() == (
        "Theorem 1 for T = 200 (every round) held: 0 violations in 600 rounds of 3 trials, "
        f"largest g = {worst:.3g}; (regret was not computed: call final_regret())"
    )


def test_a_guarantee_that_failed_with_no_premise_broken_is_told_loudly():
    # A guarantee that was never this algorithm's: steps that are too long, and no tightening.
    costs = Linear(np.tile([0.0, -1.0], (9, 1)))
    problem = Problem.of(costs, LinfNorm(0.5, 2), Ball(1.0), [0.25, 0.2])
    theorem = Theorem1(problem.constants, eta=0.01, rho=0.1)
    assert theorem.kind == "every round"
    trace = play(Tuned(PFS(eta=0.4, rho=0.0, domain=Ball(1.0)), theorem), problem)
    assert trace.verdict() == (
        "Theorem 1 for any number of rounds (every round) FAILED though no premise broke: "
        "1 violation in 9 rounds, largest g = 0.1"
    )


@pytest.mark.parametrize(
    ("promise", "horizon", "word"),
    [(Cumulative, 9, "held"), (Cumulative, 60, "FAILED"), (Looser, 60, "held")],
)
def test_a_cumulative_guarantee_is_judged_by_its_bound_on_the_sum(toy, promise, horizon, word):
    # On a ball larger than the cube the targets are reached: g rises from -1/2 above 0.
    player = OGD(eta=0.02, domain=Ball(3.0))
    trace = play(Tuned(player, promise(toy.constants, 200)), toy, horizon=horizon)
    assert (trace.violations.largest > 0).all()
    assert np.all(trace.violations.positive_sum <= promise.limit) == (word == "held")
    assert f"Corollary 3 for T = 200 (cumulative) {word}" in trace.verdict()


@pytest.mark.parametrize(("promise", "word"), [(Corollary3, "held"), (Lowered, "FAILED")])
def test_a_bounded_guarantee_is_judged_by_its_bound_in_each_round(toy, promise, word):
    player = PFS.nearly(toy.constants, 200).algorithm
    trace = play(Tuned(player, promise(toy.constants, 200)), toy)
    assert f"Corollary 3 for T = 200 (bounded) {word}" in trace.verdict()


def test_regret_is_the_cost_less_that_of_the_best_action_of_the_same_rounds(toy, trace):
    regret = trace.regret()
    targets, g = toy.costs.targets, toy.constraint
    for t in (1, 50, 200):
        best = np.clip(targets[:t].mean(axis=0), -0.5, 0.5)  # the cube clips the mean
        cost = 3 * ((best - targets[:t]) ** 2).sum(axis=(0, 2))
        np.testing.assert_allclose(regret.upper[t - 1], trace.cost_sum[t - 1] - cost, atol=1e-10)
        assert (g.value(regret.comparator.action[t - 1]) <= 0).all()
    np.testing.assert_allclose(trace.final_regret(), regret.upper[-1], rtol=1e-12)
    np.testing.assert_array_equal(regret.gap, 0)


def test_regret_at_some_of_the_kept_rounds(toy):
    thin = play(PFS.tuned(toy.constants, 200), toy, every=50)
    whole = play(PFS.tuned(toy.constants, 200), toy).regret()
    np.testing.assert_allclose(thin.regret().upper, whole.upper[49::50], atol=1e-10)
    np.testing.assert_allclose(thin.regret([100]).upper, whole.upper[[99]], atol=1e-10)
    for rounds in ([99], [201], [0]):
        with pytest.raises(ValueError, match="rounds must be among those kept, got"):
            thin.regret(rounds)


def test_the_regret_against_an_adversary_is_that_of_the_costs_it_turned_out_to_play():
    cube = adversarial_cube("out", horizon=60, dimension=3, size=2.0)
    trace = play(PFS.tuned(cube.constants, 60), cube)
    slopes = trace.costs().slopes
    np.testing.assert_array_equal(slopes[7], cube.costs.gradient(7, trace.actions[7]))
    best = -0.5 * np.abs(slopes.sum(axis=0)).sum()  # the corner against the summed slope
    wanted = sum(float(c @ x) for c, x in zip(slopes, trace.actions, strict=True)) - best
    assert float(trace.final_regret()) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("options", [{"every": 7}, {"keep_actions": False}])
def test_the_costs_of_an_adversary_need_every_action(options):
    cube = adversarial_cube("out", horizon=60)
    trace = play(PLAYER, cube, **options)
    with pytest.raises(ValueError, match="every action must be kept to know the costs of an adv"):
        trace.final_regret()


def test_costs_are_those_of_the_problem_where_nobody_chooses_them(toy, trace):
    assert trace.costs() is toy.costs


def test_a_trace_is_told_in_a_line_and_compared_by_identity(toy, trace):
    said = repr(trace)
    assert said.startswith(
        f"<Trace of {toy.name!r}: 3 runs of 200 rounds, 200 kept, by {trace.engine}; Theorem 1"
    )
    assert len(said) < 250
    assert trace == trace
    assert trace != play(PFS.tuned(toy.constants, 200), toy)


def test_what_a_trace_measures_is_told_in_a_line_without_its_arrays(trace):
    dynamic, regret = trace.dynamic_regret(changes=[100]), trace.regret()
    best, said = np.mean(regret.upper[-1]), mean_and_spread(regret.upper[-1])
    assert repr(regret) == f"<Regret of 3 runs after 200 rounds, 200 kept: {said}, exact>"
    assert said.startswith(f"{best:.4g} ± ")
    assert repr(trace.regret([7])).startswith("<Regret of 3 runs after 7 rounds: ")
    cost = mean_and_spread(regret.comparator.value[-1])
    assert repr(regret.comparator).endswith(f" after 200 rounds, 200 kept: cost {cost}, exact>")
    said = mean_and_spread(trace.interval_regret(3, 40).upper)
    still = "against a path of length 0 ± 0"
    wanted = f"<DynamicRegret of 3 runs from round 3 to 40 {still}: {said}, exact>"
    assert repr(trace.interval_regret(3, 40)) == wanted
    path = mean_and_spread(dynamic.comparator.length)
    wanted = f"<DynamicRegret of 3 runs from round 1 to 200 against a path of length {path}: "
    assert repr(dynamic).startswith(wanted)
    assert f"; path of length {path}>" in repr(dynamic.comparator)
    wanted = "<Violations of 3 runs: at most 0 violations, largest g = -"
    assert repr(trace.violations).startswith(wanted)
    assert repr(trace.violations.of(0)).startswith("<Violations: at most 0 violations, ")
