"""Charging at Caltech and JPL for a week: certified regions and what sites use now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cases.charging import ChargingRule, ChargingSite, charging_site
from cases.charging.rules import (
    as_fast_as_possible,
    certified_charging,
    drift_plus_penalty,
    equal_share,
    least_laxity_first,
    projected_charging,
    round_robin,
)
from cases.show import KNOWING, Run, draw, main


def play_all(small: bool) -> list[Run]:
    """Play both sites: a day, or a week."""
    sites = [charging_site(name, days=1 if small else 7) for name in ("jpl", "caltech")]

    def run(
        name: str, knows: str, make: Callable[[ChargingSite], ChargingRule], **options: Any
    ) -> Run:
        done = [site.run(make(site)) for site in sites]
        delivered, asked = (sum(getattr(d, word) for d in done) for word in ("delivered", "asked"))
        more = {
            "kWh delivered": f"{delivered:,.0f}",
            "of kWh asked for": f"{delivered / asked:.1%}",
            "µs per decision": f"{np.mean([d.microseconds for d in done]):,.0f}",
        }
        return Run(name, knows, np.array([d.values for d in done]), more, **options)

    shut: dict[str, Any] = {"drawn": False}
    return [
        run("no limit", "nothing, and ignores it", lambda _: as_fast_as_possible, **shut),
        run("equal share", "one safe current for all", lambda s: equal_share(s.network), **shut),
        run(
            "certified regions",
            "a curvature for each line",
            lambda s: certified_charging(s.network),
            certified=True,
        ),
        run("DPP, V = 1, alpha = 1", "nothing", drift_plus_penalty),
        run(
            "projected descent",
            "the network",
            lambda s: projected_charging(s.network),
            colour=KNOWING,
        ),
        run("round robin", "the network", lambda s: round_robin(s.network), **shut),
        run("least laxity first", "the network", lambda s: least_laxity_first(s.network), **shut),
    ]


def paint(path: Path, runs: Sequence[Run]) -> None:
    """Save the picture: the second day at JPL."""
    part = slice(1440 + 240, 1440 + 1320)
    hours = np.arange(240, 1320) / 60
    draw(path, runs, part=part, rounds=hours, unit="hour", limit="largest g, A")


if __name__ == "__main__":
    main(Path(__file__).parent, play_all, paint)
