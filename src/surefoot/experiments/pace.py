"""Estimate how long cells take: typical engine speeds, corrected by measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surefoot._sqlite import StoreError
from surefoot.experiments.plan import Job
from surefoot.results import CellResult, Results

__all__ = ["COMPILE_SECONDS", "START_SECONDS", "Pace"]

COMPILE_SECONDS = 1.0
"""A compiled program, for each worker that meets it."""

START_SECONDS = 2.0
"""A pool of processes, until it plays."""


class Pace:
    """The seconds that a cell takes."""

    def __init__(self) -> None:
        self._ratio: dict[tuple[Any, ...], float] = {}

    @property
    def known(self) -> bool:
        """Whether anything was measured."""
        return bool(self._ratio)

    def seconds(self, job: Job) -> float:
        """Return what a cell is expected to take, once compiled."""
        return _usual(job) * self._ratio.get(job.family, 1.0)

    def learn(self, job: Job, result: CellResult) -> None:
        """Record the time that a cell took."""
        took = result.provenance.get("microseconds_a_round")
        if took is not None:
            self._ratio[job.family] = 1e-6 * float(took) * job.rounds / _usual(job)

    def learn_from(self, results: Results, addresses: Sequence[str], most: int = 200) -> None:
        """Record the times of some of the stored cells."""
        for address in addresses[:: max(1, len(addresses) // most)]:
            try:
                cell = results.get(address)
            except StoreError:
                continue
            self.learn(Job("", address, cell.spec), cell)


def _usual(job: Job) -> float:
    """Return seconds for the paper's toy, on a machine of 2025."""
    rounds, engine = job.rounds, job.spec["engine"]
    if engine == "loop":
        return 2e-5 * rounds
    if engine in ("batch", "auto"):
        return 8e-5 * int(job.spec["horizon"]) + 1e-7 * rounds
    return 1e-3 + 6e-8 * rounds
