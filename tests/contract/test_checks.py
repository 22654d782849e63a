"""The checks catch what they are for: each broken algorithm fails the check named beside it."""

import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from surefoot import OGD, PFS, Ball
from surefoot.core.arrays import namespace, to_numpy
from surefoot.core.optional import MissingExtraError
from surefoot.core.types import Info
from surefoot.testing import (
    BACKENDS,
    CHECKS,
    Case,
    backends,
    check_algorithm,
    small_problem,
    why_missing,
)

BY_NAME = {check.name: check for check in CHECKS}
START = [0.3, -0.2]


class State(NamedTuple):
    x: Any
    memory: Any = 0.0


@dataclass(frozen=True)
class Descent:
    eta: float = 0.1

    def init(self, x1):
        return State(x1)

    def step(self, state, feedback):
        return State(state.x - self.eta * feedback.cost_gradient), Info()


class InPlace(Descent):
    def step(self, state, feedback):
        x = state.x
        x -= self.eta * feedback.cost_gradient
        return State(x), Info()


@dataclass(frozen=True)
class Remembering(Descent):
    seen: list = field(default_factory=list)

    def step(self, state, feedback):
        self.seen.append(1)
        return State(state.x - self.eta / len(self.seen) * feedback.cost_gradient), Info()


class Cooling(Descent):
    def init(self, x1):
        object.__setattr__(self, "eta", 0.5 * self.eta)
        return State(x1)


class NoInfo(Descent):
    def step(self, state, feedback):
        return State(state.x)


class Longer(Descent):
    def step(self, state, feedback):
        return State(np.zeros(len(state.x) + 1)), Info()


class Lost(Descent):
    def step(self, state, feedback):
        return State(np.nan * state.x), Info()


class PlainTuple(Descent):
    def init(self, x1):
        return (x1,)


class Elsewhere(Descent):
    def init(self, x1):
        return State(x1 * 0.5)


class Single(Descent):
    def step(self, state, feedback):
        x = state.x - self.eta * feedback.cost_gradient
        xp = namespace(x)
        return State(xp.astype(x, xp.float32)), Info()


class ToNumpy(Descent):
    def step(self, state, feedback):
        return State(to_numpy(state.x) - self.eta * to_numpy(feedback.cost_gradient)), Info()


class NumpyScalar(Descent):
    def step(self, state, feedback):
        x = state.x - self.eta * feedback.cost_gradient
        return State(x, np.float64(0.5)), Info()


class FlatNumber(Descent):
    def step(self, state, feedback):
        x = state.x - self.eta * feedback.cost_gradient
        return State(x, x[..., 0] if x.ndim == 2 else float(x[0])), Info()


class MixesRuns(Descent):
    def step(self, state, feedback):
        x = state.x - self.eta * feedback.cost_gradient
        return State(x - 0.01 * np.sum(x)), Info()


@dataclass(frozen=True)
class HoldsAFunction(Descent):
    rule: Any = field(default_factory=lambda: lambda t: t)


@dataclass(frozen=True)
class Curt(Descent):
    def __repr__(self):
        return "Curt()"


class EagerOnly(Descent):
    def step(self, state, feedback):
        eta = self.eta if float(to_numpy(feedback.constraint_value).max()) < 9 else 0.0
        return State(state.x - eta * feedback.cost_gradient), Info()


@dataclass(frozen=True)
class Counting(Descent):
    """Its state grows, so every round has another shape and is traced anew."""

    def init(self, x1):
        return State(x1, ())

    def step(self, state, feedback):
        return State(state.x - self.eta * feedback.cost_gradient, (*state.memory, state.x)), Info()


