"""The cells of an experiment: what is played, with addresses and seeds by content.

A cell is a problem, an algorithm, a horizon and a block of at most 30 trials. Its address is a
hash of that, of the version of the package and of the files of plugins. Labels, order, other cells
and the number of workers do not enter it, so a changed specification still finds its played cells.

The seed of a block's streams comes from the specification's root and from the problem's content,
not from its place: all algorithms on a problem play the same streams. What is drawn once for the
whole problem, such as the rows of a random polytope, comes from its argument ``seed``: another root
plays other costs on the same set.
"""

import hashlib
import json
import platform
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from surefoot import __version__
from surefoot.core.checks import finite_or_none
from surefoot.core.constants import Constants
from surefoot.core.errors import SurefootError
from surefoot.core.optional import MissingExtraError, need
from surefoot.core.types import Array, Player
from surefoot.experiments import build, record
from surefoot.experiments.specification import Spec, trials_of
from surefoot.games import Engine, Regret, Trace, play, regret_of
from surefoot.games.verdict import judge
from surefoot.guarantees import Breach, Promise, Tuned
from surefoot.guarantees.guarantee import NONE_IN_ADVANCE
from surefoot.problems import Problem
from surefoot.problems.costs import Adversarial
from surefoot.problems.hindsight import Comparator, has_closed_form

TOLERANCE = 1e-5
"""Relative gap at which a comparator without a closed form is good enough."""

_BREACHES, _BOUNDARY = 8, 360


class Job(NamedTuple):
    """A cell to be played.

    Attributes:
        label: what progress and notes call it.
        address: hash of ``spec`` and of the version, in hexadecimal.
        spec: what is played; the rows of a plugin have its name and hash under "plugin".
    """

    label: str
    address: str
    spec: record.CellSpec

    @property
    def rounds(self) -> int:
        """Rounds over all trials."""
        return self.spec["horizon"] * self.spec["trials"]


def canonical(data: object) -> str:
    """Return plain data as the one JSON text that stands for it; reject NaN and infinities.

    Example:
        >>> canonical({"b": 1.0, "a": [True, None]})
        '{"a":[true,null],"b":1.0}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def stream_seed(root: int, problem: record.ProblemTable, block: int) -> int:
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
    # Without the source of a plugin: a change of another rule in it does not change the streams.
    content = {"name": problem["name"], "arguments": problem["arguments"]}
    digest = hashlib.sha256(canonical(content).encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    state = np.random.SeedSequence(root, spawn_key=(*words, block)).generate_state(4, np.uint32)
    return int.from_bytes(state.astype("<u4").tobytes(), "little")


def cells_of(spec: Spec) -> Iterator[tuple[record.Place, Job]]:
    """Yield the cells with their places: by problem, horizon, block, then algorithm.

    Neighbours share a problem, its streams and its best action in hindsight. Where two places share
    a cell it comes twice.
    """
    players = [row.plain() for row in spec.algorithms]
    for problem in spec.problems:
        table = problem.plain()
        rows = [
            (row, plain, trials_of(spec.trials, problem.trials, row.trials))
            for row, plain in zip(spec.algorithms, players, strict=True)
            if row.plays(problem.title)
        ]
        horizons = sorted({T for row, *_ in rows for T in row.horizons or spec.horizons})
        blocks = range(-(-max((trials for *_, trials in rows), default=0) // build.BLOCK))
        for horizon, block in product(horizons, blocks):
            for row, plain, trials in rows:
                remaining = min(trials - block * build.BLOCK, build.BLOCK)
                if remaining > 0 and horizon in (row.horizons or spec.horizons):
                    cell: record.CellSpec = {
                        "problem": table,
                        "algorithm": plain,
                        "horizon": horizon,
                        "block": block,
                        "trials": remaining,
                        "seed": spec.seed,
                        "recording": spec.recording.of(horizon),
                        "engine": spec.engine,
                    }
                    yield job_at(problem.title, row.title, cell)


def job_at(problem: str, algorithm: str, spec: record.CellSpec) -> tuple[record.Place, Job]:
    """Return a cell with its place.

    Args:
        problem: its label.
        algorithm: its label.
        spec: of the cell.
    """
    address = hashlib.sha256(canonical([__version__, spec]).encode()).hexdigest()
    horizon, block = spec["horizon"], spec["block"]
    label = f"{problem}: {algorithm}, T = {horizon}" + (f", block {block + 1}" if block else "")
    place = record.Place(
        address=address, problem=problem, algorithm=algorithm, horizon=horizon, block=block
    )
    return place, Job(label, address, spec)


# --- what neighbours share ------------------------------------------------------------------------

V = TypeVar("V")


class Latest(Generic[V]):
    """The value that was made last, for as long as the same is asked for again."""

    def __init__(self) -> None:
        self._made: tuple[object, object, V] | None = None

    def get(self, owner: object, key: object, make: Callable[[], V]) -> V:
        """Return the value of an owner, which is the same object, and a key, which is equal."""
        if self._made is None or self._made[0] is not owner or self._made[1] != key:
            self._made = owner, key, make()
        return self._made[2]


_problems: Latest[Problem] = Latest()
_comparators: Latest[Comparator] = Latest()
_sums: Latest[np.ndarray] = Latest()


def problem_of(spec: record.CellSpec) -> Problem:
    """Return the problem of a cell, with the streams of its block of trials."""

    def make() -> Problem:
        seed = stream_seed(spec["seed"], spec["problem"], spec["block"])
        where = spec["horizon"], spec["trials"], seed, spec["block"]
        return build.build_problem(spec["problem"], *where)

    key = spec["problem"], spec["horizon"], spec["trials"], spec["seed"], spec["block"]
    return _problems.get(None, canonical(key), make)


# --- playing --------------------------------------------------------------------------------------

Parts: TypeAlias = tuple[Problem, Player | Tuned[Player], build.Parameters, Constants]
"""What a cell is played with: the problem, the player, its numbers and its constants."""


class OtherCodeError(SurefootError, RuntimeError):
    """A worker with code different from the driver's, so its results would not be comparable."""


