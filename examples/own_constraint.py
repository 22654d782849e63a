"""Bring your own constraint and your own rule, and compare the rule with the library's.

A pump and a heater share a supply that must not be exceeded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import surefoot as sf
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array, Info
from surefoot.experiments.compare import Comparison
from surefoot.problems.constraints import FunctionConstraint
from surefoot.problems.costs import Quadratic

POWER = FunctionConstraint(  # g and its slope at one point, and how steep it is at most
    lambda x: 0.8 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.4,
    lambda x: np.array([1.6 * x[0], 1.0 * x[1]]),
    bound=1.44,
)


class At(NamedTuple):
    """Where the next round is played."""

    x: Array


@dataclass(frozen=True)
class Cautious:
    """Follow the costs, and turn back where little slack is left."""

    eta: float = 0.05
    near: float = 0.1

    def init(self, x1: Array) -> At:
        """Return the state before the first round."""
        return At(x1)

    def step(self, state: At, feedback: Feedback) -> tuple[At, Info]:
        """Return the state after a round."""
        near = feedback.constraint_value > -self.near
        step = feedback.constraint_subgradient if near else feedback.cost_gradient
        return At(state.x - self.eta * step), Info()


def run() -> Comparison:
    """Compare the rule with a certified one."""
    wishes = np.random.default_rng(1).uniform([0.2, 0.4], [0.9, 1.0], size=(300, 5, 2))
    plant = sf.Problem.of(Quadratic(wishes, 1.0), POWER, sf.Ball(0.9), [0.0, 0.0], name="plant")
    return sf.compare([Cautious(), sf.LeaderFollower.default], plant)


if __name__ == "__main__":
    print(run())
