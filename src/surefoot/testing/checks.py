"""What every algorithm must do, as checks that name what went wrong."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from surefoot import algorithms, regions, sets
from surefoot.algorithms import Proposer, name_of
from surefoot.core import checks
from surefoot.core.arrays import to_numpy
from surefoot.core.types import Array, Feedback, needs_of
from surefoot.games import play, play_all
from surefoot.games.tree import flatten
from surefoot.problems import constraints
from surefoot.regions import Errors, Knowledge
from surefoot.testing.backends import BACKENDS, double_precision, need_backend
from surefoot.testing.case import RUNS, Case, leaves, must, same, small_problem, snapshot

__all__ = ["CHECKS", "Check", "check_algorithm"]


class Check(NamedTuple):
    """One requirement of every algorithm; call it, or run all by check_algorithm.

    Attributes:
        name: what it asks for.
        backends: those it is meant for.
        run: the check itself.
    """

    name: str
    backends: tuple[str, ...]
    run: Callable[[Case], None]

    def __call__(
        self, algorithm: Any, start: Any, *, rounds: int = 12, backend: str = "numpy"
    ) -> None:
        """Raise an AssertionError that says what is wrong; the arguments are check_algorithm's."""
        checks.one_of(self.backends, backend=backend)
        need_backend(backend)
        case = Case(algorithm, small_problem(start, checks.positive_int(rounds, "rounds")), backend)
        about = f"{name_of(algorithm)} on {backend}: {self.name}"
        try:
            with double_precision(backend):
                self.run(case)
        except AssertionError as error:
            raise AssertionError(f"{about}: {error}") from None
        except Exception as error:
            raise AssertionError(f"{about}: {type(error).__name__}: {error}") from error

    def __str__(self) -> str:
        return self.name


def check_algorithm(
    algorithm: Any, start: Any, *, rounds: int = 12, backend: str = "numpy"
) -> None:
    """Run all checks of a backend: raise an AssertionError that says what is wrong with which.

    Args:
        algorithm: what is checked.
        start: a first action inside its domain, a vector.
        rounds: how many rounds are played.
        backend: one of :func:`surefoot.testing.backends`; a missing one is an error.

    Example:
        >>> from surefoot import PFS, Ball
        >>> check_algorithm(PFS(eta=0.1, rho=0.05, domain=Ball(2.0)), [0.3, -0.2])
    """
    checks.one_of(BACKENDS, backend=backend)
    for check in CHECKS:
        if backend in check.backends:
            check(algorithm, start, rounds=rounds, backend=backend)


def _pure(case: Case) -> None:
    numbers = snapshot(tuple(flatten(case.algorithm)[0]))
    for regime, x, costs in case.regimes():
        given = snapshot(x)
        state = case.algorithm.init(x)
        must(same(given, snapshot(x)), f"init changed x1 ({regime})")
        again = snapshot(case.algorithm.init(x))
        must(same(snapshot(state), again), f"init twice gave different states ({regime})")
        for t in range(case.rounds):
            seen = case.feedback(costs, t, state.x)
            given = snapshot(state, seen)
            new = case.algorithm.step(state, seen)[0]
            at = f"in round {t + 1} ({regime})"
            must(same(given, snapshot(state, seen)), f"step changed its arguments {at}")
            again = snapshot(case.algorithm.step(state, seen)[0])
            must(same(snapshot(new), again), f"step twice gave different states {at}")
            state = new
    after = snapshot(tuple(flatten(case.algorithm)[0]))
    must(same(numbers, after), "the algorithm itself was changed")


def _named(case: Case) -> None:
    for regime, x, costs in case.regimes():
        for state in case.states(x, costs):
            names = getattr(state, "_fields", ())
            must("x" in names, f"a state must be a NamedTuple with x, got {state!r} ({regime})")
            must(state.x.shape == x.shape, f"x must keep its shape {tuple(x.shape)} ({regime})")
        first = case.algorithm.init(x).x
        case.compare(first, x, f"the first action, which must be x1 ({regime}),")


def _kept(case: Case) -> None:
    for regime, x, costs in case.regimes():
        for state in case.states(x, costs):
            must(type(state.x) is type(x), f"x became a {type(state.x).__name__} ({regime})")
            for leaf in leaves(state):
                _right_kind(leaf, x, regime)


def _right_kind(leaf: Any, x: Array, regime: str) -> None:
    """Raise unless a number or array of a state has the form its run needs."""
    if type(leaf) in (bool, int, float):
        return
    what = f"a state must hold float64 of its backend, got {leaf!r} ({regime})"
    must(type(leaf) is type(x), what)  # so NumPy's scalars, which are slow, are refused too
    kind = str(leaf.dtype).split(".")[-1]
    must(kind == "float64" or not kind.startswith(("float", "bfloat", "complex")), what)
    if x.ndim == 2 and leaf.ndim > 0:
        rows = leaf.ndim > 1 and leaf.shape[0] == x.shape[0]
        shape = tuple(leaf.shape)
        must(rows, f"in a batch a number must be a column ({x.shape[0]}, 1), got shape {shape}")


