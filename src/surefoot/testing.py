"""Checks that every algorithm must pass, yours too: ``check_algorithm(mine, start)``.

With pytest, one test for each check and backend::

    @pytest.mark.parametrize("check", CHECKS, ids=str)
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_mine(check, backend):
        if backend not in check.backends or why_missing(backend):
            pytest.skip(why_missing(backend) or f"{check} is not for {backend}")
        check(Mine(eta=0.1), [0.0, 0.2], backend=backend)

And checks of what an algorithm is given: ``check_constraint`` and ``check_costs``; of what
certifies its actions: ``check_knowledge``.
"""

import importlib
import json
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from surefoot import certified, knowledge, proposers, rules, sets
from surefoot.certified import Certified
from surefoot.core import checks
from surefoot.core.arrays import to_numpy
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import Feedback
from surefoot.core.lazy import public_names
from surefoot.core.optional import MissingExtraError
from surefoot.core.plain import decode, encode, is_record
from surefoot.core.record import is_tree
from surefoot.core.types import Array, CostStream, Number, Player, needs_of
from surefoot.games import play
from surefoot.games.game import Oracle
from surefoot.games.rounds import numbers_of
from surefoot.knowledge.base import Knowledge
from surefoot.knowledge.errors import CertificateError, EmptyRegionError, Errors
from surefoot.problems import Problem, constraints
from surefoot.problems.constraints import Affine, Constraint
from surefoot.problems.costs import Costs, Quadratic
from surefoot.proposers.proposals import Proposals
from surefoot.sets import Ball

__all__ = [
    "BACKENDS",
    "CHECKS",
    "Check",
    "backends",
    "check_algorithm",
    "check_constraint",
    "check_costs",
    "check_knowledge",
    "why_missing",
]

# ---- backends

# What has asarray, what must be installed for it, and what installs that.
_KNOWN = {
    "numpy": ("numpy", ("numpy",), "numpy"),
    "array-api-strict": ("array_api_strict", ("array_api_strict",), "array-api-strict"),
    "jax": ("jax.numpy", ("jax",), "surefoot[jax]"),
    "torch": ("torch", ("torch", "array_api_compat"), "surefoot[torch]"),
}

BACKENDS: tuple[str, ...] = tuple(_KNOWN)
"""The names of all backends, installed or not."""


def backends() -> list[str]:
    """Return the names of the backends that are installed.

    >>> backends()
    ['numpy', ...]
    """
    return [name for name in BACKENDS if why_missing(name) is None]


def why_missing(backend: str) -> str | None:
    """Return why a backend cannot be used here, as a reason to skip its checks; None if it can.

    >>> print(why_missing("numpy"))
    None
    """
    checks.one_of(BACKENDS, backend=backend)
    _, packages, install = _KNOWN[backend]
    for package in packages:
        if find_spec(package) is None:
            needs = f"the backend {backend!r} needs {package}, which is not installed"
            return f"{needs}: pip install '{install}'"
    return None


def asarray(values: Array, backend: str) -> Array:
    """Return numbers as a float64 array of a backend, in fresh memory."""
    namespace = importlib.import_module(_KNOWN[backend][0])
    return namespace.asarray(np.array(values, dtype=np.float64))


def double_precision(backend: str) -> AbstractContextManager[object]:
    """Return a context in which a backend computes in float64; JAX needs a switch."""
    is_jax = backend == "jax"
    return importlib.import_module("jax").enable_x64(True) if is_jax else nullcontext()


# ---- algorithms

RUNS = 3


