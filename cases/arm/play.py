"""An arm with an unknown payload under torque limits: certified postures, and what is used now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
from quadprog import solve_qp
from scipy.optimize import minimize

from cases.arm.robot import FARTHEST, HEAVIEST, JOINTS, Arm
from cases.show import Run, draw
from surefoot import Controller
from surefoot.certified import Certified
from surefoot.core.types import Array
from surefoot.knowledge import CurvatureRows, Errors
from surefoot.proposers.proposals import Proposals
from surefoot.sets import Box

__all__ = ["certify", "follow", "make_task", "paint", "play"]

START = np.array([0.0, 1.39, 0.0, 0.0, 0.0, 0.0, 0.0])
"""The arm hangs down."""
SPEED, STAY = 1.0, 4
"""How fast a joint moves (rad/s), and for how long a posture is wished (s)."""
RATES = (50, 5)
"""Rounds in a second."""
Rule = Callable[[Array, Array | None, Array, Array], Array]
"""From a posture, its rows (None for nothing felt), slopes and a wish to the next posture."""


def make_task(seed: int, count: int) -> tuple[Arm, Array]:
    """Return an arm whose payload nobody knows, and so many postures that somebody wishes."""
    rng = np.random.default_rng(seed)
    way = rng.normal(size=3)
    offset = FARTHEST * rng.uniform() * way / np.linalg.norm(way)
    arm = Arm(rng.uniform(0.5, 1.0) * HEAVIEST, offset)
    return arm, rng.uniform(arm.low, arm.high, (count, JOINTS))


def reach(arm: Arm, x: Array, rate: int) -> tuple[Array, Array]:
    """Return the bounds of the next posture: the joints' speeds, and their ranges."""
    return np.maximum(x - SPEED / rate, arm.low), np.minimum(x + SPEED / rate, arm.high)


def follow(arm: Arm, wishes: Array, rule: Rule, rate: int) -> tuple[Array, Array]:
    """Play a rule; return the largest g in every round, and how far the wish is.

    Where MuJoCo raises, nothing was felt in that round, and its g is NaN.
    """
    rounds = len(wishes) * STAY * rate
    x, g, far = START, np.full(rounds, np.nan), np.zeros(rounds)
    for t, proposal in enumerate(np.repeat(wishes, STAY * rate, axis=0)):
        far[t] = np.linalg.norm(x - proposal)
        try:
            rows, slopes = arm.feel(x), arm.differentiate(x)
        except mujoco.FatalError:
            x = rule(x, None, np.empty(0), proposal)
            continue
        g[t] = rows.max()
        x = rule(x, rows, slopes, proposal)
    return g, far


def certify(arm: Arm, rate: int) -> tuple[Controller, Rule]:
    """Return the certified rule: the wish's nearest posture that curvature certifies."""
    knowledge = CurvatureRows(
        beta=arm.beta,
        domain=Box(arm.low, arm.high),
        errors=Errors(slope=arm.slope_error, evaluation=1e-12),
        convex=False,
    )
    player = Certified(proposer=Proposals(), knowledge=knowledge, ramp=(SPEED / rate,) * JOINTS)
    controller = Controller(player, START)
    controller.ask()

    def step(x: Array, rows: Array | None, slopes: Array, proposal: Array) -> Array:
        if rows is None:
            controller.tell(missing=True)
        else:
            controller.tell(
                constraint_value=rows + arm.test_rise,
                constraint_subgradient=slopes,
                proposal=proposal,
            )
        return controller.ask()

    return controller, step


def go(arm: Arm, rate: int) -> Rule:
    """Return the rule without limits."""
    return lambda x, rows, slopes, proposal: np.clip(proposal, *reach(arm, x, rate))


def linearise(arm: Arm, rate: int, margin: float) -> Rule:
    """Return one step of a model predictive controller: a QP with linearised, soft limits.

    Args:
        arm: whose.
        rate: rounds in a second.
        margin: torques are kept so much below their limits.
    """

    def step(x: Array, rows: Array | None, slopes: Array, proposal: Array) -> Array:
        if rows is None:
            return x
        low, high = reach(arm, x, rate)
        # The next posture and one slack; columns are what must be at least the entries of b.
        eye, soft = np.eye(JOINTS), np.ones((1, len(rows)))
        flat = np.zeros((1, JOINTS))
        columns = [
            np.vstack([-slopes.T, soft]),
            np.vstack([eye, flat]),
            np.vstack([-eye, flat]),
            np.eye(JOINTS + 1)[:, -1:],
        ]
        b = np.concatenate([rows + margin - slopes @ x, low, -high, [0.0]])
        weights = np.diag([*np.ones(JOINTS), 1e-6])
        found = solve_qp(weights, np.append(proposal, -1e3), np.hstack(columns), b)[0]
        return np.clip(found[:-1], low, high)

    return step


def know(arm: Arm, rate: int) -> Rule:
    """Return the rule that knows the payload: the nearest posture that keeps the true limits."""

    def step(x: Array, rows: Array | None, slopes: Array, proposal: Array) -> Array:
        low, high = reach(arm, x, rate)
        limits = {
            "type": "ineq",
            "fun": lambda q: -arm.feel(q) - 2 * arm.test_rise,
            "jac": lambda q: -arm.differentiate(q),
        }
        found = minimize(
            lambda q: 0.5 * float((q - proposal) @ (q - proposal)),
            x,
            jac=lambda q: q - proposal,
            bounds=list(zip(low, high, strict=True)),
            constraints=limits,
            method="SLSQP",
        )
        q = np.clip(found.x, low, high)
        return q if (arm.feel(q) + arm.test_rise <= 0).all() else x

    return step


def play(small: bool) -> list[Run]:
    """Play all rules with the same payloads and wishes."""
    seeds, count = ((1,), 2) if small else ((1, 2, 3), 10)
    tasks = [make_task(seed, count) for seed in seeds]
    rules: dict[tuple[str, str], Callable[[Arm, int], Rule]] = {
        ("no limit", "nothing"): go,
        ("linearised limits", "slopes"): partial(linearise, margin=0.0),
        ("linearised, 5 % margin", "slopes"): partial(linearise, margin=0.05),
        ("exact limits", "all, the payload too"): know,
        ("certified", "slopes; masses, lengths, payload <= 2 kg"): lambda arm, rate: certify(
            arm, rate
        )[1],
    }
    runs = []
    for rate in RATES:
        for (name, knows), make in rules.items():
            played = [follow(arm, wishes, make(arm, rate), rate) for arm, wishes in tasks]
            far = np.array([far for _, far in played])
            ends = far[:, STAY * rate - 1 :: STAY * rate]
            more = {
                "mean distance to the wish": f"{far.mean():.2f}",
                "at its end": f"{ends.mean():.2f}",
            }
            runs.append(
                Run(
                    f"{name}, {rate} Hz",
                    knows,
                    np.array([g for g, _ in played]),
                    more,
                    certified=name == "certified",
                    drawn=rate == RATES[0] and name in ("no limit", "certified"),
                )
            )
    return runs


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture."""
    seconds = np.arange(np.shape(runs[0].g)[1]) / RATES[0]
    draw(path, runs, rounds=seconds, unit="seconds", limit="g = largest torque / limit − 1")
