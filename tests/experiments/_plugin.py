"""A plugin as a user writes one, and a registry that forgets it after the test."""

import sys

import pytest

from surefoot.experiments import build
from surefoot.experiments.build import ALGORITHMS_BY_NAME, FULL_NAMES, PROBLEMS

CODE = '''\
"""A depot, and a rule that decides by an if."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surefoot import Ball, Problem
from surefoot.core.types import Info
from surefoot.problems.constraints import LinfNorm
from surefoot.problems.costs import Quadratic


def depot(*, horizon: int, trials: int, streams: int, limit: float = 0.6) -> Problem:
    """Wishes of two docks that share a floor.

    Args:
        limit: what the floor carries
    """
    wishes = np.random.default_rng(streams).uniform(0.0, 1.0, size=(horizon, trials, 2))
    floor = LinfNorm(limit, 2)
    return Problem.of(Quadratic(wishes, 2.0), floor, Ball(1.2), [0.0, 0.0], name="depot")


class Place(NamedTuple):
    x: Any


@dataclass(frozen=True)
class Careful:
    """Step along the costs, and back near the limit."""

    eta: float
    near: float = 0.1

    def init(self, x1):
        return Place(x1)

    def step(self, state, feedback):
        step = feedback.cost_gradient
        if feedback.constraint_value > -self.near:  # on purpose
            step = feedback.constraint_subgradient
        return Place(state.x - self.eta * step), Info()
'''

SPEC = """\
name = "own"
trials = 3
horizons = [20, 40]

[[problems]]
name = "depot"

[[problems]]
name = "paper_toy"

[[algorithms]]
name = "Careful"
parameters = { eta = 0.05 }

[[algorithms]]
name = "PFS"
tuning = "anytime"
"""


@pytest.fixture
def forgetful(tmp_path):
    """Let a test load plugins, and forget them afterwards."""
    tables = (PROBLEMS, ALGORITHMS_BY_NAME, FULL_NAMES, build._LOADED)
    before, path, modules = [dict(t) for t in tables], list(sys.path), set(sys.modules)
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path)):
            del sys.modules[name]