class Case(NamedTuple):
    """An algorithm, a small problem to play it against, and the arrays to play it with."""

    algorithm: Player
    problem: Problem
    backend: str

    @property
    def rounds(self) -> int:
        """The number of rounds played."""
        return self.problem.costs.horizon

    def regimes(self) -> Iterator[tuple[str, Array, CostStream]]:
        """Return one run and, unless the rule is for one, a batch: name, first action, costs."""
        start, costs = self.problem.start, self.problem.costs
        yield "one run", asarray(start, self.backend), costs.run(0)
        if not needs_of(self.algorithm).one_run:
            yield "a batch", asarray(np.tile(start, (RUNS, 1)), self.backend), costs

    def feedback(self, costs: CostStream, t: int, x: Array) -> Feedback:
        """Return what round t reveals at x."""
        oracle = Oracle(costs, self.problem.constraint, needs_of(self.algorithm), watched=False)
        return oracle.ask(t, x).feedback

    def states(self, x: Array, costs: CostStream, algorithm: Player | None = None) -> list[Any]:
        """Return the state before the first round and after each round."""
        player = self.algorithm if algorithm is None else algorithm
        states = [player.init(x)]
        for t in range(self.rounds):
            states.append(player.step(states[-1], self.feedback(costs, t, states[-1].x))[0])
        return states

    def reference(self) -> Array:
        """Return the actions of each run, played alone in NumPy: ``(rounds + 1, runs, d)``."""
        runs = [self.states(self.problem.start, self.problem.costs.run(r)) for r in range(RUNS)]
        return np.stack([[state.x for state in states] for states in runs], axis=1)

    def compare(self, seen: Array, wanted: Array, what: str, tolerance: float = 0.0) -> None:
        """Raise unless the actions are the same; the tolerance counts roundings."""
        seen, wanted = (np.asarray(to_numpy(a), dtype=np.float64) for a in (seen, wanted))
        must(seen.shape == wanted.shape, f"{what} has shape {seen.shape}, not {wanted.shape}")
        off = float(np.max(np.abs(seen - wanted), initial=0.0))
        must(off <= tolerance, f"{what} is off by {off:.3g}, more than {tolerance:.3g}")

    def rounding(self) -> float:
        """Return how far apart two computations of the same actions may be.

        A round has a few inner products of length d, each off by at most d u of its size,
        u = 2^-53, and a few dozen single operations; projections do not enlarge what came before.
        """
        start, targets = self.problem.start, self.problem.costs.targets  # type: ignore[attr-defined]
        size = 1.0 + float(np.abs(start).max()) + float(np.abs(targets).max())
        return 32 * (len(start) + 16) * 2.0**-53 * size * self.rounds


def small_problem(start: Array, rounds: int) -> Problem:
    """Return a problem whose targets pull all runs into a corner of the set."""
    x1 = checks.to_vector(start, "start")
    d, rng = len(x1), np.random.default_rng(1)
    out = 1.0 + rng.random(d)
    targets = x1 + out + rng.normal(size=(rounds, RUNS, d))
    A = np.vstack([np.eye(d), np.ones((1, d))]) * (0.5 + rng.random((d + 1, 1)))
    constraint = Affine(A, A @ x1 + 0.05 + 0.1 * rng.random(d + 1))
    domain = Ball(1.0 + float(np.linalg.norm(x1)))
    return Problem.of(Quadratic(targets, 1.5), constraint, domain, x1, name="checks")


def must(good: bool, sentence: str) -> None:
    """Raise with the sentence unless all is good; `assert` would be stripped by -O."""
    if not good:
        raise AssertionError(sentence)


def leaves(tree: Any) -> list[Array]:
    """Return the entries of a state or a feedback."""
    if is_tree(tree):
        return [leaf for part in tree for leaf in leaves(part)]
    return [] if tree is None else [tree]


def snapshot(*trees: object) -> list[tuple[tuple[int, ...], bytes]]:
    """Return shape and bits of all numbers, to be compared with later ones."""
    arrays = (np.array(to_numpy(leaf)) for tree in trees for leaf in leaves(tree))
    return [(array.shape, array.tobytes()) for array in arrays]


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
        self, algorithm: Player, start: Array, *, rounds: int = 12, backend: str = "numpy"
    ) -> None:
        """Raise an AssertionError that says what is wrong; the arguments are check_algorithm's."""
        checks.one_of(self.backends, backend=backend)
        if reason := why_missing(backend):  # what is asked for must not be skipped silently
            raise MissingExtraError(reason)
        case = Case(algorithm, small_problem(start, checks.positive_int(rounds, "rounds")), backend)
        about = f"{type(algorithm).__name__} on {backend}: {self.name}"
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
    algorithm: Player, start: Array, *, rounds: int = 12, backend: str = "numpy"
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


def _check_pure(case: Case) -> None:
    numbers = snapshot(tuple(numbers_of(case.algorithm)))
    for regime, x, costs in case.regimes():
        given = snapshot(x)
        state = case.algorithm.init(x)
        must(given == snapshot(x), f"init changed x1 ({regime})")
        again = snapshot(case.algorithm.init(x))
        must(snapshot(state) == again, f"init twice gave different states ({regime})")
        for t in range(case.rounds):
            seen = case.feedback(costs, t, state.x)
            given = snapshot(state, seen)
            made, at = case.algorithm.step(state, seen), f"in round {t + 1} ({regime})"
            must(type(made) is tuple and len(made) == 2, f"step returned no state and Info {at}")
            new = made[0]
            must(new.x.shape == x.shape, f"x has shape {new.x.shape}, not {x.shape}, {at}")
            must(np.isfinite(to_numpy(new.x)).all(), f"x is not finite {at}")
            must(given == snapshot(state, seen), f"step changed its arguments {at}")
            again = snapshot(case.algorithm.step(state, seen)[0])
            must(snapshot(new) == again, f"step twice gave different states {at}")
            state = new
    after = snapshot(tuple(numbers_of(case.algorithm)))
    must(numbers == after, "the algorithm itself was changed")


