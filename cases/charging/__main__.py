"""Charging at Caltech and JPL for three days: certified regions and what sites use now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cases.charging import ChargingRule, ChargingSite, charging_site, rules
from cases.show import KNOWING, Run, draw, main


def play_all(small: bool) -> list[Run]:
    """Play both sites: nine hours, or three days."""
    sites = [charging_site(name, days=3) for name in ("jpl", "caltech")]

    def run(
        name: str, knows: str, make: Callable[[ChargingSite], ChargingRule], **options: Any
    ) -> Run:
        done = [site.run(make(site), 540 if small else None) for site in sites]
        delivered = sum(d.delivered for d in done)
        more = {
            "kWh delivered": f"{delivered:,.0f}",
            "of kWh asked for": f"{delivered / sum(d.asked for d in done):.1%}",
            "µs per decision": f"{np.mean([d.microseconds for d in done]):,.0f}",
        }
        return Run(name, knows, np.array([d.values for d in done]), more, **options)

    hull = rules.certified_in_contexts
    sure, green, hidden = {"certified": True}, {"colour": KNOWING}, {"drawn": False}
    rows: list[tuple[str, str, Callable[[ChargingSite], ChargingRule], dict[str, Any]]] = [
        ("no limit", "nothing, and ignores it", lambda _: rules.as_fast_as_possible, hidden),
        ("equal share", "one safe current, and the largest load", rules.equal_share, hidden),
        ("certified regions", "a curvature for each line", rules.certified_charging, sure),
        ("certified hull, load as a context", "one bound on all slopes", hull, sure | hidden),
        ("DPP, V = 1, alpha = 1", "nothing", rules.drift_plus_penalty, {}),
        ("least laxity first", "the network and the load", rules.least_laxity_first, green),
    ]
    return [run(name, knows, make, **more) for name, knows, make, more in rows]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture: the second day at JPL."""
    part = slice(1440 + 240, 1440 + 1320)
    hours = np.arange(240, 1320) / 60
    draw(path, runs, part=part, rounds=hours, unit="hour", limit="largest g, A")


if __name__ == "__main__":
    main(Path(__file__).parent, play_all, paint)
