"""The paper's experiment, played five ways: one table and two figures.

Online gradient descent with Polyak feasibility steps (PFS) on the published random streams, with
the parameters that the published figure shows, that the text states, that the released script
has, that the paper's own assumptions demand, and that minimise the paper's own bound. Each is
given the guarantee that its constants claim, and the watch says which claims do not hold.

Run by ``make demo``; needs the extras ``cli`` (rich) and ``plot`` (matplotlib).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from surefoot import PFS, Problem, Trace, Tuned, play_all
from surefoot.games import Breach, Progress
from surefoot.problems import HORIZONS, SETTINGS, Setting, paper_toy
from surefoot.theory import Theorem1
from surefoot.types import Array

THIN = 300  # Figure 2 of the paper shows every 300th action
SHOWN = (2_000, 10_000, 20_000)  # horizons in the table
WIDE = 120  # from this width on, the table fits without folding


class Contest(NamedTuple):
    """One way to choose the parameters: a player for each horizon."""

    name: str
    players: list[Tuned[PFS]]


class Outcome(NamedTuple):
    """What came of it: a trace for each horizon, and the regret, ``(horizons, trials)``."""

    name: str
    traces: list[Trace]
    regret: Array


# --- who plays -----------------------------------------------------------------------------------


def as_claimed(setting: Setting, toy: Problem, horizon: int) -> Tuned[PFS]:
    """A setting with what Theorem 1 would promise if the constants it puts in were right.

    Corollary 1 is not the claim to check: two of the three settings have a rho of their own.
    Theorem 1 covers any rho up to epsilon.
    """
    eta, rho = setting.parameters(horizon)
    constants = toy.constants.with_origin("given", G_f=setting.G_f)
    player = PFS(eta=eta, rho=rho, domain=toy.domain)
    return Tuned(player, Theorem1(constants, eta, rho, horizon))


def contests(toy: Problem, horizons: Sequence[int]) -> list[Contest]:
    """The five ways, those of the paper first."""
    published = [
        Contest(setting.name, [as_claimed(setting, toy, T) for T in horizons])
        for setting in SETTINGS
    ]
    return [
        *published,
        Contest("as demanded", [PFS.anytime(toy.constants, T) for T in horizons]),
        Contest("tuned", [PFS.tuned(toy.constants, T) for T in horizons]),
    ]


def played(
    contest: Contest, toy: Problem, callback: Callable[[Progress], None] | None = None
) -> Outcome:
    """All horizons and trials of a contest in one array program."""
    # "record", not "warn": the broken premises are the point, and belong in the table.
    traces = play_all(contest.players, toy, every=THIN, watch="record", callback=callback)
    return Outcome(contest.name, traces, np.array([trace.final_regret() for trace in traces]))


# --- what came of it -----------------------------------------------------------------------------


def first_breach(outcome: Outcome) -> Breach | None:
    """The earliest broken premise among all runs."""
    breaches = [breach for trace in outcome.traces for breach in trace.breaches]
    return min(breaches, key=lambda b: b.round, default=None)


def largest_gradient(outcome: Outcome) -> float:
    """The largest cost gradient met in any run."""
    seen = [trace.observed for trace in outcome.traces if trace.observed is not None]
    return max(float(np.max(o.cost_gradient)) for o in seen)


def breach_text(outcome: Outcome) -> str:
    """The broken premise in a table's cell: constant, round and value, and how far it went."""
    breach = first_breach(outcome)
    if breach is None:
        return "none"
    name, limit = breach.premise.constant, breach.premise.limit
    text = f"{name} = {limit:.4g}: round {breach.round} has {breach.observed:.4g}"
    if breach.premise.quantity == "cost gradient":
        text += f", later up to {largest_gradient(outcome):.4g}"
    return text


def bound_text(outcome: Outcome) -> str:
    """The regret bound at the last horizon; in brackets where a premise broke."""
    trace = outcome.traces[-1]
    if trace.guarantee is None:
        return "-"
    bound = f"{float(trace.guarantee.regret_bound(trace.horizon)):,.0f}"
    return bound if first_breach(outcome) is None else f"({bound})"


def table_row(outcome: Outcome, horizons: Sequence[int]) -> list[str]:
    """Setting, regret at each horizon, violations, largest g, bound, premises broken."""
    at = {trace.horizon: r for trace, r in zip(outcome.traces, outcome.regret, strict=True)}
    regret = [f"{at[T].mean():.2f} ± {at[T].std():.2f}" for T in horizons]
    count = sum(int(np.sum(trace.violations.count)) for trace in outcome.traces)
    worst = max(float(np.max(trace.violations.worst)) for trace in outcome.traces)
    return [
        outcome.name,
        *regret,
        f"{count:,}",
        f"{worst:.2g}",
        bound_text(outcome),
        breach_text(outcome),
    ]


