"""Steering a beam: a certified generator, Xopt's constrained Bayesian optimisation, the model."""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from xopt import VOCS, Evaluator, Xopt
from xopt.generators.bayesian import ExpectedImprovementGenerator
from xopt.generators.bayesian.models import standard
from xopt.numerical_optimizer import LBFGSOptimizer

from cases.beam.line import APERTURE, BEND, BENDS, MONITORS, READING_ERROR, Line, response_error
from cases.show import KNOWING, Run, draw, main
from surefoot.adapters.xopt import CertifiedGenerator
from surefoot.core.types import Array

TARGET = (3.0, -2.0)
"""Where the beam should be at the end, in mm: farther than the aperture allows."""
REST = dict.fromkeys(BENDS, 0.0)
Rule = Callable[[Line, int], Array]
"""From a line and a number of evaluations to the bends of each."""
OTHER = 100
"""A line that Xopt's settings are chosen on; it is not played."""
SETTINGS = tuple(product((3, 7), (True, False), (None, 0.1)))
"""Of Xopt: points before the first candidate, the prior of low noise, the farthest step."""


def make_vocs() -> VOCS:
    """Return the problem in Xopt's words."""
    variables: Any = {name: [-BEND, BEND] for name in BENDS}
    limits: Any = {name: ["LESS_THAN", APERTURE] for name in MONITORS}
    return VOCS(variables=variables, objectives={"miss": "MINIMIZE"}, constraints=limits)


def make_certified(seed: int) -> CertifiedGenerator:
    """Return the certified generator: the model's response matrix, and bounds on errors."""
    response = Line().response()[:8]
    rows = zip(MONITORS, [*response.tolist(), *(-response).tolist()], strict=True)
    return CertifiedGenerator(
        vocs=make_vocs(),
        start=REST,
        response={name: dict(zip(BENDS, row, strict=True)) for name, row in rows},
        response_error={name: response_error(name) for name in MONITORS},
        meter_error=dict.fromkeys(MONITORS, READING_ERROR),
        seed=seed,
    )


def improve(seed: int, quiet: bool, step: float | None, region: str | None = None) -> Any:
    """Return Xopt's constrained expected improvement; no clock ends the search of a candidate.

    Args:
        seed: not used.
        quiet: whether the prior of the noise is the low one.
        step: how far a candidate may be from the last, as a share of the range.
        region: of trust; not for the batched model, which is the same and fitted faster.
    """
    build = standard.StandardModelConstructor if region else standard.BatchedModelConstructor
    return ExpectedImprovementGenerator(
        vocs=make_vocs(),
        gp_constructor=build(use_low_noise_prior=quiet),
        numerical_optimizer=LBFGSOptimizer(max_time=None),
        max_travel_distances=None if step is None else [step] * len(BENDS),
        turbo_controller=region,
    )


def optimise(make: Callable[[int], Any], near: int) -> Rule:
    """Return what evaluates a line by a generator of Xopt, from the bends at rest.

    Args:
        make: makes the generator of a seed.
        near: how many random points within a tenth of the range are evaluated first.
    """

    def play(line: Line, evaluations: int) -> Array:
        seed = line.seed or 0
        torch.manual_seed(seed)
        function = Evaluator(function=lambda bends: line.evaluate(bends, TARGET))
        some = np.random.default_rng((seed, 1)).uniform(-0.1 * BEND, 0.1 * BEND, (near, 4))
        first = [REST, *(dict(zip(BENDS, row, strict=True)) for row in some.tolist())]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            campaign = Xopt(evaluator=function, generator=make(seed))
            campaign.evaluate_data(first)
            for _ in range(evaluations - len(first)):
                campaign.step()
        return np.array(campaign.data[list(BENDS)], dtype=float)

    return play


def tune(small: bool) -> tuple[Rule, str]:
    """Return Xopt with the fewest evaluations outside of another line, then the least miss.

    Args:
        small: whether two settings are tried, and not all.
    """
    found = []
    for near, quiet, step in SETTINGS[:2] if small else SETTINGS:
        play = optimise(partial(improve, quiet=quiet, step=step), near)
        limits, misses = measure(OTHER, play(Line(OTHER), 6 if small else 24))
        how = f"{near} first points" + ", low noise" * quiet
        how += f", steps of {step:.0%}" if step else ""
        found.append(((limits > 0).sum(), misses[limits <= 0].min(), play, how))
    _, _, play, how = min(found, key=lambda one: one[:2])
    return play, f"{how}: the best of {len(found)}"


