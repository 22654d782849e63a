"""A set point in an ellipse: cbfpy's barrier functions and filters of the library.

The plant is x+ = x + dt u; the wanted motion goes to a target that circles outside. Both see g and
its gradient where the plant is. ``python -m benchmarks.alternatives barrier_functions``
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.alternatives.rows import TRIALS, Row, named, tabulated
from surefoot.core.feedback import Feedback
from surefoot.core.types import Array
from surefoot.knowledge import Curvature
from surefoot.rules import RegionFilter, SafetyFilter
from surefoot.sets import Ball

STEPS = 500
TITLE = "Keep a set point inside while something else steers"
SHAPE = np.diag([1.0, 4.0])


def limit(x: Array) -> tuple[float, Array]:
    """Return g = (x'Ax - 1)/2 and its gradient."""
    return 0.5 * float(x @ SHAPE @ x) - 0.5, SHAPE @ x


def steered(step: Callable[[Array, Array], Array], dt: float, tool: str, knows: str) -> Row:
    """Steer towards a circling target; step returns the next point."""
    x, outside, worst, far, seconds = np.zeros(2), 0, -np.inf, 0.0, []
    for t in range(STEPS):
        target = 2.0 * np.array([np.cos(0.5 * dt * t), np.sin(0.5 * dt * t)])
        wanted = target - x
        begin = time.perf_counter()
        x = step(x, wanted)
        seconds.append(time.perf_counter() - begin)
        g = limit(x)[0]
        outside, worst = outside + (g > 0), max(worst, g)
        far += float(np.linalg.norm(target - x))
    words = f"mean distance to the target {far / STEPS:.3f}"
    return Row(tool, outside, STEPS, worst, words, 1e6 * float(np.median(seconds)), knows)


def barrier(gain: float, dt: float) -> Callable[[Array, Array], Array]:
    """Return cbfpy's filter with a linear gain."""
    import jax.numpy as jnp
    from cbfpy import CBF, CBFConfig

    class Ellipse(CBFConfig):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(n=2, m=2, relax_qp=False)

        def f(self, z: Any) -> Any:
            return jnp.zeros(2)

        def g(self, z: Any) -> Any:
            return jnp.eye(2)

        def h_1(self, z: Any) -> Any:
            return jnp.array([0.5 - 0.5 * z @ jnp.asarray(SHAPE) @ z])

        def alpha(self, h: Any) -> Any:
            return gain * h

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filter_ = CBF.from_config(Ellipse())
        filter_.safety_filter(jnp.zeros(2), jnp.ones(2))  # compiles
    return lambda x, u: x + dt * np.asarray(filter_.safety_filter(x, u), dtype=np.float64)


def tuned_gain(dt: float, trials: int) -> float:
    """Return the gain with the fewest steps outside, then the least distance."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def score(trial: Any) -> float:
        gain = trial.suggest_float("gain", 0.1, 1.0 / dt, log=True)
        row = steered(barrier(gain, dt), dt, "", "")
        return row.outside + float(row.result.split()[-1])

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(score, n_trials=trials)
    return float(study.best_params["gain"])


def kept(safe: Any, dt: float) -> Callable[[Array, Array], Array]:
    """Return a step of a filter of the library."""
    memory = [safe.init(np.zeros(2))]

    def step(x: Array, wanted: Array) -> Array:
        seen = Feedback(None, *limit(x), proposal=x + dt * wanted)
        memory[0] = safe.update(memory[0], seen)
        found: Array = memory[0].x
        return found

    return step


def rows(trials: int = TRIALS) -> Iterator[Row]:
    """Yield the rows for two lengths of a step."""
    for dt in (0.02, 0.2):
        gain = tuned_gain(dt, trials)
        knows = f"f, g, h as functions; gain {gain:.2g} by optuna, {trials} tries"
        yield steered(barrier(gain, dt), dt, named("cbfpy", f"dt = {dt}"), knows)
        ball = RegionFilter(knowledge=Curvature(beta=4.0, reach=1.0))
        yield steered(
            kept(ball, dt), dt, f"**Surefoot, `RegionFilter`**, dt = {dt}", "curvature of g"
        )
        slope = SafetyFilter(G_g=2.0, domain=Ball(1.0), rho=0.01)
        yield steered(
            kept(slope, dt), dt, f"**Surefoot, `SafetyFilter`**, dt = {dt}", "bound on the slope"
        )


def measure() -> list[str]:
    """Return the table."""
    return tabulated(rows())
