"""Certified balls along a run: how far each step may go, and how far it went.

A lopsided polygon, costs that pull towards one corner and then towards another, and certified
steps that are told nothing but G_g. Saves one figure; needs the extra ``plot`` (matplotlib).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from surefoot import Ball, Feedback
from surefoot.core.types import Array
from surefoot.knowledge import StepCertificate
from surefoot.problems.constraints import Affine
from surefoot.rules import CertifiedPFS

POLYGON = Affine(
    [[1.0, 0.0], [0.6, 0.8], [-0.8, 0.6], [-0.28, -0.96], [0.8, -0.6]], [1.0, 0.9, 0.8, 0.7, 0.9]
)
START = np.array([-0.1, 0.1])
ROUNDS, TURN = 120, 60
SHOWN = (1, 2, 3, 5, 9, 14, 25, 61, 65, 71, 80)  # rounds whose ball is drawn
COLOUR = {"slack": "#0072B2", "contraction": "#D55E00", "stayed": "#666666"}
INK, FILL = "#333333", "#EEF3F7"


class Round(NamedTuple):
    """One round: where it began, where it led, why that was safe, and how far it wanted to go."""

    x: Array
    after: Array
    g: float
    certificate: StepCertificate
    wanted: float


def run(rounds: int = ROUNDS) -> list[Round]:
    """Certified steps against a pull to the right, which turns to the lower left."""
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.6), rho=0.8)
    state, played = player.init(START), []
    for t in range(rounds):
        g, s = POLYGON.query(state.x)
        pull = np.array([-3.0, -2.0]) if t < TURN else np.array([1.5, 2.5])
        seen = Feedback(pull, g, s)
        after, info = player.step(state, seen)
        wanted = float(np.linalg.norm(info.proposal - state.x))
        why = cast(StepCertificate, info.certificate)
        played.append(Round(state.x, after.x, g, why, wanted))
        state = after
    return played


def figure_of(played: Sequence[Round]) -> Figure:
    """Draw the balls in the plane, the lengths, and g with its certified bound."""
    figure = Figure(figsize=(11.0, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1.15, 1.0])
    _plane(figure.add_subplot(grid[:, 0]), played)
    upper = figure.add_subplot(grid[0, 1])
    _lengths(upper, played)
    _values(figure.add_subplot(grid[1, 1], sharex=upper), played)
    return figure


def _plane(ax: Axes, played: Sequence[Round]) -> None:
    span = np.linspace(-1.35, 1.35, 500)
    X, Y = np.meshgrid(span, span)
    g = POLYGON.query(np.column_stack([X.ravel(), Y.ravel()]))[0].reshape(X.shape)
    ax.contourf(X, Y, g, levels=[-np.inf, 0.0], colors=[FILL])
    ax.contour(X, Y, g, levels=[0.0], colors=[INK], linewidths=1.4)
    last = played[-1].certificate.rho
    ax.contour(X, Y, g, levels=[-last], colors=[INK], linewidths=0.8, linestyles="--")
    path = np.array([r.x for r in played])
    ax.plot(path[:, 0], path[:, 1], color=INK, linewidth=0.8, marker=".", markersize=3)
    ax.plot(*START, "+", color=INK, markersize=11, markeredgewidth=1.6)
    for t in SHOWN:
        if t > len(played):
            continue
        x, _, _, certificate, _ = played[t - 1]
        colour = COLOUR[certificate.rule]
        ball = Circle((float(x[0]), float(x[1])), max(certificate.length, 0.0))
        ball.set(facecolor=colour, edgecolor=colour, alpha=0.18, linewidth=0.0)
        ax.add_patch(ball)
        ring = Circle((float(x[0]), float(x[1])), max(certificate.length, 0.0))
        ring.set(fill=False, edgecolor=colour, linewidth=1.0)
        ax.add_patch(ring)
    for rule, words in (
        ("slack", "certified by its slack: the whole ball is feasible"),
        ("contraction", "certified by moving back: feasible after the cut"),
    ):
        ax.plot([], [], "o", color=COLOUR[rule], alpha=0.5, markersize=9, label=words)
    ax.plot([], [], color=INK, linewidth=1.4, label="g = 0")
    ax.plot([], [], "--", color=INK, linewidth=0.8, label=f"g = -rho in round {len(played)}")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-1.3, 1.3), ylim=(-1.15, 1.45))
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", frameon=False, fontsize=8)
    ax.set_title(f"certified balls of rounds {', '.join(map(str, SHOWN))}", fontsize=9)


def _lengths(ax: Axes, played: Sequence[Round]) -> None:
    t = np.arange(1, len(played) + 1)
    certificates = [r.certificate for r in played]
    ax.semilogy(t, [c.rho / c.G_g for c in certificates], "--", color=INK, lw=0.9)
    ax.semilogy(t, [r.wanted for r in played], color="#999999", lw=0.9)
    ax.semilogy(t, [c.length for c in certificates], color="#009E73", lw=1.4)
    ax.semilogy(t, [c.taken for c in certificates], ".", color="black", ms=3)
    for words, colour, style in (
        ("certified length", "#009E73", "-"),
        ("step wanted", "#999999", "-"),
        ("step taken", "black", ":"),
        ("rho / G_g", INK, "--"),
    ):
        ax.plot([], [], style, color=colour, label=words)
    ax.legend(frameon=False, fontsize=8, ncols=2)
    ax.set_ylabel("length")
    ax.spines[["top", "right"]].set_visible(False)


def _values(ax: Axes, played: Sequence[Round]) -> None:
    t = np.arange(1, len(played) + 1)
    ax.axhline(0.0, color=INK, linewidth=1.2)
    ax.plot(t, [r.g for r in played], color="#0072B2", lw=1.4, label="g of the action played")
    bounds = [math.nan, *(r.certificate.bound for r in played[:-1])]
    ax.plot(t, bounds, ".", color="#D55E00", ms=3, label="certified before it was played")
    ax.plot(t, [-r.certificate.rho for r in played], "--", color=INK, lw=0.9, label="-rho")
    ax.set(xlabel="round", ylabel="g", ylim=(-0.52, 0.04))
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, save the figure, say what was certified."""
    parser = argparse.ArgumentParser(description="Certified balls along a run.")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the figure")
    folder = parser.parse_args(arguments).out
    played = run()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "certified.png"
    figure_of(played).savefig(path, dpi=130)
    for t in (1, 10, 100):
        print(played[t - 1].certificate)
    print(f"largest g of {len(played)} rounds: {max(r.g for r in played):.3g}; {path} saved")


if __name__ == "__main__":
    main()
