"""Linear costs that try to push the actions out of the set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core import checks
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import Array
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Adversarial, Linear
from surefoot.problems.problem import Problem
from surefoot.problems.streams import draw_streams
from surefoot.sets import Ball

__all__ = ["ADVERSARIES", "adversarial_cube"]


@dataclass(frozen=True, slots=True)
class PushOut:
    """Push against the face whose constraint is largest, the one the next half-space will cut."""

    constraint: LinfNorm
    size: float

    def __call__(self, t: Any, x: Array) -> Array:
        """Return a slope whose descent leads out through the nearest face."""
        return -self.size * self.constraint.query(x)[1]


@dataclass(frozen=True, slots=True)
class PushUncut:
    """Push against the nearest face that the next half-space will not cut.

    A step in this direction is not corrected at all, so its whole length counts; in one
    dimension, where there is only one face to approach, it is that one.
    """

    constraint: LinfNorm
    size: float

    def __call__(self, t: Any, x: Array) -> Array:
        """Return a slope whose descent leads out through the second nearest face."""
        s = self.constraint.query(x)[1]
        if x.shape[-1] == 1:
            return -self.size * s
        # With the cut entry at 0 the largest of the others is found; the hair keeps an uncut entry
        # ahead of the cut one when all are 0.
        uncut = 1 - s * s
        return -self.size * self.constraint.query(uncut * (x + 1e-300))[1]


# Each draws its slopes for the leading axes: rounds, and runs if there are several.


def _constant(rng: Any, lead: tuple[int, ...], d: int, size: float, phase: int) -> Any:
    return np.broadcast_to(_slopes(rng, (*lead[1:], d), size), (*lead, d)).copy()


def _alternating(rng: Any, lead: tuple[int, ...], d: int, size: float, phase: int) -> Any:
    signs = np.where(np.arange(lead[0]) % 2, -1.0, 1.0)
    return signs.reshape(-1, *(1 for _ in lead)) * _slopes(rng, (*lead[1:], d), size)


def _random(rng: Any, lead: tuple[int, ...], d: int, size: float, phase: int) -> Any:
    return _slopes(rng, (*lead, d), size)


def _corners(rng: Any, lead: tuple[int, ...], d: int, size: float, phase: int) -> Any:
    """Pull towards one corner until it must be reached, then another, in growing phases."""
    slopes, length = np.empty((*lead, d)), phase
    t = 0
    while t < lead[0]:
        corner = rng.choice([-1.0, 1.0], size=(*lead[1:], d))
        slopes[t : t + length] = size * corner / np.sqrt(d)
        t, length = t + length, length + max(1, length // 2)
    return slopes


def _slopes(rng: Any, shape: tuple[int, ...], size: float) -> Any:
    c = rng.normal(size=shape)
    return size * c / np.linalg.norm(c, axis=-1, keepdims=True)


ADVERSARIES: tuple[str, ...] = ("constant", "alternating", "random", "corners", "out", "uncut")
"""One slope for ever; its sign in turn; a random direction; corner after corner; out through the
nearest face; out through the nearest face that is not cut."""

_OBLIVIOUS: dict[str, Callable[[Any, tuple[int, ...], int, float, int], Any]] = {
    "constant": _constant,
    "alternating": _alternating,
    "random": _random,
    "corners": _corners,
}

_FIRST_PHASE = 32
"""Rounds towards the first corner in streams of which shorter ones are the beginning."""


def adversarial_cube(
    adversary: str,
    *,
    horizon: int,
    dimension: int = 2,
    radius: float = 0.5,
    size: float = 1.0,
    seed: int = 0,
    trials: int | None = None,
    streams: int | None = None,
) -> Problem:
    """Return a cube with linear costs of a given size from one of the :data:`ADVERSARIES`.

    The last two answer the actions: they have a rule and no streams, the same for every run.

    Args:
        adversary: which.
        horizon: rounds.
        dimension: entries of an action.
        radius: half the length of an edge.
        size: norm of every slope.
        seed: of the slopes.
        trials: runs with their own slopes; one without a run axis unless given.
        streams: a seed of the slopes instead, each run's from its own generator: fewer rounds or
            runs are the first of more. Phases towards a corner then start with 32 rounds, not with
            the root of the horizon.

    Example:
        >>> p = adversarial_cube("uncut", horizon=100, dimension=5)
        >>> p.costs.gradient(0, np.array([0.4, 0.0, 0.3, 0.0, 0.0]))
        array([-0., -0., -1., -0., -0.])
    """
    checks.one_of(ADVERSARIES, adversary=adversary)
    checks.check_horizon(horizon)
    checks.positive_int(dimension, "dimension")
    checks.positive(size=size, radius=radius)
    constraint = LinfNorm(radius, dimension)
    costs: Linear | Adversarial
    if adversary in _OBLIVIOUS:
        phase = max(1, int(np.sqrt(horizon))) if streams is None else _FIRST_PHASE

        def draw(source: Any, lead: tuple[int, ...]) -> Any:
            return _OBLIVIOUS[adversary](source, lead, dimension, size, phase)

        rng = np.random.default_rng(seed)
        costs = Linear(draw_streams(draw, rng, horizon, trials, streams))
    else:
        if trials is not None and checks.positive_int(trials, "trials") > 1:
            raise InvalidValueError(
                f"trials must be 1 for the adversary {adversary!r}, which answers the actions and "
                f"has no streams, got {trials!r}"
            )
        push = PushOut if adversary == "out" else PushUncut
        costs = Adversarial(push(constraint, size), horizon, dimension, size)
    domain = Ball(radius * np.sqrt(dimension))
    return Problem.of(
        costs, constraint, domain, np.zeros(dimension), G_f=size, name=f"cube, {adversary}"
    )
