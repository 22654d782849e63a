"""The error of a round's slope: told, journalled, replayed, and dropped by no engine."""

import json
from operator import attrgetter

import numpy as np
import pytest

from surefoot import Ball, CertifiedOGD, CertifiedPFS, Controller, Feedback, LeaderFollower, kernel
from surefoot.controller import replay
from surefoot.controller.service import ControllerService
from surefoot.core.errors import InvalidValueError
from surefoot.core.feedback import FIELDS
from surefoot.core.types import Context
from surefoot.kernel_bridge import step_in_place
from surefoot.knowledge import Curvature, CurvatureRows, LipschitzHull
from surefoot.rules import Averaged, CostProbing, Delayed, RegionFilter, ValuesFollower

A = np.array([[0.8, 0.6], [-0.6, 0.8]])
ROWS = CurvatureRows(beta=1.0, rows=2, reach=1.5, domain=Ball(1.5))
PLAYERS = {
    "one row": CertifiedOGD(radius=1.5, knowledge=Curvature(beta=1.0, reach=1.5, domain=Ball(1.5))),
    "rows": CertifiedOGD(radius=1.5, knowledge=ROWS),
    "length": CertifiedPFS(G_g=1.1, domain=Ball(1.5), rho=0.1),
    "leader": LeaderFollower(G_g=1.1, domain=Ball(1.5)),
}


def play(live, name, rounds=25, slope_error=0.2):
    """Play A x <= 0.5 with slopes that err in every third round; of one row, the first alone."""
    rng, actions = np.random.default_rng(3), []
    for t in range(rounds):
        x = live.ask()
        actions.append(x)
        g, s, more = A @ x - 0.5, A.copy(), {}
        if t % 3 == 0:
            way = rng.normal(size=(2, 2))
            s += slope_error * way / np.linalg.norm(way, axis=1, keepdims=True)
            more = {"slope_error": slope_error}
        worst = 0 if name == "one row" else int(g.argmax())
        seen = (g, s) if name == "rows" else (float(g[worst]), s[worst])
        told = {"constraint_value": seen[0], "constraint_subgradient": seen[1]}
        live.tell(cost_gradient=[-1.0, -0.3 - 0.1 * t], **told, **more)
    return np.array(actions)


def limits(name):
    """Return the rows that must hold."""
    return A[:1] if name == "one row" else A


@pytest.mark.parametrize("name", PLAYERS)
def test_a_slope_error_is_counted_with_journalled_and_replayed(name, tmp_path):
    path = tmp_path / "run.jsonl"
    player = PLAYERS[name]
    with Controller(player, [0.0, 0.0], journal=path) as live:
        actions = play(live, name)
        last = live.ask()
    assert (limits(name) @ actions.T <= 0.5).all()
    rounds = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    told = [line.get("slope_error") for line in rounds if line["kind"] == "round"]
    assert told == [0.2 if t % 3 == 0 else None for t in range(25)]
    assert replay(path).is_same
    with Controller.open(path) as again:
        np.testing.assert_array_equal(again.ask(), last)


@pytest.mark.parametrize("name", ["one row", "rows"])
def test_without_the_error_of_the_round_the_next_action_would_go_further(name):
    moved = {}
    for error in (None, 0.3):
        live = Controller(PLAYERS[name], [0.0, 0.0])
        live.ask()
        seen = ([-0.5, -0.5], A) if name == "rows" else (-0.5, A[0])
        told = {"constraint_value": seen[0], "constraint_subgradient": seen[1]}
        live.tell(cost_gradient=[-1.0, -1.0], **told, slope_error=error)
        moved[error] = float(np.linalg.norm(live.ask()))
    assert moved[0.3] < 0.9 * moved[None]


@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
@pytest.mark.parametrize("name", PLAYERS)
def test_engines_agree_on_the_error_of_a_slope(name):
    played = []
    for engine in ("kernel", "python"):
        with kernel.engine(engine):
            played.append(play(Controller(PLAYERS[name], [0.0, 0.0]), name, rounds=15))
    np.testing.assert_allclose(*played, rtol=0, atol=1e-9)


FILTER = RegionFilter(knowledge=Curvature(beta=1.0, reach=1.5, domain=Ball(1.5)))
SMALL = LeaderFollower(G_g=1.1, domain=Ball(1.5))


