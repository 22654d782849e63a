"""PPO learns to charge from a feeder whose room depends on a base load that the agent observes.

Two chargers share a feeder with a building. What the building will draw in the next step stands in
the observation, and adds to the load of the feeder, ampere by ampere. A filter that is told so
(``Column(adds=1.0)``) uses the room there is; one that knows only how much the base load may change
per step (``drift``) must be ready for the largest change. Needs ``surefoot[gymnasium]`` and
stable-baselines3.
"""

from __future__ import annotations

from typing import Any, Literal

import gymnasium
import numpy as np
from stable_baselines3 import PPO

from surefoot.adapters.gymnasium import SafeAction
from surefoot.core.types import Array
from surefoot.knowledge import Column, ContextHull, Errors, LipschitzHull
from surefoot.rules import RegionFilter
from surefoot.sets import Box

RATING, CHANGE = 1.25, 0.125
"""What the feeder carries, and the largest change of the base load from step to step."""


class Feeder(gymnasium.Env):  # type: ignore[misc]
    """Two chargers beside a building; the reward is what the cars pay."""

    # The price, and the base load of the coming step, in multiples of 1/1024: exact in float32.
    observation_space = gymnasium.spaces.Box(0.0, 2.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
    outside = 0  # steps in which the feeder was overloaded
    income = 0.0

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[Array, dict[Any, Any]]:
        """Begin a day of 64 steps."""
        super().reset(seed=seed)
        self.left, self.base = 64, 0.5
        return self._observe(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Charge, measure the feeder, ask for the next price and base load."""
        x = np.asarray(action, np.float64)
        load = x[0] + 0.75 * x[1] + self.base - RATING
        seen = {"constraint_value": load, "constraint_subgradient": np.array([1.0, 0.75])}
        self.outside, self.left = self.outside + (load > 0), self.left - 1
        reward = float(self.price * (x[0] + 0.5 * x[1]))
        self.income += reward
        change = round(float(self.np_random.uniform(-CHANGE, CHANGE)) * 1024) / 1024
        self.base = min(max(self.base + change, 0.0), 1.0)
        return self._observe(), reward, False, self.left == 0, seen

    def _observe(self) -> Array:
        self.price = np.float32(self.np_random.uniform(0.25, 1.0))
        return np.array([self.price, self.base], np.float32)


def limited(feeder: Feeder, by: Literal["context", "drift"]) -> SafeAction:
    """Return the feeder behind a filter that knows the base load, or only how it may change."""
    known: dict[str, Any] = {"G_g": 1.25, "domain": Box([0.0, 0.0], [1.0, 1.0])}
    known["start_bound"] = 1.0 - RATING  # nothing is charged, and the base load is at most 1
    if by == "drift":
        hull = LipschitzHull(errors=Errors(drift=CHANGE), **known)
        return SafeAction(feeder, RegionFilter(knowledge=hull), start=[0.0, 0.0])
    hull = ContextHull(context=Column(adds=1.0), **known)
    return SafeAction(
        feeder,
        RegionFilter(knowledge=hull),
        start=[0.0, 0.0],
        context=lambda observation, info: [float(observation[1])],
    )


def train(by: Literal["context", "drift"] | None, steps: int, seed: int = 0) -> tuple[int, float]:
    """Return in how many steps of the training the feeder was overloaded, and the mean income."""
    feeder = Feeder()
    env = feeder if by is None else limited(feeder, by)
    PPO("MlpPolicy", env, n_steps=256, seed=seed, device="cpu").learn(steps)
    return feeder.outside, feeder.income / steps


def main() -> None:
    """Train with each, and print what it cost."""
    steps = 4_096
    for by in ("context", "drift", None):
        outside, income = train(by, steps)
        name = "without a filter" if by is None else f"with the {by}"
        print(f"{name}: {outside} of {steps} steps overloaded, {income:.3f} earned per step")


if __name__ == "__main__":
    main()