def make_parts(spec: record.CellSpec) -> Parts:
    """Return the parts that a cell names."""
    problem = problem_of(spec)
    return problem, *build.build_player(spec["algorithm"], problem, spec["horizon"])


def time_now() -> str:
    """Return the time as files have it: UTC, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def play_cell(
    address: str, spec: record.CellSpec, parts: Callable[[record.CellSpec], Parts] = make_parts
) -> record.CellResult:
    """Play one cell: plain data in, plain data out, wherever it runs.

    Errors caused by the cell are recorded, not raised. A theorem that does not apply, or a
    constructor that rejects its parameters, gives the status "rejected"; any other error gives
    "failed". Both have the sentence. Only a missing extra is raised.

    Args:
        address: the cell's.
        spec: what to play.
        parts: makes problem and player from that.
    """
    began = time.perf_counter()
    status: record.Status = "done"
    note, facts, arrays = "", record.Facts(), dict[str, np.ndarray]()
    provenance: record.Provenance = {"microseconds_a_round": None, "versions": versions()}
    is_made = False
    try:
        problem, player, parameters, constants = parts(spec)
        is_made = True
        trace = _play(player, problem, spec)
        facts, arrays = summarise(trace, spec, parameters, constants)
        reasons = (why for why in np.atleast_1d(trace.status) if why != "ok")
        note = next((f"stopped in {why}" for why in reasons), "")
        provenance["microseconds_a_round"] = trace.ledger.microseconds_a_round
    except MissingExtraError:
        raise  # nothing is stored: the cell is played once the extra is installed
    except Exception as error:
        if isinstance(error, ValueError) and not is_made:
            status, note = "rejected", str(error)
        else:
            last = traceback.extract_tb(error.__traceback__)[-1]
            sentence = f"{type(error).__name__}: {error}".strip(": ")
            status, note = "failed", f"{sentence} ({Path(last.filename).name}, line {last.lineno})"
            provenance["traceback"] = traceback.format_exc(limit=-8)
    provenance["seconds"] = time.perf_counter() - began
    provenance["finished"] = time_now()
    provenance["platform"] = platform.platform()
    return record.CellResult(
        address=address,
        spec=spec,
        status=status,
        note=note,
        facts=facts,
        arrays=arrays,
        provenance=provenance,
    )


def play_cells(cells: Iterable[tuple[str, record.CellSpec]]) -> list[record.CellResult]:
    """Play neighbours one by one: the result of a cell does not depend on the others."""
    with _ONE_AT_A_TIME:
        return [play_cell(address, spec) for address, spec in cells]


# A cluster's worker may have several threads; two cells at once would only share one interpreter.
_ONE_AT_A_TIME = threading.Lock()


def _play(player: Player | Tuned[Player], problem: Problem, spec: record.CellSpec) -> Trace:
    recording = spec["recording"]
    if spec["engine"] == "scan":
        need("jax", "jax", "the scan engine")  # so that no round is timed with an import
    # The costs of an adversary follow from the actions that it answered.
    whole = isinstance(problem.costs, Adversarial)
    return play(
        player,
        problem,
        horizon=spec["horizon"],
        engine=cast(Engine, spec["engine"]),
        every=1 if whole else recording["every"],
        keep_actions=whole or bool(recording["actions"]),
        watch="record",
        # For the directions of bandits, which differ from block to block.
        seed=stream_seed(spec["seed"], spec["problem"], spec["block"]),
    )


def play_for(
    driver: Mapping[str, str | None],
    plugins: Sequence[build.Plugin],
    work: Callable[[list[tuple[str, record.CellSpec]]], list[record.CellResult]],
    cells: list[tuple[str, record.CellSpec]],
) -> list[record.CellResult]:
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
            build.load_plugin(plugin.name, plugin.folder)
    except build.PluginError as error:
        raise OtherCodeError(f"{where}: {error}") from error
    here = fingerprint()
    differ = [
        f"{name} is {here.get(name)}, not {driver.get(name)}"
        for name in sorted(here.keys() | driver.keys())
        if here.get(name) != driver.get(name)
    ]
    if differ:
        raise OtherCodeError(f"{where} would play something else: {'; '.join(differ)}")
    return work(cells)


def fingerprint() -> dict[str, str | None]:
    """Return what a result depends on beside its specification: code and libraries."""
    return versions() | {
        f"plugin {plugin.name}": plugin.digest[:16] for plugin in build.list_plugins()
    }


@cache
def versions() -> dict[str, str | None]:
    """Return the versions of the libraries that compute; None for one that is not installed."""
    try:
        jax: str | None = metadata.version("jax")
    except metadata.PackageNotFoundError:
        jax = None
    python = platform.python_version()
    return {"surefoot": __version__, "numpy": np.__version__, "python": python, "jax": jax}


# --- what is stored of a game ---------------------------------------------------------------------


def summarise(
    trace: Trace, spec: record.CellSpec, parameters: build.Parameters, constants: Constants
) -> tuple[record.Facts, dict[str, np.ndarray]]:
    """Return the facts and arrays of a game.

    Args:
        trace: the game.
        spec: of its cell.
        parameters: the player's numbers, each with its origin.
        constants: that the player's theorem was given.
    """
    problem, guarantee, T = trace.problem, trace.guarantee, trace.horizon
    costs = trace.costs()
    # An adversary's costs belong to this game only, and exist only after it.
    owner = problem if costs is problem.costs else trace
    best = _comparators.get(
        owner, T, lambda: problem.best_after(trace.rounds[-1:], costs, TOLERANCE)
    )
    regret = regret_of(trace.cost_sum[-1:], best)
    upper, lower = _runs(regret.upper)[-1], _runs(regret.lower)[-1]
    verdict = judge(trace, lower)
    is_bounded = guarantee is not None and not guarantee.describe_worth(T)
    bound = float(guarantee.regret_bound(T)) if guarantee is not None and is_bounded else None
    replaced = spec["algorithm"].get("constants") or {}
    dimension = problem.costs.dimension
    facts = record.Facts(
        problem=record.ProblemFacts(
            name=problem.name,
            dimension=dimension,
            rows=int(problem.constraint.rows),
            start=tuple(problem.start.tolist()) if dimension == 2 else None,
        ),
        constants={
            name: record.Sourced(
                getattr(constants, name), "specification" if name in replaced else origin
            )
            for name, origin in constants.origins.items()
        },
        parameters=parameters,
        guarantee=_guarantee(trace),
        verdict=record.VerdictFacts(word=verdict.word, sentence=verdict.sentence),
        breaches=_breaches(trace, build.BLOCK * spec["block"]),
        comparator=record.ComparatorFacts(
            gap=finite_or_none(np.max(best.value[-1] - best.lower[-1])),
            exact=has_closed_form(costs, problem.benchmark.region),
        ),
        regret_share=None if not bound else finite_or_none(np.max(upper) / bound),
        engine=trace.engine,
        oracle={n: calls for n, calls in trace.ledger._asdict().items() if "seconds" not in n},
    )
    return facts, _arrays(trace, spec, regret, owner)


def _kept_rounds(trace: Trace, every: int | None) -> tuple[Array, Array]:
    """Return which of the trace's rounds are kept, and where the rounds since the last one begin.

    All of them, unless the game had to keep more than the specification asks for.
    """
    rounds = trace.rounds
    is_kept = rounds % (every or trace.horizon) == 0
    at = np.flatnonzero(is_kept | (rounds == trace.horizon))
    return at, np.append(0, at[:-1] + 1)


def _arrays(
    trace: Trace, spec: record.CellSpec, regret: Regret, owner: object
) -> dict[str, np.ndarray]:
    measures, observed = trace.violations._asdict(), trace.observed
    assert observed is not None  # the watch is on
    upper, lower = _runs(regret.upper), _runs(regret.lower)
    best, recording = regret.comparator.action[-1], spec["recording"]
    indices, begins = _kept_rounds(trace, recording["every"])
    arrays: dict[str, Array] = {
        "total_cost": trace.total_cost,
        "regret": upper[-1],
        "regret_lower": lower[-1],
        "violations": measures.pop("count"),
        **measures,
        "largest_cost_gradient": observed.cost_gradient,
        "largest_subgradient": observed.constraint_subgradient,
        "best": np.broadcast_to(best, (upper.shape[1], best.shape[-1])),
    }
    if recording["every"] is not None:
        rounds = trace.rounds[indices]
        arrays |= {
            "rounds": rounds,
            "cost_sum": _runs(trace.cost_sum)[indices],
            "constraint": _runs(trace.constraint)[indices],
            "peak": np.maximum.reduceat(_runs(trace.peak), begins, axis=0),
        }
        best_costs = _sums.get(owner, trace.horizon, lambda: _sum_costs(trace, best))[rounds - 1]
        gap = upper[-1] - (
            arrays["cost_sum"][-1] - best_costs[-1]
        )  # of the comparator, and rounding
        arrays["regret_path"] = arrays["cost_sum"] - best_costs + gap
        if trace.guarantee is not None and trace.promises.in_advance is not None:
            bound = np.asarray(trace.guarantee.regret_bound(rounds), dtype=np.float64)
            arrays["bound_path"] = np.broadcast_to(bound, rounds.shape)
    if recording["actions"] and trace.kept_actions is not None:
        actions = trace.kept_actions[indices]
        actions = actions[:, None] if trace.runs is None else actions
        arrays["actions"] = actions[:, : recording["actions"]]
        edge = _boundary(trace.problem) if actions.shape[-1] == 2 else None
        if edge is not None:
            arrays["boundary"] = edge
    return {name: np.array(value, ndmin=1) for name, value in arrays.items()}


def _sum_costs(trace: Trace, action: Array) -> np.ndarray:
    """Return the summed costs of a fixed action after every round, ``(T, runs)``."""
    costs = trace.costs()
    each = [np.ravel(costs.value(t, action)) for t in range(trace.horizon)]
    return np.cumsum(each, axis=0)


def _runs(values: Array) -> Array:
    """Return values over rounds with an axis of runs, also for a game of one run."""
    return np.reshape(values, (len(values), -1))


def _boundary(problem: Problem) -> Array | None:
    """Return points of the boundary of the feasible set in the plane, by bisection."""
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


def _guarantee(trace: Trace) -> record.GuaranteeFacts | None:
    """Return what was promised of a game; None where nothing was."""
    guarantee, T = trace.guarantee, trace.horizon
    feasibility, observed, in_advance = map(_promise, trace.promises)
    if guarantee is None:
        safety = trace.safety
        if safety is None:
            return None
        premises = () if safety.feasibility is None else safety.feasibility.needs
        return record.GuaranteeFacts(
            name=safety.name,
            kind=safety.kind,
            text=str(safety),
            worth=NONE_IN_ADVANCE,
            premises=premises,
            feasibility=feasibility,
            observed=observed,
        )
    bounds = {str(measure): finite_or_none(b) for measure, b in guarantee.bounds(T).items()}
    return record.GuaranteeFacts(
        name=guarantee.name,
        kind=guarantee.kind,
        text=str(guarantee),
        regret_bound=finite_or_none(guarantee.regret_bound(T)) if in_advance else None,
        worth=guarantee.describe_worth(T),
        bounds={measure: limit for measure, limit in bounds.items() if limit is not None},
        regret_exponent=guarantee.regret_exponent,
        violation_exponent=guarantee.violation_exponent,
        premises=tuple(p.requirement for p in guarantee.premises),
        feasibility=feasibility,
        observed=observed,
        in_advance=in_advance,
    )


def _promise(part: Promise | None) -> record.PromiseFacts | None:
    if part is None:
        return None
    return record.PromiseFacts(theorem=part.theorem, needs=part.needs, not_covered=part.not_covered)


def _breaches(trace: Trace, before: int) -> tuple[record.BreachFacts, ...]:
    """Return the first breach of each premise; ``before`` trials are in earlier blocks."""
    first: dict[tuple[str, float | None], Breach] = {}
    for breach in trace.breaches:  # in order of the rounds
        first.setdefault((breach.constant, breach.limit), breach)
    return tuple(
        record.BreachFacts(
            constant=breach.constant,
            limit=finite_or_none(breach.limit),
            observed=finite_or_none(breach.observed),
            round=int(breach.round),
            trial=before + int(breach.run),
            sentence=str(breach),
        )
        for breach in list(first.values())[:_BREACHES]
    )
