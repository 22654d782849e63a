"""A small experiment made by hand, as a file: two problems, six algorithms, three horizons."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from surefoot.experiments import CellResult, Facts, Place, Results, gather
from surefoot.experiments.record import from_plain

HORIZONS = (2_000, 8_000, 20_000)
EVERY = 100
BLOCKS = (3, 2)  # trials: two blocks, of different size
BOUNDARY = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]])

# label, guarantee's kind, verdict, regret at T = c T^p, where the actions end up
PLAYERS = (
    ("PFS, Corollary 1", "every round", "held", 1.9, 0.5, -0.47),
    ("DPP", "cumulative", "held", 1.0, 0.5, -0.51),
    ("PFS as plotted", "every round", "premise broken", 1.8, 0.5, -0.49),
    ("Certified", "every round", "held", 6.0, 0.23, -0.495),
    ("OGD", None, "not claimed", 0.4, 0.55, -0.6),
)


@dataclass
class Sample:
    """Hand-made cells, and how to put them into a file."""

    cells: list[tuple[Place, CellResult]]

    def write(self, path: Any, cells: Any = None, notes: Any = None, **header: Any) -> Any:
        """A results file at ``path``; ``cells`` and the header may be a test's own."""
        cells = self.cells if cells is None else cells
        with Results.write(path) as store:
            given = header | (notes or {})
            store.set_header(**{"name": "sample", "seed": 7, "specification": "", **given})
            store.set_plan([place for place, _ in cells])
            for _, cell in cells:
                store.put(cell)
        return path


def facts(problem: str, player: Any, horizon: int, share: float) -> Facts:
    label, kind, word, scale, power, _ = player
    bound = 5 * scale * horizon**power
    breach = {
        "constant": "G_f",
        "limit": 1.0,
        "observed": 2.75,
        "round": 17,
        "trial": 1,
        "sentence": "round 17: |grad f| = 2.75 exceeds G_f = 1: the regret bound is not claimed",
    }
    broken = word == "premise broken"
    guarantee = {
        "name": "Theorem 1",
        "kind": kind,
        "text": f"Theorem 1 for T = {horizon} ({kind})",
        "regret_bound": bound,
        "bounds": {"round": 0.0} if kind == "every round" else {"positive_sum": 40.0},
        "regret_exponent": 0.5,
        "violation_exponent": None,
        "premises": ["|grad f| <= G_f", f"no more rounds are played than the horizon = {horizon}"],
    }
    plain = {
        "problem": {"name": problem, "dimension": 2 if problem == "paper toy" else 5, "rows": 4},
        "constants": {"G_f": [1.0, "specification"], "G_g": [1.0, "derived"]},
        "parameters": {"eta": [0.25 / horizon**0.5, "Theorem 1"], "rho": [0.01, "specification"]},
        "guarantee": None if kind is None else guarantee,
        "verdict": {"word": word, "sentence": breach["sentence"] if broken else f"{label}: {word}"},
        "breaches": [breach] if broken else [],
        "comparator": {"gap": 0.0, "exact": True},
        "regret_share": None if kind is None else share,
        "engine": "batch",
        "oracle": {
            "rounds": horizon,
            "cost_gradients": horizon,
            "constraint_values": horizon,
            "constraint_subgradients": horizon,
            "projections": horizon if label == "OGD" else 0,
            "linear_minimisations": 0,
            "inner_solves": horizon // 4 if label == "DPP" else 0,
        },
    }
    return from_plain(Facts, plain, "facts")


