"""The other systems of the paper's bibliography, tuned on its toy, with their reference numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from surefoot.algorithms.adaptive_gauge import AdaptiveGauge
from surefoot.algorithms.bandit_frank_wolfe import BanditFrankWolfe
from surefoot.algorithms.block_bandit import BlockBandit
from surefoot.algorithms.cvv_pro import CVVPro
from surefoot.algorithms.garber_kretzu import GarberKretzu
from surefoot.algorithms.gauge_descent import GaugeDescent
from surefoot.algorithms.gauge_newton import GaugeNewton
from surefoot.algorithms.levy_krause import LevyKrause
from surefoot.algorithms.penalised_blocks import PenalisedBlocks
from surefoot.algorithms.primal_dual import PrimalDual
from surefoot.algorithms.recoo import RECOO
from surefoot.algorithms.scalar_dpp import ScalarDPP
from surefoot.algorithms.separation_descent import SeparationDescent
from surefoot.algorithms.tracking_blocks import TrackingBlocks
from surefoot.algorithms.yi import Yi
from surefoot.algorithms.yu_neely import YuNeely
from surefoot.constants import Constants
from surefoot.problems import binding_toy, paper_toy
from surefoot.sets import Ball, Box
from surefoot.sets.prox import prox_of
from surefoot.types import Feedback

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
    toy: tuple[float, float, float]
    binding: tuple[float, float, float]
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
    return RECOO.by_case(
        _ball(toy),
        T,
        prox_of(SQUARE),
        strong=strong,
        varies=varies,
        distance=None if strong else 1 + 0.5**0.5,
    )


def _large(T: int, toy: Toy) -> Any:
    G_f = 6 * ROOT * (2.0 if toy.name == "toy" else 2.5)
    return PenalisedBlocks.known_horizon(Constants(R=ROOT, G_f=G_f, G_g=1.0), T, LARGE)


def _velocity(T: int, toy: Toy) -> Any:
    return CVVPro.tuned(Constants(R=1.0, G_f=6 * (2.71 + toy.far * ROOT), G_g=1.0), T)


SYSTEMS = {
    "linear minimisation": System(
        lambda T, toy: GarberKretzu.known_horizon(_square(toy), T, SQUARE),
        (482.9, -297.3, 0.0),
        (1653, -222.7, 0.0),
    ),
    "separation": System(
        lambda T, toy: SeparationDescent.known_horizon(_square(toy), T, SQUARE),
        (155.6, -113.4, 0.0),
        (396.6, -48.88, 0.0),
    ),
    "separation, deep cuts": System(
        lambda T, toy: SeparationDescent.deep_cuts(_square(toy), T, SQUARE),
        (155.7, -113.5, 0.0),
        (402.8, -49.64, 0.0),
    ),
    "smooth set": System(
        lambda T, toy: LevyKrause.fixed(_disc(toy), T, DISC),
        (66.36, -22.66, 0.0),
        (110.7, -11.82, 0.0),
        on_disc=True,
    ),
    "smooth set, strongly convex": System(
        lambda T, toy: LevyKrause.strongly_convex(_disc(toy), T, DISC),
        (3.53, -1.09, 0.0),
        (6.31, -0.635, 0.0),
        on_disc=True,
    ),
    "gauge": System(
        lambda T, toy: GaugeDescent.fixed(_square(toy), T, SQUARE),
        (207.3, -143.0, 0.0),
        (468.5, -57.48, 0.0),
    ),
    "gauge, strongly convex": System(
        lambda T, toy: GaugeDescent.strongly_convex(_square(toy), T, SQUARE),
        (4.79, -17.70, 0.0),
        (17.30, -0.5, 0.0),
    ),
    "adaptive gauge": System(
        lambda T, toy: AdaptiveGauge.known_horizon(_square(toy), T, SQUARE),
        (36.16, -34.28, 0.0),
        (214.3, -0.849, 0.0),
    ),
    "gauge with a Newton step": System(
        lambda T, toy: GaugeNewton.known_horizon(_square(toy), T, SQUARE),
        (43.01, -41.88, 0.0),
        (126.5, -10.41, 0.0),
    ),
    "Yu and Neely": System(
        lambda T, toy: YuNeely.linear(_ball(toy), T), (37.22, -47.22, 2.40), (35.96, 15.11, 22.99)
    ),
    "Yi": System(
        lambda T, toy: Yi.trade_off(_ball(toy), T, SQUARE),
        (38.90, -43.68, 0.0961),
        (18.22, -2.25, 0.2584),
    ),
    "RECOO": System(lambda T, toy: _recoo(toy, T), (11.58, -25.13, 0.0), (5.19, -0.585, 0.0124)),
    "RECOO, changing": System(
        lambda T, toy: _recoo(toy, T, varies=True), (11.60, -25.10, 0.0077), (-14.98, 3.63, 4.23)
    ),
    "RECOO, strongly convex": System(
        lambda T, toy: _recoo(toy, T, strong=True),
        (4.81, -18.00, 0.0671),
        (2.44, -0.150, 0.3496),
    ),
    "Neely and Yu": System(
        lambda T, toy: ScalarDPP.changing(_ball(toy), T),
        (42.46, 10.41, 42.76),
        (-1270, 293.3, 296.0),
    ),
    "windows": System(
        lambda T, toy: ScalarDPP.windows(_ball(toy), T, V=T**0.25),
        (76.00, -50.69, 7.73),
        (-85.59, 34.13, 59.04),
    ),
    "primal and dual": System(
        lambda T, toy: PrimalDual.known_margin(_margin(toy), T),
        (170.0, -115.5, 2.90),
        (512.2, -57.67, 36.11),
    ),
    "velocities": System(_velocity, (18.39, -25.80, 0.4363), (27.02, -3.44, 0.1295)),
    "penalised blocks": System(_large, (668.3, -306.4, 54.27), (122.2, 222.7, 356.7)),
    "bandit": System(
        lambda T, toy: BanditFrankWolfe.known_horizon(_bandit(toy), T, SQUARE),
        (1801, -551.2, 0.0),
        (5484, -439.8, 0.0),
    ),
    "bandit in blocks": System(
        lambda T, toy: BlockBandit.known_horizon(_bandit(toy), T, SQUARE),
        (1269, -440.4, 0.0),
        (4441, -361.8, 0.0),
    ),
    "tracking": System(
        lambda T, toy: TrackingBlocks.known_horizon(_square(toy), T, SQUARE),
        (239.6, -239.3, 0.0),
        (715.7, -102.6, 0.0),
    ),
}
"""Numbers to the digits of the reference, from trials 0 to 4 of the published streams."""


class Outcome(NamedTuple):
    """Means over the trials of regret, of the sum of g and of the violations; extremes."""

    regret: float
    soft: float
    hard: float
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
    apart = player.needs.apart and getattr(player, "rows", 4) > 1
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
        g, s = (rows, FACES) if apart else (float(rows[worst]), FACES[worst])
        if player.needs.apart and not apart:
            g, s = rows[worst : worst + 1], FACES[worst : worst + 1]
        state = player.update(state, Feedback(6 * away, g, s, price))
    return cost, np.array(values)
