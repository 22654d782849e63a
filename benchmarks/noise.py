"""What noise, delay and the lack of slopes cost, and how often noise leads outside.

``python -m benchmarks.noise values``: regret without slopes, beside that with them.
``python -m benchmarks.noise costs``: regret with values of the cost alone, beside gradients.
``python -m benchmarks.noise heat``: the same where a bound on the curvature is known.
``python -m benchmarks.noise regret``: regret with noisy readings.
``python -m benchmarks.noise delay``: regret with late feedback.
``python -m benchmarks.noise runs``: many runs under attack; the share of them with any action at
which the *true* g is above 0, exactly compared, beside the failure probability that was asked for;
``--told 0.2`` tells a fifth of the true sigma, and must find violations. A run is a pure function
of its number, and ``--first N`` begins with run N.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import numpy as np

import surefoot as sf
from surefoot import Ball, Feedback
from surefoot.core.types import Array
from surefoot.knowledge import Curvature
from surefoot.problems import Problem, binding_toy, paper_toy, random_polytope
from surefoot.problems.constraints import Affine, Constraint, L2Norm, LinfNorm
from surefoot.problems.costs import Linear
from surefoot.rules import (
    Averaged,
    CertifiedDualAveraging,
    CertifiedPFS,
    CostProbing,
    Delayed,
    LeaderFollower,
    ValuesAveraging,
    ValuesFollower,
)

NOISES = ("normal", "two points", "rare and large")


class Attacked(NamedTuple):
    """A run under attack.

    Attributes:
        violated: whether any action had g > 0.
        uncovered: whether g was outside of its bounds in any round.
        worst: the largest g, relative to the slack of the start.
        way: how far the actions came, relative to the radius of the set.
    """

    violated: bool
    uncovered: bool
    worst: float
    way: float


def draw(kind: str, sigma: float, rng: Any) -> float:
    """Return noise that is sigma-sub-Gaussian, of one of three kinds."""
    if kind == "normal":
        return float(sigma * rng.normal())
    if kind == "two points":
        return float(sigma * rng.choice([-1.0, 1.0]))
    # Bounded by sigma, mostly slightly positive and at times far below: it flatters.
    return float(sigma * (-1.0 if rng.random() < 0.1 else 1.0 / 9.0))


def attack(number: int, *, told: float = 1.0, failure: float = 0.05, played: int = 150) -> Attacked:
    """Push a rule outward under noise; a pure function of the number.

    Args:
        number: of the run.
        told: the sigma that the rule is told, relative to the true one.
        failure: the failure probability that is asked for.
        played: rounds.
    """
    rng = np.random.default_rng([number, 14])
    d, kind = int(rng.integers(1, 5)), NOISES[number % 3]
    g_of: Any = L2Norm(0.5)
    if number % 2:
        rows = np.vstack([np.eye(d), -np.eye(d), rng.normal(size=(3, d))])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        g_of = Affine(rows, rng.uniform(0.3, 0.5, len(rows)))
    ball = Ball(0.5 * math.sqrt(d) * 1.01)
    slack = -float(g_of.value(np.zeros(d)))
    sigma = slack * 10 ** rng.uniform(-2, -0.5)
    values = number % 5 == 4
    rule = ValuesFollower if values else LeaderFollower
    base = rule(G_g=1.0 + 1e-9, domain=ball)
    player = Averaged(base=base, sigma=told * sigma, failure=failure)
    state, worst, uncovered, way = player.init(np.zeros(d)), -math.inf, False, 0.0
    aim = rng.normal(size=d)
    for _ in range(played):
        x = state.x
        g, s = g_of.query(x)
        worst, way = max(worst, float(g)), max(way, float(np.linalg.norm(x)))
        if rng.random() < 0.02:
            aim = rng.normal(size=d)
        push = -s if rng.random() < 0.5 else aim
        reading = float(g) + draw(kind, sigma, rng)
        try:
            state = player.update(state, Feedback(push, reading, None if values else s))
        except sf.core.errors.InvalidValueError:  # told too little, the start seems to be outside
            break
        uncovered |= not state.low <= g <= state.high.value
    return Attacked(worst > 0, uncovered, worst / slack, way / 0.5)


def at_most(found: int, runs: int, confidence: float = 0.95) -> float:
    """Return what the probability is at most, by so many cases in so many runs.

    The upper end of the interval of Clopper and Pearson, by bisection.

    Example:
        >>> round(at_most(0, 1000), 6)
        0.002991
    """

    def tail(p: float) -> float:
        logs = [
            math.lgamma(runs + 1) - math.lgamma(k + 1) - math.lgamma(runs - k + 1)
            + k * math.log(p) + (runs - k) * math.log1p(-p)
            for k in range(found + 1)
        ]  # fmt: skip
        return sum(map(math.exp, logs))

    if found == runs:
        return 1.0
    low, high = 1e-12, 1 - 1e-12
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if tail(middle) > 1 - confidence else (low, middle)
    return high


def runs(options: Any) -> int:
    """Attack many runs, and compare the share that was led outside with what was asked for."""
    found = [
        attack(options.first + n, told=options.told, failure=options.failure)
        for n in range(options.runs)
    ]
    lost, missed = sum(f.violated for f in found), sum(f.uncovered for f in found)
    print(
        f"{len(found):,} runs, told {options.told:g} sigma, failure {options.failure:g}: "
        f"{lost} with a violation (share at most {at_most(lost, len(found)):.4f} with 95 % "
        f"confidence), {missed} with a value outside of its bounds; worst g/slack "
        f"{max(f.worst for f in found):.3g}, mean way {np.mean([f.way for f in found]):.2f}"
    )
    return int(lost > options.failure * len(found))


# --- regret --------------------------------------------------------------------------------------


def problems(horizon: int, trials: int) -> dict[str, Problem]:
    """Return the three problems of the tables."""
    return {
        "toy": paper_toy(horizon=horizon, trials=trials),
        "binding toy": binding_toy(horizon=horizon, trials=trials),
        "polytope, d = 10": random_polytope(10, 40, horizon=horizon, trials=trials, seed=7),
    }


def played(player: Any, problem: Problem) -> tuple[float, Array]:
    """Return the mean regret of a player, and what the best actions cost; nothing is outside."""
    trace = sf.play(player, problem, watch="off")
    assert np.max(trace.violations.largest) <= 0
    regret = np.atleast_1d(trace.final_regret())
    return float(regret.mean()), np.atleast_1d(trace.total_cost) - regret


def read_noisily(player: Any, problem: Problem, best: Array, sigma: float) -> float:
    """Return the mean regret of a player whose readings are noisy."""
    found, constraint = [], cast(Constraint, problem.constraint)
    for k, least in enumerate(best):
        rng, costs = np.random.default_rng([k, 14]), problem.costs.run(k)
        state, total = player.init(problem.start), 0.0
        for t in range(costs.horizon):
            x = state.x
            g, s = constraint.query(x)
            assert g <= 0
            total += float(costs.value(t, x))
            reading = float(g) + sigma * float(rng.normal())
            state = player.update(state, Feedback(costs.gradient(t, x), reading, s))
        found.append(total - least)
    return float(np.mean(found))


def line(name: str, cells: list[str]) -> None:
    """Print a row of a table."""
    print("| " + " | ".join([name, *cells]) + " |", flush=True)


def values(options: Any) -> int:
    """Print the regret without slopes beside that with them."""
    line("problem", ["without slopes", "with: `LeaderFollower`", "with: `CertifiedPFS`"])
    line("---", ["---"] * 3)
    for name, problem in problems(options.horizon, options.trials).items():
        c, T = problem.constants, options.horizon
        rules = (ValuesFollower, LeaderFollower, CertifiedPFS)
        means = [played(rule.default(c, T, problem.domain), problem)[0] for rule in rules]
        line(name, [f"{mean:.1f}" for mean in means])
    return 0


def costs(options: Any) -> int:
    """Print the regret where costs are told by value: fixed costs, and costs that are i.i.d."""
    line("costs, d", ["staying", "values", "values, also of g", "gradients"])
    line("---", ["---"] * 4)
    T, runs = options.horizon, options.trials
    for kind in ("fixed", "pairs", "iid"):
        for d in (2, 5, 20):
            rng, pull = np.random.default_rng([d, 11]), -np.ones(d) / math.sqrt(d)
            slopes = np.tile(pull, (T, runs, 1))
            if kind == "pairs":  # after the first round, the two of a pair have the same cost
                slopes += np.repeat(rng.normal(size=(T // 2 + 1, runs, d)), 2, axis=0)[1 : T + 1]
            elif kind == "iid":
                slopes += rng.normal(size=(T, runs, d))
            cube, ball = LinfNorm(0.5, d), Ball(0.5 * math.sqrt(d) + 0.1)
            problem = Problem.of(Linear(slopes), cube, ball, np.zeros(d))
            c, told = problem.constants, {"dimension": d}
            if kind != "iid":
                told["change"] = 0
            rules: list[Any] = [
                CostProbing.known_horizon(c, T, ball, base=base, **told)
                for base in (LeaderFollower.default, ValuesFollower.default)
            ]
            rules.append(LeaderFollower.default(c, T, ball))
            regrets = [played(rule, problem)[0] for rule in rules]
            idle = 0.5 * float(abs(slopes.sum(axis=0)).sum(axis=-1).mean())
            line(f"{kind}, {d}", [f"{value:,.0f}" for value in (idle, *regrets)])
    return 0


def heat(options: Any) -> int:
    """Print the regret on the README's heat, where curvature is known, with slopes and without."""
    rng, T = np.random.default_rng(3), options.horizon
    prices = rng.uniform([0.2, 0.6], [0.8, 1.3], size=(T, 2))
    total, known = prices.sum(axis=0), Curvature(beta=1.6, reach=0.9)
    best = total / np.array([1.6, 1.0])
    best *= math.sqrt(0.4 / (0.8 * best[0] ** 2 + 0.5 * best[1] ** 2))
    line("heat", ["regret", "probes"])
    line("---", ["---"] * 2)
    rules: dict[str, Any] = {"slopes": CertifiedDualAveraging(knowledge=known, radius=0.9)}
    for share in (0.05, 0.1, 0.2):
        rules[f"values, share {share:g}"] = ValuesAveraging(
            knowledge=known, radius=0.9, start_slope=2.0, share=share
        )
    for name, player in rules.items():
        state, income, probes = player.init(np.zeros(2)), 0.0, 0
        for price in prices:
            x = state.x
            g, s = float(0.8 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.4), np.array([1.6 * x[0], x[1]])
            assert g <= 0
            income += float(price @ x)
            state = player.update(state, Feedback(-price, g, s if name == "slopes" else None))
            probes += getattr(state, "probing", -1) >= 0
        line(name, [f"{float(total @ best) - income:.1f}", str(probes)])
    return 0


