"""Where a curvature certifies nothing under drift, the action goes back to the anchor; by hand.

At the last action g may be up, above 0, with a slope s so short that
U(p) = up + s'(p - x) + beta |p - x|^2/2 is above 0 everywhere: |s|^2 < 2 beta up. At the anchor g
is at most deep < 0. By convexity the point that is the share up/(up - deep) of the way back is
feasible, and nothing before it is known to be. The numbers are those of a g that exists: from a
slope of 0 at the start it bends by beta until its slope is 3/8, and is straight from there on.
"""

import numpy as np
import pytest

from surefoot import Feedback, kernel
from surefoot.certified import Certified
from surefoot.knowledge import Curvature, CurvatureRows, Errors
from surefoot.proposers.proposals import Proposals

V, FIRST, LAST, BETA = 15 / 64, -0.5, -3 / 64, 17 / 32
FAR, SLOPE = 15 / 16, 3 / 8


def make(kind, drift):
    options = {"reach": 2.0, "errors": Errors(drift=drift)}
    if kind == "rows":
        return CurvatureRows(beta=BETA, rows=2, **options)
    return Curvature(beta=BETA, **options)


class Loop:
    """Rounds of one engine: the start, an action with a slope of 0, and what follows."""

    def __init__(self, kind, engine, drift, d):
        player = Certified(proposer=Proposals(), knowledge=make(kind, drift))
        assert player.engine == "kernel"
        self.step = player.step if engine == "kernel" else player.step_in_python
        self.is_packed = engine == "kernel"
        self.kind, self.d, self.start = kind, d, np.zeros(d)
        self.state = player.init(self.start)

    def tell(self, g, slope, proposal, action=None):
        """Tell a round; of two rows the second is far below 0."""
        value, s = g, slope
        if self.kind == "rows":
            value, s = np.array([g, -2.0]), np.array([slope, 0.0 * slope])
        told = Feedback(None, value, s, proposal=proposal, action=action)
        self.state, info = self.step(self.state, told)
        assert (self.state.kernel is not None) is self.is_packed  # C has played it itself
        return self.state.x, info

    def arrive(self, proposal):
        """Return the action after a round on the limit's edge, FAR from the start."""
        first = np.eye(self.d)[0]
        there = FAR * first
        x, _ = self.tell(FIRST, 0.0 * first, there)
        assert x.tolist() == there.tolist()
        return self.tell(LAST, SLOPE * first, proposal)


ENGINES = ["python"] if kernel.compiled() is None else ["python", "kernel"]
EACH = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.parametrize("kind", ["one", "rows"]),
    pytest.mark.parametrize("d", [2, 20]),
]


def each(test):
    for mark in EACH:
        test = mark(test)
    return test


def share():
    # In round 3: the start was read two rounds before it, the last action one.
    up, deep = LAST + V, FIRST + 2 * V
    assert 2 * BETA * up > SLOPE**2
    return up / (up - deep)


@each
@pytest.mark.parametrize("proposal", ["stay", "beyond", "aside"])
def test_the_action_goes_back_by_the_share_of_convexity(engine, kind, d, proposal):
    loop = Loop(kind, engine, V, d)
    there = FAR * np.eye(d)[0]
    aside = there + 0.25 * np.eye(d)[1]
    x, info = loop.arrive({"stay": there, "beyond": 3 * there, "aside": aside}[proposal])
    assert share() == 6 / 7
    np.testing.assert_allclose(x, (1 - share()) * there, rtol=0, atol=1e-11)
    assert x[0] <= (1 - share()) * FAR
    certificate = info.certificate if engine == "python" else None
    assert certificate is None or certificate.bound <= 0


@each
def test_between_that_point_and_the_anchor_several_rows_certify_every_point(engine, kind, d):
    loop = Loop(kind, engine, V, d)
    there = FAR * np.eye(d)[0]
    proposal = 0.0625 * there
    x, _ = loop.arrive(proposal)
    if kind == "rows":  # for one row that point alone is the region
        np.testing.assert_allclose(x, proposal, rtol=0, atol=1e-11)
    else:
        np.testing.assert_allclose(x, (1 - share()) * there, rtol=0, atol=1e-11)


@each
def test_a_fixed_limit_leaves_an_action_that_was_feasible_where_it_is(engine, kind, d):
    # Somebody played it, and g = 0: U is 0 there and rounding takes more, but what was read stays.
    loop = Loop(kind, engine, 0.0, d)
    first = np.eye(d)[0]
    there = FAR * first
    loop.tell(FIRST, 0.0 * first, there)
    x, _ = loop.tell(0.0, 0.5625 * first, there, action=there)
    assert x.tolist() == there.tolist()
    x, _ = loop.tell(0.0, 0.5625 * first, 2 * there, action=there)
    assert x[0] < there[0]
