"""PPO learns to sell power over a cable that must not overheat, not even while it learns.

README's cable as a Gymnasium environment: two loads, and a heat whose value and slope are measured
at the loads that run. Needs ``surefoot[gymnasium]`` and stable-baselines3.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from stable_baselines3 import PPO

from surefoot import Constants, SafetyFilter
from surefoot.adapters.gymnasium import SafeAction
from surefoot.core.types import Array


class Cable(gymnasium.Env):  # type: ignore[misc]
    """Two loads on one cable; a negative one feeds back. The reward is the income."""

    observation_space = gymnasium.spaces.Box(0.0, 2.0, (2,), np.float32)  # the prices
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)  # the loads
    outside = 0  # steps in which the cable was too hot

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[Array, dict[Any, Any]]:
        """Begin a day of 64 steps."""
        super().reset(seed=seed)
        self.left, self.price = 64, self._draw()
        return self.price, {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Run the loads, measure the heat, ask for the next prices."""
        x = np.asarray(action, np.float64)
        heat = 0.8 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.4
        seen = {"constraint_value": heat, "constraint_subgradient": np.array([1.6, 1.0]) * x}
        self.outside, self.left = self.outside + (heat > 0), self.left - 1
        income, self.price = float(self.price @ x), self._draw()
        return self.price, income, False, self.left == 0, seen

    def _draw(self) -> Array:
        return self.np_random.uniform([0.2, 0.6], [0.8, 1.3]).astype(np.float32)


def train(safe: bool, steps: int = 2_048) -> int:
    """Return in how many steps of the training the cable was too hot."""
    cable = Cable()
    known = Constants(R=0.9, G_g=1.45, start_slack=0.4)
    limits = SafetyFilter.default(known)
    env = SafeAction(cable, limits, start=[0.0, 0.0], action_only=True) if safe else cable
    PPO("MlpPolicy", env, n_steps=256, seed=0, device="cpu").learn(steps)
    return cable.outside


if __name__ == "__main__":
    for safe in (False, True):
        print(f"{'with' if safe else 'without'} the wrapper: {train(safe)} of 2048 steps too hot")