def result_table(outcomes: Sequence[Outcome], horizons: Sequence[int], width: int) -> Table:
    """The one table, in as many columns of text as there are; 80 are enough."""
    first = outcomes[0].traces
    runs = first[0].runs or 1
    rounds = runs * sum(trace.horizon for trace in first)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=f"PFS on the paper's experiment: {runs} trials, {len(first)} horizons",
        caption=(
            "Regret by horizon: mean ± standard deviation. g > 0 and max g: of all "
            f"{rounds:,} rounds of a row. A bound in brackets promises nothing: a premise broke."
        ),
        caption_justify="left",
    )
    heads = [
        "setting",
        *(f"regret\n{T:,}" for T in horizons),
        "g > 0",
        "max g",
        f"bound\n{first[-1].horizon:,}",
    ]
    for head in _folded(heads, width):
        table.add_column(head, justify="left" if head == "setting" else "right", no_wrap=True)
    table.add_column("premise broken")
    for outcome in outcomes:
        *cells, premise = table_row(outcome, horizons)
        table.add_row(*_folded(cells, width), premise)
    return table


def _folded(cells: list[str], width: int) -> list[str]:
    """On a narrow terminal, deviations below their means, and the largest g below the count."""
    if width >= WIDE:
        return cells
    *first, count, worst, bound = (cell.replace(" ± ", "\n± ") for cell in cells)
    return [*first, f"{count}\n{worst}", bound]


# --- figures -------------------------------------------------------------------------------------

# Okabe and Ito's palette keeps its hues apart for colour-blind readers; markers differ as well.
STYLE = {
    "as plotted": ("#D55E00", "s"),
    "as written": ("#CC79A7", "^"),
    "as released": ("#56B4E9", "o"),
    "as demanded": ("#0072B2", "x"),
    "tuned": ("#009E73", "D"),
}
INK, FILL = "#444444", "#F2EFE6"


class Curve(NamedTuple):
    """A drawn curve for the legend, which lists curves from the highest end to the lowest."""

    end: float
    handle: Any
    label: str


