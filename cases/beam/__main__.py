"""Steering a beam: a certified generator, Xopt's constrained Bayesian optimisation, the model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from xopt import VOCS, Evaluator, Xopt
from xopt.generators.bayesian import ExpectedImprovementGenerator

from cases.beam.generator import CertifiedGenerator
from cases.beam.line import APERTURE, BEND, BENDS, MONITORS, READING_ERROR, SLOPE_ERROR, Line
from cases.show import KNOWING, Run, draw, main
from surefoot.core.types import Array

TARGET = (3.0, -2.0)
"""Where the beam should be at the end, in mm: farther than the aperture allows."""
REST = dict.fromkeys(BENDS, 0.0)
VARIABLES: dict[str, Any] = {name: [-BEND, BEND] for name in BENDS}
LIMITS: dict[str, Any] = {name: ["LESS_THAN", APERTURE] for name in MONITORS}


def make_vocs() -> VOCS:
    """Return the problem in Xopt's words."""
    return VOCS(variables=VARIABLES, objectives={"miss": "MINIMIZE"}, constraints=LIMITS)


def make_certified(seed: int) -> CertifiedGenerator:
    """Return the certified generator: the model's response matrix, and bounds on errors."""
    response = Line().response()[:8]
    rows = dict(zip(MONITORS, [*response.tolist(), *(-response).tolist()], strict=True))
    return CertifiedGenerator(
        vocs=make_vocs(),
        start=REST,
        response=rows,
        value_error=READING_ERROR,
        slope_error=SLOPE_ERROR,
        seed=seed,
    )


def optimise(make: Callable[[int], Any], near: int) -> Callable[[Line, int], Array]:
    """Return what evaluates a line by a generator of Xopt, from the bends at rest.

    Args:
        make: makes the generator of a seed.
        near: how many random points within a tenth of the range are evaluated first.
    """

    def play(line: Line, evaluations: int) -> Array:
        seed = line.seed or 0
        function = Evaluator(function=lambda bends: line.evaluate(bends, TARGET))
        some = np.random.default_rng((seed, 1)).uniform(-0.1 * BEND, 0.1 * BEND, (near, 4))
        first = [REST, *(dict(zip(BENDS, row, strict=True)) for row in some.tolist())]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            campaign = Xopt(evaluator=function, generator=make(seed))
            for point in first:
                campaign.evaluate_data(point)
            for _ in range(evaluations - len(first)):
                campaign.step()
        bends: Array = campaign.data[list(BENDS)].to_numpy(dtype=float)
        return bends

    return play


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
    bends: Array = found.x
    return bends


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


def run(
    name: str, knows: str, play: Callable[[Line, int], Array], small: bool, **options: Any
) -> Run:
    """Let a rule steer a line for each seed."""
    seeds, evaluations = (1, 6) if small else (3, 24)
    limits, misses = np.zeros((2, seeds, evaluations))
    begin = time.process_time()
    bends = [play(Line(seed), evaluations) for seed in range(seeds)]
    seconds = (time.process_time() - begin) / (seeds * evaluations)
    for seed in range(seeds):
        line = Line(seed)
        for t, one in enumerate(bends[seed]):
            limits[seed, t] = line.limit(one)
            misses[seed, t] = ((line.orbit(one)[8:] - TARGET) ** 2).sum()
    best = np.where(limits <= 0, misses, np.inf).min(axis=1)
    more = {
        "best feasible miss, mm²": f"{best.mean():.2f}",
        "mean miss, mm²": f"{misses.mean():.2f}",
        "last miss, mm²": f"{misses[:, -1].mean():.2f}",
        "s per evaluation": f"{seconds:.2g}",
    }
    return Run(name, knows, limits, more, **options)


def play_all(small: bool) -> list[Run]:
    """Play all rules at the same number of evaluations."""

    def improve(seed: int, **options: Any) -> ExpectedImprovementGenerator:
        return ExpectedImprovementGenerator(vocs=make_vocs(), **options)

    model, slack = "the model, target included", {"drawn": False}
    return [
        run(
            "certified generator",
            "the model's response matrix, bounds on its error and on that of readings",
            optimise(make_certified, 0),
            small,
            certified=True,
        ),
        run("Xopt, expected improvement", "nothing", optimise(improve, 3), small),
        run(
            "Xopt, expected improvement, safety trust region",
            "nothing",
            optimise(lambda seed: improve(seed, turbo_controller="safety"), 3),
            small,
            colour="#CC79A7",
        ),
        run("steering by the model", model, by_model, small, **slack),
        run("best bends", "the line", by_truth, small, colour=KNOWING),
    ]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture."""
    rounds = np.arange(1, np.shape(runs[0].g)[1] + 1)
    draw(path, runs, rounds=rounds, unit="evaluation", limit="orbit beyond 2 mm, mm")


if __name__ == "__main__":
    main(Path(__file__).parent, play_all, paint)
