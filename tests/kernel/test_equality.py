"""The kernel plays what the Python text says, every pair that it has, in 2 and in 20 dimensions.

Each round is played three times: by the Python text; by the kernel from the state of the Python
text, *led*; and by the kernel from its own state at its own action, *free*. Led steps differ by
rounding only, in the action, its bound and all that is remembered; free runs stay together. The
ball of the start is 55 times smaller than the set: what is done in shallow places is done here.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from surefoot import Ball, Feedback, kernel, knowledge, proposers
from surefoot.certified import Certified
from surefoot.core.errors import InvalidValueError
from surefoot.core.record import is_tree
from surefoot.knowledge import CertifiedLength, Curvature, CurvatureRows, Errors, LipschitzHull
from surefoot.proposers.averaging import Averaging
from surefoot.proposers.cuts import Cuts
from surefoot.proposers.descent import Descent
from surefoot.proposers.leader import Leader
from surefoot.proposers.probing import Probing
from surefoot.proposers.proposals import Proposals

from .players import names_in_kernel

pytestmark = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")

ROUNDS, RADIUS, G_G, BETA, ROWS = 60, 1.0, 1.3, 0.25, 3
SLACK = G_G * RADIUS / 55
BALL = Ball(RADIUS)
ERRORS = {
    "exact": Errors(),
    "noisy": Errors(value=SLACK / 40, slope=0.01),
    "drift": Errors(value=SLACK / 40, drift=SLACK / 70),
    "evaluated": Errors(evaluation=1e-7),
}
PROPOSER_OF = {
    "Proposals": Proposals(),
    "Leader": Leader(domain=BALL),
    "Descent": Descent(radius=RADIUS),
    "Averaging": Averaging(radius=RADIUS),
    "Probing": Probing(leader=Leader(domain=BALL)),
    "long probes": Probing(leader=Leader(domain=BALL, cuts=5), probe=0.3, doubt=0.1, near=0.9),
    "proposals as steps": Proposals(as_steps=True),
    "leader with few cuts": Leader(domain=BALL, cuts=5),
    "leader of strongly convex costs": Leader(domain=BALL, strong_convexity=2.0),
    "descent without a ratchet": Descent(radius=RADIUS, eta=0.2, ratchet=False),
    "averaging with one far point": Averaging(radius=RADIUS, far=0.3),
}
KNOWLEDGE_OF = {
    "LipschitzHull": LipschitzHull(G_g=G_G, domain=BALL),
    "CertifiedLength": CertifiedLength(G_g=G_G, domain=BALL, rho=0.5 * SLACK),
    "Curvature": Curvature(beta=BETA, domain=BALL),
    "CurvatureRows": CurvatureRows(beta=BETA, rows=ROWS, domain=BALL),
    "length by sigma": CertifiedLength(G_g=G_G, domain=BALL, rho=0.3, sigma=1.0),
    "decreasing length": CertifiedLength(G_g=G_G, domain=BALL, rho=SLACK, decreasing=True),
    "row in a small ball": Curvature(beta=BETA, domain=Ball(0.4 * SLACK)),
    # Margins for rounding grow with the largest norm: here they are 1e-9 and more.
    "wide hull": LipschitzHull(G_g=G_G, domain=Ball(1e5)),
    "wide length": CertifiedLength(G_g=G_G, domain=Ball(1e5), rho=0.5 * SLACK),
    "wide curvature": Curvature(beta=BETA, domain=Ball(1e3)),
}
# One case for each proposer: short, so that a change of one text alone is found at once.
EACH_PROPOSER = (
    ("Proposals", "CertifiedLength", "drift", "faces"),
    ("Leader", "LipschitzHull", "noisy", "faces"),
    ("Descent", "LipschitzHull", "noisy", "faces"),
    ("Averaging", "Curvature", "drift", "faces"),
    ("Probing", "LipschitzHull", "noisy", "faces"),
)
# What these do not do: each is the one case that sees some constant (tests/kernel/mutations.py).
OTHERS = (
    ("Proposals", "CurvatureRows", "drift", "faces"),
    ("Descent", "CurvatureRows", "noisy", "faces"),
    ("Averaging", "CurvatureRows", "noisy", "faces"),
    ("Proposals", "wide hull", "evaluated", "faces"),
    ("Proposals", "wide length", "evaluated", "faces"),
    ("Proposals", "wide curvature", "evaluated", "faces"),
    ("Leader", "LipschitzHull", "exact", "thin"),
    ("Leader", "LipschitzHull", "exact", "open"),
    ("proposals as steps", "CertifiedLength", "exact", "faces"),
    ("proposals as steps", "CurvatureRows", "noisy", "faces"),
    ("Proposals", "row in a small ball", "exact", "faces"),
    ("Proposals", "row in a small ball", "drift", "faces"),
    ("Leader", "LipschitzHull", "exact", "shallow"),
    ("Leader", "LipschitzHull", "exact", "round"),
    ("Leader", "LipschitzHull", "exact", "corner"),
    ("leader with few cuts", "LipschitzHull", "noisy", "faces"),
    ("Probing", "LipschitzHull", "exact", "shallow"),
    ("Probing", "LipschitzHull", "exact", "corner"),
    ("long probes", "LipschitzHull", "exact", "faces"),
    ("long probes", "LipschitzHull", "noisy", "faces"),
    ("long probes", "LipschitzHull", "drift", "faces"),
    ("leader of strongly convex costs", "LipschitzHull", "drift", "faces"),
    ("Descent", "length by sigma", "exact", "deep"),
    ("descent without a ratchet", "decreasing length", "drift", "faces"),
    ("averaging with one far point", "Curvature", "exact", "faces"),
)


def pair(proposer, kind, errors, place):
    """Return the pair of these names."""
    known, wrong = KNOWLEDGE_OF[kind], ERRORS[errors]
    if isinstance(known, Curvature):  # the kernel has no errors of the slope for one curved row
        wrong = replace(wrong, slope=0.0)
    return Certified(proposer=PROPOSER_OF[proposer], knowledge=replace(known, errors=wrong))


def is_in_kernel(names):
    """Return whether a pair can be made, and the kernel has it."""
    try:
        return pair(*names).engine == "kernel"
    except InvalidValueError:
        return False


EACH = itertools.product(
    names_in_kernel(proposers),
    names_in_kernel(knowledge),
    ["exact", "noisy", "drift"],
    ["faces"],
)
NAMES = [names for names in EACH if is_in_kernel(names)]


def test_the_kernel_has_these_pairs():
    assert {names[:2] for names in NAMES} == {
        *itertools.product(["Proposals", "Descent"], names_in_kernel(knowledge)),
        ("Leader", "LipschitzHull"),
        ("Probing", "LipschitzHull"),
        ("Averaging", "Curvature"),
        ("Averaging", "CurvatureRows"),
    }
    assert {names[0] for names in EACH_PROPOSER} == {names[0] for names in NAMES}
    assert all(pair(*names).engine == "kernel" for names in (*EACH_PROPOSER, *OTHERS))


class Rounds:
    """A limit near the start on one side and far on the others, and costs that lead beyond it.

    In a "shallow" place it is eight times nearer, and costs lead away from it; in a "deep" one it
    is far; in a "corner" costs lead beyond many faces at once; in a "round" place the limit is a
    sphere; a "thin" one is a crack along which costs lead; an "open" one has no face that binds.
    """

    def __init__(self, player, d, seed, place):
        rng = np.random.default_rng(seed)
        errors, known = player.errors, player.knowledge
        self.is_filter, self.place = not player.proposer.cost_gradients, place
        self.is_blind = not player.proposer.reads_slopes
        errors = replace(errors, slope=0.0) if self.is_blind else errors
        self.separately = isinstance(known, CurvatureRows)
        self.bent = BETA if self.separately or isinstance(known, Curvature) else 0.0
        rows = rng.normal(size=(d + 1, d))[: ROWS if self.separately else 1 if self.bent else None]
        if place == "corner":
            rows = 1.0 + 0.5 * rows
        self.rows = rows / np.linalg.norm(rows, axis=1)[:, None]
        self.offsets = np.append(SLACK, rng.uniform(0.3, 0.8, len(rows) - 1) * RADIUS)
        self.best = 1.5 * RADIUS * self.rows[0] + 0.3 * rng.normal(size=d)
        if place == "shallow":
            self.offsets[0], self.best = SLACK / 8, -4 * self.best
        elif place == "deep":
            self.offsets[0] = 0.6 * RADIUS
        elif place == "thin":
            self.rows[1], self.offsets[:2] = -self.rows[0], SLACK / 50
            along = rng.normal(size=d)
            self.best = 2.0 * (along - (along @ self.rows[0]) * self.rows[0])
        elif place == "open":
            self.offsets, self.best = 2.0 * RADIUS + self.offsets, 9.0 * self.best
        elif place == "corner":
            self.best = 3.0 * RADIUS * self.rows.mean(axis=0)
        self.noise = errors.value * rng.uniform(-1, 1, (ROUNDS, len(rows)))
        tilt = rng.normal(size=(ROUNDS, len(rows), d))
        self.tilt = errors.slope * tilt / np.linalg.norm(tilt, axis=2)[:, :, None]
        self.moves = errors.drift * np.sin(0.5 * np.arange(ROUNDS))
        self.gradients = 0.3 * rng.normal(size=(ROUNDS, d))

    def told(self, t, x):
        """Return what is told of an action in a round."""
        values, slopes = self.rows @ x - self.offsets, self.rows
        if self.place == "round":
            way = x + 0.6 * self.rows[:1]
            values = np.linalg.norm(way, axis=1) - 0.6 - SLACK
            slopes = way / np.linalg.norm(way)
        values = values + 0.5 * self.bent * (x @ x) + self.moves[t] + self.noise[t]
        slopes = slopes + self.bent * x + self.tilt[t]
        i = slice(None) if self.separately else int(values.argmax())
        g, s = values[i] if self.separately else float(values[i]), slopes[i]
        gradient = 2 * (x - self.best) + self.gradients[t]
        s = None if self.is_blind else s
        if t % 17 == 9:  # nobody measured
            g = s = None
        if self.is_filter:
            far = 1e6 if t % 7 == 3 else 0.2  # digits are lost on the way
            return Feedback(None, g, s, proposal=x - far * gradient)
        return Feedback(gradient, g, s)


def difference(ours, theirs):
    """Return the largest difference of two trees of numbers, of what is largest beside it, or 1."""
    if isinstance(theirs, Cuts):  # in which order they are kept says nothing
        ours, theirs = (cuts.keep(np.lexsort(cuts.normals.T.round(9))) for cuts in (ours, theirs))
    if is_tree(theirs):
        return max((difference(a, b) for a, b in zip(ours, theirs, strict=True)), default=0.0)
    if theirs is None:
        return 0.0
    ours, theirs = (np.ravel(np.asarray(part, dtype=float)) for part in (ours, theirs))
    assert ours.shape == theirs.shape
    differ = ours != theirs  # not where both are infinite
    scale = max(1.0, np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0))
    return float(np.abs(ours[differ] - theirs[differ]).max(initial=0.0) / scale)


def split_quotient(memory, before):
    """Return a memory without its least curvature, and the numerator that this was divided from.

    Two readings that are near each other divide a last bit by the square of their distance.
    """
    if not hasattr(memory, "curvature_seen"):
        return memory, 0.0
    squared = np.sum((memory.last.x - before.last.x) ** 2)
    return memory._replace(curvature_seen=0.0), memory.curvature_seen * squared


# In the plane the cuts of a sphere are so nearly parallel that a last bit grows to 1e-9 in a round;
# and in 20 dimensions the sums differ in the last bit, of which a root near 0 makes 1e-11.
ONE_SIZE = {"round": (20,), "deep": (2,)}
FAST = (*EACH_PROPOSER, *OTHERS)
CASES = [
    pytest.param(
        names,
        d,
        id=f"{', '.join(names)}, d = {d}",
        marks=() if names in FAST else pytest.mark.slow,
    )
    for names in (*FAST, *(names for names in NAMES if names not in FAST))
    for d in ONE_SIZE.get(names[-1], (2, 20))
]


@pytest.mark.parametrize(("names", "d"), CASES)
def test_led_steps_and_free_runs_are_those_of_the_python_text(names, d):
    player = pair(*names)
    for seed in (0, 1):
        rounds = Rounds(player, d, seed, names[-1])
        free = theirs = player.init(np.zeros(d))
        for t in range(ROUNDS):
            told = rounds.told(t, theirs.x)
            led, known = player.step(theirs, told)
            before = theirs.memory
            theirs, info = player.step_in_python(theirs, told)
            assert led.kernel is not None
            for part in ("x", "learner"):
                assert difference(getattr(led, part), getattr(theirs, part)) <= 1e-12, (part, t)
            memories = (split_quotient(state.memory, before) for state in (led, theirs))
            assert difference(*memories) <= 1e-12, (t, seed)
            assert difference(known.proposal, info.proposal) <= 1e-12, (t, seed)
            assert difference(known.kernel.bound, info.certificate.bound) <= 1e-12, (t, seed)
            free, _ = player.step(free, rounds.told(t, free.x))
            assert difference(free.x, theirs.x) <= 1e-12, (t, seed)


@pytest.mark.parametrize(("turned", "count"), [(2.0**-52, 1), (1e-12, 2)])
def test_slopes_that_differ_by_their_rounding_are_one_face_and_others_are_two(turned, count):
    # Of d = 2, where a unit normal is known to (d + 4) 2^-53.
    player = pair("Leader", "LipschitzHull", "exact", "faces")
    ours = theirs = player.init(np.zeros(2))
    for s in ([0.6, 0.8], [0.6 - 0.8 * turned, 0.8 + 0.6 * turned]):
        told = Feedback(np.array([1.0, 2.0]), -SLACK, np.array(s))
        ours, _ = player.step(ours, told)
        theirs, _ = player.step_in_python(theirs, told)
    assert len(ours.learner.cuts.offsets) == len(theirs.learner.cuts.offsets) == count


@pytest.mark.parametrize("seed", range(4))
def test_a_leader_that_many_faces_hold_is_moved_along_as_many_directions(seed):
    # So firmly held that no multiplier reaches 0, where conjugate gradients would end.
    player, d, n = pair("Leader", "LipschitzHull", "exact", "faces"), 20, 12
    rng, rounds = np.random.default_rng(seed), Rounds(player, d, seed, "faces")
    state, _ = player.step_in_python(player.init(np.zeros(d)), rounds.told(0, np.zeros(d)))
    told = rounds.told(1, state.x)
    scale = player.step_in_python(state, told)[0].learner.inverse_eta
    normals = 0.2 + 0.3 * rng.normal(size=(n, d))
    normals = normals / np.linalg.norm(normals, axis=1)[:, None]
    pulls = rng.uniform(3.0, 4.0, (4, n))
    held = pulls[0] * state.learner.inverse_eta / scale
    free = held @ normals + 0.2 * rng.normal(size=d)
    cuts = Cuts(normals, rng.uniform(0.05, 0.1, n), np.ones(n), pulls)
    learner = state.learner._replace(cuts=cuts, gradients=-scale * free - told.cost_gradient)
    state = state._replace(learner=learner)
    ours, _ = player.step(state, told)
    theirs, _ = player.step_in_python(state, told)
    assert ours.kernel is not None
    assert difference(ours.learner, theirs.learner) <= 1e-12
    assert difference(ours.x, theirs.x) <= 1e-12


@pytest.mark.parametrize("proposal", [[0.5, 3.0], [2.0, -1.0], [-0.3, 0.4]])
def test_in_a_ball_whose_middle_is_outside_a_way_is_halved_as_often(proposal):
    # There the projection onto the ball leads out of the certified half of it.
    known = Curvature(beta=BETA, domain=Ball(0.25, [0.2, 0.0]))
    player = Certified(proposer=Proposals(), knowledge=known)
    state = player.init(np.zeros(2))
    told = Feedback(None, -0.05, np.array([1.0, 0.0]), proposal=np.array(proposal))
    ours, _ = player.step(state, told)
    theirs, info = player.step_in_python(state, told)
    assert ours.kernel is not None
    assert info.region.contains(theirs.x)
    assert difference(ours.x, theirs.x) <= 1e-12


@pytest.mark.parametrize("opposed", [(0, 2), (1, 3), (1, 4), (3, 4)])
def test_two_cuts_that_cancel_are_both_forgotten(opposed):
    # The memory of five is full and none is idle: the two that do least would become their sum.
    player = pair("leader with few cuts", "LipschitzHull", "noisy", "faces")
    rounds = Rounds(player, 2, 0, "faces")
    state, _ = player.step_in_python(player.init(np.zeros(2)), rounds.told(0, np.zeros(2)))
    draw = np.random.default_rng(0)
    ways = 0.3 + 0.9 * np.arange(5)
    normals = np.stack([np.cos(ways), np.sin(ways)], axis=1)
    pulls = draw.uniform(1.0, 2.0, (4, 5))
    for place, sign in zip(opposed, (1.0, -1.0), strict=True):
        normals[place], pulls[0, place] = [0.6 * sign, 0.8 * sign], 0.25
    cuts = Cuts(normals, draw.uniform(0.2, 0.4, 5), draw.uniform(1.0, 2.0, 5), pulls)
    state = state._replace(learner=state.learner._replace(cuts=cuts))
    told = rounds.told(1, state.x)
    ours, _ = player.step(state, told)
    theirs, _ = player.step_in_python(state, told)
    assert ours.kernel is not None
    for learner in (ours.learner, theirs.learner):
        assert len(learner.cuts.offsets) == 4  # three and the new one
        assert not np.isclose(abs(learner.cuts.normals @ [0.6, 0.8]), 1.0).any()
    assert difference(ours.learner, theirs.learner) <= 1e-12
    assert difference(ours.x, theirs.x) <= 1e-12


@pytest.mark.parametrize("far", [1e20, 1e60, 1e100, 1e150])
def test_steps_are_cut_where_squares_overflow_on_the_way(far):
    player = pair("proposals as steps", "CurvatureRows", "exact", "faces")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(ROWS, 2))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        g, proposal = np.array([-SLACK, -0.4, -0.5]), far * rng.normal(size=2)
        told, start = Feedback(None, g, rows, proposal=proposal), player.init(np.zeros(2))
        theirs, info = player.step_in_python(start, told)
        led, known = player.step(start, told)
        for state, bound in ((theirs, info.certificate.bound), (led, known.kernel.bound)):
            assert bound <= 0
            assert BALL.contains(state.x)
        # Where the first step is finite, half-spaces without a common point may end it anywhere.
        if far >= 1e100:
            assert difference(led.x, theirs.x) <= 1e-12, seed
