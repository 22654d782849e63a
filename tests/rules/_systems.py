"""The other systems of the paper's bibliography, tuned on its toy, with their reference numbers."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot.core.constants import Constants
from surefoot.core.feedback import Feedback
from surefoot.guarantees import Tuned
from surefoot.problems import binding_toy, paper_toy
from surefoot.rules.related.bandit import BanditFrankWolfe, BlockBandit
from surefoot.rules.related.cvv_pro import CVVPro
from surefoot.rules.related.dpp import ScalarDPP
from surefoot.rules.related.garber_kretzu import GarberKretzu, PenalisedBlocks, TrackingBlocks
from surefoot.rules.related.gauge import AdaptiveGauge, GaugeDescent, GaugeNewton
from surefoot.rules.related.levy_krause import LevyKrause
from surefoot.rules.related.primal_dual import PrimalDual
from surefoot.rules.related.recoo import RECOO, RecooTheorem
from surefoot.rules.related.separation_descent import SeparationDescent
from surefoot.rules.related.yi import Yi
from surefoot.rules.related.yu_neely import YuNeely
from surefoot.sets import Ball, Box, prox_of

SQUARE, DISC, LARGE = Box.cube(0.5, 2), Ball(0.5), Box.cube(1.0, 2)
FACES = np.vstack([np.eye(2), -np.eye(2)])
ROOT = 2**0.5


class Toy(NamedTuple):
    """A toy with its bounds on gradients: on the ball, on the square, and at its corners' norm."""

    name: str
    targets: Callable[[int], Any]
    ball: float
    square: float
    far: float


TOYS = (
    Toy("toy", lambda T: paper_toy(T, trials=5).costs.targets, 14.485, 12.728, 1.0),
    Toy("binding", lambda T: binding_toy(T, trials=5).costs.targets, 18.728, 16.971, 1.5),
)


class System(NamedTuple):
    """A tuned method and, for each toy, mean regret, sum of g and of violations at T = 2,000."""

    tune: Callable[[int, Toy], Any]
    toy: list[float]
    binding: list[float]
    on_disc: bool = False


def _square(toy: Toy, **more: float) -> Constants:
    known = {"R": 1.0, "G_f": toy.square, "start_reach": 1.0, "strong_convexity": 6.0}
    return Constants(**(known | {"diameter": ROOT} | more))


def _disc(toy: Toy) -> Constants:
    return Constants(R=1.0, G_f=6 * (0.5 + toy.far * ROOT), start_reach=0.5, strong_convexity=6.0)


def _ball(toy: Toy) -> Constants:
    return Constants(
        R=1.0,
        G_f=toy.ball,
        G_g=1.0,
        start_reach=1.0,
        strong_convexity=6.0,
        D_g=1.5,
        rows=4,
        start_slack=0.5,
        rows_lipschitz=ROOT,
    )


def _margin(toy: Toy) -> Constants:
    cost = 6.0 if toy.name == "toy" else 13.5
    return Constants(
        R=1.0, G_f=toy.ball, G_g=1.0, D_g=0.5, rows=1, slater_margin=0.5, slater_cost=cost
    )


def _bandit(toy: Toy) -> Constants:
    bound = 13.5 if toy.name == "toy" else 24.0
    return Constants(R=0.5**0.5, G_f=toy.square, cost_bound=bound)


def _recoo(toy: Toy, T: int, *, strong: bool = False, varies: bool = False) -> Any:
    theorem = RecooTheorem(_ball(toy), strong, varies, None if strong else 1 + 0.5**0.5)
    return Tuned.of(RECOO, theorem, prox=prox_of(SQUARE))


def _large(T: int, toy: Toy) -> Any:
    G_f = 6 * ROOT * (2.0 if toy.name == "toy" else 2.5)
    return PenalisedBlocks.known_horizon(Constants(R=ROOT, G_f=G_f, G_g=1.0), T, LARGE)


def _velocity(T: int, toy: Toy) -> Any:
    return CVVPro.tuned(Constants(R=1.0, G_f=6 * (2.71 + toy.far * ROOT), G_g=1.0), T)