def arrays(problem: str, player: Any, horizon: int, trials: int, rng: Any) -> dict[str, Any]:
    _, _, _, scale, power, end = player
    rounds = np.arange(1, horizon + 1)[EVERY - 1 :: EVERY]
    n = len(rounds)
    settled = 1 - np.exp(-rounds / 60)[:, None, None]
    noise = 0.006 * rng.normal(size=(n, trials, 2))
    x = settled * (np.array([end, end + 0.03]) + noise)
    if end > -0.5:  # feasible algorithms stay inside
        x = np.clip(x, -0.4999, 0.4999)
    g = np.abs(x).max(axis=2) - 0.5
    regret = scale * horizon**power * (1 + 0.08 * rng.normal(size=trials))
    regret_path = regret * (rounds[:, None] / horizon) ** power
    positive = np.maximum(g, 0.0)
    never = positive.max(axis=0) == 0
    first = np.where(never, 0, rounds[np.argmax(g > 0, axis=0)])
    last = np.where(never, 1, rounds[n - 1 - np.argmax(g[::-1] > 0, axis=0)] + 1)
    out = {
        "total_cost": 3000.0 + regret,
        "regret": regret,
        "regret_lower": regret,
        "sum": EVERY * g.sum(axis=0),
        "positive_sum": np.maximum(EVERY * g.sum(axis=0), 0.0),
        "sum_positive": EVERY * positive.sum(axis=0),
        "sum_squared": EVERY * (positive**2).sum(axis=0),
        "largest": g.max(axis=0),
        "violations": EVERY * (g > 0).sum(axis=0),
        "first_violation": first,
        "feasible_from": last,
        "largest_cost_gradient": 2.0 + rng.random(trials),
        "largest_subgradient": np.ones(trials),
        "best": np.full((trials, 2 if problem == "paper toy" else 5), -0.48),
        "rounds": rounds,
        "cost_sum": 3000.0 * (rounds / horizon)[:, None] + regret_path,
        "constraint": g,
        "peak": g + 0.002 * rng.random(g.shape) * (g > 0),
        "regret_path": regret_path,
        "bound_path": 5 * scale * rounds**power,
    }
    if problem == "paper toy":
        out |= {"actions": x[:, :1], "boundary": BOUNDARY}
    return out


def made_cells() -> list[tuple[Place, CellResult]]:
    rng = np.random.default_rng(20_260)
    cells = []

    def put(problem, algorithm, horizon, block, status="done", **rest):
        address = f"{len(cells):064x}"
        where = {"horizon": horizon, "block": block}
        place = Place(address=address, problem=problem, algorithm=algorithm, **where)
        spec = {"problem": {"name": problem}, "algorithm": {"name": algorithm}, **where}
        cells.append((place, CellResult(address=address, spec=spec, status=status, **rest)))

    for problem in ("paper toy", "sparse budget"):
        for player in PLAYERS:
            for horizon in HORIZONS:
                for block, trials in enumerate(BLOCKS):
                    if (player[0], horizon, block) == ("Certified", 8_000, 1):
                        put(problem, player[0], horizon, block, "failed", note="the solver gave up")
                        continue
                    provenance = {
                        "seconds": 0.25 * (block + 1),
                        "microseconds_a_round": 1.5 + 8.0 * (player[0] == "DPP"),
                        "finished": "2026-03-04T05:06:07+00:00",
                        "versions": {
                            "surefoot": "0.1.0",
                            "numpy": "2.4.6",
                            "python": "3.11.7",
                            "jax": None,
                        },
                        "platform": "Linux",
                    }
                    put(
                        problem,
                        player[0],
                        horizon,
                        block,
                        facts=facts(problem, player, horizon, 0.2 + 0.1 * block),
                        arrays=arrays(problem, player, horizon, trials, rng),
                        provenance=provenance,
                    )
        for horizon in HORIZONS:
            put(problem, "Jenatton", horizon, 0, "rejected", note="rho must be < epsilon = 0.25")
    return cells


@pytest.fixture(scope="session")
def sample():
    return Sample(made_cells())


@pytest.fixture(scope="session")
def results_path(sample, tmp_path_factory):
    return sample.write(tmp_path_factory.mktemp("sample") / "results.sqlite")


@pytest.fixture(scope="session")
def results(results_path):
    with Results.open(results_path) as store:
        yield store


@pytest.fixture(scope="session")
def rows(results):
    return gather(results)