def _check_named(case: Case) -> None:
    for regime, x, costs in case.regimes():
        for state in case.states(x, costs):
            is_named = is_record(type(state)) and "x" in state._fields
            must(is_named, f"a state must be a NamedTuple with x, got {state!r} ({regime})")
        first = case.algorithm.init(x).x
        case.compare(first, x, f"the first action, which must be x1 ({regime}),")


def _check_types(case: Case) -> None:
    for regime, x, costs in case.regimes():
        for state in case.states(x, costs):
            must(isinstance(state.x, type(x)), f"x became a {type(state.x).__name__} ({regime})")
            for leaf in leaves(state):
                _check_entry(leaf, x, regime)


def _check_entry(leaf: Array, x: Array, regime: str) -> None:
    """Raise unless a number or array of a state has the form its run needs."""
    if type(leaf) in (bool, int, float):
        return
    what = f"a state must hold float64 of its backend, got {leaf!r} ({regime})"
    must(isinstance(leaf, type(x)), what)  # so NumPy's scalars, which are slow, are refused too
    kind = str(leaf.dtype).split(".")[-1]
    must(kind == "float64" or not kind.startswith(("float", "bfloat", "complex")), what)
    if x.ndim == 2 and leaf.ndim > 0:
        rows = leaf.ndim > 1 and leaf.shape[0] == x.shape[0]
        shape = tuple(leaf.shape)
        must(rows, f"in a batch a number must be a column ({x.shape[0]}, 1), got shape {shape}")


def _check_numbers(case: Case) -> None:
    wanted = case.reference()
    for regime, x, costs in case.regimes():
        seen = np.stack([to_numpy(state.x) for state in case.states(x, costs)])
        alone = wanted[:, 0] if x.ndim == 1 else wanted
        case.compare(seen, alone, f"x of {regime}", case.rounding())


def _check_pickling(case: Case) -> None:
    _, x, costs = next(case.regimes())
    states = case.states(x, costs)
    copies = pickle.loads(pickle.dumps((case.algorithm, states[1])))
    must(snapshot(states[1]) == snapshot(copies[1]), "a state did not survive pickling")
    must(repr(copies[0]) == repr(case.algorithm), f"the copy is {copies[0]!r}")
    case.compare(case.states(x, costs, copies[0])[-1].x, states[-1].x, "x of the copy")


def _check_repr(case: Case) -> None:
    _, x, costs = next(case.regimes())
    own = vars(sys.modules[type(case.algorithm).__module__])
    # Sets go first where a constraint has the same name: they are what algorithms hold.
    names: dict[str, Any] = {}
    for package in (constraints, sets, knowledge, proposers, certified, rules):
        names |= public_names(package)
    names |= own
    names |= {"np": np, "array": np.array, "inf": np.inf, "nan": np.nan}
    # All digits of arrays, which NumPy shortens for readers.
    with np.printoptions(precision=17, threshold=sys.maxsize):
        text = repr(case.algorithm)
        copy = eval(text, names)
        must(repr(copy) == text, f"{text} evaluated to {copy!r}")
    case.compare(case.states(x, costs, copy)[-1].x, case.states(x, costs)[-1].x, "x of the copy")


def _check_jit(case: Case) -> None:
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


def _check_scan(case: Case) -> None:
    seen = play(case.algorithm, case.problem, engine="scan", watch="off")
    actions = np.concatenate([seen.actions, seen.next_action[None]])
    case.compare(actions, case.reference(), "x", case.rounding())


CHECKS: tuple[Check, ...] = (
    Check("init and step are pure", BACKENDS, _check_pure),
    Check("the state is a NamedTuple and its x the action", BACKENDS, _check_named),
    Check("float64 and the backend are kept", BACKENDS, _check_types),
    Check("the numbers are those of single NumPy runs", BACKENDS, _check_numbers),
    Check("it pickles", ("numpy",), _check_pickling),
    Check("its repr evaluates back", ("numpy",), _check_repr),
    Check("jit gives what eager gives, traced once", ("jax",), _check_jit),
    Check("scan gives what the loop gives", ("jax",), _check_scan),
)
"""All checks, in the order in which they are run."""


# ---- constraints and costs

# How far on the way to another point a close one is: far above rounding, far below curvature.
_NEAR = 1e-4


