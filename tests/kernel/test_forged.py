"""States that no run leads to: the kernel refuses them, and touches no other memory."""

import copy
import re

import numpy as np
import pytest

from surefoot import Ball, CertifiedPFS, Feedback, LeaderFollower, kernel
from surefoot.core.errors import InvalidValueError
from surefoot.kernel_bridge import step_in_place
from surefoot.rules import ValuesFollower

from .players import Limit, players

pytestmark = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")

TOLD = Feedback(np.array([0.5, -0.2]), -0.3, np.array([0.6, 0.8]))


def leader(rounds=3):
    """A leader after some rounds, as the kernel has it."""
    player = LeaderFollower(G_g=1.1, domain=Ball(1.5))
    state = player.init(np.array([0.1, 0.2]))
    for t in range(rounds):
        state, _ = player.step(state, Feedback(np.array([0.5, -0.2 * t]), -0.3, TOLD[2]))
    return player.compiled.rule(player, state.x), state


@pytest.mark.parametrize("count", [-1.0, 0.5, 1e9, 2.0**32 + 2, -1e300, np.nan, np.inf, -np.inf])
def test_a_number_of_cuts_that_is_no_whole_number_in_its_range_is_refused(count):
    rule, state = leader()
    block, out = state.kernel.block.copy(), np.empty(rule.out)
    block[rule.count] = count
    before = block.copy()
    extension = kernel.compiled()
    assert extension.step(rule.handle, block, TOLD, out) == extension.SF_NO_STATE
    with pytest.raises(InvalidValueError, match="number of cuts that is whole and from 0 to"):
        step_in_place(rule, block, TOLD, out)
    assert block.tobytes() == before.tobytes()


def test_one_cut_more_than_there_is_room_for_is_refused():
    rule, state = leader()
    block, out = state.kernel.block.copy(), np.empty(rule.out)
    block[rule.count] = rule.fields["cuts"] + 1
    with pytest.raises(InvalidValueError, match=f"to {rule.fields['cuts']}, got "):
        step_in_place(rule, block, TOLD, out)


@pytest.mark.parametrize("probes", [-1.0, 0.5, 3.0, 1e9, -1e300, 2.0**32 + 1, np.nan, np.inf])
def test_a_number_of_probes_that_is_no_whole_number_up_to_d_is_refused(probes):
    player, values = (
        ValuesFollower(G_g=1.1, domain=Ball(1.5)),
        TOLD._replace(constraint_subgradient=None),
    )
    state = player.init(np.array([0.1, 0.2]))
    for _ in range(3):
        state, _ = player.step(state, values)
    rule = player.compiled.rule(player, state.x)
    name, at, most = rule.counts[0]
    assert (name, most, rule.counts[1][0], rule.count) == ("probes", 2, "cuts", rule.counts[1][1])
    block, out = state.kernel.block.copy(), np.empty(rule.out)
    block[at] = probes
    before = block.copy()
    with pytest.raises(InvalidValueError, match="number of probes that is whole and from 0 to 2"):
        step_in_place(rule, block, values, out)
    assert block.tobytes() == before.tobytes()
    with pytest.raises(InvalidValueError, match="number of probes that is whole and from 0 to 2"):
        rule.learner_of(block)


def test_the_kernel_leaves_a_round_with_a_slope_to_python_which_refuses_it():
    player = ValuesFollower(G_g=1.1, domain=Ball(1.5))
    state = player.init(np.array([0.1, 0.2]))
    rule = player.compiled.rule(player, state.x)
    for more in ({}, {"constraint_subgradient": None, "slope_error": 0.1}):
        told = TOLD._replace(**more)
        assert not step_in_place(rule, rule.block_of(state), told, np.empty(rule.out))
        with pytest.raises(InvalidValueError, match="is not used by ValuesFollower: leave it out"):
            player.step(state, told)


def test_a_part_of_another_size_is_refused_before_it_shifts_the_block():
    rule, state = leader()
    state = copy.copy(state)
    longer = state.memory.last._replace(x=np.zeros(3))
    forged = state._replace(memory=state.memory._replace(last=longer))
    words = re.escape("state must have last.x of shape (2,), as the kernel has it, got shape (3,)")
    with pytest.raises(InvalidValueError, match=words):
        rule.block_of(forged)
    with pytest.raises(InvalidValueError, match=words):
        rule.player.step(forged, TOLD)


def test_a_part_of_as_many_numbers_and_another_shape_is_refused():
    rule, state = leader()
    state = copy.copy(state)
    turned = state.learner._replace(points=state.learner.points.T)
    with pytest.raises(InvalidValueError, match=r"must have points of shape \(4, 2\)"):
        rule.block_of(state._replace(learner=turned))


def test_the_state_of_another_rule_is_refused():
    rule, state = leader()
    other = CertifiedPFS(G_g=1.1, domain=Ball(1.5), rho=0.1).init(np.zeros(2))
    words = "state must have the parts of LipschitzHull and Leader, got CertifiedState"
    for forged in (other, copy.copy(state)._replace(learner=()), other._replace(memory=None)):
        with pytest.raises(InvalidValueError, match=words):
            rule.block_of(forged)


def test_more_cuts_than_there_is_room_for_are_refused():
    rule, state = leader()
    state, many = copy.copy(state), rule.fields["cuts"] + 1
    cuts = state.learner.cuts._replace(
        normals=np.zeros((many, 2)), offsets=np.zeros(many), inverses=np.zeros(many)
    )
    with pytest.raises(InvalidValueError, match="state must have the parts of LipschitzHull"):
        rule.block_of(state._replace(learner=state.learner._replace(cuts=cuts)))


@pytest.mark.parametrize("name", players(2))
def test_every_block_is_as_long_as_its_parts(name):
    player, x = players(2)[name], np.full(2, 0.01)
    state, limit = player.init(x), Limit(player, 2)
    rule = player.compiled.rule(player, x)
    assert rule.layout.memory.end == rule.layout.learner.first
    assert rule.layout.learner.end == rule.layout.end == rule.size
    assert rule.written.end == rule.out
    for t in range(3):
        state, _ = player.step(state, limit.told(t, state.x))
    assert len(rule.block_of(copy.copy(state))) == rule.size
