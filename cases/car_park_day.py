"""A day at a car park: set the currents of 54 chargers each minute, and never exceed a rating.

The network is not known. Before each minute the site says which chargers have a car; after it,
meters say how much current each line carried and how that reacts to each charger.
"""

from __future__ import annotations

import numpy as np

from cases.charging import LARGEST, Minute, charging_site
from surefoot import Feedback
from surefoot.algorithms import RegionFilter
from surefoot.core.types import Array
from surefoot.regions import CurvatureRows, EmptyRegionError
from surefoot.sets import Box

site = charging_site("caltech", month="2019-10", days=1)

# All that is known beforehand: how much the slope of each line's g can change per ampere.
reach = LARGEST * float(np.sqrt(site.chargers))
safe = RegionFilter(knowledge=CurvatureRows(beta=tuple(site.network.curvatures), reach=reach))
nothing = np.zeros(site.chargers)
empty = Feedback(None, *site.network.measure(nothing))
state, info = safe.step(safe.init(nothing), empty)


def rule(minute: Minute) -> Array:
    """Return the certified currents nearest to what the cars would like."""
    global state
    box, seen = Box(nothing, minute.upper), Feedback(None, minute.values, minute.slopes)
    seen = seen._replace(action=minute.action, proposal=minute.upper, within=box)
    try:
        state, _ = safe.step(state, seen)
        found: Array = state.x
    except EmptyRegionError:  # too many cars leave at once: certified from the empty site
        found = info.region.within(box).nearest(minute.upper)
    return found


def main() -> None:
    """Play the day, beside what most sites do and what would happen without limits."""
    share = site.network.equal_share()
    print(f"{site.chargers} chargers, {len(site.network.ratings)} limits, {site.minutes} minutes")
    for name, one in (
        ("no limit", lambda minute: minute.upper),
        (f"equal share, {share:.1f} A", lambda minute: np.minimum(minute.upper, share)),
        ("certified regions", rule),
    ):
        done = site.run(one)
        print(
            f"{name:20s} {done.over:4d} minutes over, {done.delivered:4.0f} kWh, "
            f"{done.carbon:4.0f} kg CO2, {done.microseconds:5.0f} µs per decision"
        )


if __name__ == "__main__":
    main()