def led(options: Any, heads: list[str]) -> Iterator[tuple[str, Problem, Any]]:
    """Print the heads of a table and yield its problems, each with its tuned leader."""
    line("problem", heads)
    line("---", ["---"] * len(heads))
    for name, problem in problems(options.horizon, options.trials).items():
        default = LeaderFollower.default(problem.constants, options.horizon, problem.domain)
        yield name, problem, default


def regret(options: Any) -> int:
    """Print the regret with noisy readings."""
    sigmas = (0.003, 0.01, 0.05)
    heads = ["exact", *(f"sigma = {sigma:g}" for sigma in sigmas)]
    for name, problem, tuned in led(options, heads):
        exact, best = played(tuned, problem)
        base = LeaderFollower(G_g=tuned.algorithm.knowledge.G_g, domain=problem.domain)
        noisy = [
            read_noisily(Averaged(base=base, sigma=sigma), problem, best, sigma) for sigma in sigmas
        ]
        line(name, [f"{value:.1f}" for value in (exact, *noisy)])
    return 0


def delay(options: Any) -> int:
    """Print the regret with late feedback: copies in turn, and one that plays ahead."""
    delays = (1, 5, 20)
    heads = ["no delay", *(f"{k} rounds" for k in delays)]
    for name, problem, tuned in led(options, heads):
        cells = [f"{played(tuned, problem)[0]:.1f}"]
        for k in delays:
            turns = played(Delayed(base=tuned.algorithm, delay=k), problem)[0]
            ahead = played(Delayed(base=tuned.algorithm, delay=k, copies=False), problem)[0]
            cells.append(f"{turns:.1f} / {ahead:.1f}")
        line(name, cells)
    return 0


PARTS: dict[str, Callable[[Any], int]] = {
    "values": values,
    "costs": costs,
    "heat": heat,
    "regret": regret,
    "delay": delay,
    "runs": runs,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.noise", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--horizon", type=int, default=5_000, help="rounds of a trial")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1_000, help="runs under attack")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--told", type=float, default=1.0, help="share of the true sigma")
    parser.add_argument("--failure", type=float, default=0.05)
    options = parser.parse_args(arguments)
    return PARTS[options.part](options)


if __name__ == "__main__":
    sys.exit(main())
