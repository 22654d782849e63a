"""Charging at Caltech and JPL for three days: certified regions and what sites use now."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from cases.charging import ChargingRule, ChargingSite, charging_site, rules
from cases.show import KNOWING, Run, draw, main

Maker = Callable[[ChargingSite], ChargingRule]
GRID = tuple(product((0.01, 0.1, 1.0, 10.0), (0.1, 1.0, 10.0)))
"""Of DPP: V and alpha."""


def play_all(small: bool) -> list[Run]:
    """Play both sites: nine hours, or three days; DPP is tuned on a day of the month before."""
    sites = [charging_site(name, days=3) for name in ("jpl", "caltech")]
    before = [charging_site(site.name, "2019-09", days=1) for site in sites]

    def judge(choice: tuple[float, float]) -> tuple[int, float]:
        done = [site.run(rules.drift_plus_penalty(site, *choice)) for site in before]
        return sum(int((d.values > 0).sum()) for d in done), -sum(d.delivered for d in done)

    V, alpha = min(GRID[:1] if small else GRID, key=judge)
    best = f"DPP, {V = :g}, {alpha = :g}: the best of {1 if small else len(GRID)}"

    def run(name: str, knows: str, make: Maker, **options: Any) -> Run:
        done = [site.run(make(site), 540 if small else None) for site in sites]
        delivered = sum(d.delivered for d in done)
        more = {
            "kWh delivered": f"{delivered:,.0f}",
            "of kWh asked for": f"{delivered / sum(d.asked for d in done):.1%}",
            "µs per decision": f"{np.mean([d.microseconds for d in done]):,.0f}",
        }
        return Run(name, knows, np.array([d.values for d in done]), more, **options)

    hull, sure, hidden = rules.certified_in_contexts, {"certified": True}, {"drawn": False}
    rows: list[tuple[str, str, Maker, dict[str, Any]]] = [
        ("no limit", "nothing, and ignores it", lambda _: rules.as_fast_as_possible, hidden),
        ("equal share", "one safe current, and the largest load", rules.equal_share, hidden),
        ("certified regions", "a curvature for each line", rules.certified_charging, sure),
        ("certified hull, load as a context", "one bound on all slopes", hull, hidden | sure),
        (best, "a past day", lambda site: rules.drift_plus_penalty(site, V, alpha), {}),
        ("least laxity first", "network and load", rules.least_laxity_first, {"colour": KNOWING}),
    ]
    return [run(name, knows, make, **more) for name, knows, make, more in rows]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture: the second day at JPL."""
    part, hours = slice(1440 + 240, 1440 + 1320), np.arange(240, 1320) / 60
    draw(path, runs, part=part, rounds=hours, unit="hour", limit="largest g, A")


if __name__ == "__main__":
    main(Path(__file__).parent, play_all, paint)
