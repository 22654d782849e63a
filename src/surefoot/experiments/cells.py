"""The cells of an experiment: what is played, addressed by content, with seeds by content.

A cell is a problem, an algorithm, a horizon and a block of at most 30 trials. Its address is a
hash of that and of the version of the package, with the files of plugins. Labels, order, other
cells and the number of workers do not enter, so a played cell is found again however the file has
changed.

The seed of a block's streams comes from the specification's root and from the problem's content,
not from its place: all algorithms on a problem meet the same streams. What is drawn once for the
whole problem, such as the rows of a random polytope, comes from its own argument ``seed``: another
root plays other costs on the same set.
"""

from __future__ import annotations

import hashlib
import json
import platform
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib import metadata
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from surefoot import __version__
from surefoot.algorithms import Breach, Guarantee
from surefoot.core.checks import finite_or_none
from surefoot.core.constants import Constants
from surefoot.core.errors import SurefootError
from surefoot.core.optional import MissingExtraError, need
from surefoot.core.types import Array
from surefoot.experiments.build import (
    BLOCK,
    Parameters,
    Plugin,
    PluginError,
    build_player,
    build_problem,
    load_plugin,
    loaded,
    mark_of,
)
from surefoot.experiments.record import (
    BreachFacts,
    CellResult,
    ComparatorFacts,
    Facts,
    GuaranteeFacts,
    OracleFacts,
    Place,
    ProblemFacts,
    Sourced,
    VerdictFacts,
    time_now,
)
from surefoot.experiments.specification import Spec, trials_of
from surefoot.games import Regret, Trace, play, regret_of
from surefoot.games.verdict import judge
from surefoot.problems import Problem
from surefoot.problems.constraints import ConstraintStream
from surefoot.problems.costs import Adversarial, ArrayCosts
from surefoot.problems.hindsight import Comparator, has_closed_form


class Job(NamedTuple):
    """A cell to be played.

    Attributes:
        label: what progress and notes call it.
        address: hash of ``spec`` and of the version, in hexadecimal.
        spec: plain data: problem (name, arguments), algorithm, horizon, block, trials, seed,
            engine, recording; the rows of a plugin have its name and hash under "plugin".
    """

    label: str
    address: str
    spec: dict[str, Any]

    @property
    def rounds(self) -> int:
        """Rounds over all trials."""
        return int(self.spec["horizon"]) * int(self.spec["trials"])

    @property
    def program(self) -> tuple[Any, ...]:
        """A key shared by cells that probably run the same compiled program."""
        algorithm = self.spec["algorithm"]
        base = (algorithm.get("base") or {}).get("name")
        size = self.spec["problem"]["arguments"].get("dimension")
        return algorithm["name"], algorithm.get("tuning"), base, size, self.spec["engine"]

    @property
    def family(self) -> tuple[Any, ...]:
        """A key shared by cells whose rounds take equally long."""
        return self.spec["problem"]["name"], *self.program


