"""PPO on a feeder: a filter that is told the base load, one that knows its drift, and none.

``python -m benchmarks.feeder`` trains each with three seeds (ten minutes) and prints the table of
docs/hosts.md.
"""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

STEPS, SEEDS = 4_096, (0, 1, 2)
EXAMPLE = Path(__file__).parents[1] / "examples" / "gymnasium_feeder.py"
NAMES = {"context": "told the base load", "drift": "told how far it may move", "": "none"}


def load_example() -> Any:
    spec = importlib.util.spec_from_file_location("gymnasium_feeder", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train(by: str, steps: int, seed: int) -> tuple[int, float]:
    """Return how many steps of the training were overloaded, and the income per step."""
    example = load_example()
    feeder = example.Feeder()
    env = example.limited(feeder, by) if by else feeder
    example.PPO("MlpPolicy", env, n_steps=256, seed=seed, device="cpu").learn(steps)
    return feeder.outside, feeder.income / steps


def main() -> None:
    print(f"| filter | steps overloaded, of {STEPS:,} | earned per step |\n|---|---:|---:|")
    for by, name in NAMES.items():
        outside, income = zip(*(train(by, STEPS, seed) for seed in SEEDS), strict=True)
        each = ", ".join(f"{count:,}" for count in outside)
        print(f"| {name} | {each} | {np.mean(income):.3f} |", flush=True)


if __name__ == "__main__":
    main()
