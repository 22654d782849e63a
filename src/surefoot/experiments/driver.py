"""Run a specification: play the missing cells once and store results as they arrive.

Only the driver writes; workers receive plain data and return plain data. A driver may be stopped or
killed at any moment: the cells in the file are complete, and the next run plays the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from surefoot.experiments.cluster import Tls, checked_address
from surefoot.experiments.executors import cores, make_executor
from surefoot.experiments.extras import Missing, missing_extras
from surefoot.experiments.grid import cells_of
from surefoot.experiments.plan import (
    COMPILE_SECONDS,
    FINISHED,
    START_SECONDS,
    Jobs,
    Pace,
    Plan,
    pending,
)
from surefoot.experiments.play_cell import play_cells
from surefoot.experiments.plugins import loaded
from surefoot.experiments.record import FILE_NAME, CellResult, Status, time_now
from surefoot.experiments.spec import Spec
from surefoot.experiments.store import Results
from surefoot.experiments.sweep import Event, RunError, Stop, Sweep
from surefoot.experiments.toml import dump_spec
from surefoot.experiments.versions import fingerprint, versions
from surefoot.experiments.workers import Workers

__all__ = ["Estimate", "Outcome", "estimate", "play_jobs", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run.

    Attributes:
        folder: where the results are.
        cells: how many there are in the specification.
        done: played now.
        skipped: there before.
        refused: by a theorem or a constructor, now.
        failed: ended by an error.
        set_aside: killed their worker twice.
        seconds: wall time.
        interrupted: whether it was stopped before its end.
        notes: what was damaged or failed and why, the first few of each.
    """

    folder: Path
    cells: int
    done: int
    skipped: int
    refused: int
    failed: int
    set_aside: int
    seconds: float
    interrupted: bool
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would cost.

    Attributes:
        cells: how many there are in the specification.
        present: of them, those that need not be played.
        rounds: to be played, over all trials.
        seconds: wall time on this machine; None where nothing is known.
        basis: what the time is taken from.
        missing: extras that are not installed, without which nothing is played.
    """

    cells: int
    present: int
    rounds: int
    seconds: float | None
    basis: str
    missing: list[Missing] = field(default_factory=list)


def estimate(spec: Spec, folder: Path, *, workers: int | None = None) -> Estimate:
    """Return what a run would take; nothing is played and nothing written.

    The time comes from the cells that are there already where there are some, else from what the
    engines usually take. It does not know of solvers that have not been met.

    Args:
        spec: the experiment.
        folder: of its results.
        workers: processes; one per processor unless given.
    """
    path, pace = Path(folder) / FILE_NAME, Pace()
    have: dict[str, Status] = {}
    if path.exists():
        with Results.open(path) as results:
            have = results.have()
            pace.learn_from(results, [a for a, status in have.items() if status == "done"])
    present = rounds = 0
    seen: set[str] = set()
    work, programs = 0.0, set()
    for _, job in cells_of(spec):
        if job.address in seen:
            continue
        seen.add(job.address)
        if have.get(job.address) in FINISHED:
            present += 1
            continue
        rounds += job.rounds
        work += pace.seconds(job)
        if job.spec["engine"] == "scan":
            programs.add(job.program)
    processes = max(1, cores() if workers is None else workers)
    work += COMPILE_SECONDS * len(programs)
    seconds = work / processes + (START_SECONDS if rounds and workers != 0 else 0.0)
    basis = "the cells that are there" if pace.known else "what the engines usually take"
    return Estimate(
        cells=len(seen),
        present=present,
        rounds=rounds,
        seconds=seconds,
        basis=basis,
        missing=missing_extras(spec),
    )


def run(
    spec: Spec,
    folder: Path,
    *,
    text: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    insecure: bool = False,
    tls: Tls | tuple[Path, Path, Path] | None = None,
    force: bool = False,
    progress: Callable[[Event], None] | None = None,
    _work: Callable[..., list[CellResult]] = play_cells,
) -> Outcome:
    """Play what a specification describes and is not in the folder yet.

    The results do not depend on the number of workers, on where they are, on how often a run was
    stopped or killed and begun again. Ctrl-C and SIGTERM end a run with what is done; the second
    Ctrl-C does not wait for the cell that this process is playing.

    Args:
        spec: the experiment.
        folder: for the results; made if it is not there.
        text: the specification as the user wrote it, to be kept with the results.
        workers: processes; 0 plays in this one, None is one per processor.
        cluster: address of a dask scheduler to play on instead.
        insecure: whether a remote cluster may be used without TLS.
        tls: files for TLS: authority, certificate, key.
        force: play again what is there.
        progress: called after each cell.

    Raises:
        StoreError: the folder is in use by another run, holds other files, or its disk is full.
        ClusterError: the cluster may not be used, does not answer, or was lost.
        RunError: an extra is not installed, a worker has other code, or none can be started.
    """
    tls = None if tls is None else Tls(*tls)
    if cluster is not None:
        checked_address(cluster, insecure=insecure, tls=tls)
    if cluster is None and (missing := missing_extras(spec)):
        told = "; ".join(map(str, missing))
        raise RunError(f"not a round was played, since an extra is not installed: {told}")
    return play_jobs(
        partial(cells_of, spec),
        Path(folder),
        name=spec.name,
        seed=spec.seed,
        text=dump_spec(spec) if text is None else text,
        data=spec.model_dump(mode="json", exclude_none=True),
        workers=partial(make_executor, workers, cluster=cluster, insecure=insecure, tls=tls),
        work=_work,
        force=force,
        progress=progress,
    )


def play_jobs(
    jobs: Jobs,
    folder: Path,
    *,
    name: str,
    seed: int,
    text: str,
    data: dict[str, Any],
    workers: Callable[[], Workers],
    work: Callable[..., list[CellResult]],
    force: bool = False,
    progress: Callable[[Event], None] | None = None,
) -> Outcome:
    """Play the jobs of an experiment that are not in the folder yet, and say how it went.

    Args:
        jobs: yields them with their places.
        folder: for the results.
        name: of the experiment.
        seed: of its random numbers.
        text: what was asked for, as a person reads it.
        data: the same as plain data.
        workers: makes what plays.
        work: plays some cells.
        force: play again what is there.
        progress: called after each cell.
    """
    began = time.perf_counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"folder '{folder}' cannot be made: {error.strerror}") from error
    with Results.write(folder / FILE_NAME) as results, Stop() as stop:
        plan = Plan.of(jobs, results, force=force)
        now = time_now()
        results.set_plan(plan.places)
        results.set_header(
            name=name,
            seed=seed,
            specification=text,
            data=data,
            plugins=[plugin.name for plugin in loaded()],
            versions=versions(),
            sources=fingerprint()["sources"],
            created=results.header().get("created", now),
            updated=now,
        )
        sweep = Sweep(results, plan, stop, progress, work)
        sweep.tell()
        if plan.missing and not stop.asked:
            with workers() as executor:
                sweep.play(pending(jobs, plan), executor)
    counts = sweep.counts
    return Outcome(
        folder=folder,
        cells=plan.cells,
        done=counts["done"],
        skipped=len(plan.skip),
        refused=counts["refused"],
        failed=counts["failed"],
        set_aside=counts["set aside"],
        seconds=time.perf_counter() - began,
        interrupted=stop.asked and sweep.done < plan.cells,
        notes=[*plan.notes, *sweep.notes()],
    )