def check_constraint(
    constraint: Constraint,
    points: Array,
    *,
    domain: Ball | None = None,
    batch: bool = True,
    tolerance: float = 1e-9,
) -> None:
    r"""Check a constraint at points and all pairs of them.

    - Values are finite numbers and subgradients finite vectors of the action's length.
    - The subgradient inequality :math:`g(y) \ge g(x) + s_x^\top(y - x)` holds for all pairs, and
      close to each point.
    - No subgradient in the domain is longer than ``subgradient_bound`` declares.
    - No subgradient where :math:`g \ge -\epsilon` is shorter than the sigma of ``exact_sigma``.
    - ``interior`` is strictly feasible; ``region`` holds the feasible points and no others.
    - A batch gives the values of its actions one by one, and subgradients that pass too.

    Points on kinks and ties find more than random ones.

    Args:
        constraint: the constraint.
        points: actions ``(n, d)``, of which all n^2 pairs are compared.
        domain: the ball in which ``subgradient_bound`` is to hold; else around 0 and all points.
        batch: whether to query batches; False for functions that take one action only.
        tolerance: what rounding may do, as a share of the numbers compared.

    Raises:
        AssertionError: at the first breach, in a sentence with the points and the amount.

    Example:
        >>> from surefoot.problems.constraints import FunctionConstraint
        >>> wrong = FunctionConstraint(lambda x: float(abs(x).sum()) - 1, lambda x: np.ones(2))
        >>> check_constraint(wrong, [[1.0, 0.0], [-1.0, 0.0]], batch=False)
        Traceback (most recent call last):
        ...
        AssertionError: the subgradient inequality must hold, got g(y) = 0 below
        g(x) + s'(y - x) = 2 by 2 at x = [-1.0, 0.0], y = [1.0, 0.0]
    """
    X, domain = _read_points(points, domain)
    oracle = _Oracle(constraint.query, "g", "subgradient", "s", tolerance)
    values, s = oracle.check(X, constraint.subgradient_bound(domain), domain, batch)
    exact = constraint.exact_sigma(None)
    if exact is not None:
        sigma, epsilon = exact
        lengths = np.where(values >= -epsilon, np.linalg.norm(s, axis=1), np.inf)
        i = int(lengths.argmin())
        must(
            lengths[i] >= sigma * (1 - tolerance),
            f"no subgradient where g >= -{epsilon:g} may be shorter than sigma = {sigma:g}, got "
            f"one of {lengths[i]:g} where g = {values[i]:g} at x = {X[i].tolist()}",
        )
    if constraint.interior is not None:
        point = np.asarray(constraint.interior)
        g = constraint.value(point)
        must(g < 0, f"interior must be strictly feasible, got g = {g:g} at {point.tolist()}")
    if constraint.region is not None:
        inside = np.asarray(constraint.region.contains(X))[:, 0]
        # Above 0 where a point is on the wrong side by more than rounding.
        wrong = np.where(inside, values, -values) - tolerance * (1.0 + abs(values))
        i = int(wrong.argmax())
        must(
            wrong[i] <= 0,
            f"region must hold the points with g <= 0 alone, got g = {values[i]:g} at a point "
            f"{'inside' if inside[i] else 'outside'}, x = {X[i].tolist()}",
        )


def check_costs(
    costs: CostStream,
    points: Array,
    *,
    rounds: Sequence[int] | None = None,
    domain: Ball | None = None,
    batch: bool = True,
    tolerance: float = 1e-9,
) -> None:
    r"""Check convex costs at points and all pairs of them, in some rounds and runs.

    - Values are finite numbers and gradients finite vectors of the action's length.
    - The gradient inequality
      :math:`f_t(y) \ge f_t(x) + \nabla_x^\top(y - x) + \tfrac\mu2\|y - x\|^2` holds for all
      pairs and close to each point, with the modulus :math:`\mu` that ``strong_convexity``
      declares, else 0.
    - No gradient in the domain is longer than ``gradient_bound`` declares.
    - A batch gives the values of its actions one by one, and gradients that pass too.

    Args:
        costs: the stream.
        points: actions ``(n, d)``, of which all n^2 pairs are compared.
        rounds: rounds to check, from 0; else at most 20, evenly spread.
        domain: the ball in which ``gradient_bound`` is to hold; else around 0 and all points.
        batch: whether to query batches; False for functions that take one action only.
        tolerance: what rounding may do, as a share of the numbers compared.

    Raises:
        AssertionError: at the first breach, in a sentence with the round, the points and the
            amount.

    Example:
        >>> from surefoot.problems.costs import Quadratic
        >>> check_costs(Quadratic([[1.0, -2.0]], curvature=3.0), [[0.0, 1.0], [4.0, -1.0]])
    """
    X, domain = _read_points(points, domain)
    if rounds is None:
        rounds = np.unique(np.linspace(0, costs.horizon - 1, 20).astype(int)).tolist()
    runs = [None] if costs.runs is None else sorted({0, costs.runs - 1})
    for run, t in product(runs, rounds):
        stream: Any = costs if run is None else costs.run(run)
        known = isinstance(stream, Costs)
        bound = stream.gradient_bound(domain) if known else None
        modulus = float(stream.strong_convexity) if known else 0.0
        where = f" in round {t + 1}" + ("" if run is None else f" of run {run}")
        query = partial(_query_costs, stream, t)
        oracle = _Oracle(query, "f", "gradient", "grad", tolerance, modulus, where)
        oracle.check(X, bound, domain, batch)


