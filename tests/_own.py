"""What a user would write: players that keep nothing but the action, and a set."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from surefoot.core.types import Info


class State(NamedTuple):
    x: Any


class Forgetful:
    """Begins where it is put; how it steps is left to the subclass."""

    def init(self, x1):
        return State(x1)


@dataclass(frozen=True)
class Stepping(Forgetful):
    """Steps along the costs, wherever that leads."""

    eta: float

    def step(self, state, feedback):
        return State(state.x - self.eta * feedback.cost_gradient), Info()


class WholeSpace:
    """All of R^d."""

    def project(self, x):
        return x

    def contains(self, x):
        return True

    def minimize_linear(self, c):
        raise NotImplementedError