def canonical(data: Any) -> str:
    """Return plain data as the one JSON text that stands for it; refuse NaN and infinities.

    Example:
        >>> canonical({"b": 1.0, "a": [True, None]})
        '{"a":[true,null],"b":1.0}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def stream_seed(root: int, problem: Mapping[str, Any], block: int) -> int:
    """Return the seed of a block of trials.

    Args:
        root: the specification's.
        problem: name and arguments, plain data.
        block: from 0.

    Example:
        >>> toy = {"name": "paper_toy", "arguments": {"published": None}}
        >>> stream_seed(0, toy, 0) == stream_seed(0, dict(reversed(toy.items())), 0)
        True
        >>> stream_seed(0, toy, 0) == stream_seed(0, toy, 1)
        False
    """
    # Not the source of a plugin: what another rule in it becomes does not change the streams.
    named = {key: problem[key] for key in ("name", "arguments")}
    digest = hashlib.sha256(canonical(named).encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    state = np.random.SeedSequence(root, spawn_key=(*words, block)).generate_state(4, np.uint32)
    return int.from_bytes(state.astype("<u4").tobytes(), "little")


def cells_of(spec: Spec) -> Iterator[tuple[Place, Job]]:
    """Yield the cells with their places: by problem, horizon, block, then algorithm.

    Neighbours share a problem, its streams and its best action in hindsight. Where two places share
    a cell it comes twice.
    """
    for problem, algorithm, plain in _plain_cells(spec):
        yield job_at(problem, algorithm, plain)


def job_at(problem: str, algorithm: str, spec: dict[str, Any]) -> tuple[Place, Job]:
    """Return a cell with its place.

    Args:
        problem: its label.
        algorithm: its label.
        spec: of the cell.
    """
    address = hashlib.sha256(canonical([__version__, spec]).encode()).hexdigest()
    horizon, block = spec["horizon"], spec["block"]
    label = f"{problem}: {algorithm}, T = {horizon}" + (f", block {block + 1}" if block else "")
    place = Place(
        address=address, problem=problem, algorithm=algorithm, horizon=horizon, block=block
    )
    return place, Job(label, address, spec)


def rounds_of(spec: Spec) -> int:
    """Return the rounds of all trials of all cells."""
    return sum(cell["horizon"] * cell["trials"] for *_, cell in _plain_cells(spec))


def _plain_cells(spec: Spec) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield titles of problem and algorithm, and the cell."""
    rows = [(a, _marked(a.plain())) for a in spec.algorithms]
    for problem in spec.problems:
        named = _marked(problem.plain())
        games = [
            (
                a.title,
                plain,
                set(a.horizons or spec.horizons),
                trials_of(spec.trials, problem.trials, a.trials),
            )
            for a, plain in rows
            if a.plays(problem.title)
        ]
        for horizon in sorted({h for *_, horizons, _ in games for h in horizons}):
            here = [(title, plain, trials) for title, plain, hs, trials in games if horizon in hs]
            for block in range(-(-max(trials for *_, trials in here) // BLOCK)):
                for title, plain, trials in here:
                    left = min(trials - block * BLOCK, BLOCK)
                    if left < 1:
                        continue
                    cell = {
                        "problem": named,
                        "algorithm": plain,
                        "horizon": horizon,
                        "block": block,
                        "trials": left,
                        "seed": spec.seed,
                        "recording": spec.recording.of(horizon),
                        "engine": spec.engine,
                    }
                    yield problem.title, title, cell


def _marked(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the hash of its plugin, where it is from one."""
    mark = mark_of(plain["name"])
    inner = {"base": _marked(plain["base"])} if "base" in plain else {}
    return {**plain, **inner, **({"plugin": mark} if mark else {})}


TOLERANCE = 1e-5
"""Relative gap at which a comparator without a closed form is good enough."""

_BYTES = 256 << 20
"""What a worker may keep of problems, so that algorithms that meet the same streams share them."""

_PROGRAM = 2_048
"""Rounds of the shortest stream of a compiled game."""

V = TypeVar("V")


class Recent(Generic[V]):
    """A cache of recently used values, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: OrderedDict[str, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """Return what is stored under a key; make it if it is missing."""
        if key in self._items:
            self._items.move_to_end(key)
            return self._items[key][0]
        value = make()
        if size(value) <= self._most:
            self._items[key] = (value, size(value))
            self._bytes += size(value)
        while self._bytes > self._most:
            self._bytes -= self._items.popitem(last=False)[1][1]
        return value


_problems: Recent[Problem] = Recent(_BYTES)
_comparators: Recent[Comparator] = Recent(_BYTES // 4)
_sums: Recent[np.ndarray] = Recent(_BYTES // 4)


def _streams_key(spec: Mapping[str, Any], *more: Any) -> str:
    """Return what the streams of a cell depend on, as text."""
    return canonical([spec[k] for k in ("problem", "horizon", "trials", "seed", "block")] + [*more])


def problem_of(spec: Mapping[str, Any]) -> Problem:
    """Return the problem of a cell, with the streams of its block of trials.

    Args:
        spec: the cell's, as :class:`surefoot.experiments.cells.Job` has it.
    """
    compiled, T = spec["engine"] == "scan", int(spec["horizon"])

    def made(horizon: int) -> Problem:
        seed = stream_seed(spec["seed"], spec["problem"], spec["block"])
        return build_problem(spec["problem"], horizon, spec["trials"], seed, spec["block"])

    def make() -> Problem:
        problem = made(T)
        fixed = not isinstance(problem.constraint, ConstraintStream)
        if compiled and T < _PROGRAM and fixed and isinstance(problem.costs, ArrayCosts):
            # A stream at least as long as a block of rounds is, so that games of all lengths run
            # one program. The first rounds of more are the same; what is known of them is kept.
            return replace(problem, costs=made(_PROGRAM).costs)
        return problem

    return _problems.get(_streams_key(spec, compiled), make, _bytes_of)


def _bytes_of(problem: Problem) -> int:
    """Return what a problem's streams take; the rest is small."""
    costs = problem.costs
    names = costs.series if isinstance(costs, ArrayCosts) else ()
    return 4096 + sum(int(getattr(costs, name).nbytes) for name in names)


def sum_best(spec: Mapping[str, Any], trace: Trace, action: Array) -> np.ndarray:
    """Return the summed costs of the best fixed action after every round, ``(T, runs)``.

    Args:
        spec: the cell's.
        trace: its game.
        action: the best one after all rounds, of each run if their costs differ.
    """
    costs = trace.costs()

    def make() -> np.ndarray:
        each = [np.ravel(costs.value(t, action)) for t in range(trace.horizon)]
        return np.cumsum(each, axis=0)

    if costs is not trace.problem.costs:
        return make()
    return _sums.get(_streams_key(spec, "sums"), make, lambda sums: sums.nbytes)


def best_of(spec: Mapping[str, Any], problem: Problem, costs: Any, rounds: Array) -> Comparator:
    """Return the best fixed actions in hindsight of a cell after some of its rounds.

    Args:
        spec: the cell's.
        problem: what was played.
        costs: the costs of the game; an adversary's are known only afterwards.
        rounds: after which the best action is wanted.
    """

    def make() -> Comparator:
        return problem.best_after(rounds, costs, TOLERANCE)

    if costs is not problem.costs:
        return make()  # an adversary's costs are those of this game alone
    key = _streams_key(spec, "comparator", rounds.tolist())
    return _comparators.get(key, make, lambda c: sum(np.asarray(part).nbytes for part in c))


_SHORT = 4
"""Entries of an action that a compiled game hands over at no cost."""


Parts: TypeAlias = tuple[Problem, Any, Parameters, Constants]
"""What a cell is played with: the problem, the player, its numbers and its constants."""


class OtherCodeError(SurefootError, RuntimeError):
    """A worker with code different from the driver's, so its results would not be comparable."""


def make_parts(spec: Mapping[str, Any]) -> Parts:
    """Return the parts that a cell names."""
    problem = problem_of(spec)
    return problem, *build_player(spec["algorithm"], problem, int(spec["horizon"]))


def play_cell(
    address: str,
    spec: Mapping[str, Any],
    parts: Callable[[Mapping[str, Any]], Parts] = make_parts,
) -> CellResult:
    """Play one cell.

    Errors caused by the cell are recorded, not raised: a rejected tuning gives the status
    "refused", any other error "failed", both with the sentence. Only an extra that is not
    installed is raised.

    Args:
        address: the cell's.
        spec: what to play, as :class:`surefoot.experiments.cells.Job` has it.
        parts: makes problem and player from that.
    """
    began = time.perf_counter()

    def result(status: Any, note: str = "", **parts: Any) -> CellResult:
        provenance = {
            "seconds": time.perf_counter() - began,
            "microseconds_a_round": None,
            "finished": time_now(),
            "versions": versions(),
            "platform": platform.platform(),
        } | parts.pop("provenance", {})
        return CellResult(
            address=address,
            spec=dict(spec),
            status=status,
            note=note,
            provenance=provenance,
            **parts,
        )

    try:
        try:
            problem, player, parameters, constants = parts(spec)
        except ValueError as error:
            return result("refused", str(error))
        trace = _play(player, problem, spec)
        facts, arrays = summarise(trace, spec, parameters, constants)
    except MissingExtraError:
        raise  # not the cell's: nothing is stored, and it is played when the extra is there
    except Exception as error:
        told = f"{type(error).__name__}: {error}".strip(": ")
        stack = traceback.format_exc(limit=-8)
        return result("failed", told, provenance={"traceback": stack})
    took = {
        "microseconds_a_round": trace.ledger.microseconds_a_round,
        "compile_seconds": trace.ledger.compile_seconds,
    }
    return result("done", facts=facts, arrays=arrays, provenance=took)


def play_cells(cells: Iterable[tuple[str, Mapping[str, Any]]]) -> list[CellResult]:
    """Play neighbours, each by itself: its bits do not depend on the company."""
    with _ONE_AT_A_TIME:
        return [play_cell(address, spec) for address, spec in cells]


# A cluster's worker may have several threads; two cells at once would only share one interpreter.
_ONE_AT_A_TIME = threading.Lock()


def _play(player: Any, problem: Problem, spec: Mapping[str, Any]) -> Trace:
    recording = spec["recording"]
    every, actions = recording["every"], recording["actions"]
    compiled = spec["engine"] == "scan"
    if compiled:
        need("jax", "jax", "the scan engine")  # the time of a round is not that of an import
    # What an adversary did is known from what it answered to.
    whole = isinstance(problem.costs, Adversarial)
    # Handed over in any case, so that games with and without actions run one program.
    short = compiled and problem.costs.dimension <= _SHORT
    return play(
        player,
        problem,
        horizon=int(spec["horizon"]),
        engine=spec["engine"],
        every=1 if whole else every,
        keep_actions=whole or short or bool(actions),
        watch="record",
        # Of the directions of bandits, which are others in every block of trials.
        seed=stream_seed(spec["seed"], spec["problem"], spec["block"]),
    )


# --- for a driver that may be elsewhere -----------------------------------------------------------


def play_for(
    driver: Mapping[str, str | None],
    plugins: Sequence[Plugin],
    work: Callable[[list[tuple[str, Any]]], list[CellResult]],
    cells: list[tuple[str, Any]],
) -> list[CellResult]:
    """Play for a driver, if this process has the code and the libraries that the driver has.

    Args:
        driver: its :func:`fingerprint`.
        plugins: the driver's, which this process has to load.
        work: :func:`play_cells`.
        cells: addresses and specifications.
    """
    where = f"the worker on {platform.node()}"
    try:
        for plugin in plugins:
            load_plugin(plugin.name, plugin.folder)
    except PluginError as error:
        raise OtherCodeError(f"{where}: {error}") from error
    own = fingerprint()
    differ = [
        f"{name} is {own.get(name)}, not {driver.get(name)}"
        for name in sorted(own.keys() | driver.keys())
        if own.get(name) != driver.get(name)
    ]
    if differ:
        raise OtherCodeError(f"{where} would play something else: {'; '.join(differ)}")
    return work(cells)


def fingerprint() -> dict[str, str | None]:
    """Return what the bits of a result depend on beside its specification: code and libraries."""
    return versions() | {f"plugin {plugin.name}": plugin.digest[:16] for plugin in loaded()}


def versions() -> dict[str, str | None]:
    """Return the versions of the libraries that compute; None for one that is not installed."""
    return {
        "surefoot": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "jax": _version("jax"),
    }


@cache
def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


_BREACHES, _BOUNDARY = 8, 360


def summarise(
    trace: Trace,
    spec: Mapping[str, Any],
    parameters: Mapping[str, tuple[Any, str]],
    constants: Constants,
) -> tuple[Facts, dict[str, np.ndarray]]:
    """Return the facts and arrays of a game.

    Args:
        trace: the game.
        spec: of its cell.
        parameters: the player's numbers, each with its origin.
        constants: that the player's theorem was given.
    """
    problem, guarantee = trace.problem, trace.guarantee
    kept, begins = _kept_rounds(trace, spec["recording"]["every"])
    costs = trace.costs()
    closed = has_closed_form(costs, problem.benchmark.region)
    best = best_of(spec, problem, costs, trace.rounds[-1:])
    regret = regret_of(trace.cost_sum[-1:], best)
    upper, lower = _runs(regret.upper)[-1], _runs(regret.lower)[-1]
    verdict = judge(trace, lower)
    bound = None if guarantee is None else float(guarantee.regret_bound(trace.horizon))
    replaced = spec["algorithm"].get("constants") or {}
    dimension = problem.costs.dimension
    facts = Facts(
        problem=ProblemFacts(
            name=problem.name,
            dimension=dimension,
            rows=int(problem.constraint.rows),
            start=tuple(problem.start.tolist()) if dimension == 2 else None,
        ),
        constants={
            name: Sourced(getattr(constants, name), "specification" if name in replaced else origin)
            for name, origin in constants.origins.items()
        },
        parameters={
            name: Sourced(_plain(value), origin) for name, (value, origin) in parameters.items()
        },
        guarantee=None if guarantee is None else _guarantee(guarantee, trace.horizon),
        verdict=VerdictFacts(word=verdict.word, sentence=verdict.sentence),
        breaches=_breaches(trace, BLOCK * spec["block"]),
        comparator=ComparatorFacts(
            gap=finite_or_none(np.max(best.value[-1] - best.lower[-1])), exact=closed
        ),
        regret_share=None if not bound else finite_or_none(np.max(upper) / bound),
        engine=trace.engine,
        oracle=OracleFacts(**{f.name: getattr(trace.ledger, f.name) for f in fields(OracleFacts)}),
    )
    return facts, _arrays(trace, spec, regret, kept, begins)


def _kept_rounds(trace: Trace, every: int | None) -> tuple[Array, Array]:
    """Return which of the trace's rounds are kept, and where the rounds since the last one begin.

    All of them, unless the game had to keep more than was asked for.
    """
    rounds = trace.rounds
    wanted = rounds % (every or trace.horizon) == 0
    at = np.flatnonzero(wanted | (rounds == trace.horizon))
    return at, np.append(0, at[:-1] + 1)


def _arrays(
    trace: Trace,
    spec: Mapping[str, Any],
    regret: Regret,
    kept: Array,
    begins: Array,
) -> dict[str, np.ndarray]:
    seen, observed, comparator = trace.violations, trace.observed, regret.comparator
    assert observed is not None  # the watch is on
    upper, lower = _runs(regret.upper), _runs(regret.lower)
    runs = upper.shape[1]
    best = comparator.action[-1]
    arrays = {
        "total_cost": np.atleast_1d(trace.total_cost),
        "regret": upper[-1],
        "regret_lower": lower[-1],
        "sum_g": np.atleast_1d(seen.total),
        "soft": np.atleast_1d(seen.soft),
        "hard": np.atleast_1d(seen.hard),
        "squared": np.atleast_1d(seen.squared),
        "worst": np.atleast_1d(seen.worst),
        "count": np.atleast_1d(seen.count),
        "first_violation": np.atleast_1d(seen.first_violation),
        "feasible_from": np.atleast_1d(seen.feasible_from),
        "largest_cost_gradient": np.atleast_1d(observed.cost_gradient),
        "largest_subgradient": np.atleast_1d(observed.constraint_subgradient),
        "best": np.broadcast_to(best, (runs, best.shape[-1])),
    }
    recording = spec["recording"]
    if recording["every"] is not None:
        rounds = trace.rounds[kept]
        arrays |= {
            "rounds": rounds,
            "cost_sum": _runs(trace.cost_sum)[kept],
            "constraint": _runs(trace.constraint)[kept],
            "peak": np.maximum.reduceat(_runs(trace.peak), begins, axis=0),
        }
        spent = sum_best(spec, trace, best)[rounds - 1]
        gap = upper[-1] - (arrays["cost_sum"][-1] - spent[-1])  # of the comparator, and rounding
        arrays["regret_path"] = arrays["cost_sum"] - spent + gap
        if trace.guarantee is not None:
            bound = np.asarray(trace.guarantee.regret_bound(rounds), dtype=np.float64)
            arrays["bound_path"] = np.broadcast_to(bound, rounds.shape)
    if recording["actions"] and trace.actions is not None:
        actions = trace.actions[kept]
        actions = actions[:, None] if trace.runs is None else actions
        arrays["actions"] = actions[:, : recording["actions"]]
        edge = _boundary(trace.problem) if actions.shape[-1] == 2 else None
        if edge is not None:
            arrays["boundary"] = edge
    return {name: np.array(value) for name, value in arrays.items()}


def _runs(values: Array) -> Array:
    """Return values over rounds with an axis of runs, also for a game of one run."""
    return np.reshape(values, (len(values), -1))


def _boundary(problem: Problem) -> Array | None:
    """Return points of the feasible set's boundary in the plane, found by bisection."""
    inside = problem.interior
    if inside is None:
        return None
    angle = np.linspace(0, 2 * np.pi, _BOUNDARY, endpoint=False)
    way = np.column_stack([np.cos(angle), np.sin(angle)])
    low = np.zeros((_BOUNDARY, 1))
    high = np.full((_BOUNDARY, 1), problem.domain.reach(inside))
    g = problem.benchmark
    for _ in range(60):
        middle = 0.5 * (low + high)
        feasible = np.asarray(g.value(inside + middle * way)).reshape(-1, 1) <= 0
        low, high = np.where(feasible, middle, low), np.where(feasible, high, middle)
    return inside + low * way


def _guarantee(guarantee: Guarantee, T: int) -> GuaranteeFacts:
    bounds = {str(measure): finite_or_none(b) for measure, b in guarantee.bounds(T).items()}
    return GuaranteeFacts(
        name=guarantee.name,
        kind=guarantee.kind,
        text=str(guarantee),
        regret_bound=finite_or_none(guarantee.regret_bound(T)),
        bounds={measure: limit for measure, limit in bounds.items() if limit is not None},
        regret_exponent=guarantee.regret_exponent,
        violation_exponent=guarantee.violation_exponent,
        premises=tuple(p.requirement for p in guarantee.premises),
    )


def _breaches(trace: Trace, before: int) -> tuple[BreachFacts, ...]:
    """Return the first breach of each premise; ``before`` trials are in earlier blocks."""
    first: dict[tuple[str, float | None], Breach] = {}
    for breach in trace.breaches:  # in order of the rounds
        first.setdefault((breach.constant, breach.limit), breach)
    return tuple(
        BreachFacts(
            constant=breach.constant,
            limit=finite_or_none(breach.limit),
            observed=finite_or_none(breach.observed),
            round=int(breach.round),
            trial=before + int(breach.run),
            sentence=str(breach),
        )
        for breach in list(first.values())[:_BREACHES]
    )


def _plain(value: Any) -> Any:
    """Return a number as Python has it, None if it is not finite; a word as it is."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    return finite_or_none(value)
