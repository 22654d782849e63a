"""PPO learns to charge from a feeder whose room depends on a base load that the agent observes.

What the building beside it draws in the next step stands in the observation, and adds to the load
ampere by ampere (``Column(adds=1.0)``). Needs ``surefoot[gymnasium]`` and stable-baselines3.
"""

from typing import Any

import gymnasium
import numpy as np
from stable_baselines3 import PPO

from surefoot.adapters.gymnasium import SafeAction
from surefoot.core.types import Array
from surefoot.knowledge import Column, ContextHull, Errors, LipschitzHull
from surefoot.rules import RegionFilter
from surefoot.sets import Box


class Feeder(gymnasium.Env):  # type: ignore[misc]
    """Two chargers; the reward is what the cars pay. A base load moves by 1/8 per step at most."""

    observation_space = gymnasium.spaces.Box(0.0, 2.0, (2,), np.float32)  # price, base load
    action_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
    outside, income = 0, 0.0  # steps in which the feeder was overloaded

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, Any]:
        """Begin a day of 64 steps."""
        super().reset(seed=seed)
        self.left, self.base, self.price = 64, 0.5, 0.5
        return np.array([self.price, self.base], np.float32), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Charge, measure the feeder, ask for the next price and base load."""
        x = np.asarray(action, np.float64)
        load = x[0] + 0.75 * x[1] + self.base - 1.25
        seen = {"constraint_value": load, "constraint_subgradient": np.array([1.0, 0.75])}
        reward = float(self.price * (x[0] + 0.5 * x[1]))
        self.outside, self.income = self.outside + (load > 0), self.income + reward
        self.left, self.price = self.left - 1, self.np_random.uniform(0.25, 1.0)
        self.base = min(max(self.base + int(self.np_random.integers(-128, 129)) / 1024, 0.0), 1.0)
        observed = np.array([self.price, self.base], np.float32)
        return observed, reward, False, self.left == 0, seen


def limited(feeder: Feeder, by: str) -> SafeAction:
    """Return the feeder behind a filter that knows the base load, or only how far it may move."""
    known: Any = {"G_g": 1.25, "domain": Box([0.0, 0.0], [1.0, 1.0]), "start_bound": -0.25}
    if by == "drift":
        hull = LipschitzHull(errors=Errors(drift=0.125), **known)
        return SafeAction(feeder, RegionFilter(knowledge=hull), [0.0, 0.0])
    safe = RegionFilter(knowledge=ContextHull(context=Column(adds=1.0), **known))
    return SafeAction(feeder, safe, [0.0, 0.0], context=lambda seen, info: [float(seen[1])])


if __name__ == "__main__":
    for by in ("context", "drift", ""):
        feeder = Feeder()
        PPO("MlpPolicy", limited(feeder, by) if by else feeder, seed=0, device="cpu").learn(2_048)
        print(f"{by or 'no filter'}: {feeder.outside} steps overloaded, {feeder.income:.0f} earned")
