"""The kernel finds a contradiction where the Python text does, to a hundredth of every margin.

What is reported is changed until the first contradiction. Readings are of a set whose points may be
far away, so that margins for rounding are many digits wide.
"""

import numpy as np
import pytest

from surefoot import Ball, Feedback, kernel
from surefoot.certified import Certified
from surefoot.knowledge import CertifiedLength, Curvature, LipschitzHull
from surefoot.proposers.proposals import Proposals

pytestmark = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")

REACH, G_G, X = 1e5, 1.3, np.array([0.02, 0.01])
S = np.array([0.6, 0.8])
KINDS = {
    "hull": LipschitzHull(G_g=G_G, domain=Ball(REACH)),
    "length": CertifiedLength(G_g=G_G, domain=Ball(REACH), rho=0.05),
    "curvature": Curvature(beta=0.25, domain=Ball(1e3)),
}


def report(value, slope, proposal=None):
    """What is told of a round."""
    return Feedback(None, value, slope, proposal=X if proposal is None else proposal)


def begin(kind):
    """The player of a kind, and its state after a reading at the start, one step away."""
    player = Certified(proposer=Proposals(), knowledge=KINDS[kind])
    assert player.engine == "kernel"
    x = 0.2 * S if kind == "length" else X
    state, _ = player.step_in_python(player.init(np.zeros(2)), report(-0.3, S, x))
    assert np.array_equal(state.x, x)
    return player, state


def find_first(contradicts, low, high):
    """Return the least number between two from which on a report of it contradicts something."""
    assert not contradicts(low)
    assert contradicts(high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if contradicts(middle):
            high = middle
        else:
            low = middle
    return high


# What is changed, from where to where, and a hundredth of the margin that is known of it.
LIMIT = -0.3 + G_G * float(np.linalg.norm(X))
CASES = {
    "a value above a hull": ("hull", lambda g: report(g, S), (LIMIT - 0.1, 1.0), 1e-11),
    "a slope that is too long": ("hull", lambda k: report(-0.3, k * S), (1.0, 2.0), 1e-14),
    "a slope below the anchor": ("hull", lambda k: report(-0.3, -k * S), (0.0, 1.25), 1e-11),
    "a value above a length": ("length", lambda g: report(g, S), (-0.3, 1.0), 1e-11),
    "a cut that is too far": ("length", lambda k: report(-0.045, 1.25 * S / k), (0.965, 9.0), 1e-9),
    "a curve above a parabola": ("curvature", lambda g: report(g, S), (-0.28, 1.0), 1e-11),
}


@pytest.mark.parametrize("case", CASES)
def test_a_contradiction_begins_at_the_same_report(case):
    kind, tell, ends, close = CASES[case]
    player, state = begin(kind)
    rule = player.compiled.rule(player, state.x)

    def alarms(number):  # the words are Python's in both engines
        return rule.step(state, tell(number))[1].kernel.alarms

    def sentences(number):
        return player.step_in_python(state, tell(number))[1].contradictions

    ours, theirs = find_first(alarms, *ends), find_first(sentences, *ends)
    assert abs(ours - theirs) <= close * abs(theirs)
