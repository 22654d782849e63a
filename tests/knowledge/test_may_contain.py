"""Which of several points may be certified: never no of one that is."""

import numpy as np
import pytest

from surefoot.core.types import Context
from surefoot.knowledge import Column, ContextHull, Errors, LipschitzHull, Reading, Together
from surefoot.knowledge.ramp import limit_steps
from surefoot.sets import Box

BOX = Box([-1.0, -1.0, -1.0], [1.0, 1.0, 1.0])
WEATHER = {"context": Column(G_c=1.0, changes=0.05), "start_bound": -0.1}
KINDS = {
    "hull": LipschitzHull(G_g=1.5, domain=BOX),
    "errors and drift": LipschitzHull(G_g=1.5, domain=BOX, errors=Errors(value=0.01, drift=1e-3)),
    "contexts": ContextHull(G_g=1.5, domain=BOX, **WEATHER),
    "rows": Together(
        rows=(LipschitzHull(G_g=1.5, reach=2.0), LipschitzHull(G_g=1.0, reach=2.0)), domain=BOX
    ),
    "rows in contexts": Together(
        rows=tuple(ContextHull(G_g=G_g, reach=2.0, **WEATHER) for G_g in (1.5, 1.0)), domain=BOX
    ),
    "a ramp under drift": LipschitzHull(
        G_g=1.5, domain=BOX, start_bound=-0.1, errors=Errors(drift=0.01)
    ),
}


def play(known, rng, ramp):
    """Yield the region of each of some rounds that go where chance wants."""
    x = np.zeros(3)
    memory, c = known.init(x), 0.0
    weights = rng.uniform(0.2, 1.0, 3)
    for _ in range(25):
        memory = known.announce(memory, Context(np.array([c])))
        rows = np.array([1.0, 0.6]) * float(weights @ x**2) - 0.3 + c
        g = rows if known.row_count > 1 else float(rows[0])
        memory = known.observe(memory, Reading(x, g, None, known.errors))
        c = float(np.clip(c + rng.uniform(-0.03, 0.03), -0.1, 0.1))
        memory = known.announce(memory, Context(np.array([c])))
        region = known.region(memory, known.errors)
        if ramp is not None:
            region = limit_steps(known, memory, region, x, ramp, True)
        yield region
        x = region.nearest(rng.normal(size=3))


@pytest.mark.parametrize("name", KINDS)
def test_what_may_not_be_certified_is_not(name):
    rng, counts = np.random.default_rng(3), np.zeros(2)
    for region in play(KINDS[name], rng, 0.05 if "ramp" in name else None):
        wanted = 2.0 * rng.normal(size=(8, 3))
        near = np.array([region.nearest(w) for w in wanted])  # on the edge
        outside = near + rng.choice([1e-15, 1e-9, 1e-2], (8, 1)) * (wanted - near)
        points = np.vstack([near, outside, near - 1e-9 * (wanted - near), wanted])
        certified = np.array([bool(region.contains(p)) for p in points])
        may = region.may_contain(points)
        assert may.shape == (len(points),)
        assert (may | ~certified).all()
        counts += certified.sum(), (~may).sum()
    assert (counts > 50).all()