def _query_costs(stream: CostStream, t: int, x: Array) -> tuple[Number, Array]:
    return stream.value(t, x), stream.gradient(t, x)


def _read_points(points: Array, domain: Ball | None) -> tuple[Array, Ball]:
    """Return the points, and a ball that holds them unless another is given."""
    X = np.asarray(points, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape or not np.isfinite(X).all():
        raise InvalidValueError(f"points must be finite, of shape (n, d), got shape {X.shape}")
    farthest = float(np.linalg.norm(X, axis=1).max()) or 1.0
    return X, Ball(farthest * (1 + 2.0**-40)) if domain is None else domain


class _Oracle(NamedTuple):
    """Values and slopes of a convex function, the inequality they satisfy, and words for a breach.

    Attributes:
        query: from an action to the value and a slope.
        value: the name of the function.
        kind: of its slopes.
        slope: a slope in the inequality.
        tolerance: what rounding may do.
        modulus: of strong convexity.
        where: the round and the run.
    """

    query: Callable[[Array], tuple[Number, Array]]
    value: str
    kind: str
    slope: str
    tolerance: float
    modulus: float = 0.0
    where: str = ""

    def check(
        self, X: Array, bound: float | None, domain: Ball, batch: bool
    ) -> tuple[Array, Array]:
        """Check values and slopes at points, one by one and as a batch; return them."""
        values, slopes = self.one_by_one(X)
        self.compare(X, values, slopes, X, values)
        # Close by as well, where curvature cannot hide a wrong slope: on the way to the points
        # where the cut is highest and lowest, so that nothing outside their hull is asked for.
        rise = slopes @ X.T
        for j in (rise.argmax(axis=1), rise.argmin(axis=1)):
            Y = X + _NEAR * (X[j] - X)
            near = np.array([float(self.query(y)[0]) for y in Y])
            self.compare(X, values, slopes, Y, near)
        if bound is not None:
            lengths = np.linalg.norm(slopes, axis=1) * np.asarray(domain.contains(X))[:, 0]
            i = int(lengths.argmax())
            must(
                lengths[i] <= bound * (1 + 2.0**-40),
                f"no {self.kind} in the domain may be longer than G_{self.value} = {bound:g}, got "
                f"one of {lengths[i]:g} at x = {X[i].tolist()}{self.where}",
            )
        if batch:
            # At a tie a batch may take another of the slopes.
            self.compare(X, values, self.together(X, values), X, values)
        return values, slopes

    def one_by_one(self, X: Array) -> tuple[Array, Array]:
        """Return values ``(n,)`` and slopes ``(n, d)``, from one query per point."""
        values, slopes = np.empty(len(X)), np.empty_like(X)
        for i, x in enumerate(X):
            g, s = self.query(x)
            at = f"at x = {x.tolist()}{self.where}"
            right = np.shape(g) == () and np.isfinite(g)
            must(right, f"{self.value}(x) must be a finite number, got {g!r} {at}")
            right = np.shape(s) == x.shape and np.isfinite(s).all()
            must(right, f"{self.slope} must be a finite vector of shape {x.shape}, got {s!r} {at}")
            values[i], slopes[i] = g, s
        return values, slopes

    def together(self, X: Array, values: Array) -> Array:
        """Return the slopes of all points as a batch, whose values must be those of its actions."""
        g, s = map(np.asarray, self.query(X))
        for name, part, wanted in (
            (self.value, g, (len(X), 1)),
            (self.slope, s, X.shape),
        ):
            sentence = f"{name} of a batch must have shape {wanted}, got {part.shape}{self.where}"
            must(part.shape == wanted, sentence)
        separately = abs(values - g[:, 0]) - self.tolerance * (1.0 + abs(values))
        i = int(separately.argmax())
        must(
            separately[i] <= 0,
            f"{self.value} of a batch must be that of its actions one by one, got {g[i, 0]:g} "
            f"instead of {values[i]:g} at x = {X[i].tolist()}{self.where}",
        )
        return s

    def compare(self, X: Array, values: Array, slopes: Array, Y: Array, others: Array) -> None:
        """Compare the values at all Y with the cuts of all X."""
        lengths, squares = np.linalg.norm(slopes, axis=1), np.vecdot(Y, Y)
        farthest = float(np.sqrt(squares.max()))
        cuts = (values - np.vecdot(slopes, X))[:, None] + slopes @ Y.T
        # The terms that cancel in a cut are what its rounding is a share of.
        sizes = abs(values) + lengths * (np.linalg.norm(X, axis=1) + farthest)
        if self.modulus:
            separately = np.vecdot(X, X)[:, None] + squares - 2 * X @ Y.T
            cuts += 0.5 * self.modulus * np.maximum(separately, 0.0)
            sizes += 2 * self.modulus * farthest**2
        below = cuts - others - self.tolerance * (1.0 + sizes[:, None] + abs(others))
        i, j = np.unravel_index(int(below.argmax()), below.shape)
        f, curved = self.value, f" + {self.modulus / 2:g} |y - x|^2" if self.modulus else ""
        must(
            below[i, j] <= 0,
            f"the {self.kind} inequality must hold, got {f}(y) = {others[j]:g} below "
            f"{f}(x) + {self.slope}'(y - x){curved} = {cuts[i, j]:g} by "
            f"{cuts[i, j] - others[j]:g} at x = {X[i].tolist()}, y = {Y[j].tolist()}{self.where}",
        )


# ---- knowledge

# Of the start's slack: the error of a value, of a slope, and the drift of a round.
_WRONG = {"value": 0.1, "slope": 0.5, "drift": 0.01}
# An error is a little less than it may be, so that rounding does not make it more.
_NEARLY = 1 - 2.0**-30
# How many rounds late a reading is at most.
_LATEST = 3
# How many contexts are tried in a round before a seed ends.
_TRIES = 8


def check_knowledge(
    knowledge: Knowledge,
    query: Callable[..., tuple[Any, Array]],
    start: Sequence[float] | Array,
    *,
    rounds: int = 60,
    seeds: Sequence[int] = range(20),
    far: float = 3.0,
    contexts: Callable[[np.random.Generator], Any] | None = None,
    on_average: bool = False,
) -> int:
    """Attack a kind of knowledge, and return how many actions were judged.

    Proposals of lengths from 1e-6 to 10^far push outwards in directions that stay for some ten
    rounds. Errors that the kind allows for are as large as they may be, and values are mostly too
    low; g drifts at its bound in four rounds of five; readings are up to three rounds late where
    that is allowed; one round in ten is not measured. Every action must be feasible, contained in
    its region and in the domain, and its certificate at most 0. A state that was pickled, or
    written as plain data and read again, must lead to the same action. Everything that the kind
    does not allow for must be refused.

    Args:
        knowledge: an object of the kind, with constants that are true of g, and exact readings.
        query: returns g and one subgradient at an action, floats or exact fractions; of several
            rows all of them. Where there are contexts it is called with the action and the place
            of the context, in numbers.
        start: an action that is strictly feasible, in every context that may be drawn; drift never
            brings it above its ``start_bound``.
        rounds: how many rounds a seed plays.
        seeds: one game each.
        far: the exponent of the longest proposal.
        contexts: draws what is told of the next round, for knowledge of contexts; others are drawn
            where nothing is certified in one.
        on_average: whether the sum of g over the rounds must be at most 0, instead of every g.

    Raises:
        AssertionError: with seed, round and g, for the first action that must not be.

    Example:
        >>> from surefoot.knowledge import LipschitzHull
        >>> known = LipschitzHull(G_g=1.0, domain=Ball(2.0))
        >>> check_knowledge(known, lambda x: (x[0] - 0.5, np.eye(2)[0]), [0.0, 0.0], seeds=[0])
        60
    """
    if knowledge.in_contexts != (contexts is not None):
        rule = "a function that draws them" if knowledge.in_contexts else "None without contexts"
        raise checks.invalid("contexts", f"{rule} for {type(knowledge).__name__}", contexts)
    world = _World(query, checks.to_vector(start, "start"), contexts, on_average)
    judged = sum(_Attack(knowledge, world, seed, far).play(rounds) for seed in seeds)
    _check_refusals(knowledge, world)
    return judged


def _find_allowed(knowledge: Knowledge) -> frozenset[str]:
    """Return what a kind allows for, and what it is made of as well."""
    return frozenset[str](knowledge.allows).intersection(*(p.allows for p in knowledge.parts))


class _World(NamedTuple):
    """What is true.

    Attributes:
        query: from an action, and the place of a context, to g and its slope.
        start: a strictly feasible action.
        contexts: draws what is told of the next round; None without contexts.
        on_average: whether only the sum of g must be at most 0.
    """

    query: Callable[..., tuple[Any, Array]]
    start: Array
    contexts: Callable[[np.random.Generator], Any] | None
    on_average: bool

    def begin(self, player: Any, rng: np.random.Generator) -> Any:
        """Return the first state, in a context where there are any."""
        state = player.init(self.start)
        if self.contexts is None or state.memory.context is not None:
            return state
        return player.announce(state, player.read_context(state, self.contexts(rng)))[0]

    def read(self, state: Any) -> tuple[list[Fraction], Array]:
        """Return every row of g at the action of a state, exactly, and the slopes."""
        place = () if self.contexts is None else (state.memory.context.place,)
        values, slopes = self.query(state.x, *place)
        rows = [Fraction(value) for value in np.atleast_1d(values).tolist()]
        return rows, np.asarray(slopes, dtype=np.float64)

    def tell(self, rows: Sequence[Fraction], slopes: Array, **more: Any) -> Feedback:
        """Return what is told: a number and a vector, or one of each for every row."""
        values = np.array([float(row) for row in rows])
        return Feedback(None, values if slopes.ndim > 1 else float(values[0]), slopes, **more)


class _Seen(NamedTuple):
    """A round that was played: its action, the rows of g there, and their slopes."""

    x: Array
    rows: list[Fraction]
    slopes: Array


class _Attack:
    """One game against a kind of knowledge.

    Args:
        knowledge: what is attacked.
        world: what is true.
        seed: draws everything.
        far: the exponent of the longest proposal.
    """

    def __init__(self, knowledge: Knowledge, world: _World, seed: int, far: float) -> None:
        self.rng, self.world, self.seed, self.far = np.random.default_rng(seed), world, seed, far
        allowed = _find_allowed(knowledge)
        slack = -float(max(world.read(world.begin(_filter_by(knowledge), self.rng))[0]))
        self.sizes = {
            name: share * slack
            for name, share in _WRONG.items()
            if name in allowed and self.rng.random() < 0.7
        }
        self.latest = _LATEST if "late" in allowed and self.rng.random() < 0.5 else 0
        self.known = replace(knowledge, errors=Errors(**self.sizes))
        self.player = _filter_by(self.known)
        self.state: Any = world.begin(self.player, self.rng)
        self.seen: list[_Seen] = []
        self.shift = self.sum = Fraction(0)
        self.way = self.rng.normal(size=len(world.start))

    def play(self, rounds: int) -> int:
        """Play a game; return how many of its actions were judged."""
        for t in range(1, rounds + 1):
            at = f"seed {self.seed}, round {t}"
            self._look(at)
            told = self._measure(t)
            try:
                after = self._step(told, is_copied=t % 10 == 0, at=at)
            except CertificateError as error:
                raise AssertionError(f"{at}: {error}") from error
            if after is None:
                return t
            self.state, info = after
            self._judge(info.region, at)
            if self.rng.random() < 0.8:
                self._drift()
        return rounds

    def _drift(self) -> None:
        """Let g rise by its drift, or fall where the start would be above its bound."""
        step = Fraction(self.sizes.get("drift", 0.0) * _NEARLY)
        place = None if self.world.contexts is None else self.state.memory.context.place
        self.shift += step if self._keeps_start(place, step) else -step

    def _keeps_start(self, place: Array | None, step: Fraction = Fraction(0)) -> bool:
        """Return whether drift leaves g at the start below the bound that was given there.

        A bound that is wrong without any drift is left to be found.

        Args:
            place: the context; None without contexts.
            step: by how much g rises before.
        """
        standing = self.known.standing(self.world.start)
        if standing is None:
            return True
        values, _ = self.world.query(self.world.start, *(() if place is None else (place,)))
        worst = max(Fraction(value) for value in np.atleast_1d(values).tolist())
        bound = Fraction(float(standing.value))
        return worst > bound or worst + self.shift + step <= bound

    def _look(self, at: str) -> None:
        """Note what is true of the action that is played, and raise if it must not be."""
        rows, slopes = self.world.read(self.state)
        rows = [row + self.shift for row in rows]
        self.seen.append(_Seen(self.state.x, rows, slopes))
        g, what = max(rows), "g"
        if self.world.on_average:
            self.sum += g
            g, what = self.sum, "the sum of g"
        errors = self.sizes | ({"late": self.latest} if self.latest else {})
        must(g <= 0, f"{at}: {what} = {float(g):.3g} > 0 at {self.state.x} with errors {errors}")

    def _measure(self, t: int) -> Feedback:
        """Return what is told of a round: a proposal and, mostly, a reading that errs."""
        rng, x = self.rng, self.state.x
        if rng.random() < 0.1:
            self.way = rng.normal(size=len(x))
        proposal = x + self.way / np.linalg.norm(self.way) * 10.0 ** rng.uniform(-6, self.far)
        age = int(rng.integers(self.latest + 1))
        if age >= t or (t > 1 and rng.random() < 0.1):
            return Feedback(proposal=proposal)
        action, rows, slopes = self.seen[-1 - age]
        low = Fraction((-1.0 if rng.random() < 0.85 else 1.0) * _NEARLY)
        rows = [row + low * Fraction(self.sizes.get("value", 0.0)) for row in rows]
        wrong = rng.normal(size=slopes.shape)
        wrong *= _NEARLY * self.sizes.get("slope", 0.0) / np.linalg.norm(wrong, axis=-1)[..., None]
        late = {"action": action, "age": age} if age else {}
        return self.world.tell(rows, slopes + wrong, proposal=proposal, **late)

    def _step(self, told: Feedback, *, is_copied: bool, at: str) -> Any:
        """Return the next state and what the step knew; None where nothing is certified."""
        contexts = self.world.contexts
        for _ in range(1 if contexts is None else _TRIES):
            if contexts is not None:
                context = self.player.read_context(self.state, contexts(self.rng))
                if not self._keeps_start(context.place):
                    continue
                told = told._replace(context=context)
            try:
                after = self.player.step_in_python(self.state, told)
            except EmptyRegionError:
                continue
            for how, copy in _copies_of(self.state) if is_copied else ():
                same = self.player.step_in_python(copy, told)[0].x.tobytes() == after[0].x.tobytes()
                must(same, f"{at}: {how} has another answer")
            return after
        return None

    def _judge(self, region: Any, at: str) -> None:
        """Raise unless a region certifies the next action, in the domain, by a bound."""
        if region is None:
            return
        x, domain = self.state.x, self.known.domain
        must(domain is None or bool(domain.contains(x)), f"{at}: {x} is not in the domain")
        must(bool(region.contains(x)) or region.stays(x), f"{at}: {x} is not in its region")
        bound = float(region.certificate(x).bound)
        most = -self.sum if self.world.on_average else Fraction(0)
        must(
            bound <= most,
            f"{at}: the certificate of {x} says that g may be {bound:.3g}"
            + (f", and {float(most):.3g} is left" if self.world.on_average else ""),
        )


def _filter_by(knowledge: Knowledge) -> Certified:
    return Certified(proposer=Proposals(), knowledge=knowledge)


def _copies_of(state: Any) -> Iterator[tuple[str, Any]]:
    """Yield a state itself, and as it comes back from a pickle and from a file."""
    yield "a second call", state
    yield "a state that was pickled", pickle.loads(pickle.dumps(state))
    text = json.dumps(encode(state))
    yield "a state that was read from plain data", decode(json.loads(text), _records_of(state))


def _records_of(tree: Any) -> dict[str, type]:
    """Return the classes of all named tuples of a state, by name."""
    found = {type(tree).__name__: type(tree)} if is_record(type(tree)) else {}
    for part in tree if is_tree(tree) else ():
        found |= _records_of(part)
    return found


def _check_refusals(knowledge: Knowledge, world: _World) -> None:
    """Raise unless everything that a kind does not allow for is refused."""
    rng, allowed = np.random.default_rng(0), _find_allowed(knowledge)
    player = _filter_by(knowledge)
    state = world.begin(player, rng)
    told = world.tell(*world.read(state), proposal=world.start)
    if world.contexts is not None:
        told = told._replace(context=player.read_context(state, world.contexts(rng)))

    def build(**changes: Any) -> Callable[[], object]:
        return lambda: replace(knowledge, **changes)

    def step(**changes: Any) -> Callable[[], object]:
        return lambda: player.step_in_python(state, told._replace(**changes))

    late = step(age=1, action=world.start)
    attempts: list[tuple[str, str, Callable[[], object]]] = [
        ("value", "value_error", build(errors=Errors(value=1e-3))),
        ("value", "value_error", step(value_error=1e-3)),
        ("slope", "slope_error", build(errors=Errors(slope=1e-3))),
        ("slope", "slope_error", step(slope_error=1e-3)),
        ("drift", "drift", build(errors=Errors(drift=1e-3))),
        ("late", "age", late),
        ("nonconvex", "convex", build(convex=False)),
        ("batch", "x1", lambda: knowledge.init(np.stack([world.start, world.start]))),
    ]
    for word, name, attempt in attempts:
        if word in allowed or (word == "slope" and knowledge.slopes != "certify"):
            continue
        try:
            attempt()
        except ValueError as error:
            must(name in str(error), f"{word} was refused without a word about {name}: {error}")
        else:
            raise AssertionError(f"{word} is not in allows, and was accepted")
