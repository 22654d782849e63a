"""The hall of docs/cooling.md, in several weeks: ``python -m benchmarks.cooling --write``.

It runs the programs that stand on the page, with other weather, other meters and another column,
judges every round in exact arithmetic, and writes the table and the picture of the page.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pages import table, write_section
from surefoot.core.types import Array

__all__ = ["HALL", "LIMIT", "PAGE", "PROGRAM", "WITH_SLOPES", "Week", "judge", "play"]

PAGE = Path(__file__).parents[1] / "docs/cooling.md"
PICTURE = PAGE.parent / "images/cooling.png"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
HALL, PROGRAM, WITH_SLOPES = PROGRAMS[:3]
LIMIT = 27
ROUNDS = 672
WEEKS, METERS = (7, 8, 9), (4, 1)
"""The seeds of weather and of meters; the first of each are those of the page."""

VARIANTS: dict[str, tuple[tuple[str, str], ...]] = {
    "as above": (),
    'weather known by a bound, `Column(G_c=1.0, worse="up", changes=0.8)`': (
        ("adds=1.0", 'G_c=1.0, worse="up"'),
    ),
    "a meter that errs by 0.5 K": (
        ("0.2, 0.2", "0.5, 0.5"),
        ("value_error=0.2", "value_error=0.5"),
    ),
    "half of the readings missing": (("0.05", "0.5"),),
}
"""What is replaced in the programs."""


class Played(NamedTuple):
    """A round as the plant had it.

    Attributes:
        x: the set points.
        outside: in degrees.
        load: in MW.
    """

    x: Array
    outside: float
    load: float


class Week(NamedTuple):
    """What programs of the page left.

    Attributes:
        names: their names.
        rounds: what was played, in order.
    """

    names: dict[str, Any]
    rounds: list[Played]

    def energy(self, first: int) -> float:
        """Return the energy of the week that begins with a round, in kWh."""
        part = self.rounds[first : first + ROUNDS]
        return sum(float(self.names["power"](one.x)) / 4 for one in part)


def judge(played: Played) -> Fraction:
    """Return the temperature of a round in exact arithmetic, for the floats that were played."""
    *fans, pump, cooler, chiller = (Fraction(float(part)) for part in played.x)
    warmer = (Fraction(2), Fraction(1.7), Fraction(1.4))
    aisle = max(rise / fan for rise, fan in zip(warmer, fans, strict=True))
    balance = Fraction(float(played.load)) * (aisle + 2 / pump + 3 / cooler)
    return Fraction(float(played.outside)) + balance - 16 * chiller


def play(*programs: str, hall: str = HALL) -> Week:
    """Return what programs of the page leave, after its hall; nothing is printed."""
    names: dict[str, Any] = {"__name__": "page"}
    rounds: list[Played] = []
    with contextlib.redirect_stdout(io.StringIO()):
        exec(hall, names)
        hottest = names["hottest"]

        def watched(x: Array, outside: float, load: float) -> float:
            rounds.append(Played(np.array(x), outside, load))
            return float(hottest(x, outside, load))

        names["hottest"] = watched
        for program in programs:
            exec(program, names)
    return Week(names, rounds)


def play_variant(changes: Sequence[tuple[str, str]], week: int, meter: int) -> Week:
    """Return a week without and a week with slopes, after some changes of the programs.

    Args:
        changes: what is replaced by what.
        week: the seed of the weather.
        meter: the seed of errors and gaps.
    """
    programs = []
    for program in (PROGRAM, WITH_SLOPES):
        for old, new in (*changes, ("default_rng(4)", f"default_rng({meter})")):
            program = program.replace(old, new)
        programs.append(program)
    hall = HALL.replace("default_rng(7)", f"default_rng({week})")
    return play(*programs, hall=hall)


def find_least(names: dict[str, Any]) -> float:
    """Return the least energy of a week, with everything known beforehand, in kWh.

    Args:
        names: those of the page.
    """
    from scipy.optimize import minimize

    rated, warmer = names["rated"], names["warmer"]

    def slope(x: Array) -> Array:
        return np.append(3 * rated * x[:5] ** 2, 140.0)

    def slacks(x: Array, outside: float, load: float) -> Array:
        each = outside + load * (warmer / x[:3] + 2.0 / x[3] + 3.0 / x[4]) - 16.0 * x[5]
        return np.asarray(LIMIT - each)

    box = names["player"].domain
    total, x = 0.0, np.full(6, 0.7)
    for place in names["week"][:ROUNDS:4]:  # one round of an hour
        limits = {"type": "ineq", "fun": slacks, "args": tuple(place)}
        bounds = list(zip(box.lower, box.upper, strict=True))
        x = minimize(names["power"], x, jac=slope, bounds=bounds, constraints=[limits]).x
        total += float(names["power"](x))
    return total


def lines_of() -> list[str]:
    """Play all weeks of all variants; return the lines of the table."""
    rows, least = [], []
    for name, changes in VARIANTS.items():
        above, ratios = 0, []
        without, with_slopes = [], []
        for week in WEEKS:
            for meter in METERS:
                played = play_variant(changes, week, meter)
                above += sum(judge(one) > LIMIT for one in played.rounds)
                without.append(played.energy(0))
                with_slopes.append(played.energy(ROUNDS))
                ratios.append(without[-1] / with_slopes[-1])
            if not changes:
                least.append(find_least(played.names))
        mean, low, high = np.mean(ratios), min(ratios), max(ratios)
        cells = [f"{np.mean(without):,.0f}", f"{np.mean(with_slopes):,.0f}"]
        rows.append([name, f"{above}", *cells, f"{mean:.2f} ({low:.2f} to {high:.2f})"])
    weeks = len(WEEKS) * len(METERS)
    head = ["", "rounds above 27 °C", "kWh, values", "kWh, slopes", "ratio"]
    return [
        *table(head, rows),
        "",
        f"Each line has {weeks} weeks, without slopes and with them: {2 * weeks * ROUNDS:,} "
        f"rounds. With everything known, and without a ramp, {np.mean(least):,.0f} kWh are enough.",
    ]


def paint(week: Week, path: Path) -> None:
    """Save the picture of the page's week.

    Args:
        week: that of the first program.
        path: of the PNG file.
    """
    from matplotlib.figure import Figure

    days = np.arange(ROUNDS) / 96
    rounds = week.rounds[:ROUNDS]
    x = np.array([one.x for one in rounds])
    hottest = [float(judge(one)) for one in rounds]
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    top.axhline(LIMIT, color="black", lw=0.9)
    top.axhspan(LIMIT, LIMIT + 6, color="#D55E00", alpha=0.08, lw=0)
    top.plot(days, hottest, color="#0072B2", lw=1.1, label="hottest rack")
    top.plot(days, [one.outside for one in rounds], color="#888888", lw=0.9, label="outside")
    top.set(ylabel="°C", ylim=(0, LIMIT + 6))
    lines = {"chiller": x[:, 5], "cooler": x[:, 4], "pump": x[:, 3], "fans, mean": x[:, :3].mean(1)}
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
    for (name, line), colour in zip(lines.items(), colours, strict=True):
        bottom.plot(days, line, color=colour, lw=1.0, label=name)
    bottom.set(ylabel="share of full", xlabel="days", xlim=(0, 7), ylim=(0, 1.03))
    for ax in (top, bottom):
        ax.legend(frameon=False, fontsize=8, ncol=4, loc="lower right", bbox_to_anchor=(1.0, 0.98))
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def main() -> int:
    """Play the weeks; print the table, or write it and the picture into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cooling", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table and the picture")
    given = parser.parse_args()
    lines = lines_of()
    print(*lines, sep="\n")
    if given.write:
        write_section(PAGE, "weeks", lines)
        paint(play(PROGRAM), PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
