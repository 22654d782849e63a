"""Pages to look at: one as it should be, one from a hostile specification, one that is large."""

import dataclasses
from types import MappingProxyType
from typing import Any

import numpy as np

from surefoot.core.plain import json_plain
from surefoot.experiments import CellResult, Facts, Place, Results, gather
from surefoot.experiments.page import write_page, write_report
from surefoot.experiments.record import from_plain

HOSTILE = "<img src=x onerror=alert(1)></script><b>%{x}\u2028&amp;\"'`"

CLAIMS = [
    {
        "figure": "1a",
        "statement": "PFS, regret",
        "settings": "PFS as plotted",
        "published": {"2000": 88.0, "10000": 191.0},
        "measured": {"2000": 87.8, "10000": 191.1},
        "verdict": "reproduced only with other constants than stated",
        "reason": "as written it is 112.0",
    },
    {
        "figure": "1b",
        "statement": "DPP, [sum g]+",
        "settings": "DPP",
        "published": {"2000": 15.0},
        "measured": {"2000": None},
        "verdict": "not reproduced",
        "reason": "",
    },
]


def made_page(
    sample: Any,
    folder: Any,
    cells: Any = None,
    plan: Any = (),
    *,
    drawings: Any = MappingProxyType({}),
    **header: Any,
) -> Any:
    """A page from cells, with notes and further places of the plan; figures if None is given."""
    folder.mkdir(exist_ok=True)
    file = sample.write(folder / "results.sqlite", cells, header.pop("notes", None), **header)
    if plan:
        with Results.write(file) as store:
            store.set_plan([*store.places(), *plan])
    with Results.open(file) as store:
        if drawings is None:
            return write_report(store, folder, gather(store))[0]
        return write_page(store, folder / "report.html", gather(store), drawings)


def facts_of(data: Any) -> Facts:
    return from_plain(Facts, data, "facts")


def with_facts(cell: CellResult, **facts: Any) -> CellResult:
    return dataclasses.replace(cell, facts=facts_of(json_plain(cell.facts) | facts))


def with_arrays(cell: CellResult, **arrays: Any) -> CellResult:
    return dataclasses.replace(cell, arrays={**cell.arrays, **arrays})


def hostile(value: Any) -> Any:
    """Plain data with every text in it replaced; keys that mean something are kept."""
    kept = {"word", "kind", "exact", "counted", "engine", "finished", "bounds"}
    if isinstance(value, dict):
        return {k: v if k in kept else hostile(v) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(v) for v in value]
    return HOSTILE if isinstance(value, str) else value


def hostile_page(sample: Any, folder: Any) -> Any:
    """Every text that a specification or an error can bring into a page is an attack."""
    cells = []
    for place, cell in sample.cells:
        named = dataclasses.replace(
            place, problem=HOSTILE + place.problem, algorithm=HOSTILE + place.algorithm
        )
        facts = hostile(json_plain(cell.facts))
        # The names of constants and parameters are texts too.
        for group in ("constants", "parameters"):
            facts[group] = {HOSTILE + k: v for k, v in facts.get(group, {}).items()}
        attacked = dataclasses.replace(
            cell,
            note=HOSTILE if cell.note else "",
            facts=facts_of(facts),
            provenance=hostile(cell.provenance),
        )
        cells.append((named, attacked))
    claims = [hostile(claim) | {"verdict": claim["verdict"]} for claim in CLAIMS]
    claims[0]["published"] = {HOSTILE: 1.0}
    return made_page(
        sample,
        folder,
        cells,
        notes={"claims": claims},
        name=HOSTILE,
        seed=HOSTILE,
        specification=f"name = '''{HOSTILE}'''",
        created=HOSTILE,
        plugins=[HOSTILE],
        drawings=None,
    )


def large_cells(rows: int) -> Any:
    """As many rows as asked for, 25 algorithms, with totals alone."""
    rng = np.random.default_rng(3)
    for k in range(rows):
        regret = 5 + 90 * rng.random(4)
        zero = np.zeros(4)
        arrays = {
            "regret": regret,
            **dict.fromkeys(("positive_sum", "sum_positive", "sum_squared"), zero),
            "sum": -regret,
            "largest": -rng.random(4),
            "violations": zero.astype(int),
            "first_violation": zero.astype(int),
            "feasible_from": zero.astype(int) + 1,
        }
        facts = {
            "constants": {"G_g": [1.0, "derived"]},
            "parameters": {"eta": [0.25 / (k + 1), "Theorem 1"]},
            "verdict": {"word": "not claimed", "sentence": "no guarantee was claimed"},
            "comparator": {"gap": 1e-7, "exact": False},
        }
        address = f"{k:064x}"
        where = {
            "problem": f"problem {k // 250}",
            "algorithm": f"algorithm {k % 25}",
            "horizon": 1000 * (1 + k // 25 % 10),
        }
        place = Place(address=address, block=0, **where)
        known = facts_of(facts)
        cell = CellResult(address=address, spec={}, status="done", facts=known, arrays=arrays)
        yield place, cell
