"""What every case shows: one table, one picture, one command.

A case is a folder ``cases/NAME`` with a README, a requirements file and a module ``__main__`` that
calls :func:`main`. ``python -m cases.NAME`` plays it in full and writes table and picture into its
README; ``--small`` plays a short version and prints the table. A case whose modules import what
``requirements.txt`` names calls :func:`require` in its ``__init__``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from benchmarks.pages import table, write_page

from surefoot.core.optional import MissingExtraError
from surefoot.core.types import Array

__all__ = ["Run", "draw", "find_missing", "main", "require"]

OURS, THEIRS, KNOWING = "#0072B2", "#D55E00", "#009E73"


@dataclass(frozen=True)
class Run:
    """One rule's run of a case.

    Args:
        rule: its name in the table.
        knows: what it knows beforehand, in a few words.
        g: the largest limit in every round, one row for each seed; above 0 is outside.
        more: further columns of the table, by their heads.
        certified: whether a theorem says that it is never outside; such a run fails the case if
            it is.
        drawn: whether the picture shows it.
        colour: of its line; by what it promises unless given.
    """

    rule: str
    knows: str
    g: Array
    more: dict[str, str] = field(default_factory=dict)
    certified: bool = False
    drawn: bool = True
    colour: str | None = None

    @property
    def outside(self) -> int:
        """How many rounds of all seeds were outside, by an exact comparison."""
        return int((np.asarray(self.g) > 0).sum())


def find_missing(folder: Path) -> list[str]:
    """Return the packages of a case's requirements file that are not installed."""
    installed = {
        re.sub(r"[-_.]+", "-", found.name).lower() for found in importlib.metadata.distributions()
    }
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    names = [re.split(r"[^\w.-]", line)[0] for line in lines if line and not line.startswith("#")]
    return [name for name in names if re.sub(r"[-_.]+", "-", name).lower() not in installed]


def require(folder: Path) -> None:
    """Refuse to go on without the packages of a case; name the file that lists them."""
    if missing := find_missing(folder):
        raise MissingExtraError(
            f"the case {folder.name!r} needs {', '.join(missing)}: "
            f"pip install -r cases/{folder.name}/requirements.txt"
        )


def tabulate(runs: Sequence[Run]) -> list[str]:
    """Return the table of the runs as lines of Markdown."""
    head = ("rule", "knows beforehand", "violations", "largest g", *runs[0].more)
    return table(
        head,
        [
            [
                f"**{run.rule}**" if run.certified else run.rule,
                run.knows,
                f"{run.outside:,} of {np.size(run.g):,}",
                f"{np.max(run.g):+.2g}",
                *run.more.values(),
            ]
            for run in runs
        ],
    )


def draw(
    path: Path,
    runs: Sequence[Run],
    *,
    rounds: Array,
    unit: str,
    limit: str,
    part: slice = slice(None),
    least: float | None = None,
    most: float | None = None,
) -> None:
    """Save the picture of a case: g over time in the first seed, the limit at 0.

    Args:
        path: of the PNG file.
        runs: those with ``drawn`` are shown.
        rounds: the time of each round, for the horizontal axis.
        unit: what the horizontal axis counts.
        limit: what g is, for the vertical axis.
        part: the rounds that are shown; all unless given.
        least: where the vertical axis begins, if not at the least g.
        most: where it ends, if not at the largest.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 2.9), layout="constrained")
    ax = figure.subplots()
    ax.axhline(0.0, color="black", lw=0.9)
    for run in runs:
        if run.drawn:
            colour = run.colour or (OURS if run.certified else THEIRS)
            first = np.atleast_2d(run.g)[0][part]
            label = f"{run.rule} ({int((first > 0).sum()):,} violations)"
            ax.plot(rounds, first, color=colour, lw=1.1, label=label)
    ax.set(xlabel=unit, ylabel=limit, xlim=(rounds[0], rounds[-1]))
    ax.set_ylim(least, most)
    top = ax.get_ylim()[1]
    if top > 0:
        ax.axhspan(0.0, top, color=THEIRS, alpha=0.08, lw=0)
        ax.set_title("above 0: the limit is broken", loc="right", color=THEIRS, fontsize=8)
        ax.set_ylim(top=top)
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def main(
    folder: Path,
    play: Callable[[bool], Sequence[Run]],
    paint: Callable[[Path, Sequence[Run]], None],
) -> None:
    """Play a case by its command.

    Args:
        folder: of the case: its README has the marks between which the table goes, and its picture
            is ``docs/images/case_NAME.png``.
        play: plays the short version if told True, the whole one else.
        paint: saves the picture.
    """
    parser = argparse.ArgumentParser(prog=f"python -m cases.{folder.name}")
    parser.add_argument("--small", action="store_true", help="a short version; writes nothing")
    small = parser.parse_args().small
    require(folder)
    runs = play(small)
    lines = tabulate(runs)
    print("\n".join(lines))
    for run in runs:
        if run.certified and run.outside:
            raise SystemExit(f"{run.rule} was outside in {run.outside} rounds: a defect")
    if not small:
        write_page(folder / "README.md", lines)
        picture = folder.parents[1] / "docs" / "images" / f"case_{folder.name}.png"
        paint(picture, runs)
        print(f"written: {folder.name}/README.md and {picture.name}")
