"""The steps of the playground, through node: those of Python, each from the same state."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from surefoot import PFS, Ball, kernel
from surefoot.core.feedback import Feedback
from surefoot.core.types import Context
from surefoot.knowledge import (
    Column,
    ContextHull,
    Curvature,
    CurvatureMemory,
    CurvatureRows,
    Errors,
    EstimatedHull,
    LipschitzHull,
    Reading,
)
from surefoot.knowledge.hull import Ladder
from surefoot.rules import DPP, LBSGD, LeaderFollower, RegionFilter
from surefoot.sets import Ellipsoid, Polytope

pytestmark = [
    pytest.mark.docs,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
]

HERE = Path(__file__).parent
STEPS = HERE.parents[1] / "docs" / "playground" / "steps.js"
# 10,000 in the measurement that the documentation speaks of.
ROUNDS = int(os.environ.get("SUREFOOT_PLAYGROUND_ROUNDS", "400"))
RADIUS = 1.6
CORNERS = np.array([[-0.8, -0.6], [0.7, -0.8], [1.0, 0.1], [0.2, 0.9], [-0.9, 0.5]])
ELLIPSE = {"centre": [0.1, -0.05], "a": 1.0, "b": 0.55, "angle": 0.4}


def by_node(take, rounds, **game):
    text = json.dumps({"take": take, "rounds": rounds, **game}, default=plain)
    command = ["node", str(HERE / "_steps.js"), str(STEPS)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plain(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def polygon(x):
    ways = np.roll(CORNERS, -1, axis=0) - CORNERS
    normals = np.stack([ways[:, 1], -ways[:, 0]], axis=1) / np.linalg.norm(ways, axis=1)[:, None]
    return normals @ x - (normals * CORNERS).sum(axis=1), normals


def quadratic():
    """The matrix of the ellipse, and the factor that makes the largest slope 1."""
    c, s = np.cos(ELLIPSE["angle"]), np.sin(ELLIPSE["angle"])
    turn = np.array([[c, -s], [s, c]])
    return turn @ np.diag([ELLIPSE["a"] ** -2, ELLIPSE["b"] ** -2]) @ turn.T, ELLIPSE["b"]


def ellipse(x):
    P, scale = quadratic()
    v = x - ELLIPSE["centre"]
    return np.array([0.5 * scale * (v @ P @ v - 1)]), scale * (P @ v)[None, :]


def largest(shape, x):
    g, s = shape(x)
    i = int(g.argmax())
    return float(g[i]), s[i].copy()


BETA = 1 / ELLIPSE["b"]
KINDS = {
    "ball": (LipschitzHull(G_g=1.1, reach=RADIUS), {"G_g": 1.1, "reach": RADIUS}, polygon),
    "hull": (LipschitzHull(G_g=1.1, reach=RADIUS), {"G_g": 1.1, "reach": RADIUS}, polygon),
    "curvature": (Curvature(beta=BETA, reach=RADIUS), {"beta": BETA, "reach": RADIUS}, ellipse),
    "rows": (
        CurvatureRows(beta=0.5, rows=5, reach=RADIUS),
        {"beta": [0.5] * 5, "reach": RADIUS},
        polygon,
    ),
    "half-spaces": (
        CurvatureRows(beta=0.0, rows=5, reach=RADIUS),
        {"beta": [0.0] * 5, "reach": RADIUS},
        polygon,
    ),
    "hull with errors": (
        LipschitzHull(G_g=1.1, reach=RADIUS, errors=Errors(value=0.03)),
        {"G_g": 1.1, "reach": RADIUS, "valueError": 0.03},
        polygon,
    ),
    "rows with errors": (
        CurvatureRows(beta=0.5, rows=5, reach=RADIUS, errors=Errors(value=0.03)),
        {"beta": [0.5] * 5, "reach": RADIUS, "valueError": 0.03},
        polygon,
    ),
    "curvature with errors": (
        Curvature(beta=BETA, reach=RADIUS, errors=Errors(value=0.03)),
        {"beta": BETA, "reach": RADIUS, "valueError": 0.03},
        ellipse,
    ),
    "lie": (LipschitzHull(G_g=0.6, reach=RADIUS), {"G_g": 0.6, "reach": RADIUS}, polygon),
    "low": (Curvature(beta=0.3, reach=RADIUS), {"beta": 0.3, "reach": RADIUS}, ellipse),
}


def told(rng, x, t):
    """A proposal: from a rounding away to far outside, in a direction that changes slowly."""
    way = np.array([np.cos(0.01 * t), np.sin(0.013 * t)])
    return x + 10.0 ** rng.uniform(-3, 0.5) * (way + 0.3 * rng.normal(size=2))


def seen_as(memory):
    """What is remembered, as the page keeps it: a single row is a list of one."""
    last = memory.last
    if isinstance(memory, CurvatureMemory):
        found = {"rounds": memory.rounds, "x": last.x, "g": last.value, "s": memory.s}
        found["low"] = memory.low
        if not np.ndim(last.value):
            return found | {name: [found[name]] for name in ("g", "s", "low")}
        return found | {name: np.ravel(found[name]) for name in ("g", "low")}
    return _hull_as(memory.rounds, memory.anchor, last, memory.ladder)


def _hull_as(rounds, anchor, last, ladder):
    rungs = [
        {"x": x, "value": value, "round": when} if np.isfinite(value) else None
        for x, value, when in zip(*ladder, strict=True)
    ]
    # Infinite before the first round, which JSON does not have.
    value, deepest = (0.0 if np.isinf(p.value) else p.value for p in (last, anchor))
    found = {"rounds": rounds, "anchor": anchor.x, "anchor_value": deepest, "ladder": rungs}
    return found | {"anchor_round": anchor.round, "last": last.x, "last_value": value}


def alone(known, state, info, w):
    """The same step with the ball of the last action alone: it is its own anchor."""
    memory = state.memory
    last = memory._replace(anchor=memory.last, ladder=Ladder.empty(2))
    region = known.region(last, known.errors)
    x = region.nearest(w)
    return state._replace(x=x, memory=last), info._replace(x=x, region=region)


def tidy(sentences):
    """Sentences without the digits of numbers that are nothing but rounding."""
    return [re.sub(r"-?\d(\.\d+)?e-[12]\d", "0", sentence) for sentence in sentences]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_into_a_region_is_python_s(kind):
    known, constants, shape = KINDS[kind]
    rng, rule = np.random.default_rng(len(kind)), RegionFilter(knowledge=known)
    separately = isinstance(known, CurvatureRows)
    state, rounds, expected = rule.init(np.array([0.05, -0.1])), [], []
    for t in range(1, ROUNDS + 1):
        g, s = shape(state.x) if separately else largest(shape, state.x)
        if kind == "ball" and (t % 20 == 1 or g > -1e-9):  # it ends at the boundary, and stays
            state = rule.init(np.array([0.05, -0.1]))
            g, s = largest(shape, state.x)
        w = told(rng, state.x, t)
        if "errors" in kind:
            g = g + rng.uniform(-0.03, 0.03)
        one = isinstance(known, Curvature)
        listed = {"g": [g], "s": [s]} if one else {"g": g, "s": s}
        before = {"x": state.x, "memory": seen_as(state.memory)}
        state, info = rule.step(state, Feedback(None, g, s, proposal=w))
        if kind == "ball":
            state, info = alone(known, state, info, w)
        memory = state.memory.rounds
        rounds.append({"state": before, "told": w, "t": int(memory), **listed})
        certificate = info.region.certificate(info.x)
        # Which of two rows with the same bound is named is a matter of rounding.
        bounds = np.sort(info.region.bounds(info.x)) if separately else np.array([-np.inf, 0.0])
        words = [str(certificate), *info.contradictions] if bounds[-1] > bounds[-2] + 1e-9 else None
        expected.append((state.x, certificate.bound, words))
    takes = {"half-spaces": "rows", "lie": "hull", "low": "curvature"}
    take = takes.get(kind, kind.partition(" ")[0])
    found = by_node("filter", rounds, kind=take, constants=constants)
    alike, alarms = [], 0
    # Several rows are searched by another method here, and both end when they are near enough.
    near = 1e-5 if separately else 1e-12
    for got, (x, bound, words) in zip(found, expected, strict=True):
        assert np.abs(np.array(got["x"]) - x).max() <= near
        assert abs(got["bound"] - bound) <= near
        alarms += bool(got["contradictions"])
        if words is not None:
            alike.append(tidy([got["text"], *got["contradictions"]]) == tidy(words))
    assert np.mean(alike) > 0.97  # a third digit may be rounded the other way
    assert len(alike) > 0.3 * ROUNDS
    assert (alarms > 0) == (kind in ("lie", "low"))


def steep(x):
    """A limit with a face far steeper than the others: what was read before says nothing of it."""
    g, s = largest(polygon, x)
    wall = 6.0 * (x[0] - 0.5)
    return (wall, np.array([6.0, 0.0])) if wall > g else (g, s)


def estimated_as(memory):
    if not memory.first:
        plain = {name: getattr(memory, name) for name in ("first", "proved", "used", "outside")}
        return {"rounds": 0, "part": seen_as(memory.part), "back": False, **plain}
    start = memory.part.start
    kept = {"x": start.x, "value": start.value, "round": start.round}
    return memory._asdict() | {"part": seen_as(memory.part), "start": kept}


@pytest.mark.parametrize("error", [0.0, 0.02])
def test_a_step_where_nobody_knows_the_slopes_is_python_s(error):
    known = EstimatedHull(domain=Ball(RADIUS), theta=1.3, errors=Errors(value=error))
    rng, rule = np.random.default_rng(3), RegionFilter(knowledge=known)
    state, rounds, expected, outside = rule.init(np.array([0.05, -0.1])), [], [], 0
    for t in range(1, ROUNDS + 1):
        if t % 20 == 1:  # soon enough is proved of the slopes, and nothing is outside any more
            outside += state.memory.outside
            state = rule.init(np.array([0.05, -0.1]))
        g, s = steep(state.x)
        g += rng.uniform(-error, error)
        w = told(rng, state.x, t) + np.array([0.5, 0.0])
        before = {"x": state.x, "memory": estimated_as(state.memory)}
        state, info = rule.step(state, Feedback(None, g, s, proposal=w))
        when = int(state.memory.rounds)
        rounds.append({"state": before, "told": w, "g": g, "s": s, "t": when})
        certificate = info.region.certificate(info.x)
        bound = getattr(certificate, "part", certificate).bound
        words = [str(certificate), str(known.estimate(state.memory))]
        expected.append((state.x, bound, words, info.region))
    assert outside > ROUNDS / 100  # so that means of actions were played, too
    constants = {"theta": 1.3, "reach": RADIUS, "valueError": error}
    alike = []
    for got, (x, bound, words, region) in zip(
        by_node("estimated", rounds, constants=constants), expected, strict=True
    ):
        assert np.abs(np.array(got["x"]) - x).max() <= 1e-9
        assert abs(got["bound"] - bound) <= 1e-9
        alike.append(tidy([got["text"], got["estimate"]]) == tidy(words))
        if "outline" in got:  # of a mean of actions, after a round outside
            assert_drawn_around(region, got["outline"], x)
    assert np.mean(alike) > 0.97  # the weights of an action inside are not the only ones


def assert_drawn_around(region, outline, x):
    """What the page draws holds the next action, and just outside of it nothing is certified."""
    outline = np.array(outline)
    ways = np.roll(outline, -1, axis=0) - outline
    normals = np.stack([ways[:, 1], -ways[:, 0]], axis=1)
    beyond = ((x - outline) * normals).sum(axis=1)
    assert (beyond <= 5e-3 * np.linalg.norm(normals, axis=1) + 1e-12).all()  # seen from 360 sides
    middle = outline.mean(axis=0)
    for corner in outline[::72]:
        assert not region.contains(corner + 1e-2 * (corner - middle))


@pytest.mark.parametrize(("G_g", "error"), [(1.1, 0.0), (1.1, 0.02), (0.6, 0.0)])
def test_a_step_in_a_context_is_python_s(G_g, error):
    start = np.array([0.05, -0.1])
    known = ContextHull(
        G_g=G_g,
        reach=RADIUS,
        start_bound=-0.3,
        context=Column(adds=1.0),
        errors=Errors(value=error),
    )
    rng, place, x = np.random.default_rng(5), 0.05, start
    memory = known.announce(known.init(start), Context(np.array([place])))
    rounds, expected = [], []
    for t in range(1, ROUNDS + 1):
        g, s = largest(polygon, x)
        g += place + rng.uniform(-error, error)
        w, after = told(rng, x, t), rng.uniform(0.0, 0.1)
        parts = zip(*memory.seen, strict=True)
        seen = [{"x": p, "value": v, "place": c[0], "round": r} for p, v, c, r in parts]
        before = {"rounds": memory.rounds, "context": place, "seen": seen}
        seen = {"memory": before, "x": x, "g": g, "s": s}
        rounds.append(seen | {"told": w, "place": after, "t": t})
        reading = Reading(x, g, s, known.errors)
        alarms = len(known.contradictions(memory, reading))
        memory = known.observe(memory, reading)
        memory = known.announce(memory, Context(np.array([after])))
        region = known.region(memory, known.errors)
        x, place = region.nearest(w), after
        assert G_g < 1 or largest(polygon, x)[0] + place <= 0
        certificate = region.certificate(x)
        expected.append((x, certificate.bound, str(certificate), alarms, region))
    constants = {"G_g": G_g, "reach": RADIUS, "startBound": -0.3, "valueError": error}
    alike = []
    for got, (x, bound, words, alarms, region) in zip(
        by_node("context", rounds, constants=constants), expected, strict=True
    ):
        np.testing.assert_allclose(got["x"], x, atol=1e-12)
        same = abs(got["bound"] - bound) <= 1e-9
        assert len(got["contradictions"]) == alarms
        assert (alarms > 0) == (G_g < 1)  # every slope is longer than that
        alike.append(same and tidy([got["text"]]) == tidy([words]))
        assert_drawn_around(region, got["outline"], x)
    assert np.mean(alike) > 0.97  # the weights of an action inside are not the only ones


def test_a_limit_that_the_weather_tightens_is_the_same_function_and_a_smaller_set():
    rng = np.random.default_rng(6)
    points = [{"told": 2 * rng.normal(size=2)} for _ in range(200)]
    for game in ({"corners": CORNERS}, {"ellipse": list(ELLIPSE.values())}):
        for got in by_node("tightened", points, c=0.1, **game):
            assert got["value"] <= 0
            assert got["after"] == pytest.approx(got["before"] + 0.1, abs=1e-12)


@pytest.mark.parametrize("shape", [polygon, ellipse])
@pytest.mark.parametrize("error", [0.0, 0.02])
def test_leader_and_follower_are_the_kernel_bit_for_bit(shape, error):
    if kernel.compiled() is None:
        pytest.skip("the kernel was not built")
    player = LeaderFollower(G_g=1.1, domain=Ball(RADIUS), value_error=error)
    assert player.engine == "kernel"
    rng, start = np.random.default_rng(7), np.array([0.05, -0.1])
    state, rounds, expected = player.init(start), [], []
    for t in range(ROUNDS):
        g, s = largest(shape, state.x)
        g += error * rng.uniform(-1, 1)
        grad = state.x - 1.2 * np.array([np.cos(0.01 * t), np.sin(0.01 * t)])
        grad = grad + 0.2 * rng.normal(size=2)
        state = player.update(state, Feedback(grad, g, s))
        rounds.append({"told": grad, "g": g, "s": s})
        expected.append(state.x.tolist())
    constants = {"G_g": 1.1, "radius": RADIUS, "valueError": error}
    found = by_node("leader", rounds, constants=constants, start=start)
    assert [got["x"] for got in found] == expected


RIVALS = {
    "pfs": (PFS(eta=0.1, rho=0.05, domain=Ball(RADIUS)), {"eta": 0.1, "rho": 0.05}),
    "dpp": (DPP(V=20.0, alpha=100.0, rows=5, domain=Ball(RADIUS)), {"V": 20.0, "alpha": 100.0}),
    "lbSgd": (
        LBSGD(weight=0.02, beta=0.5, cost_curvature=1.0),
        {"weight": 0.02, "beta": 0.5, "costCurvature": 1.0},
    ),
}


@pytest.mark.parametrize("name", RIVALS)
def test_the_rivals_are_python_s_too(name):
    player, constants = RIVALS[name]
    rng = np.random.default_rng(2)
    state, rounds, expected = player.init(np.array([0.05, -0.1])), [], []
    for t in range(ROUNDS):
        g, s = polygon(state.x) if name != "pfs" else largest(polygon, state.x)
        grad = state.x - 1.5 * np.array([np.cos(0.02 * t), np.sin(0.02 * t)]) + rng.normal(size=2)
        rounds.append({"state": state._asdict(), "told": grad, "g": g, "s": s})
        state = player.update(state, Feedback(grad, g, s))
        expected.append(state)
    found = by_node(name, rounds, constants=constants | {"radius": RADIUS})
    for got, after in zip(found, expected, strict=True):
        for field, value in got.items():
            wanted = getattr(after, field)
            assert np.abs(np.array(value) - wanted).max() <= 1e-12 * max(1, np.abs(wanted).max())


def test_projections_are_those_of_the_sets_and_never_outside():
    rng = np.random.default_rng(4)
    points = [{"told": 2 * rng.normal(size=2)} for _ in range(200)]
    P, _ = quadratic()
    for game, oracle, known in (
        (
            {"corners": CORNERS},
            polygon,
            Polytope(polygon(np.zeros(2))[1], -polygon(np.zeros(2))[0]),
        ),
        ({"ellipse": list(ELLIPSE.values())}, ellipse, Ellipsoid(P, ELLIPSE["centre"])),
    ):
        for got, asked in zip(by_node("project", points, **game), points, strict=True):
            assert got["value"] <= 0
            assert np.abs(np.array(got["x"]) - known.project(asked["told"])).max() <= 1e-9
            g, s = largest(oracle, asked["told"])
            assert got["g"] == pytest.approx(g, abs=1e-12)
            assert got["s"] == pytest.approx(s, abs=1e-12)


def test_numbers_are_written_as_python_writes_them():
    rng = np.random.default_rng(1)
    values = [*(10.0 ** rng.uniform(-9, 9, 200) * rng.choice([-1, 1], 200)), 0.0, 1.0, 1e3, 0.25]
    asked = [{"value": float(v), "digits": d} for v in values for d in (3, 6)]
    found = [answer["text"] for answer in by_node("general", asked)]
    assert found == [f"{a['value']:.{a['digits']}g}" for a in asked]
