"""Cells as a driver writes them, small."""

from dataclasses import replace

import numpy as np

from surefoot.experiments import CellResult, Facts, Place, Results, gather
from surefoot.experiments.record import from_plain


def cell(address, *, trials=3, rounds=(), seed=0, status="done", **facts):
    """A cell with lopsided numbers; with paths where rounds are given."""
    rng = np.random.default_rng(seed)
    arrays = {
        "regret": rng.normal(3.0, 2.0, trials),
        "largest": rng.normal(-1.0, 0.5, trials),
        "violations": rng.integers(0, 9, trials),
        "best": rng.normal(size=(trials, 2)),
    }
    if rounds:
        arrays["rounds"] = np.array(rounds)
        arrays["peak"] = rng.normal(size=(len(rounds), trials))
        arrays["bound_path"] = np.sqrt(rounds)
        arrays["actions"] = rng.normal(size=(len(rounds), 1, 2))
    return CellResult(
        address=address,
        spec={"problem": {"name": "toy"}, "seed": seed},
        status=status,
        note="" if status == "done" else "eta must be positive, got -1",
        facts=from_plain(Facts, facts, "facts"),
        arrays=arrays if status == "done" else {},
        provenance={"seconds": 0.25, "versions": {"numpy": "2"}},
    )


def place(address, problem="toy", algorithm="PFS", horizon=100, block=0):
    return Place(
        address=address, problem=problem, algorithm=algorithm, horizon=horizon, block=block
    )


def assert_same_cell(seen, wanted):
    """Everything is equal, arrays to the bit."""
    for name in ("address", "spec", "status", "note", "facts", "provenance"):
        assert getattr(seen, name) == getattr(wanted, name)
    assert sorted(seen.arrays) == sorted(wanted.arrays)
    for name, array in wanted.arrays.items():
        assert seen.arrays[name].dtype == array.dtype
        assert seen.arrays[name].shape == array.shape
        assert seen.arrays[name].tobytes() == array.tobytes()


def rows_of(pairs, plan=None):
    """The rows of cells with their places, as a file would have them."""
    pairs = list(pairs)
    results = Results()
    results.set_plan([where for where, _ in pairs] if plan is None else plan)
    for where, one in pairs:
        results.put(replace(one, address=where.address))
    return gather(results)
