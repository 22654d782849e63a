"""Reinforcement learning: stable-baselines3's PPO with and without the action wrapper.

The environment is a cable that several loads share: reward for the load that is served, a limit on
the heat, which is a quadratic function of the loads. Every step of the training counts, and is
played. ``python -m benchmarks.alternatives ppo``
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from benchmarks.alternatives.rows import Row, named, tabulated
from surefoot.adapters.gymnasium import SafeAction
from surefoot.core.types import Array
from surefoot.knowledge import Curvature
from surefoot.rules import RegionFilter

STEPS, LOADS = 2_048, 3
TITLE = "Reinforcement learning: every step of the training is played"
HEAT = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])


class Cable(gymnasium.Env):  # type: ignore[misc]
    """Loads between 0 and 1; demands that drift; the heat of the loads together is limited."""

    action_space = gymnasium.spaces.Box(0.0, 1.0, (LOADS,), np.float32)
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (LOADS,), np.float32)

    def __init__(self) -> None:
        self.heats: list[float] = []
        self.rewards: list[float] = []
        self._clock = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, Any]:
        """Begin with demands of a half."""
        super().reset(seed=seed)
        self._clock, self._demand = 0, np.full(LOADS, 0.5)
        return self._demand.astype(np.float32), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Serve loads; measure the heat and its slope."""
        x = np.asarray(action, dtype=np.float64)
        heat = 0.5 * float(x @ HEAT @ x) - 0.5
        reward = float(np.minimum(x, self._demand).sum() - 0.1 * x.sum())
        self.heats.append(heat)
        self.rewards.append(reward)
        self._clock += 1
        drift = self.np_random.uniform(-0.1, 0.15, LOADS)
        self._demand = np.clip(self._demand + drift, 0.2, 1.0)
        info = {"constraint_value": heat, "constraint_subgradient": HEAT @ x}
        done = self._clock >= 256
        return self._demand.astype(np.float32), reward, False, done, info


def trained(*, safe: bool, steps: int = STEPS) -> Row:
    """Train PPO once and count the steps outside."""
    from stable_baselines3 import PPO

    cable = Cable()
    env: Any = cable
    if safe:
        beta = float(np.linalg.eigvalsh(HEAT)[-1])
        known = Curvature(beta=beta, reach=2.0)
        start = np.full(LOADS, 0.1, np.float32)
        env = SafeAction(cable, RegionFilter(knowledge=known), start=start, action_only=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PPO("MlpPolicy", env, seed=0, n_steps=1_024, device="cpu", verbose=0).learn(steps)
    heats, last = np.array(cable.heats), np.array(cable.rewards)[-1_000:]
    words = f"mean reward of the last 1,000 steps {last.mean():.3f}"
    tool = named("stable-baselines3", "PPO") + (" with **Surefoot's `SafeAction`**" if safe else "")
    knows = "curvature of the heat; measures" if safe else "nothing"
    outside = int((heats > 0).sum())
    return Row(tool, outside, len(heats), float(heats.max()), words, math.nan, knows)


def rows() -> Iterator[Row]:
    """Yield the two rows."""
    yield trained(safe=False)
    yield trained(safe=True)


def measure() -> list[str]:
    """Return the table."""
    return tabulated(rows())