@pytest.mark.parametrize(
    ("player", "told", "sentence"),
    [
        (SMALL, {"slope_error": -0.1}, "slope_error must be finite and at least 0, got -0.1"),
        (SMALL, {"slope_error": np.inf}, "slope_error must be finite and at least 0, got inf"),
        (
            CostProbing(base=SMALL, length=0.01),
            {"cost_value": 1.0, "cost_gradient": None, "slope_error": 0.1},
            "slope_error is not used by CostProbing: leave it out",
        ),
        (
            Averaged(base=SMALL, sigma=0.01),
            {"slope_error": 0.1},
            "slope_error is not used by Averaged: leave it out",
        ),
        (
            ValuesFollower(G_g=1.1, domain=Ball(1.5)),
            {"slope_error": 0.1},
            "slope_error is not used by ValuesFollower: leave it out",
        ),
    ],
)
def test_an_error_that_is_none_or_not_counted_with_is_refused(player, told, sentence):
    live = Controller(player, [0.0, 0.0])
    live.ask()
    usual = {"cost_gradient": [-1.0, 0.0], "constraint_value": -0.5}
    with pytest.raises(InvalidValueError, match=sentence):
        live.tell(**usual | {"constraint_subgradient": [0.6, 0.8]} | told)
    assert live.round == 1


def test_an_error_comes_with_what_it_is_of():
    live = Controller(RegionFilter(knowledge=LipschitzHull(G_g=1.1, reach=1.5)), [0.0, 0.0])
    live.ask()
    with pytest.raises(InvalidValueError, match="slope_error must come with constraint_subgradien"):
        live.tell(proposal=[-1.0, 0.0], constraint_value=-0.5, slope_error=0.1)


def test_a_late_slope_comes_with_its_error():
    live = Controller(Delayed(base=PLAYERS["one row"], delay=1), [0.0, 0.0])
    assert (A[:1] @ play(live, "one row").T <= 0.5).all()


def test_a_service_takes_a_slope_error():
    service = ControllerService(Controller(SMALL, [0.0, 0.0]))
    service.answer(b'{"do": "ask"}')
    told = {"cost_gradient": [-1.0, 0.0], "constraint_value": -0.5}
    told |= {"do": "tell", "constraint_subgradient": [0.6, 0.8], "slope_error": 0.1}
    assert json.loads(service.answer(json.dumps(told).encode()))["ok"]


# --- no field of a feedback is dropped ------------------------------------------------------------

SAMPLES = {
    "cost_gradient": np.array([2.0, 1.0]),
    "constraint_value": -0.3,
    "constraint_subgradient": np.array([0.3, 0.7]),
    "cost_value": 3.0,
    "value_error": 0.05,
    "slope_error": 0.4,
    "action": np.array([0.02, 0.01]),
    "age": 1,
    "proposal": np.array([0.1, -0.4]),
    "within": Ball(0.01),
    "direction": np.array([0.6, 0.8]),
    "hint": np.array([0.6, -0.8]),
    "context": Context(np.zeros(1)),
    "readings": np.array([26.5]),
}
"""A value for each field, other than in the round below: a new field needs one here."""


def players_of(name):
    """Return what the kernel plays and reads a field, where any does."""
    if name == "proposal":
        return [FILTER]
    if name in ("slope_error", "value_error"):
        return [PLAYERS["rows"]]
    # The age of a reading counts where g drifts.
    return [LeaderFollower(G_g=1.1, domain=Ball(1.5), drift=0.01 if name == "age" else 0.0)]


@pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
@pytest.mark.parametrize("field", FIELDS, ids=attrgetter("name"))
def test_the_kernel_reads_a_field_or_leaves_the_round_to_python(field):
    name = field.name
    for player in players_of(name):
        usual = Feedback(np.array([-1.0, -0.5]), -0.5, np.array([0.6, 0.8]))
        if player is PLAYERS["rows"]:
            usual = usual._replace(
                constraint_value=np.array([-0.5, -0.4]), constraint_subgradient=A
            )
        if player is FILTER:
            usual = usual._replace(cost_gradient=None, proposal=np.array([0.9, 0.9]))
        told = usual._replace(**{name: SAMPLES[name]})
        state = player.init(np.zeros(2))
        rule = player.compiled.rule(player, state.x)
        block, out = rule.block_of(state), np.empty(rule.out)
        does = step_in_place(rule, block, told, out)
        assert does == (field.kernel != "python")
        if not does:
            continue
        with kernel.engine("python"):
            start = player.init(np.zeros(2))
            mine, without = (player.step(start, seen)[0].x for seen in (told, usual))
        np.testing.assert_allclose(block[:2], mine, rtol=0, atol=1e-12)
        if field.kernel == "ignores":
            np.testing.assert_array_equal(mine, without)
        else:
            assert not np.array_equal(mine, without)
