"""Least pressures in a water network: certified pump speeds, and what is used now."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from cases.show import Run, draw
from cases.water.plant import KY10, NET3, ROUNDS, Network, NoSteadyState, Plant, make_day
from surefoot import Controller
from surefoot.core.types import Array
from surefoot.knowledge import CurvatureRows, Errors
from surefoot.rules import MovingBalls
from surefoot.sets import Box

__all__ = ["Known", "certify", "estimate", "follow", "paint", "play"]

GAUGE = 0.05
"""What a gauge may be wrong by, in metres of water."""
DAYS = (1, 2, 3, 4, 5)
"""That are played."""
PAST = (101, 102, 103)
"""Days that constants and margins are estimated on; none of them is played."""
Rule = Callable[[int, Array, Array | None], Array]
"""From a round, its action and what the gauges read (None for nothing) to the next action."""


class Known(NamedTuple):
    """What is known of g = 1 - p/p_min.

    Attributes:
        beta: twice the largest curvature that was seen at each junction.
        drift: 1.25 times the largest change from one round to the next that was seen there, or a
            tenth of that of the junction with the largest.
        value: the error of a gauge, and of slopes by differences across a kink.
        bent: of how many second differences how many were above 0: in common speed, in all.
    """

    beta: Array
    drift: Array
    value: float
    bent: tuple[int, int, int]


def estimate(plant: Plant, tries: int) -> Known:
    """Return what past days say, from so many random actions and rounds of each, if feasible."""
    least, low, high = plant.network.least, plant.network.lowest, plant.network.highest
    rng, step, common = np.random.default_rng(0), 0.02, np.eye(len(low))[0]
    (drift, beta), counts = np.zeros((2, len(plant.names))), np.zeros(3, int)
    for seed in PAST:
        day = make_day(plant.usual, seed)
        for t in rng.integers(ROUNDS, size=tries):
            x, way = rng.uniform(low, high), rng.normal(size=len(low))
            ways = (common, way / np.linalg.norm(way))
            try:
                here, after = plant.run(x, day[t]).pressure, plant.run(x, day[t + 1]).pressure
                sides = [[plant.run(x + h * w, day[t])[0] for h in (-step, step)] for w in ways]
            except NoSteadyState:
                continue
            if here.min() < least:
                continue  # constants count where g is at most 0
            drift = np.maximum(drift, np.abs(after - here) / least)
            curved = (2 * here - np.sum(sides, axis=1)) / (least * step**2)
            beta = np.maximum(beta, curved.max(axis=0))
            counts += [*(curved > 1e-6).sum(axis=1), curved.shape[1]]
    drift = 1.25 * np.maximum(drift, drift.max() / 10)
    return Known(2 * beta, drift, (GAUGE + 0.02) / least, tuple(counts.tolist()))


def follow(plant: Plant, day: Array, rule: Rule, rounds: int, seed: int = 0) -> tuple[Array, Array]:
    """Play a rule; return the largest g and the power in every round, NaN where EPANET has none."""
    rng, x, least = np.random.default_rng(seed), plant.network.start, plant.network.least
    g, power = np.full(rounds, np.nan), np.full(rounds, np.nan)
    for t in range(rounds):
        read = None
        with suppress(NoSteadyState):
            seen = plant.run(x, day[t])
            g[t], power[t] = 1 - seen.pressure.min() / least, seen.power.sum()
            read = seen.pressure + rng.uniform(-GAUGE, GAUGE, len(seen.pressure))
        x = rule(t, x, read)
    return g, power


def certify(plant: Plant, day: Array, known: Known) -> tuple[Controller, Rule]:
    """Return the certified rule: moving balls on the rows of all gauges, and its controller."""
    network, unit = plant.network, known.drift  # each g is counted in its own drift
    rows = CurvatureRows(
        beta=known.beta / unit,
        domain=Box(network.lowest, network.highest),
        errors=Errors(value=known.value / unit.min(), drift=1.0),
        convex=False,
    )
    # A step of this length is one of the speed; what is certified does not rest on it.
    full = plant.run(network.start, plant.usual[0]).power.sum()
    controller = Controller(MovingBalls(knowledge=rows, eta=1 / full), network.start)
    controller.ask()

    def step(t: int, x: Array, read: Array | None) -> Array:
        told: dict[str, Any] = {"missing": True}
        if read is not None:
            with suppress(NoSteadyState):
                slopes = plant.differentiate(x, day[t])
                told = {
                    "constraint_value": (1 - read / network.least) / unit,
                    "constraint_subgradient": -slopes.pressure / (network.least * unit[:, None]),
                    "cost_gradient": slopes.power.sum(axis=0),
                }
        controller.tell(**told)
        return controller.ask()

    return controller, step


def optimise(plant: Plant, demand: Array, x: Array) -> Array:
    """Return the action with the least power at a demand that is known, by SLSQP from x."""
    network = plant.network

    limits = {
        "type": "ineq",
        "fun": lambda x: plant.run(x, demand).pressure / network.least - 1 - 1e-6,
        "jac": lambda x: plant.differentiate(x, demand).pressure / network.least,
    }
    found = minimize(
        lambda x: plant.run(x, demand).power.sum() / 100,
        x,
        jac=lambda x: plant.differentiate(x, demand).power.sum(axis=0) / 100,
        bounds=list(zip(network.lowest, network.highest, strict=True)),
        constraints=limits,
        method="SLSQP",
        options={"ftol": 1e-8},
    )
    return np.array(found.x)


def control(plant: Plant, margin: float) -> Rule:
    """Return an integral controller of the least pressure, by the common speed of the pumps.

    Its gain is that of Skogestad's rule (SIMC) for a plant that answers in the next round: half of
    the inverse of the plant's gain, here from a step test at noon of a past day.

    Args:
        plant: for the test.
        margin: the set point is so much above p_min, relative to it.
    """
    network, noon = plant.network, make_day(plant.usual, PAST[0])[ROUNDS // 2]
    middle = np.append((network.lowest[0] + network.highest[0]) / 2, network.separately)
    lowest = plant.run(middle, noon).pressure.argmin()
    gain = 0.5 / plant.differentiate(middle, noon).pressure[lowest, 0]

    def step(t: int, x: Array, read: Array | None) -> Array:
        rise = 0.0 if read is None else gain * (network.least * (1 + margin) - read.min())
        return np.clip(np.append(x[0] + rise, network.separately), network.lowest, network.highest)

    return step


def find_margin(plant: Plant) -> float:
    """Return the least margin, in whole per cents, that the controller needed on the past days."""
    days = [make_day(plant.usual, seed) for seed in PAST]
    for percent in range(1, 40):
        rule = control(plant, percent / 100)
        if all((follow(plant, day, rule, ROUNDS)[0] <= 0).all() for day in days):
            return percent / 100
    raise SystemExit(f"no margin keeps {plant.network.name} inside: is its p_min within reach?")


def compare(network: Network, seeds: Sequence[int], rounds: int, tries: int) -> list[Run]:
    """Play all rules on the same days of a network; SLSQP where there are two knobs."""
    plant, name = Plant(network), network.name
    known, margin = estimate(plant, tries), find_margin(plant)
    print(
        f"{name}: {len(plant.names)} gauges, drift up to {known.drift.max():.3f}, curvature up to "
        f"{known.beta.max():.3g}; of {known.bent[2]:,} second differences above 0: "
        f"{known.bent[0]:,} in common speed, {known.bent[1]:,} in any; PI's margin {margin:.0%}"
    )

    def look(day: Array, ahead: int) -> Rule:
        return lambda t, x, read: optimise(plant, day[t + ahead], x)

    least, wide = "PI on the least pressure", f"PI, {margin:.0%} margin"
    rules: dict[tuple[str, str], Callable[[Array], Rule]] = {
        ("full speed", "nothing"): lambda day: lambda t, x, read: network.start,
        (least, "a step test"): lambda day: control(plant, 0.0),
        (wide, "a step test, 3 past days"): lambda day: control(plant, margin),
        ("EPANET optimised, demand of now", "the model, demands"): partial(look, ahead=0),
        ("EPANET optimised, demand to come", "all"): partial(look, ahead=1),
        ("certified", "slopes, bounds of 3 past days"): lambda day: certify(plant, day, known)[1],
    }
    runs = []
    for (rule, knows), make in rules.items():
        if rule.startswith("EPANET") and len(network.start) > 2:
            continue
        days = (make_day(plant.usual, seed) for seed in seeds)
        played = [follow(plant, day, make(day), rounds, i) for i, day in enumerate(days)]
        g, power = (np.array(each) for each in zip(*played, strict=True))
        more = {"pump energy, kWh": f"{power.sum() / 6 / len(seeds):,.0f}"}
        mine, drawn = rule == "certified", network is NET3 and rule in (least, "certified")
        runs.append(Run(f"{name}: {rule}", knows, g, more, certified=mine, drawn=drawn))
    return runs


def play(small: bool) -> list[Run]:
    """Play the two networks for five days; hours of one day of the small one if told so."""
    if small:
        return compare(NET3, (1,), 60, 100)
    large = compare(KY10, DAYS, ROUNDS, 1_000)
    return compare(NET3, DAYS, ROUNDS, 1_000) + large


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture."""
    hours, what = np.arange(ROUNDS) / 6, "g = 1 − least pressure / limit"
    draw(path, runs, rounds=hours, unit="hour of the day", limit=what, least=-0.35)