def regret_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Regret against the horizon with error bars, and the bounds whose premises held."""
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    ax = figure.subplots()
    curves = [curve for outcome in outcomes for curve in _regret_curves(ax, outcome)]
    curves.sort(key=lambda curve: -curve.end)
    traces = outcomes[0].traces
    horizons = [trace.horizon for trace in traces]
    ticks = [T for T in horizons if T in (*SHOWN, 4_000)] or horizons
    ax.set(xscale="log", yscale="log", xlabel="horizon $T$", ylabel="regret")
    ax.set_xticks(ticks, [f"{T:,}" for T in ticks])
    ax.set_xticks(horizons, [""] * len(horizons), minor=True)
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    title = f"PFS on the paper's experiment, mean ± std of {traces[0].runs} trials"
    ax.set_title(title, loc="left")
    ax.grid(visible=True, which="major", color="#DDDDDD", lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        [curve.handle for curve in curves],
        [curve.label for curve in curves],
        title=f"at T = {horizons[-1]:,}",
        alignment="left",
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),  # beside the axes, where no curve can run through it
        frameon=False,
    )
    return figure


def _regret_curves(ax: Axes, outcome: Outcome) -> list[Curve]:
    colour, marker = STYLE.get(outcome.name, (INK, "."))
    horizons = [trace.horizon for trace in outcome.traces]
    mean = outcome.regret.mean(axis=1)
    hollow = marker == "o"  # two curves nearly coincide: a ring lets the other show through
    bars = ax.errorbar(
        horizons,
        mean,
        yerr=outcome.regret.std(axis=1),
        color=colour,
        marker=marker,
        markersize=10 if hollow else 4,
        markerfacecolor="none" if hollow else colour,
        linewidth=1.4,
        capsize=2.5,
    )
    sound = first_breach(outcome) is None
    label = f"{outcome.name}: {mean[-1]:,.0f}" + ("" if sound else " (premise broken, no bound)")
    curves = [Curve(mean[-1], bars, label)]
    if sound:
        bounds = [
            float(trace.guarantee.regret_bound(trace.horizon))
            for trace in outcome.traces
            if trace.guarantee is not None
        ]
        (line,) = ax.plot(horizons, bounds, color=colour, linestyle="--", linewidth=1.2)
        curves.append(Curve(bounds[-1], line, f"bound, {outcome.name}: {bounds[-1]:,.0f}"))
    return curves


def action_figure(outcomes: Sequence[Outcome], trial: int = 0) -> Figure:
    """Every 300th action of one trial at the last horizon, with the feasible set."""
    figure = Figure(figsize=(3.3 * len(outcomes) + 0.9, 4.1), layout="constrained")
    axes = figure.subplots(1, len(outcomes), sharey=True, squeeze=False)[0]
    for ax, outcome in zip(axes, outcomes, strict=True):
        trace = outcome.traces[-1]
        points = _plane(ax, trace, trial)
        # The upper right of the set is never visited: room to enlarge the corner.
        corner = ax.inset_axes((0.52, 0.52, 0.42, 0.42))
        _plane(corner, trace, trial)
        corner.set(xlim=(-0.508, -0.452), ylim=(-0.508, -0.452), xticks=[], yticks=[])
        ax.indicate_inset_zoom(corner, edgecolor=INK, alpha=0.5)
        ax.set_title(f"{outcome.name}: regret {outcome.regret[-1, trial]:,.0f}")
        ax.set(xlabel="$x_1$", xlim=(-0.58, 0.58), ylim=(-0.58, 0.58))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("$x_2$")
    figure.colorbar(points, ax=list(axes), label=f"round of {trace.horizon:,}, one trial", pad=0.01)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def kept_actions(trace: Trace, trial: int) -> tuple[Array, Array]:
    """The rounds and the actions of one trial that the figure shows."""
    assert trace.actions is not None
    shown = trace.rounds % THIN == 0
    return trace.rounds[shown], trace.actions[shown, trial]


def _plane(ax: Axes, trace: Trace, trial: int) -> Any:
    problem = trace.problem
    span = np.linspace(-0.6, 0.6, 241)
    X, Y = np.meshgrid(span, span)
    g = problem.benchmark.value(np.column_stack([X.ravel(), Y.ravel()])).reshape(X.shape)
    ax.contourf(X, Y, g, levels=[-np.inf, 0.0], colors=[FILL])
    ax.contour(X, Y, g, levels=[0.0], colors=[INK], linewidths=1.2)
    best = trace.regret([trace.horizon]).comparator.action[0, trial]
    ax.plot(*problem.start, "+", color=INK, ms=11, mew=1.5, ls="none", label="start")
    ax.plot(*best, "*", color="#D55E00", ms=13, ls="none", label="best fixed action in hindsight")
    rounds, actions = kept_actions(trace, trial)
    ax.set_aspect("equal")
    return ax.scatter(
        actions[:, 0],
        actions[:, 1],
        c=rounds,
        cmap="viridis",
        s=14,
        vmin=0,
        vmax=trace.horizon,
        label=f"every {THIN}th action",
    )


# --- the demonstration ---------------------------------------------------------------------------


def play_with_bar(toy: Problem, horizons: Sequence[int], console: Console) -> list[Outcome]:
    """Play every contest, with a bar where someone is there to see it."""
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeElapsedColumn(),
    )
    outcomes = []
    with Bar(*columns, console=console, disable=not console.is_terminal) as bar:
        for contest in contests(toy, horizons):
            task = bar.add_task(contest.name, total=max(horizons))

            def show(progress: Progress, task: TaskID = task) -> None:
                bar.update(task, completed=progress.round)

            outcomes.append(played(contest, toy, show))
    return outcomes


def save_figures(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Both figures as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    in_plane = [o for o in outcomes if o.name in ("as plotted", "as demanded", "tuned")]
    figures = {"regret.png": regret_figure(outcomes), "actions.png": action_figure(in_plane)}
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=160)
    return [folder / name for name in figures]


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, print the table, save the figures."""
    parser = argparse.ArgumentParser(description="The paper's experiment, played five ways.")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the figures")
    folder = parser.parse_args(arguments).out
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)  # a pipe has no width of its own
    begun = time.perf_counter()
    toy = paper_toy()
    outcomes = play_with_bar(toy, HORIZONS, console)
    console.print(result_table(outcomes, SHOWN, console.width))
    saved = save_figures(outcomes, folder)
    seconds = time.perf_counter() - begun
    console.print(f"{' and '.join(map(str, saved))} saved; {seconds:.0f} s in all", highlight=False)


if __name__ == "__main__":
    main()