_ON_SQUARE = {
    "linear minimisation": GarberKretzu.known_horizon,
    "separation": SeparationDescent.known_horizon,
    "separation, deep cuts": SeparationDescent.deep_cuts,
    "gauge": GaugeDescent.fixed,
    "gauge, strongly convex": GaugeDescent.strongly_convex,
    "adaptive gauge": AdaptiveGauge.known_horizon,
    "gauge with a Newton step": GaugeNewton.known_horizon,
    "tracking": TrackingBlocks.known_horizon,
}
_ON_DISC = {
    "smooth set": LevyKrause.fixed,
    "smooth set, strongly convex": LevyKrause.strongly_convex,
}
_BANDITS = {"bandit": BanditFrankWolfe, "bandit in blocks": BlockBandit}
_LAGRANGIAN: dict[str, Callable[[int, Toy], Any]] = {
    "Yu and Neely": lambda T, toy: YuNeely.linear(_ball(toy), T),
    "Yi": lambda T, toy: Yi.trade_off(_ball(toy), T, SQUARE),
    "RECOO": lambda T, toy: _recoo(toy, T),
    "RECOO, changing": lambda T, toy: _recoo(toy, T, varies=True),
    "RECOO, strongly convex": lambda T, toy: _recoo(toy, T, strong=True),
    "Neely and Yu": lambda T, toy: ScalarDPP.changing(_ball(toy), T),
    "windows": lambda T, toy: ScalarDPP.windows(_ball(toy), T, V=T**0.25),
    "primal and dual": lambda T, toy: PrimalDual.known_margin(_margin(toy), T),
    "velocities": _velocity,
    "penalised blocks": _large,
}


def _tune(name: str, T: int, toy: Toy) -> Any:
    if name in _ON_SQUARE:
        return _ON_SQUARE[name](_square(toy), T, SQUARE)
    if name in _ON_DISC:
        return _ON_DISC[name](_disc(toy), T, DISC)
    if name in _BANDITS:
        return _BANDITS[name].known_horizon(_bandit(toy), T, SQUARE)
    return _LAGRANGIAN[name](T, toy)


def _read(page: Path) -> dict[str, System]:
    with page.open(encoding="utf-8", newline="") as lines:
        _, *rows = csv.reader(lines, delimiter=";")
    return {
        name: System(partial(_tune, name), numbers[:3], numbers[3:], on_disc=name in _ON_DISC)
        for name, *digits in rows
        if (numbers := [float(digit) for digit in digits])
    }


SYSTEMS = _read(Path(__file__).with_name("systems.csv"))
"""Numbers to the digits of the reference, from trials 0 to 4 of the published streams."""


class Outcome(NamedTuple):
    """Means over the trials of regret, of the sum of g and of the violations; extremes."""

    regret: float
    positive_sum: float
    sum_positive: float
    most_regret: float
    worst: float
    rows: float


def played(system: System, toy: Toy, T: int, trials: int = 5) -> tuple[Outcome, Any]:
    """Play a system on the published streams; the last trial's player is returned with it."""
    found, worst, rows = [], -np.inf, -np.inf
    for trial, targets in enumerate(_trials(toy, T, trials)):
        tuned = system.tune(T, toy)
        cost, values = _run(tuned.algorithm, targets, trial, on_disc=system.on_disc)
        best = targets.mean(axis=0)
        best = DISC.project(best) if system.on_disc else np.clip(best, -0.5, 0.5)
        g = values.max(axis=1)
        regret = cost - 3 * float(((best - targets) ** 2).sum())
        found.append((regret, g.sum(), np.maximum(g, 0).sum()))
        worst, rows = max(worst, g.max()), max(rows, values.sum(axis=0).max())
    return Outcome(*np.mean(found, axis=0), np.max(found, axis=0)[0], worst, rows), tuned


def _trials(toy: Toy, T: int, trials: int) -> Iterator[Any]:
    targets = toy.targets(T)
    for trial in range(trials):
        yield targets[:, trial]


def _run(player: Any, targets: Any, trial: int, *, on_disc: bool) -> tuple[float, Any]:
    """Return the summed cost, and the constraints of every round."""
    rng, state = np.random.default_rng([7, trial]), player.init(np.zeros(2))
    cost, values = 0.0, []
    separately = player.needs.separately and getattr(player, "rows", 4) > 1
    for target in targets:
        if player.needs.directions:
            way = rng.normal(size=2)
            state = player.explore(state, way / np.linalg.norm(way))
        x = state.x
        away = x - target
        price = 3 * float(away @ away)
        rows = np.array([x @ x - 0.25]) if on_disc else FACES @ x - 0.5
        worst = int(rows.argmax())
        cost += price
        values.append(rows)
        g, s = (rows, FACES) if separately else (float(rows[worst]), FACES[worst])
        if player.needs.separately and not separately:
            g, s = rows[worst : worst + 1], FACES[worst : worst + 1]
        state = player.update(state, Feedback(6 * away, g, s, price))
    return cost, np.array(values)