BROKEN = [
    (InPlace(), "numpy", "init and step are pure", "step changed its arguments in round 1"),
    (Remembering(), "numpy", "init and step are pure", "step twice gave different states"),
    (Cooling(), "numpy", "init and step are pure", "the algorithm itself was changed"),
    (NoInfo(), "numpy", "init and step are pure", "step returned no state and Info in round 1"),
    (Longer(), "numpy", "init and step are pure", f"x has shape ({len(START) + 1},), not ("),
    (Lost(), "numpy", "init and step are pure", "x is not finite in round 1 (one run)"),
    (PlainTuple(), "numpy", "the state is a NamedTuple and its x the action", "x"),
    (Elsewhere(), "numpy", "the state is a NamedTuple and its x the action", "which must be x1"),
    (Single(), "numpy", "float64 and the backend are kept", "float32"),
    (ToNumpy(), "array-api-strict", "float64 and the backend are kept", "x became a ndarray"),
    (NumpyScalar(), "numpy", "float64 and the backend are kept", "np.float64(0.5)"),
    (FlatNumber(), "numpy", "float64 and the backend are kept", "must be a column (3, 1)"),
    (MixesRuns(), "numpy", "the numbers are those of single NumPy runs", "x of a batch is off by"),
    (HoldsAFunction(), "numpy", "it pickles", "pickle"),
    (HoldsAFunction(), "numpy", "its repr evaluates back", "SyntaxError"),
    (Curt(0.2), "numpy", "its repr evaluates back", "x of the copy is off by"),
    (EagerOnly(), "jax", "jit gives what eager gives, traced once", "Tracer"),
    (Counting(), "jax", "jit gives what eager gives, traced once", "traced 12 times"),
    (Counting(), "jax", "scan gives what the loop gives", "carry"),
]


@pytest.mark.parametrize(("algorithm", "backend", "name", "sentence"), BROKEN)
def test_a_broken_algorithm_is_named_with_the_check_the_backend_and_the_fault(
    algorithm, backend, name, sentence
):
    with pytest.raises(AssertionError) as raised:
        BY_NAME[name](algorithm, START, backend=backend)
    message = str(raised.value)
    assert message.startswith(f"{type(algorithm).__name__} on {backend}: {name}: ")
    assert sentence in message


def test_every_check_has_a_broken_algorithm_here():
    assert {name for _, _, name, _ in BROKEN} == set(BY_NAME)


def test_a_users_own_algorithm_passes_in_one_line():
    check_algorithm(Descent(eta=0.05), START)
    check_algorithm(Descent(eta=0.05), START, backend="array-api-strict", rounds=3)


def test_check_algorithm_runs_the_checks_until_one_fails():
    with pytest.raises(AssertionError, match="MixesRuns on numpy: the numbers are those of"):
        check_algorithm(MixesRuns(), START)


def test_the_small_problem_makes_the_constraint_and_the_domain_count():
    # Otherwise PFS could leave out either projection and pass.
    problem = small_problem([0.2, 0.4], 12)

    def actions(player):
        return Case(player, problem, "numpy").reference()

    both = actions(PFS(eta=0.1, rho=0.05, domain=Ball(0.5)))
    assert abs(both - actions(PFS(eta=0.1, rho=0.05, domain=Ball(9.0)))).max() > 0.01
    assert abs(both - actions(OGD(eta=0.1, domain=Ball(0.5)))).max() > 0.01


def test_a_missing_backend_is_a_reason_to_skip_and_never_a_pass(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    reason = "the backend 'jax' needs jax, which is not installed: pip install 'surefoot[jax]'"
    assert why_missing("jax") == reason
    assert "jax" not in backends()
    with pytest.raises(MissingExtraError, match="needs jax, which is not installed"):
        check_algorithm(Descent(), START, backend="jax")


def test_a_backend_nobody_knows_is_refused():
    with pytest.raises(ValueError, match=r"backend must be one of 'numpy', .*, got 'cupy'"):
        check_algorithm(Descent(), START, backend="cupy")
    with pytest.raises(ValueError, match="backend must be one of 'jax', got 'numpy'"):
        BY_NAME["scan gives what the loop gives"](Descent(), START, backend="numpy")


@pytest.mark.parametrize(
    ("start", "rounds", "sentence"),
    [
        ([[0.3]], 3, r"start.shape must be that of a vector that is not empty, got \(1, 1\)"),
        ([0.3], 0, "rounds must be a whole number >= 1, got 0"),
    ],
)
def test_bad_arguments_are_named(start, rounds, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_algorithm(OGD(eta=0.1, domain=Ball(1.0)), start, rounds=rounds)


def test_importing_the_checks_imports_no_heavy_package():
    heavy = ["jax", "torch", "array_api_strict", "scipy", "matplotlib"]
    code = f"import sys, surefoot.testing; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_backends_lists_what_is_installed_in_the_order_of_the_names():
    assert backends()[0] == "numpy"
    assert backends() == [name for name in BACKENDS if why_missing(name) is None]
