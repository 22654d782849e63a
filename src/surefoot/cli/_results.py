"""The end of a run: report, table, JSON, paths, how to continue an interrupted run."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli._exit import INTERRUPTED, OK, PARTIAL
from surefoot.cli._output import duration, show, stage, table, warn
from surefoot.core.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.experiments import Outcome, Results, Row
    from surefoot.experiments.paper.reproduction import Reproduction
    from surefoot.experiments.record import Claim

COLOURS = {
    **dict.fromkeys(("held", "reproduced"), "green"),
    **dict.fromkeys(
        ("premise broken", "not checked", "rejected", "with other constants"), "yellow"
    ),
    **dict.fromkeys(("failed", "stopped", "set aside", "not reproduced"), "red"),
}
"""The colours of verdicts."""

NOTES = 20
"""The number of notes about errors that are printed."""

MANY = 60
"""Rows above which a table has those of the longest horizons only."""

_MEANS = ("violations", "sum", "positive_sum", "sum_positive", "sum_squared")
_FACTS = ("verdict", "guarantee", "regret_share", "parameters", "constants", "breaches")


def finish(
    outcome: Outcome,
    *,
    report: bool,
    json: bool,
    again: Sequence[str],
    paper: Reproduction | None = None,
) -> int:
    """Make the report and print the results of a run.

    Args:
        outcome: of the run.
        report: whether to make figures and page.
        json: whether to print JSON.
        again: the command that continues the run.
        paper: a reproduction, whose claims are printed instead of the rows.

    Returns:
        The exit code.
    """
    from surefoot.experiments import Results, gather
    from surefoot.experiments.record import FILE_NAME

    file, page, figures, reason = outcome.folder / FILE_NAME, None, list[Path](), ""
    with Results.open(file) as results:
        name = results.header().get("name")
        rows = (paper and paper.rows) or gather(results)
        try:
            if report and rows and not outcome.interrupted:
                page, figures = make_report(results, rows)
        except (ImportError, OSError, SurefootError) as error:
            reason = str(error)
    code = PARTIAL if any((outcome.failed, outcome.set_aside, reason)) else OK
    code = INTERRUPTED if outcome.interrupted else code
    counts = asdict(outcome)
    counts["present"] = counts.pop("skipped")
    data = {
        "name": name,
        **({} if paper is None else {"claims": paper.claims}),
        **counts,
        "exit_code": code,
        "results": file,
        "report": page,
        "figures": figures,
        "again": shlex.join(again) if outcome.interrupted else None,
        "rows": [row_as_data(row) for row in rows],
    }
    lines = rows_as_table(rows) if paper is None else verdicts(paper.claims)
    paths = [f"figures  {outcome.folder / 'figures'}", f"report   {page}"] if page else []
    show(json, data, [*lines, "", _counts(outcome, rows), f"results  {file}", *paths])
    _report_end(outcome, reason, shlex.join(again))
    return code


def _report_end(outcome: Outcome, reason: str, again: str) -> None:
    """Report errors on standard error, and the command that continues."""
    warn(*(f"surefoot: {note}" for note in outcome.notes[:NOTES]))
    if len(outcome.notes) > NOTES:
        warn(f"surefoot: and {len(outcome.notes) - NOTES} more")
    if reason:
        command = shlex.join(["surefoot", "report", str(outcome.folder)])
        warn(f"surefoot: no report: {reason}", f"  when that is fixed: {command}")
    if outcome.interrupted:
        warn("surefoot: interrupted; finished cells are saved. To continue:", f"  {again}")


def make_report(
    results: Results, rows: Sequence[Row], *, pdf: bool = False
) -> tuple[Path, list[Path]]:
    """Write page and figures of saved results beside their file; return where they are."""
    from surefoot.experiments.page import write_report

    with stage("making the figures and the page"):
        return write_report(results, results.path.parent, rows, parallel=True, pdf=pdf)


def _counts(outcome: Outcome, rows: Sequence[Row]) -> str:
    counts = {
        "played": outcome.done,
        "in the file already": outcome.skipped,
        "rejected": outcome.rejected,
        "failed": outcome.failed,
        "set aside": outcome.set_aside,
    }
    cells = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    verdicts = Counter(row.verdict for row in rows if row.verdict)
    guarantees = ", ".join(f"{count} {word}" for word, count in verdicts.most_common())
    line = f"{outcome.cells} cells: {cells or 'none played'}; {duration(outcome.seconds)}"
    return f"{line}\nguarantees: {guarantees}" if guarantees else line


# --- the rows -------------------------------------------------------------------------------------


def rows_as_table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each problem, algorithm and horizon, then why some were not played."""
    if not rows:
        yield "nothing has been played yet"
        return
    from surefoot.core.display import RESULT_HEAD, RESULT_RIGHT
    from surefoot.experiments.rows import notes_of, problems

    first = {problem: place for place, problem in enumerate(problems(rows))}
    chosen = sorted(rows, key=lambda row: (first[row.problem], row.number, row.horizon))
    if len(chosen) > MANY:
        chosen = list({(row.problem, row.algorithm): row for row in chosen}.values())[:MANY]
    for problem in first:
        if group := [row for row in chosen if row.problem == problem]:
            yield f"{problem}, {_trials(group)}"
            cells = [row.cells for row in group]
            yield from table(RESULT_HEAD, cells, right=RESULT_RIGHT, paint=COLOURS, indent=2)
    if len(chosen) < len(rows):
        yield f"{len(chosen)} of {len(rows)} rows, the longest horizons; all are in the report"
    if notes := notes_of(chosen):
        yield from ("", *notes)