def _numbers(case: Case) -> None:
    wanted = case.reference()
    for regime, x, costs in case.regimes():
        seen = np.stack([to_numpy(state.x) for state in case.states(x, costs)])
        mine = wanted[:, 0] if x.ndim == 1 else wanted
        case.compare(seen, mine, f"x of {regime}", case.rounding())


def _columns(case: Case) -> None:
    a = case.algorithm
    if not is_dataclass(a) or isinstance(a, type):
        raise AssertionError("an algorithm must be a dataclass, so that its numbers can be columns")
    if needs_of(a).one_run:
        return  # runs are played in turn
    players = [_scaled(a, 0.1 * r) for r in range(RUNS)]
    shared = replace(case.problem, costs=case.problem.costs.run(0))
    traces = play_all(players, shared, engine="batch", watch="off")
    for r, (player, trace) in enumerate(zip(players, traces, strict=True)):
        alone = play(player, shared, engine="loop", watch="off")
        case.compare(trace.actions, alone.actions, f"x of column {r}", case.rounding())


def _scaled(part: Any, share: float) -> Any:
    """Return an algorithm with smaller numbers, in its parts too, each by a factor of its own.

    Columns that are swapped or shared are noticed.
    """
    values = {f.name: getattr(part, f.name) for f in fields(part)}
    numbers = [name for name, value in values.items() if type(value) is float]
    changed = {n: values[n] * (1 - share / (k + 1)) for k, n in enumerate(numbers)}
    parts = (Proposer, Knowledge, Errors)
    changed |= {n: _scaled(v, share) for n, v in values.items() if isinstance(v, parts)}
    return replace(part, **changed)


def _pickles(case: Case) -> None:
    _, x, costs = next(case.regimes())
    states = case.states(x, costs)
    copies = pickle.loads(pickle.dumps((case.algorithm, states[1])))
    must(same(snapshot(states[1]), snapshot(copies[1])), "a state did not survive pickling")
    must(repr(copies[0]) == repr(case.algorithm), f"the copy is {copies[0]!r}")
    case.compare(case.states(x, costs, copies[0])[-1].x, states[-1].x, "x of the copy")


def _repr(case: Case) -> None:
    _, x, costs = next(case.regimes())
    own = vars(sys.modules[type(case.algorithm).__module__])
    # Sets go first where a constraint has the same name: they are what algorithms hold.
    names = {**vars(constraints), **vars(sets), **vars(regions), **vars(algorithms), **own}
    names |= {"np": np, "array": np.array, "inf": np.inf, "nan": np.nan}
    # All digits of arrays, which NumPy shortens for readers.
    with np.printoptions(precision=17, threshold=sys.maxsize):
        text = repr(case.algorithm)
        copy = eval(text, names)
        must(repr(copy) == text, f"{text} evaluated to {copy!r}")
    case.compare(case.states(x, costs, copy)[-1].x, case.states(x, costs)[-1].x, "x of the copy")


def _jit(case: Case) -> None:
    traced: list[Any] = []

    def count(state: Any, seen: Feedback) -> Any:
        traced.append(state)  # runs when JAX traces, not when the compiled step is called
        return case.algorithm.step(state, seen)[0]

    compiled_step = importlib.import_module("jax").jit(count)
    for regime, x, costs in case.regimes():
        traced.clear()
        for t, state in enumerate(case.states(x, costs)[:-1]):
            seen = case.feedback(costs, t, state.x)
            eager, compiled = case.algorithm.step(state, seen)[0], compiled_step(state, seen)
            for a, b in zip(leaves(compiled), leaves(eager), strict=True):
                size = max(1.0, float(np.max(np.abs(to_numpy(b)))))
                case.compare(a, b, f"the compiled state ({regime})", size * case.rounding())
        must(len(traced) == 1, f"step was traced {len(traced)} times, not once ({regime})")


def _scan(case: Case) -> None:
    seen = play(case.algorithm, case.problem, engine="scan", watch="off")
    actions = np.concatenate([seen.actions, seen.next_action[None]])
    case.compare(actions, case.reference(), "x", case.rounding())


CHECKS: tuple[Check, ...] = (
    Check("init and step are pure", BACKENDS, _pure),
    Check("the state is a NamedTuple and its x the action", BACKENDS, _named),
    Check("float64 and the backend are kept", BACKENDS, _kept),
    Check("the numbers are those of single NumPy runs", BACKENDS, _numbers),
    Check("columns of numbers are separate runs", ("numpy",), _columns),
    Check("it pickles", ("numpy",), _pickles),
    Check("its repr evaluates back", ("numpy",), _repr),
    Check("jit gives what eager gives, traced once", ("jax",), _jit),
    Check("scan gives what the loop gives", ("jax",), _scan),
)
"""All checks, in the order in which they are run."""
