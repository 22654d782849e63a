"""Sets whose distance to the tightened set has a formula, and runs against them."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from surefoot import Ball, Feedback
from surefoot.problems.constraints import Affine, L2Norm, LinfNorm


class Known(NamedTuple):
    """A constraint, the ball around it, and the distance of a point to {g <= -rho}."""

    constraint: Any
    domain: Ball
    distance: Any


def cube(centre, radius):
    d = len(centre)

    def distance(x, rho):
        return np.linalg.norm(np.maximum(abs(x - centre) - (radius - rho), 0.0))

    return Known(LinfNorm(radius, d, centre), around(radius * np.sqrt(d), centre), distance)


def box(centre, half, slopes):
    """Faces with slopes of their own: g rises by slopes[i] a unit of length through face i."""
    rows = np.vstack([np.diag(slopes), -np.diag(slopes)])
    offsets = np.append(half * slopes, half * slopes) + rows @ centre

    def distance(x, rho):
        return np.linalg.norm(np.maximum(abs(x - centre) - (half - rho / slopes), 0.0))

    return Known(Affine(rows, offsets), around(np.linalg.norm(half), centre), distance)


def ball(centre, radius):
    def distance(x, rho):
        return max(np.linalg.norm(x - centre) - (radius - rho), 0.0)

    return Known(L2Norm(radius, centre), around(radius, centre), distance)


def around(radius, centre):
    return Ball(float(radius) * (1 + 1e-12), centre)


@st.composite
def sets(draw):
    """A cube, a box or a ball somewhere, with a generator for what is played against it."""
    d = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    size = 10.0 ** draw(st.integers(-3, 3))
    centre = draw(st.sampled_from([0.0, 1.0, 300.0])) * size * rng.normal(size=d)
    kind = draw(st.sampled_from(["cube", "box", "ball"]))
    if kind == "cube":
        known = cube(centre, size)
    elif kind == "box":
        known = box(centre, size * rng.uniform(0.3, 1.0, d), rng.uniform(0.4, 2.5, d))
    else:
        known = ball(centre, size)
    return known, rng


def inside(known, rng):
    """A strictly feasible point, at times close to the boundary."""
    centre = known.domain.centre
    out = rng.normal(size=len(centre))
    low, high = 0.0, 2 * known.domain.radius / np.linalg.norm(out)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if known.constraint.value(centre + middle * out) < 0:
            low = middle
        else:
            high = middle
    return centre + (1 - 10 ** rng.uniform(-4, 0)) * low * out


def gradients(known, rng, d):
    """Cost gradients of very different sizes, some of them 0, most of them pushing outward."""

    def at(x):
        if rng.random() < 0.15:
            return np.zeros(d)
        size = 10 ** rng.uniform(-2, 4)
        way = rng.normal(size=d) + rng.choice([0.0, 2.0]) * known.constraint.subgradient(x)
        return -size * way

    return at


def proposed(known, x, rng):
    """A proposal of any size, often straight out of the set, with g and a subgradient at x."""
    g, s = known.constraint.query(x)
    size = known.domain.radius * 10 ** rng.uniform(-3, 6)
    return x + size * (rng.normal(size=len(x)) + rng.choice([0.0, 3.0]) * s), g, s


def play(player, constraint, gradient, x1, rounds):
    """One run by hand: (state before, feedback, state after) of every round."""
    state = player.init(x1)
    for _ in range(rounds):
        g, s = constraint.query(state.x)
        seen = Feedback(gradient(state.x), g, s)
        after = player.update(state, seen)
        yield state, seen, after
        state = after


def admit(safe, state, proposal, g, s, **told):
    """Ask a filter for the next action."""
    return safe.step(state, Feedback(None, g, s, proposal=proposal, **told))


def after_rounds(known, x, start, distance, rounds=3.0, slack=0.8):
    """The memory of a certified length at x, with a bound on the distance to the tightened set."""
    rho, nearer = (known.tightening(t, slack) for t in (rounds, rounds + 1.0))
    left = distance - known.margins(len(x))[1] + (rho - nearer) / known.G_g
    seen = {"rounds": rounds, "anchor": start, "slack": slack, "since": 1.0, "read": rounds}
    return known.init(x)._replace(**seen, rho=rho, drawn=x, left=left)


def distance_of(player, state):
    """The bound on the distance of the next action to the tightened set of its round."""
    known, memory = player.knowledge, state.memory
    t = memory.rounds + 1.0
    rho = known.tightening(t, memory.slack)
    return known._distance(memory, state.x, t, rho, known.errors)