def _trials(rows: Sequence[Row]) -> str:
    numbers = sorted({row.trials for row in rows if row.played} or {0})
    range_ = " to ".join(str(n) for n in dict.fromkeys((numbers[0], numbers[-1])))
    return f"{range_} trial{'s' * (range_ != '1')}"


def row_as_data(row: Row) -> dict[str, Any]:
    """Return a row with every number, for programs."""
    from surefoot.core.plain import json_plain
    from surefoot.experiments.rows import mean_std

    facts = json_plain(row.facts)
    data: dict[str, Any] = {
        "problem": row.problem,
        "algorithm": row.algorithm,
        "horizon": row.horizon,
        "trials": row.trials,
        "status": row.status,
        "note": row.note,
        "promised": row.guarantee.kind,
        **{name: facts.get(name) for name in _FACTS},
    }
    if row.played:
        mean, std = mean_std(row, "regret")
        arrays = row.arrays
        data["regret"] = {"mean": mean, "std": std if row.trials > 1 else math.nan}
        data["largest"] = arrays["largest"].max()
        data |= {name: arrays[name].mean() for name in _MEANS}
        first = [r for r in arrays["first_violation"].tolist() if r]
        data["first_violation"] = int(min(first, default=0))
    return data


def verdicts(claims: Sequence[Claim]) -> Iterator[str]:
    """Return the verdict on each figure, and what it shows beside what was measured."""
    if not claims:
        yield "no verdict: cells are missing"
    for figure in dict.fromkeys(claim.figure for claim in claims):
        # The verdict on the whole figure comes first.
        whole, *parts = [claim for claim in claims if claim.figure == figure]
        horizons = sorted({int(T) for part in parts for T in part.published})
        values = f"; values at T = {', '.join(map(str, horizons))}" if horizons else ""
        yield f"Figure {figure}: {whole.verdict}{values}"
        head = ("shown", "row", "published", "measured", "verdict")
        rows = list(map(_claim_cells, parts))
        filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
        cells = [[row[i] for i in filled] for row in rows]
        yield from table([head[i] for i in filled], cells, paint=COLOURS, indent=2)


def _claim_cells(claim: Claim) -> tuple[str, ...]:
    from surefoot.experiments.record import OTHER_CONSTANTS

    # The middle verdict is shorter where a table has no room for all of it.
    verdict = "with other constants" if claim.verdict == OTHER_CONSTANTS else claim.verdict
    # By horizon: a file has them in the order of the texts.
    numbers = (
        ", ".join("-" if values[T] is None else f"{values[T]:.4g}" for T in sorted(values, key=int))
        for values in (claim.published, claim.measured)
    )
    return claim.statement, claim.settings, *numbers, verdict
