"""What is kept of a cell: plain data and arrays, nothing that needs the code that made it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

__all__ = ["CellResult", "Place", "Status"]

Status: TypeAlias = Literal["done", "refused", "failed", "set aside"]
"""Played; not played because a theorem or a constructor said no; ended by an error; set aside
because it killed its worker twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One cell of an experiment: a problem, an algorithm, a horizon and a block of trials.

    Everything but ``provenance`` is a function of the specification and the numeric sources, the
    same bit for bit however often and wherever the cell is played.

    Attributes:
        address: the cell's name in hexadecimal, a hash of ``spec`` and of the numeric sources.
        spec: what was played, as plain data.
        status: what came of it.
        note: why it is not "done"; else empty.
        facts: plain data: constants and parameters with their origins, guarantee, verdict.
        arrays: numbers of each trial, and paths over the rounds that were kept.
        provenance: when, how long, by which versions.
    """

    address: str
    spec: dict[str, Any]
    status: Status
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a cell stands in an experiment: what its specification calls things.

    Attributes:
        address: which cell.
        problem: the problem's label.
        algorithm: the algorithm's label.
        horizon: number of rounds.
        block: which block of trials, from 0.
    """

    address: str
    problem: str
    algorithm: str
    horizon: int
    block: int
