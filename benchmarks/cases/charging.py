"""Charging at Caltech and JPL for a month: certified regions and what sites use now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import table
from surefoot.algorithms import DPP
from surefoot.problems.cases import (
    CertifiedCharging,
    ChargingRecord,
    ChargingRule,
    ChargingSite,
    Minute,
    as_fast_as_possible,
    charging_site,
    equal_share,
    least_laxity_first,
    projected_charging,
    round_robin,
    waiting_for_clean_power,
)
from surefoot.problems.cases.charging import LARGEST, Site
from surefoot.sets import Box
from surefoot.types import Array, Feedback

MONTH = "2019-10"
SITES: tuple[Site, ...] = ("caltech", "jpl")


def drift_plus_penalty(site: ChargingSite, V: float, alpha: float) -> ChargingRule:
    """Return DPP in shares of 32 A and of the ratings, its domain the announced box."""
    m, ratings = len(site.network.ratings), site.network.ratings
    memory: list[Any] = []

    def rule(minute: Minute) -> Array:
        box = Box(np.zeros(site.chargers), minute.upper / LARGEST)
        x = minute.action / LARGEST
        player = DPP(V=V, alpha=alpha, rows=m, domain=box)
        queues = memory.pop().queues if memory else np.zeros(m)
        slopes = LARGEST * minute.slopes / ratings[:, None]
        seen = Feedback(x - minute.upper / LARGEST, minute.values / ratings, slopes)
        state = player.init(np.zeros(site.chargers))._replace(x=x, queues=queues)
        memory.append(player.update(state, seen))
        return np.minimum(LARGEST * memory[0].x, minute.upper)

    return rule


def rules(site: ChargingSite) -> dict[str, tuple[str, ChargingRule]]:
    """Return the rules by name, each with what it knows of the network."""
    network, T = site.network, site.minutes
    return {
        "no limit": ("nothing, and ignores it", as_fast_as_possible),
        "equal share": ("one safe current for all", equal_share(network)),
        "**certified regions**": ("curvatures; measures", CertifiedCharging(network.curvatures)),
        "**certified regions**, waiting for clean power": (
            "curvatures; measures",
            CertifiedCharging(network.curvatures, waiting_for_clean_power),
        ),
        "DPP, its theorem's tuning": ("measures", drift_plus_penalty(site, T**0.5, float(T))),
        "DPP, V = 1, alpha = 1": ("measures", drift_plus_penalty(site, 1.0, 1.0)),
        "projected descent": ("the network", projected_charging(network)),
        "projected descent, waiting for clean power": (
            "the network",
            projected_charging(network, waiting_for_clean_power),
        ),
        "round robin": ("the network", round_robin(network)),
        "least laxity first": ("the network", least_laxity_first(network)),
    }


def line(name: str, knows: str, done: ChargingRecord, best: float) -> list[str]:
    """Return the cells of a rule."""
    return [
        name,
        knows,
        f"{done.over:,}",
        f"{done.worst:.2g}",
        f"{done.delivered:,.0f}",
        f"{done.delivered / done.asked:.1%}",
        f"{done.delivered / best:.1%}",
        f"{done.carbon:,.0f}",
        f"{done.microseconds:,.0f}",
    ]


def measure(
    images: Path | None,
    days: int | None = None,
    play: Callable[[ChargingSite], dict[str, tuple[str, ChargingRule]]] = rules,
) -> Iterator[str]:
    """Play both sites; yield the tables, save the figure."""
    head = ["rule", "knows", "minutes over", "worst g, A", "kWh delivered", "of kWh asked for"]
    head += ["of projected descent", "kg CO2", "µs per decision"]
    for name in SITES:
        site = charging_site(name, MONTH, days)
        found = {word: (knows, site.run(rule), rule) for word, (knows, rule) in play(site).items()}
        best = found["projected descent"][1].delivered
        any_ = found["no limit"][1]
        certified = found["**certified regions**"][2]
        yield (
            f"### {name.capitalize() if name == 'caltech' else 'JPL'}: {site.chargers} chargers, "
            f"{len(site.network.ratings)} limits, {len(site.sessions['arrival']):,} sessions, "
            f"{site.minutes:,} minutes"
        )
        yield ""
        yield from table(head, [line(w, k, d, best) for w, (k, d, _) in found.items()])
        yield ""
        yield (
            f"Asked for: {any_.asked:,.0f} kWh; at 32 A without limits the cars could take "
            f"{any_.possible:,.0f} kWh before they leave. Certified regions fell back on the "
            f"measurement of the empty site in {getattr(certified, 'restarts', 0)} minutes, when "
            f"cars left at once."
        )
        yield ""
        if images is not None:
            draw(images / f"cases_charging_{name}.png", {w: d for w, (_, d, _) in found.items()})


def draw(path: Path, found: dict[str, ChargingRecord], day: int = 1) -> None:
    """Save the loads of one day."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    ax = figure.subplots()
    hours = np.arange(1440) / 60.0
    show = {"no limit": "#BBBBBB", "equal share": "#E69F00", "projected descent": "#009E73"}
    for name, colour in {**show, "**certified regions**": "#0072B2"}.items():
        some = found[name].loads[1440 * day : 1440 * (day + 1)]
        if len(some) == 1440:
            ax.plot(hours, some, color=colour, lw=1.3, label=name.strip("*"))
    ax.axhline(1.0, color="#333333", lw=0.8)
    ax.set(xlabel="hour", ylabel="largest share of a rating", xlim=(4, 22))
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
