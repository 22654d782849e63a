"""What is certified, from the same two actions, by what one knows of the constraint.

An ellipse, two actions inside of it, and three kinds of knowledge: a bound on the subgradients with
the last action alone, the same with both actions, and a bound on the curvature. Saves one figure;
needs the extra ``plot`` (matplotlib).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from surefoot.core.types import Array
from surefoot.knowledge import Curvature, Knowledge, LipschitzHull, Reading, Region

ACTIONS = (np.array([-0.2, 0.05]), np.array([0.55, 0.25]))
STEEPEST, BENT, REACH = 2.4, 2.0, 1.5
INK, FILL, COLOUR = "#333333", "#EEF3F7", "#0072B2"


def limit(x: Array) -> tuple[float, Array]:
    """Return g = x^2 + 4 y^2/3 - 1 halved, and its gradient."""
    g = 0.5 * (x[0] ** 2 + x[1] ** 2 / 0.75 - 1.0)
    return float(g), np.array([x[0], x[1] / 0.75])


class Kind(NamedTuple):
    """A kind of knowledge, and the region that it makes of the two actions."""

    name: str
    region: Region


def kinds() -> list[Kind]:
    """Return the three regions."""
    hull, bent = LipschitzHull(G_g=STEEPEST / 2, reach=REACH), Curvature(beta=BENT, reach=REACH)
    last = ACTIONS[-1]
    return [
        Kind("you know how steep g can get:\none measurement", _after(hull, last)),
        Kind("you know how steep g can get:\ntwo measurements", _after(hull, *ACTIONS)),
        Kind("you know how curved g can get:\none measurement", _after(bent, *ACTIONS)),
    ]


def _after(known: Knowledge, *actions: Array) -> Region:
    """Return what is certified after these actions were played."""
    memory = known.init(actions[0])
    for x in actions:
        memory = known.observe(memory, Reading(x, *limit(x), known.errors))
    return known.region(memory, known.errors)


def certified(region: Region, points: Array) -> Array:
    """Return which points a region leaves where they are."""
    return np.array([bool((region.nearest(p) == p).all()) for p in points])


def outline(region: Region, corners: int) -> Array:
    """Return the boundary of a region: the points nearest to points far away, all around."""
    turn = np.linspace(0.0, 2 * np.pi, corners)
    far = 50.0 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.array([region.nearest(p) for p in far])


def figure_of(found: Sequence[Kind], corners: int = 720) -> Figure:
    """Return the regions side by side, in the feasible set."""
    turn = np.linspace(0.0, 2 * np.pi, corners)
    edge = np.stack([np.cos(turn), np.sqrt(0.75) * np.sin(turn)])
    figure = Figure(figsize=(10.5, 3.4), layout="constrained")
    for ax, kind in zip(figure.subplots(1, len(found)), found, strict=True):
        ax.fill(*edge, color=FILL)
        ax.plot(*edge, color=INK, lw=1.2)
        ax.fill(*outline(kind.region, corners).T, color=COLOUR, alpha=0.35, lw=0)
        for k, action in enumerate(ACTIONS, start=1):
            ax.plot(*action, "o", color=INK, ms=4)
            ax.annotate(f"$x_{k}$", action, textcoords="offset points", xytext=(5, 3))
        ax.set_title(kind.name, fontsize=11)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Save the figure, and say how much of the set each region covers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--corners", type=int, default=720)
    options = parser.parse_args(arguments)
    found = kinds()
    options.out.mkdir(parents=True, exist_ok=True)
    figure_of(found, options.corners).savefig(
        options.out / "regions.png", dpi=130, bbox_inches="tight"
    )
    axis = np.linspace(-1.1, 1.1, 60)
    points = np.array([[a, b] for a in axis for b in axis])
    inside = np.array([limit(p)[0] <= 0 for p in points])
    for kind in found:
        share = (certified(kind.region, points) & inside).sum() / inside.sum()
        word = kind.name.replace("\n", " ")
        print(f"{word}: {100 * share:.0f}% of the set is certified")


if __name__ == "__main__":
    main()
