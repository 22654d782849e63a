"""Charging at Caltech and JPL for a month: certified regions and what sites use now."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.pages import table

from cases.charging import (
    LARGEST,
    ChargingRecord,
    ChargingRule,
    ChargingSite,
    Minute,
    Site,
    charging_site,
)
from cases.charging_rules import (
    CertifiedCharging,
    as_fast_as_possible,
    equal_share,
    least_laxity_first,
    projected_charging,
    round_robin,
)
from surefoot.algorithms import DPP
from surefoot.core.types import Array, Feedback
from surefoot.sets import Box

MONTH, DAYS = "2019-10", 31
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
    network = site.network
    return {
        "no limit": ("nothing, and ignores it", as_fast_as_possible),
        "equal share": ("one safe current for all", equal_share(network)),
        "**certified regions**": ("curvatures; measures", CertifiedCharging(network.curvatures)),
        "DPP, V = 1, alpha = 1": ("measures", drift_plus_penalty(site, 1.0, 1.0)),
        "projected descent": ("the network", projected_charging(network)),
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


def played(name: Site, word: str, days: int | None) -> tuple[ChargingRecord, int]:
    """Let one rule run a site; return also how often certified regions began anew."""
    site = charging_site(name, MONTH, days)
    rule = rules(site)[word][1]
    return site.run(rule), int(getattr(rule, "restarts", 0))


def measure(images: Path | None, days: int | None = DAYS, workers: int = 2) -> Iterator[str]:
    """Play both sites, rules side by side in processes; yield the tables, save the figures."""
    head = ["rule", "knows", "minutes over", "worst g, A", "kWh delivered", "of kWh asked for"]
    head += ["of projected descent", "kg CO2", "µs per decision"]
    small = {name: charging_site(name, MONTH, 1) for name in SITES}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {
            (name, word): pool.submit(played, name, word, days)
            for name in reversed(SITES)
            for word in sorted(rules(small[name]), key=lambda word: "certified" not in word)
        }
        done = {key: future.result() for key, future in waiting.items()}
    for name in SITES:
        site = charging_site(name, MONTH, days)
        words = {word: knows for word, (knows, _) in rules(small[name]).items()}
        found = {word: done[name, word][0] for word in words}
        best, any_ = found["projected descent"].delivered, found["no limit"]
        yield (
            f"### {'Caltech' if name == 'caltech' else 'JPL'}: {site.chargers} chargers, "
            f"{len(site.network.ratings)} limits, {len(site.sessions['arrival']):,} sessions, "
            f"{site.minutes:,} minutes"
        )
        yield ""
        yield from table(head, [line(w, words[w], d, best) for w, d in found.items()])
        yield ""
        yield (
            f"Asked for: {any_.asked:,.0f} kWh; at 32 A without limits the cars could take "
            f"{any_.possible:,.0f} kWh before they leave. Certified regions fell back on the "
            f"measurement of the empty site in {done[name, '**certified regions**'][1]:,} minutes, "
            "when cars left."
        )
        yield ""
        if images is not None:
            draw(images / f"cases_charging_{name}.png", found)


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
