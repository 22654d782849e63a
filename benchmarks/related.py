"""Related work, measured: the paper's bibliography and a ring of agents, as a page of tables.

Run as ``python -m benchmarks.related docs/related.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import write_page
from surefoot.core.constants import Constants
from surefoot.core.errors import InvalidValueError
from surefoot.experiments import Results, Row, gather, run
from surefoot.experiments.paper.related import HORIZON, TRIALS, specification
from surefoot.experiments.record import FILE_NAME
from surefoot.games.network import NetworkTrace, mixing_matrix, play_network
from surefoot.guarantees import Tuned
from surefoot.problems import binding_toy
from surefoot.problems.constraints import Affine
from surefoot.rules import NetworkPenalty


@dataclass(frozen=True, slots=True)
class Related:
    """What was measured.

    Attributes:
        rows: one per algorithm and problem.
        ring: the game of the agents.
        ring_best: the mean cost of their best common action, over all rounds.
    """

    rows: Sequence[Row]
    ring: NetworkTrace
    ring_best: float

    def tables(self) -> Iterator[str]:
        """Yield the lines of one Markdown table per problem, and of the agents'."""
        for place in dict.fromkeys(row.problem for row in self.rows):
            yield from (f"### {place[0].upper()}{place[1:]}", "", *_HEAD)
            yield from (_line(row) for row in self.rows if row.problem == place)
            yield ""
        yield from _ring_lines(self.ring, self.ring_best)


def measure(
    folder: Path, horizon: int = HORIZON, trials: int = TRIALS, workers: int | None = None
) -> Related:
    """Play all of it; what is in the folder already is kept.

    Args:
        folder: for the results.
        horizon: T.
        trials: of each.
        workers: processes; one for each core unless given, 0 for none.
    """
    outcome = run(specification(horizon, trials), folder, workers=workers)
    if outcome.failed or outcome.interrupted:
        raise InvalidValueError(f"the run must end without failures, got {outcome.notes!r}")
    with Results.open(folder / FILE_NAME) as results:
        rows = gather(results)
    ring, best = agents_on_a_ring(horizon)
    return Related(rows, ring, best)


def agents_on_a_ring(horizon: int = HORIZON, agents: int = 6) -> tuple[NetworkTrace, float]:
    """Return a game of agents on a ring, and the cost of their best common action.

    Agent i has the targets of trial i of the binding toy and one face of its square.

    Args:
        horizon: T.
        agents: n, at least 4: one for each face.

    Example:
        >>> trace, best = agents_on_a_ring(50)
        >>> len(trace.actions), trace.own_violation.shape
        (6, (50,))
    """
    toy = binding_toy(horizon, agents)
    faces = np.vstack([np.eye(2), -np.eye(2)])
    limits = [Affine(faces[i % 4 : i % 4 + 1], [0.5]) for i in range(agents)]
    known = Constants(R=1.0, G_f=toy.constants.G_f, G_g=1.0)
    player: Tuned[Any] = NetworkPenalty.trade_off(
        known, horizon, mixing=mixing_matrix("ring", agents)
    )
    trace = play_network(player, toy.costs, limits, toy.start)
    targets = toy.costs.targets  # type: ignore[attr-defined]
    best = np.clip(targets.mean(axis=(0, 1)), -0.5, 0.5)
    cost = 3.0 * float(((best - targets) ** 2).sum()) / agents
    return trace, cost


# --- as a page -----------------------------------------------------------------------------------

_HEAD = (
    "| algorithm | calls per round | regret | of its bound | $\\sum g$ | $\\sum [g]_+$ "
    "| $\\sum [g]_+^2$ | max g | outside | promised of g | of that |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
)

_CALLS = {
    "projections": "projections",
    "linear_minimisations": "linear min.",
    "separations": "separations",
    "gauges": "gauges",
    "proxes": "proxes",
    "smooth_queries": "queries",
    "constraint_values": "g",
    "cost_gradients": "gradients",
}

_SUMS = ("positive_sum", "sum_positive", "sum_squared")
"""The sums that bounds speak of; bounds on each round and on rows were compared in the game."""


def _line(row: Row) -> str:
    name = f"`{row.algorithm}`"
    if not row.played:
        return f"| {name} | {_reason(row.note)} |" + " |" * 9
    mean = {
        key: float(row.arrays[key].mean())
        for key in ("regret", "sum", "sum_positive", "sum_squared")
    }
    worst = float(row.arrays["largest"].max())
    share = row.facts.regret_share
    cells = (
        _calls(row),
        _tenths(mean["regret"]),
        _share(share),
        _tenths(mean["sum"]),
        f"{mean['sum_positive']:,.4g}",
        f"{mean['sum_squared']:,.3g}",
        f"{worst:.3g}",
        f"{row.violations:,.0f}",
        *_promise(row),
    )
    return f"| {name} | " + " | ".join(cells) + " |"


def _tenths(value: float) -> str:
    return f"{round(value, 1) + 0.0:,.1f}"  # and no -0.0


def _share(share: float | None) -> str:
    """Return how much of a bound was used; a regret below 0 used nothing of it."""
    if share is None:
        return ""
    return "below 0" if share < 0 else f"{share:.1%}"


def _calls(row: Row) -> str:
    asked = row.facts.oracle
    if not asked:
        return ""
    each = ((word, asked.get(name, 0) / asked["rounds"]) for name, word in _CALLS.items())
    return ", ".join(f"{count:.3g} {word}" for word, count in each if count)


def _promise(row: Row) -> tuple[str, str]:
    """Return the promise on the constraint with its number, and what became of it.

    That is the verdict of the game, and for a bound on a sum that held the largest share used.
    """
    guarantee = row.facts.guarantee
    if guarantee is None or guarantee.kind == "none":
        return "nothing", ""
    limits = guarantee.bounds
    words = ", ".join(f"{measure_} {limit:,.4g}" for measure_, limit in limits.items())
    promised = "g at most 0" if guarantee.kind == "every round" else words
    if row.verdict != "held":
        return promised, f"**{row.verdict}**"
    used = [max(float(row.arrays[s].max()), 0.0) / limits[s] for s in _SUMS if limits.get(s, 0) > 0]
    return promised, f"{max(used):.1%}" if used else "held"


def _reason(note: str) -> str:
    first = note.partition(" (")[0].replace("|", "/")
    return f"does not apply: {first[:120]}"


def _ring_lines(trace: NetworkTrace, best: float) -> Iterator[str]:
    guarantee: Any = trace.guarantee
    T, n = len(trace.own_cost), len(trace.actions)
    bound = float(guarantee.regret_bound(T))
    own, shared = float(trace.own_violation.sum()), float(trace.network_violation.sum())
    limits = {k: float(v) for k, v in guarantee.bounds(T).items()}
    yield from (
        f"### {n} agents on a ring",
        "",
        "| algorithm | network regret | of its bound | own $\\sum [g]_+$ | network $\\sum [g]_+$ "
        "| promised | last disagreement |",
        "|---|---|---|---|---|---|---|",
        f"| `NetworkPenalty.trade_off` | {_tenths(trace.regret(best))} | "
        f"{_share(trace.regret(best) / bound)} | {own:,.4g} | {shared:,.4g} | "
        f"{', '.join(f'{k} {v:,.4g}' for k, v in limits.items())} | "
        f"{trace.disagreement[-1]:.3g} |",
        "",
    )


if __name__ == "__main__":
    write_page(Path(sys.argv[1]), measure(Path("out/related")).tables())