def steer(orbit: Array, response: Array, start: Array) -> Array:
    """Return the best bends for an orbit that was read and a response matrix that is believed."""
    at = orbit - response @ start

    def room(u: Array) -> Array:
        there = at[:8] + response[:8] @ u
        return np.concatenate([APERTURE - there, APERTURE + there])

    found = minimize(
        lambda u: float(((at[8:] + response[8:] @ u - TARGET) ** 2).sum()),
        start,
        bounds=[(-BEND, BEND)] * 4,
        constraints={"type": "ineq", "fun": room},
    )
    return np.array(found.x)


def by_model(line: Line, evaluations: int) -> Array:
    """Return the bends of an operator who believes the model, and reads the orbit each time."""
    believed, played = Line().response(), [np.zeros(4)]
    for _ in range(evaluations - 1):
        orbit = line.orbit(played[-1])
        orbit[:8] += READING_ERROR * line.draws.uniform(-1, 1, 8)
        played.append(steer(orbit, believed, played[-1]))
    return np.array(played)


def by_truth(line: Line, evaluations: int) -> Array:
    """Return the best bends there are, in every evaluation; the line is known."""
    best = steer(line.orbit(np.zeros(4)), line.response(), np.zeros(4)) * (1 - 1e-6)
    return np.tile(best, (evaluations, 1))


def measure(seed: int, bends: Array) -> tuple[Array, Array]:
    """Return the true limit and the true miss at each of the bends of a line."""
    line = Line(seed)
    orbits = np.array([line.orbit(one) for one in bends])
    limits = abs(orbits[:, :8]).max(axis=1) - APERTURE
    return limits, ((orbits[:, 8:] - TARGET) ** 2).sum(axis=1)


def run(name: str, knows: str, play: Rule, counts: Sequence[int], **options: Any) -> list[Run]:
    """Let a rule steer three lines; return a row for the evaluations up to each of the counts."""
    seeds, runs = range(3 if max(counts) > 6 else 1), []
    begin = time.process_time()
    bends = [play(Line(seed), max(counts)) for seed in seeds]
    seconds = (time.process_time() - begin) / (len(seeds) * max(counts))
    done = [measure(seed, bends[seed]) for seed in seeds]
    for first, last in pairwise([0, *counts]):
        limits, misses = (np.array([one[i][first:last] for one in done]) for i in (0, 1))
        best = np.where(limits <= 0, misses, np.inf).min(axis=1)
        more = {
            "best feasible miss, mm²": f"{best.mean():.2f}",
            "mean miss, mm²": f"{misses.mean():.2f}",
            "last miss, mm²": f"{misses[:, -1].mean():.2f}",
            "s per evaluation": f"{seconds:.2g}",
        }
        later = f", evaluations {first + 1} to {last}" if first else ""
        runs.append(Run(name + later, knows, limits, more, **options))
        options["drawn"] = False
    return runs


def play_all(small: bool) -> list[Run]:
    """Play all rules at the same number of evaluations, two of them at twice as many."""
    tuned, how = tune(small)
    plain = partial(improve, quiet=False, step=None)
    safety = optimise(partial(plain, region="safety"), 3)
    one, two = ([6], [6]) if small else ([24], [24, 48])
    certified = "the model's response matrix, bounds on its error and on that of readings"
    other, model = "nothing; tuned on another line", "the model, target included"
    return [
        *run("certified generator", certified, optimise(make_certified, 0), two, certified=True),
        *run("Xopt, expected improvement, defaults", "nothing", optimise(plain, 3), one),
        *run(f"Xopt, {how}", other, tuned, two, colour="#CC79A7"),
        *run("Xopt, safety trust region", "nothing", safety, one, drawn=False),
        *run("steering by the model", model, by_model, one, drawn=False),
        *run("best bends", "the line", by_truth, one, colour=KNOWING),
    ]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture."""
    rounds = np.arange(1, np.shape(runs[0].g)[1] + 1)
    draw(path, runs, rounds=rounds, unit="evaluation", limit="orbit beyond 2 mm, mm")


if __name__ == "__main__":
    main(Path(__file__).parent, play_all, paint)
