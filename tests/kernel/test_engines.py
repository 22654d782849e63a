"""One step, two engines: states go from one to the other, and a refused round changes nothing."""

import copy
import pickle

import numpy as np
import pytest

from surefoot import Ball, Feedback, LeaderFollower, kernel, kernel_bridge as compiled
from surefoot.certified_pair import CertifiedState
from surefoot.core.errors import InvalidValueError, SurefootError
from surefoot.core.plain import encode
from surefoot.core.record import is_tree
from surefoot.core.types import Info
from surefoot.kernel_bridge import state_of_block, step_in_place
from surefoot.rules import CertifiedPFS, Delayed
from surefoot.sets import Box, Simplex
from tests.kernel.players import Limit, players

pytestmark = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
LEADER = LeaderFollower(G_g=1.0, domain=Ball(1.0))
SEEN = Feedback(np.array([-3.0, -4.0]), -0.5, np.array([0.0, 1.0]))


def play(player, d=2, rounds=60):
    limit, state = Limit(player, d), player.init(np.zeros(d))
    for t in range(rounds):
        state, info = player.step(state, limit.told(t, state.x))
    return state, info


def same(one, other):
    """Whether two states have the same bits; the order of cuts counts."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if is_tree(one):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("name", list(players(2)))
def test_a_state_is_the_same_after_it_was_unpacked_and_packed(name):
    player = players(2)[name]
    state, _ = play(player)
    again = state.kernel.rule.block_of(copy.copy(state))
    assert same(tuple(state_of_block(state.kernel.rule, again)), tuple(state))


@pytest.mark.parametrize("name", list(players(2)))
def test_a_block_steps_in_place_as_the_pure_step_does(name):
    player = players(2)[name]
    limit, state = Limit(player, 2), player.init(np.zeros(2))
    rule = player.compiled.rule(player, state.x)
    block, out = rule.block_of(state), np.empty(rule.out)
    for t in range(80):
        told = limit.told(t, state.x)
        state, info = player.step(state, told)
        assert step_in_place(rule, block, told, out)
        np.testing.assert_array_equal(block, state.kernel.block)
        assert out[rule.at["bound"]] == info.kernel.bound


@pytest.mark.parametrize("name", [name for name in players(2) if name.startswith("leader")])
def test_what_a_block_has_beyond_its_cuts_is_never_read(name, monkeypatch):
    monkeypatch.setattr(compiled, "LONG", 0)
    player = players(2)[name]
    limit, state, shorter = Limit(player, 2), player.init(np.zeros(2)), 0
    for t in range(80):
        told = limit.told(t, state.x)
        state, _ = player.step(state, told)
        rule, block = state.kernel.rule, state.kernel.block.copy()
        used = rule.size - (rule.fields["cuts"] - int(block[rule.count])) * rule.d
        block[used:] = np.nan
        one, other = (player.step(known, told) for known in (state, state_of_block(rule, block)))
        assert same(tuple(one[0]), tuple(other[0]))
        assert (one[1].certificate, one[1].note) == (other[1].certificate, other[1].note)
        shorter += used < rule.size
    assert shorter > 0


@pytest.mark.slow
def test_engines_change_in_the_middle_of_a_run():
    limit, state = Limit(LEADER, 2), LEADER.init(np.zeros(2))
    engines = set()
    for t in range(90):
        with kernel.engine("python" if t // 10 % 2 else "kernel"):
            told = limit.told(t, state.x)
            near = Box(state.x - 0.01, state.x + 0.01) if t % 7 == 3 else None
            state, info = LEADER.step(state, told._replace(within=near))  # which only Python has
            assert near is None or near.contains(state.x)
        engines.add("python" if state.kernel is None else "kernel")
        assert info.certificate.bound <= 0
        assert np.max(limit.rows @ state.x - limit.offsets) <= 0
    assert engines == {"python", "kernel"}


BAD = {
    "a NaN": (SEEN._replace(cost_gradient=np.array([np.nan, 0.0])), "cost_gradient"),
    "an infinite value": (SEEN._replace(constraint_value=np.inf), "constraint_value"),
    "another length": (SEEN._replace(cost_gradient=np.zeros(3)), "cost_gradient.shape"),
    "an overflow": (SEEN._replace(cost_gradient=np.full(2, 1e200)), "finite square"),
    "a row": (SEEN._replace(constraint_subgradient=np.ones((1, 2))), "constraint_subgradient"),
    "a negative error": (SEEN._replace(value_error=-1.0), "value_error"),
    "a negative age": (SEEN._replace(age=-1), "age"),
    "a hidden number": (
        SEEN._replace(constraint_subgradient=np.ma.array([1.0, 0.0], mask=[True, False])),
        "masked",
    ),
    "single precision": (
        SEEN._replace(constraint_subgradient=np.ones(2, dtype=np.float32)),
        "constraint_subgradient",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_is_refused_in_python_s_words_and_changes_nothing(name):
    told, word = BAD[name]
    state, _ = play(LEADER)
    block, out = state.kernel.block.copy(), np.empty(state.kernel.rule.out)
    with pytest.raises(InvalidValueError, match=word) as caught:
        LEADER.step(state, told)
    with kernel.engine("python"), pytest.raises(InvalidValueError) as wanted:
        LEADER.step(state, told)
    assert str(caught.value) == str(wanted.value)
    assert not step_in_place(state.kernel.rule, block, told, out)
    np.testing.assert_array_equal(block, state.kernel.block)


def test_a_round_that_is_refused_after_a_cut_was_forgotten_is_undone():
    # A slope whose square is 0 is found useless after the memory, which is full, has taken its cut.
    player = LeaderFollower(G_g=10.0, domain=Ball(2.0), cuts=2, value_error=0.01, slope_error=0.1)
    state, rng = player.init(np.zeros(2)), np.random.default_rng(0)
    for _ in range(6):
        state, _ = player.step(state, Feedback(rng.normal(size=2), -0.5, rng.normal(size=2)))
    told = Feedback(rng.normal(size=2), 0.5, np.array([1e-170, 1e-170]))
    with pytest.raises(SurefootError):
        player.step(state, told)
    block = state.kernel.block.copy()
    assert not step_in_place(state.kernel.rule, block, told, np.empty(state.kernel.rule.out))
    np.testing.assert_array_equal(block, state.kernel.block)


def test_wrong_constants_are_said_in_the_same_words():
    player = LeaderFollower(G_g=0.5, domain=Ball(2.0))
    state = other = player.init(np.zeros(2))
    limit, found = Limit(player, 2), 0
    for t in range(40):
        told = limit.told(t, other.x)._replace(action=other.x)
        state, info = player.step(state, told)
        other, wanted = player.step_in_python(other, told)
        assert info.contradictions == wanted.contradictions
        assert info.kernel.alarms > 0
        found += len(wanted.contradictions)
    assert found >= 40


def test_players_that_the_kernel_has_not_are_python_s():
    simplex = LeaderFollower(G_g=1.0, domain=Simplex(3))
    assert simplex.engine == "python"
    assert LEADER.engine == "kernel"
    with kernel.engine("python"):
        assert LEADER.engine == "python"
    state = simplex.init(np.full(3, 1 / 3))
    state, _ = simplex.step(state, Feedback(np.ones(3), -0.5, np.ones(3) / 2))
    assert state.kernel is None


def test_a_batch_and_a_column_of_constants_are_python_s():
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.2)
    state = player.init(np.zeros((3, 2)))
    told = Feedback(np.ones((3, 2)), np.full((3, 1), -0.5), np.ones((3, 2)))
    assert player.step(state, told)[0].x.shape == (3, 2)
    columns = CertifiedPFS(G_g=np.ones((3, 1)), domain=Ball(1.0), rho=0.2)
    assert columns.engine == "python"


def test_a_state_can_be_pickled_stored_and_changed():
    state, _ = play(LEADER)
    assert same(pickle.loads(pickle.dumps(state)), tuple(state))
    assert encode(state) == encode(copy.copy(state))
    moved = state._replace(x=np.array([0.1, 0.0]))
    assert same(tuple(moved)[1:], tuple(state)[1:])
    assert LEADER.step(moved, SEEN)[0].memory.last.x.tolist() == [0.1, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        state.x[0] = 1.0
    pickle.loads(pickle.dumps(LEADER))  # with what was compiled


def test_wrappers_read_what_they_need_of_the_kernel_s_states():
    player = Delayed(base=LEADER, delay=2)
    state = player.init(np.zeros(2))
    limit = Limit(LEADER, 2)
    for t in range(30):
        state, info = player.step(state, limit.told(t, state.x))
    assert info.certificate.bound <= 0


def test_a_state_that_was_unpacked_goes_on_to_the_last_bit():
    player = LeaderFollower(G_g=1.6, domain=Ball(0.95))
    state, limit = player.init(np.zeros(2)), np.array([0.8, 0.5])
    costs = np.random.default_rng(3).uniform(-1.3, -0.2, size=(200, 2))
    for grad in costs:
        x = state.x
        told = Feedback(grad, float(limit @ x**2) - 0.4, 2 * limit * x)
        state, _ = player.step(state, told)
        again, _ = player.step(state, told._replace(cost_gradient=-grad))
        other, _ = player.step(copy.copy(state), told._replace(cost_gradient=-grad))
        assert (again.kernel.block == other.kernel.block).all()


def test_a_kernel_of_another_text_does_not_play(monkeypatch):
    monkeypatch.setattr("surefoot.kernel._step.TEXT", "of another day")
    with pytest.warns(RuntimeWarning, match="of another version, so Python plays: install"):
        assert kernel.load("_step") is None


@pytest.mark.parametrize(
    "name", ["leader, default", "length, sigma", "descent, rows", "filter, hull"]
)
def test_states_and_infos_are_of_one_class_whoever_takes_the_step(name):
    player, x = players(2)[name], np.full(2, 0.01)
    told = Limit(player, 2).told(1, x)
    found = {}
    for engine in ("kernel", "python"):
        with kernel.engine(engine):
            found[engine] = player.step(player.init(x), told)
    (state, info), (in_python, known) = found["kernel"], found["python"]
    assert type(state) is type(in_python) is CertifiedState
    assert type(info) is type(known) is Info
    assert len(state) == len(in_python) == 4
    assert len(info) == len(known) == 6
    at, memory, learner, plan = state
    assert at.tobytes() == state[0].tobytes() == info[0].tobytes()
    assert np.allclose(at, in_python.x, rtol=1e-12, atol=1e-12)
    assert type(memory) is type(in_python.memory)
    assert type(learner) is type(in_python.learner)
    assert plan is None
    action, proposal, region, suspects, note, t = info
    assert np.allclose(action, known.x, rtol=1e-12, atol=1e-12)
    assert np.allclose(proposal, known.proposal, rtol=1e-12, atol=1e-12)
    assert type(region) is type(known.region)
    assert type(note) is type(known.note)
    assert [words for suspect in suspects for words in suspect()] == list(known.contradictions)
    assert t is known.round is None
    assert list(info._asdict()) == list(Info._fields)
    assert type(copy.copy(state)) is CertifiedState
    assert repr(state) == repr(copy.copy(state))


class Slowed(LeaderFollower):
    """A rule of somebody's own: half of the way that leader and follower go."""

    def step_in_python(self, state, feedback):
        after, info = super().step_in_python(state, feedback)
        return after._replace(x=0.5 * (state.x + after.x)), info


def test_the_kernel_leaves_a_rule_to_python_whose_steps_a_subclass_changes():
    own, usual = (kind(G_g=1.0, domain=Ball(1.0)) for kind in (Slowed, LeaderFollower))
    assert own.engine == "python"
    told = Feedback(np.array([-1.0, 0.0]), -0.5, np.array([1.0, 0.0]))
    ways = [player.update(player.init(np.zeros(2)), told).x for player in (own, usual)]
    np.testing.assert_allclose(ways[0], 0.5 * ways[1], rtol=1e-9)


class Located(LeaderFollower):
    """A rule of somebody's own, whose readings are all of the start."""

    def locate(self, state, feedback):
        return super().locate(state, feedback)._replace(action=np.zeros(2))


def test_the_kernel_leaves_a_rule_to_python_that_says_itself_where_a_reading_is_from():
    player = Located(G_g=1.0, domain=Ball(1.0))
    told = Feedback(np.array([-1.0, 0.0]), -0.5, np.array([1.0, 0.0]))
    state = player.init(np.zeros(2))
    for _ in range(3):
        state = player.update(state, told)
    assert player.engine == "python"
    assert np.linalg.norm(state.x) <= 0.5
