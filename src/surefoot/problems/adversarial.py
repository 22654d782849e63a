"""Linear costs that try to push the actions out of the set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot import _check
from surefoot.constraints import LinfBall
from surefoot.costs import Adversarial, Linear
from surefoot.problems.problem import Problem
from surefoot.sets import Ball
from surefoot.types import Array

__all__ = ["ADVERSARIES", "adversarial_cube"]


@dataclass(frozen=True, slots=True)
class PushOut:
    """Against the face whose constraint is largest: the one the next half-space will cut."""

    constraint: LinfBall
    size: float

    def __call__(self, t: Any, x: Array) -> Array:
        """A slope whose descent leads out through the nearest face."""
        return -self.size * self.constraint.query(x)[1]


@dataclass(frozen=True, slots=True)
class PushUncut:
    """Against the nearest face that the next half-space will not cut.

    A step in this direction is not corrected at all, so its whole length counts; in one
    dimension, where there is only one face to approach, it is that one.
    """

    constraint: LinfBall
    size: float

    def __call__(self, t: Any, x: Array) -> Array:
        """A slope whose descent leads out through the second nearest face."""
        s = self.constraint.query(x)[1]
        if x.shape[-1] == 1:
            return -self.size * s
        # With the cut entry at 0 the largest of the others is found; the hair keeps an uncut entry
        # ahead of the cut one when all are 0.
        uncut = 1 - s * s
        return -self.size * self.constraint.query(uncut * (x + 1e-300))[1]


def _constant(rng: Any, T: int, d: int, size: float) -> Linear:
    c = rng.normal(size=d)
    return Linear(np.broadcast_to(size * c / np.linalg.norm(c), (T, d)).copy())


def _alternating(rng: Any, T: int, d: int, size: float) -> Linear:
    c = rng.normal(size=d)
    signs = np.where(np.arange(T) % 2, -1.0, 1.0)[:, None]
    return Linear(size * signs * c / np.linalg.norm(c))


def _random(rng: Any, T: int, d: int, size: float) -> Linear:
    c = rng.normal(size=(T, d))
    return Linear(size * c / np.linalg.norm(c, axis=1, keepdims=True))


def _corners(rng: Any, T: int, d: int, size: float) -> Linear:
    """Towards one corner until it is surely reached, then towards another, in growing phases."""
    slopes, length = np.empty((T, d)), max(1, int(np.sqrt(T)))
    t = 0
    while t < T:
        corner = rng.choice([-1.0, 1.0], size=d)
        slopes[t : t + length] = size * corner / np.sqrt(d)
        t, length = t + length, length + max(1, length // 2)
    return Linear(slopes)


ADVERSARIES: tuple[str, ...] = ("constant", "alternating", "random", "corners", "out", "uncut")
"""One slope for ever; its sign in turn; a random direction; corner after corner; out through the
nearest face; out through the nearest face that is not cut."""

_OBLIVIOUS: dict[str, Callable[[Any, int, int, float], Linear]] = {
    "constant": _constant,
    "alternating": _alternating,
    "random": _random,
    "corners": _corners,
}


def adversarial_cube(
    adversary: str,
    *,
    horizon: int,
    dimension: int = 2,
    radius: float = 0.5,
    size: float = 1.0,
    seed: int = 0,
) -> Problem:
    """A cube, and linear costs of a given size from one of the :data:`ADVERSARIES`.

    Example:
        >>> p = adversarial_cube("uncut", horizon=100, dimension=5)
        >>> p.costs.gradient(0, np.array([0.4, 0.0, 0.3, 0.0, 0.0]))
        array([-0., -0., -1., -0., -0.])
    """
    _check.one_of(ADVERSARIES, adversary=adversary)
    _check.horizon(horizon)
    _check.whole(dimension, "dimension")
    _check.positive(size=size, radius=radius)
    constraint = LinfBall(radius, dimension)
    costs: Linear | Adversarial
    if adversary in _OBLIVIOUS:
        rng = np.random.default_rng(seed)
        costs = _OBLIVIOUS[adversary](rng, horizon, dimension, size)
    else:
        push = PushOut if adversary == "out" else PushUncut
        costs = Adversarial(push(constraint, size), horizon, dimension, size)
    domain = Ball(radius * np.sqrt(dimension))
    return Problem.of(
        costs, constraint, domain, np.zeros(dimension), G_f=size, name=f"cube, {adversary}"
    )
