"""Limits, costs and errors that are made again from a seed, by NumPy alone.

Costs are linear, so that gradients do not depend on the action; nor do proposals and announced
sets. Of a reading only what depends on the action is recorded: the value as it was told, and of the
slope the row that was active, or the weights of a few fixed rows. All is drawn by
``standard_normal``, ``random`` and ``integers`` of PCG64.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tests.golden.driver import Seen

PHASES = (0.35, 0.7)
"""The shares of the rounds after which the costs turn."""

ROOM = 1.2
"""What levels are multiplied by in the constants of curved limits, which may drift outwards."""


def _source(seed, part):
    return np.random.Generator(np.random.PCG64([seed, part]))


def _units(rng, *shape):
    drawn = rng.standard_normal(shape)
    return drawn / np.sqrt((drawn * drawn).sum(axis=-1, keepdims=True))


def _orthonormal(rng, rank, dimension):
    rows = rng.standard_normal((rank, dimension))
    for i in range(rank):
        for _ in range(2):  # once more, for rounding
            rows[i] -= (rows[:i] @ rows[i]) @ rows[:i]
        rows[i] /= np.sqrt(rows[i] @ rows[i])
    return rows


class Polytope:
    """The largest of 3d rows of norm 1.3: those of a cube, and as many cuts as entries."""

    rows = 1

    def __init__(self, dimension, rng):
        cuts = _units(rng, dimension, dimension)
        self.A = 1.3 * np.vstack([np.eye(dimension), -np.eye(dimension), cuts])
        self.b = 1.3 * np.append(np.ones(2 * dimension), 0.5 + 0.5 * rng.random(dimension))
        self.span = np.eye(dimension)
        self.constants = {"R": float(np.sqrt(dimension)), "G_g": 1.3}

    def read(self, x):
        values = self.A @ x - self.b
        active = int(values.argmax())
        return float(values[active]), active

    def slope(self, active):
        return self.A[int(active)].copy()


class Bowl:
    """One quadratic of a few directions, 2 or 5 of them; costs lie in their span."""

    rows = 1

    def __init__(self, dimension, rng):
        rank = {2: 2, 20: 5, 100: 5}[dimension]
        self.A = self.span = _orthonormal(rng, rank, dimension)
        self.rates = 0.4 + 1.6 * rng.random(rank)
        self.rates[0], self.rates[-1] = 2.0, 0.4
        self.centre, self.level = 0.1 * rng.standard_normal(rank), 0.5
        most = ROOM * 2 * self.level
        self.constants = {
            "R": float(np.sqrt(most / self.rates.min()) + np.sqrt(self.centre @ self.centre)),
            "G_g": float(np.sqrt(most * self.rates.max())),
            "beta": float(self.rates.max()),
        }

    def read(self, x):
        y = self.A @ x - self.centre
        return float(0.5 * (self.rates * y) @ y - self.level), self.rates * y

    def slope(self, weights):
        return weights @ self.A


class Rows:
    """Three ridges (two for d = 2), which curve, and two half-spaces, told apart."""

    def __init__(self, dimension, rng):
        rank = min(3, dimension)
        self.A = self.span = _orthonormal(rng, rank, dimension)
        self.rates, self.level = np.array([2.0, 1.0, 0.5])[:rank], 0.25
        self.B = _units(rng, 2, rank) @ self.A
        self.b = 0.2 + 0.2 * rng.random(2)
        self.rows = rank + 2
        most = ROOM * 2 * self.level
        self.constants = {
            "R": float(np.sqrt((most / self.rates).sum())),
            "G_g": float(np.sqrt(max(1.0, most * self.rates.max()))),
            "beta": [*self.rates.tolist(), 0.0, 0.0],
        }

    def read(self, x):
        y = self.A @ x
        ridges = 0.5 * self.rates * y * y - self.level
        return np.concatenate([ridges, self.B @ x - self.b]), self.rates * y

    def slope(self, weights):
        return np.vstack([weights[:, None] * self.A, self.B])


LIMITS = {"polytope": Polytope, "bowl": Bowl, "rows": Rows}


@dataclass(frozen=True)
class Stream:
    """What a player meets; every field is plain data.

    Attributes:
        limit: which of the limits.
        dimension: entries of an action.
        seed: of everything.
        rounds: how many.
        value_error: bound on the error of values.
        own_errors: whether each round tells its own bound, not larger than that.
        slope_error: bound on the error of slopes.
        drift: bound on the change of values from one round to the next.
        noise: the standard deviation of normal noise on values, which nobody bounds.
        box: half the longest side of the known box around 0, where costs pull in all directions.
        announced: whether smaller boxes are announced, new ones every ten rounds.
        late: how many rounds later what is seen is told.
        shallow: whether the start is 98 % of the way to the limit, a polytope.
        strays: whether every seventh action goes only half of its way.
        proposes: whether the player is a filter and gets proposals.
        values_only: whether no slopes are told.
    """

    limit: str
    dimension: int
    seed: int
    rounds: int = 200
    value_error: float = 0.0
    own_errors: bool = False
    slope_error: float = 0.0
    drift: float = 0.0
    noise: float = 0.0
    box: float = 0.0
    announced: bool = False
    late: int = 0
    shallow: bool = False
    strays: bool = False
    proposes: bool = False
    values_only: bool = False

    @cached_property
    def g(self):
        """The limit, without errors."""
        return LIMITS[self.limit](self.dimension, _source(self.seed, 0))

    @cached_property
    def start(self):
        """The first action, off the centre of everything."""
        away = _units(_source(self.seed, 7), len(self.g.span)) @ self.g.span
        if not self.shallow:
            return 0.1 * away
        slopes = self.g.A @ away
        return 0.98 * (self.g.b[slopes > 0] / slopes[slopes > 0]).min() * away

    @property
    def constants(self):
        """What is known of limit and costs, as plain data."""
        slack = float(-np.max(self.g.read(self.start)[0]))
        steepest = float(np.sqrt((self.gradients**2).sum(axis=1).max()))
        errors = {name: getattr(self, name) for name in ("value_error", "slope_error", "drift")}
        return self.g.constants | {
            "G_f": steepest,
            "start_slack": slack,
            "start_reach": self.g.constants["R"] + float(np.sqrt(self.start @ self.start)),
            **{name: bound for name, bound in errors.items() if bound},
        }

    def _pulls(self, part, noise):
        """A direction of each round: another one in every phase, with noise."""
        rng, span = _source(self.seed, part), np.eye(self.dimension) if self.box else self.g.span
        phase = np.searchsorted(PHASES, np.arange(self.rounds) / self.rounds, side="right")
        away = _units(rng, 3, len(span))[phase]
        scattered = rng.standard_normal((self.rounds, len(span))) / np.sqrt(len(span))
        return (away + noise * scattered) @ span

    @cached_property
    def gradients(self):
        return -self._pulls(1, 0.5)

    @cached_property
    def proposals(self):
        return 1.5 * self.g.constants["R"] * self._pulls(2, 0.3)

    @cached_property
    def slope_errors(self):
        rng, shape = _source(self.seed, 3), (self.rounds, self.g.rows, self.dimension)
        errors = self.slope_error * rng.random(shape[:2])[..., None] * _units(rng, *shape)
        return errors if self.limit == "rows" else errors[:, 0]

    @cached_property
    def value_errors(self):
        """The bound on the error of each round's value."""
        rng = _source(self.seed, 4)
        return self.value_error * (0.2 + 0.8 * rng.random(self.rounds))

    @cached_property
    def boxes(self):
        """The lower and upper corners of the boxes that are announced."""
        rng = _source(self.seed, 6)
        sides = 0.8 + 0.2 * rng.random((self.rounds // 10, self.dimension))
        upper = self.box * np.repeat(sides, 10, axis=0)
        return [{"class": "Box", "lower": -side, "upper": side} for side in upper]

    @cached_property
    def disturbances(self):
        """What is added to values, for the recorder: what drifts, and what is read beside it."""
        shape = (self.rounds, self.g.rows)
        rng = _source(self.seed, 5)
        signs = np.repeat(
            2.0 * rng.integers(0, 2, (self.rounds // 20, self.g.rows)) - 1, 20, axis=0
        )
        drifted = self.drift * (np.cumsum(signs, axis=0) - signs[0])
        bound = self.value_errors[:, None] if self.own_errors else self.value_error
        read = bound * (2 * rng.random(shape) - 1) + self.noise * rng.standard_normal(shape)
        return (drifted, read) if self.limit == "rows" else (drifted[:, 0], read[:, 0])

    def seen(self, t, value, weights, action):
        """Return what is told of a round, from what was recorded of it."""
        slope = None if self.values_only else self.g.slope(weights) + self.slope_errors[t]
        after = min(t + self.late, self.rounds - 1)  # the round in which it is told
        return Seen(
            self.gradients[t],
            value if self.limit == "rows" else float(value),
            slope,
            float(self.value_errors[t]) if self.own_errors else None,
            self.proposals[after] if self.proposes else None,
            self.boxes[after] if self.announced else None,
            action,
        )
