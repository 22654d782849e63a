"""Filters in a live loop: told proposals, journalled and replayed like rules."""

import numpy as np
import pytest

from surefoot import PFS, Controller
from surefoot.controller import read_journal, replay
from surefoot.controller.check import check
from surefoot.core.errors import InvalidValueError
from surefoot.core.types import needs_of
from surefoot.guarantees.tuning import unpack
from surefoot.knowledge import Curvature, LipschitzHull
from surefoot.rules import CertifiedOGD, LeaderFollower, RegionFilter, SafetyFilter
from surefoot.sets import Ball, Box

from ._live import (
    CONSTANTS,
    FILTERS,
    LIMITS,
    PLAYERS,
    ROWS,
    START,
    drive,
    raw_loop,
    same_bits,
    same_state,
    seen_at,
)


@pytest.mark.parametrize("name", FILTERS)
def test_asking_and_telling_a_filter_is_init_and_admit_bit_for_bit(name):
    controller = Controller(FILTERS[name], START)
    actions = drive(controller, FILTERS[name], 40)
    wanted, state = raw_loop(FILTERS[name], 40)
    assert same_bits(actions, wanted)
    assert same_state(controller.state, state)
    assert (LIMITS[:, None] >= ROWS @ actions.T).all()


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_with_a_journal_goes_on_bit_for_bit_and_is_replayed(name, tmp_path):
    path, player = tmp_path / "filter.db", FILTERS[name]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 7)
    with Controller.open(path) as controller:
        drive(controller, player, 5, first=8)
        assert same_state(controller.state, raw_loop(player, 12)[1])
        assert controller.explain().is_proven
    assert replay(path).is_same
    record = read_journal(path)
    assert record.round_count == 12
    assert record.rounds[0].cost_gradient is None
    assert same_bits(record.rounds[0].proposal, seen_at(player, 1, START)["proposal"])


@pytest.mark.parametrize(
    ("player", "told", "sentence"),
    [
        (
            FILTERS["safety filter"],
            {"cost_gradient": [1.0, 2.0]},
            "SafetyFilter needs proposal, got cost_gradient=[1.0, 2.0]",
        ),
        (
            PLAYERS["PFS"],
            {"proposal": [1.0, 2.0]},
            "PFS needs cost_gradient, got proposal=[1.0, 2.0]",
        ),
        (
            FILTERS["safety filter"],
            {"proposal": [1.0, np.nan]},
            "proposal must be finite, got nan at index 1",
        ),
        (
            FILTERS["safety filter"],
            {},
            "proposal must be an array of shape (2,), that of the action, got None",
        ),
    ],
)
def test_what_a_player_is_not_told_is_one_sentence(player, told, sentence):
    controller = Controller(player, START)
    x = controller.ask()
    with pytest.raises(InvalidValueError) as error:
        controller.tell(constraint_value=-0.2, constraint_subgradient=[0.6, 0.9], **told)
    assert str(error.value) == sentence
    assert (controller.round, controller.ask().tolist()) == (1, x.tolist())


def test_a_proposal_may_be_written_over():
    controller, other = (Controller(FILTERS["hull filter"], START) for _ in range(2))
    told = seen_at(FILTERS["hull filter"], 1, controller.ask())
    other.ask()
    used = dict(told, proposal=told["proposal"].copy())
    controller.tell(**told)
    other.tell(**used)
    used["proposal"][:] = 9.0
    assert same_bits(controller.ask(), other.ask())


@pytest.mark.parametrize(
    "player",
    [
        RegionFilter(knowledge=LipschitzHull(G_g=2.0, reach=2.0)),
        SafetyFilter(G_g=2.0, domain=Ball(2.0), rho=0.1),
        LeaderFollower(G_g=2.0, domain=Ball(2.0)),
        RegionFilter(knowledge=Curvature(beta=0.0, reach=2.0)),
        CertifiedOGD(knowledge=Curvature(beta=0.0, reach=2.0), radius=2.0, eta=1.0),
    ],
    ids=["filter", "filter with a margin", "rule", "curvature", "descent"],
)
def test_an_announced_set_holds_the_next_action_and_is_replayed(player, tmp_path):
    proposal = (
        {"proposal": [9.0, 9.0]} if needs_of(player).proposals else {"cost_gradient": [-9.0, -9.0]}
    )
    with Controller(player, [0.0, 0.0], journal=tmp_path / "run.jsonl") as controller:
        controller.ask()
        controller.tell(
            constraint_value=-1.0,
            constraint_subgradient=[1.0, 1.0],
            within=Box([-0.25, -0.25], [0.25, 0.25]),
            **proposal,
        )
        assert controller.ask().tolist() == [0.25, 0.25]
    assert replay(tmp_path / "run.jsonl").is_same


def test_a_rule_that_takes_no_announced_set_says_so():
    controller = Controller(PFS(eta=0.1, rho=0.1, domain=Ball(1.0)), [0.0])
    controller.ask()
    with pytest.raises(InvalidValueError, match=r"^within is not used by PFS: leave it out$"):
        controller.tell(
            cost_gradient=[1.0],
            constraint_value=-1.0,
            constraint_subgradient=[1.0],
            within=Ball(1.0),
        )


@pytest.mark.parametrize(
    "player",
    [
        RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0)),
        LeaderFollower.default(CONSTANTS),
        LeaderFollower.unknown(Ball(1.5)),
    ],
    ids=["filter", "leader", "unknown"],
)
def test_knowledge_that_certifies_by_values_takes_rounds_without_a_slope(player, tmp_path):
    path = tmp_path / "values.jsonl"
    with Controller(player, START, journal=path) as controller:
        name = "proposal" if needs_of(unpack(player)[0]).proposals else "cost_gradient"
        for _ in range(20):
            x = controller.ask()
            g = float((ROWS @ x - LIMITS).max())
            controller.tell(**{name: [-1.0, -0.5]}, constraint_value=g)
        explanation = controller.explain()
        assert (ROWS @ controller.ask() <= LIMITS).all()
        assert not (controller.ask() == START).all()
    assert replay(path).is_same
    promises = unpack(player)[1] is not None and explanation.promises.in_advance is not None
    assert (explanation.uncovered == "round 1: no slope was reported") is promises
    assert check(str(path)).is_right


def test_knowledge_that_certifies_by_slopes_takes_no_round_without_one():
    controller = Controller(FILTERS["safety filter"], START)
    controller.ask()
    sentence = "^constraint_subgradient must be an array of shape"
    with pytest.raises(InvalidValueError, match=sentence):
        controller.tell(proposal=[0.0, 0.0], constraint_value=-0.5)
    assert controller.round == 1
