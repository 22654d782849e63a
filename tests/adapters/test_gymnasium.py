"""The wrapper for Gymnasium: its host's checkers, what it returns, and what it promises."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from benchmarks import feeder as learning
from tests._scripts import script

from surefoot import Ball, Constants
from surefoot.core.errors import InvalidValueError
from surefoot.guarantees import PremiseError, PremiseWarning
from surefoot.knowledge import (
    AnnouncedDrift,
    AverageLimit,
    Column,
    ContextHull,
    Curvature,
    Errors,
    LipschitzHull,
    Together,
)
from surefoot.rules import Averaged, Delayed, RegionFilter, SafetyFilter
from surefoot.sets import Box

gymnasium = pytest.importorskip("gymnasium")
pytestmark = pytest.mark.hosts

from surefoot.adapters.gymnasium import SafeAction, cost_below  # noqa: E402

KNOWN = Constants(R=0.9, G_g=1.45, start_slack=0.4)


@pytest.fixture(scope="module")
def cable():
    pytest.importorskip("stable_baselines3")
    return script("examples/gymnasium_cable.py")


def wrapped(env, **options):
    options.setdefault("action_only", True)
    return SafeAction(env, SafetyFilter.default(KNOWN), start=[0.0, 0.0], **options)


def test_both_checkers_have_nothing_to_say(cable):
    from gymnasium.utils.env_checker import check_env
    from stable_baselines3.common.env_checker import check_env as check_sb3

    with warnings.catch_warnings():
        # It warns of every wrapper, and asks for the environment inside.
        warnings.filterwarnings("ignore", ".*different from the unwrapped version.*")
        check_env(wrapped(cable.Cable()), skip_render_check=True)
    check_sb3(wrapped(cable.Cable()))


def test_ppo_trains_without_a_step_outside_and_not_so_without_the_wrapper(cable):
    assert cable.train(safe=True, steps=512) == 0
    assert cable.train(safe=False, steps=512) > 256


def test_a_step_says_what_was_wanted_played_and_why(cable):
    env = wrapped(cable.Cable())
    _, info = env.reset(seed=1)
    assert info["guarantee"].startswith("g <= 0 in every round")
    wanted = np.array([1.0, 1.0], np.float32)
    *_, info = env.step(wanted)
    assert info["action_played"].tolist() == [0.0, 0.0]  # the start: nothing was measured yet
    assert info["certificate"] is None
    *_, info = env.step(wanted)
    assert info["action_proposed"].tolist() == [1.0, 1.0]
    assert info["cost"] == 0.0
    assert info["constraint_value"] <= info["certificate"].bound <= 0
    assert "the next g is at most" in str(info["certificate"])
    assert pickle.loads(pickle.dumps(info))["certificate"] == info["certificate"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hostile_agents_stay_inside_in_both_precisions(cable, dtype):
    class Cable(cable.Cable):
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), dtype)

    random = np.random.default_rng(0)
    for safe in (
        SafetyFilter.default(KNOWN),
        RegionFilter(knowledge=LipschitzHull(G_g=1.45, reach=0.9)),
    ):
        env = SafeAction(Cable(), safe, start=[0.0, 0.0], action_only=True)
        for day in range(3):
            env.reset(seed=day)
            for t in range(64):
                wanted = random.choice([-1.0, 1.0], 2) if t % 2 else np.array([1.0, 1.0])
                *_, info = env.step(wanted.astype(dtype))
                assert info["constraint_value"] <= 0
                assert info["action_played"].dtype == dtype
                assert env.action_space.contains(info["action_played"])


def test_what_was_returned_may_be_written_to(cable):
    def days(spoil):
        env, seen = wrapped(cable.Cable()), []
        env.reset(seed=0)
        for _ in range(20):
            action = np.array([1.0, 0.5], np.float32)
            *_, info = env.step(action)
            seen.append(info["action_played"].copy())
            if spoil:
                action[:] = 9.0
                info["action_played"][:] = 9.0
                info["constraint_subgradient"][:] = 9.0
        return np.array(seen)

    np.testing.assert_array_equal(days(True), days(False))


class SixValues(gymnasium.Env):
    """As safety-gymnasium: the cost is the third of six values, and has no slope."""

    action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float64)
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1), {}

    def step(self, action):
        return np.zeros(1), 0.0, float(np.linalg.norm(action)), False, False, {}


def test_six_values_become_five_and_values_alone_certify():
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    env = SafeAction(SixValues(), safe, [0.0, 0.0], cost_below(0.5), action_only=True)
    env.reset(seed=0)
    for _ in range(30):
        *_, terminated, truncated, info = env.step(np.array([1.0, 0.3]))
        assert info["cost"] <= 0.5
        assert (terminated, truncated) == (False, False)
    assert info["cost"] > 0.49
    env = SafeAction(SixValues(), SafetyFilter.default(KNOWN), [0.0, 0.0], cost_below(0.5))
    env.reset(seed=0)
    with pytest.raises(
        InvalidValueError, match="must be reported to a filter that certifies by slopes"
    ):
        env.step(np.zeros(2))


def test_the_label_says_what_is_claimed(cable):
    assert "and g depends only on the action; float32" in wrapped(cable.Cable()).guarantee
    assert wrapped(cable.Cable(), action_only=False).guarantee.startswith("nothing is claimed")


def test_a_reset_begins_anew_from_the_start(cable):
    env = wrapped(cable.Cable())
    for _ in range(2):
        env.reset(seed=0)
        played = [env.step(np.array([1.0, 1.0], np.float32))[-1]["action_played"] for _ in range(9)]
        assert played[0].tolist() == [0.0, 0.0]
    assert max(p[0] for p in played) > 0.1


def test_the_environment_can_be_made_again_from_its_specification(cable):
    gymnasium.register("surefoot/Cable-v0", entry_point=cable.Cable)
    try:
        env = wrapped(gymnasium.make("surefoot/Cable-v0", disable_env_checker=True))
        again = gymnasium.make(env.spec)
    finally:
        del gymnasium.registry["surefoot/Cable-v0"]
    assert isinstance(again, SafeAction)
    assert again.guarantee == env.guarantee


def test_mistakes_are_one_sentence_each(cable):
    with pytest.raises(InvalidValueError, match="env must have a Box"):
        SafeAction(gymnasium.make("CartPole-v1"), SafetyFilter.default(KNOWN), [0.0])
    with pytest.raises(InvalidValueError, match="start must be an action that the host accepts"):
        SafeAction(cable.Cable(), SafetyFilter.default(KNOWN), [3.0, 0.0])
    env = wrapped(cable.Cable(), constraint=lambda action, info: (np.nan, action.astype(float)))
    env.reset(seed=0)
    with pytest.raises(InvalidValueError, match=r"action\.shape must be"):
        env.step(np.zeros(3, np.float32))
    with pytest.raises(InvalidValueError, match="constraint_value must be finite, got nan"):
        env.step(np.zeros(2, np.float32))
    env = SafeAction(SixValues(), SafetyFilter.default(KNOWN), [0.0, 0.0])
    env.reset(seed=0)
    with pytest.raises(InvalidValueError, match="info must have 'constraint_value'"):
        env.step(np.zeros(2))


class Drifting(gymnasium.Env):
    """The limit on the length of an action falls by 0.001 per step, and rises again."""

    action_space = gymnasium.spaces.Box(-2.0, 2.0, (2,), np.float64)
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1), {}

    def step(self, action):
        self.t += 1
        limit = 0.5 + abs(0.2 - 0.001 * (self.t % 400))
        size = np.linalg.norm(action)
        seen = {
            "constraint_value": size - limit,
            "constraint_subgradient": action / max(size, 1e-300),
        }
        return np.zeros(1), 0.0, False, False, seen


@pytest.mark.parametrize(
    "safe",
    [
        RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=0.001))),
        SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.05, drift=0.001),
    ],
    ids=["region", "safety"],
)
def test_a_drift_that_the_filter_is_told_is_claimed_and_kept(safe):
    env = SafeAction(Drifting(), safe, start=[0.0, 0.0])
    assert "g drifts by at most 0.001 per round" in env.guarantee
    env.reset(seed=0)
    values = []
    for t in range(500):
        angle = 0.02 * t
        wanted = 2.0 * np.array([np.cos(angle), np.sin(angle)])
        values.append(env.step(wanted)[-1]["constraint_value"])
    assert max(values) <= 0
    assert max(values[50:]) > -0.1


class Flaky(gymnasium.Env):
    """The limit x <= 0.5, whose reading fails in one step: an exception, or a value of its own."""

    action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float64)
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def __init__(self, at, failure):
        self.at, self.failure = at, failure

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.played = []
        return np.zeros(1), {}

    def step(self, action):
        self.played.append(float(action[0]))
        seen = {"constraint_value": action[0] - 0.5, "constraint_subgradient": np.ones(1)}
        if len(self.played) == self.at:
            if isinstance(self.failure, Exception):
                raise self.failure
            seen.update(self.failure)
        return np.zeros(1), 0.0, False, False, seen


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError("the line is busy"),
        {"constraint_value": np.nan},
        {"constraint_value": -np.inf},
        {"constraint_subgradient": None},
        {"constraint_subgradient": np.array([np.nan])},
    ],
    ids=["raises", "nan", "infinite", "no slope", "nan slope"],
)
@pytest.mark.parametrize(
    "known",
    [Constants(R=2.0, G_g=1.0, start_slack=0.5), Curvature(beta=0.0, reach=2.0)],
    ids=["slope", "curvature"],
)
def test_an_action_that_was_not_measured_is_held_until_it_is(known, failure, at):
    slope = isinstance(known, Constants)
    safe = SafetyFilter.default(known) if slope else RegionFilter(knowledge=known)
    env = SafeAction(Flaky(at, failure), safe, [0.0], action_only=True)
    env.reset(seed=0)
    for t in range(1, 7):
        if t == at:
            with pytest.raises((RuntimeError, InvalidValueError), match=r"busy|constraint_"):
                env.step(np.array([2.0]))
        else:
            *_, info = env.step(np.array([2.0]))
            assert info["action_played"] == env.env.played[-1]
    played = env.env.played
    assert max(played) <= 0.5
    assert played[at] == played[at - 1]  # again, since nobody knows what g was there
    assert played[-1] > 0.1  # and then it goes on


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_step_in_which_nothing_was_measured_is_played_again(at):
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0))
    env = SafeAction(Flaky(at, {"constraint_value": None}), safe, [0.0], action_only=True)
    env.reset(seed=0)
    costs = []
    for _ in range(6):
        *_, info = env.step(np.array([2.0]))
        costs.append(info["cost"])
    assert [np.isnan(cost) for cost in costs] == [t == at for t in range(1, 7)]
    played = env.env.played
    assert played[at] == played[at - 1]
    assert 0.1 < played[-1] == max(played) <= 0.5


@pytest.mark.parametrize(
    ("safe", "why"),
    [
        (
            RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=0.001))),
            "allows for drift",
        ),
        (
            RegionFilter(knowledge=AverageLimit(G_g=1.0, reach=1.0, most=0.2)),
            "a limit on the average, which every round",
        ),
        (RegionFilter.unknown(Box.cube(2.0, 1)).algorithm, "estimates G_g, and the action"),
    ],
    ids=["drift", "average", "unknown"],
)
def test_an_action_whose_g_may_be_above_0_is_not_played_again_unmeasured(safe, why):
    env = SafeAction(Flaky(2, {"constraint_value": None}), safe, [0.0], action_only=True)
    env.reset(seed=0)
    for _ in range(2):
        env.step(np.array([2.0]))
    for _ in range(2):
        with pytest.raises(InvalidValueError, match=f"{why}.*: call reset, got no reading"):
            env.step(np.array([2.0]))
    assert len(env.env.played) == 2


@pytest.mark.parametrize("kind", [Averaged, Delayed])
def test_what_is_around_a_filter_is_refused_with_the_reason(kind):
    options = {"sigma": 0.01} if kind is Averaged else {"delay": 1}
    around = kind(base=RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0)), **options)
    sentence = f"filter must be without {kind.__name__}, because a host adds a margin.* Controller"
    with pytest.raises(InvalidValueError, match=sentence):
        SafeAction(Flaky(9, {}), around, [0.0])


def test_a_hold_under_drift_is_refused_since_g_may_have_risen():
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=1.0, errors=Errors(drift=0.001)))
    env = SafeAction(Flaky(2, {"constraint_value": np.nan}), safe, [0.0])
    for _ in range(2):
        env.reset(seed=0)
        env.step(np.array([2.0]))
        with pytest.raises(InvalidValueError, match="must be finite, got nan"):
            env.step(np.array([2.0]))
        for _ in range(2):
            with pytest.raises(InvalidValueError, match="call reset"):
                env.step(np.array([2.0]))
        assert len(env.env.played) == 2


@pytest.mark.parametrize("reaction", ["warn", "raise"])
def test_constants_that_are_contradicted_are_heard_of(reaction, caplog):
    class Steep(Flaky):
        def step(self, action):
            *rest, seen = super().step(action)
            return *rest, {key: 10 * value for key, value in seen.items()}

    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0))  # G_g is 10
    env = SafeAction(Steep(0, {}), safe, [0.0], on_contradiction=reaction, action_only=True)
    env.reset(seed=0)
    env.step(np.array([2.0]))  # the start
    sentence = r"\|s\| = 10 exceeds G_g = 1"
    if reaction == "raise":
        for _ in range(2):
            with pytest.raises(PremiseError, match=sentence):
                env.step(np.array([2.0]))
        assert env.env.played == [0.0]  # not played, and the reading is still known
        assert len(caplog.records) == 2
        env.reset(seed=0)
        assert env.step(np.array([2.0]))[-1]["action_played"] == [0.0]
        return
    with pytest.warns(PremiseWarning, match=sentence) as found:
        env.step(np.array([2.0]))
    assert len(found) == 1
    values = [env.step(np.array([2.0]))[-1]["constraint_value"] for _ in range(20)]
    assert max(values) > 0
    env.reset(seed=1)  # the same wrapper with the same constants: nobody is warned again
    for _ in range(3):
        env.step(np.array([2.0]))
    assert {record.name for record in caplog.records} == {"surefoot"}
    assert len({record.message.partition(":")[0] for record in caplog.records}) == 21


# --- contexts ------------------------------------------------------------------------------------

SLOPE = np.array([1.0, 0.75])
HULL = {"G_g": 1.25, "domain": Box([0.0, 0.0], [1.0, 1.0]), "start_bound": -0.25}


class Feeder(gymnasium.Env):
    """Two loads beside a base load that the observation names: in multiples of 1/1024, exactly."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, dtype=np.float32, rows=False, days=40):
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (2,), dtype)
        self.rows, self.days, self.values, self.played = rows, days, [], []
        self.bases, self.fails, self.unread = [], (), ()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.base, self.left = 0.5, self.days
        return self.look(), {}

    def look(self):
        return np.array([0.0, self.base], np.float32)

    def limits(self, x):
        """Return exact values: of the feeder, and of a fuse of the first load."""
        exact = [Fraction(float(part)) for part in x]
        base = Fraction(self.base)
        return exact[0] + Fraction(3, 4) * exact[1] + base - Fraction(5, 4), (
            2 * exact[0] + base - Fraction(3, 2)
        )

    def step(self, action):
        t, x = len(self.played), action.astype(np.float64)
        exact = self.limits(x)[: 1 + self.rows]
        self.played.append(x)
        self.values.append(max(exact))
        self.bases.append(self.base)
        if t in self.fails:
            raise RuntimeError("the line is busy")
        value = [x[0] + 0.75 * x[1] + self.base - 1.25, 2 * x[0] + self.base - 1.5]
        slopes = np.array([SLOPE, [2.0, 0.0]])
        seen = {
            "constraint_value": np.array(value) if self.rows else value[0],
            "constraint_subgradient": slopes if self.rows else SLOPE.copy(),
        }
        if t in self.unread:
            seen = {"constraint_value": None}
        self.base = round(float(self.np_random.uniform(0.0, 1.0)) * 1024) / 1024
        self.left -= 1
        return self.look(), 0.0, False, self.left == 0, seen


def read_base(observation, info):
    return [float(observation[1])]


def in_context(env, look=read_base, **options):
    known = {**HULL, **options.pop("known", {})}
    hull = ContextHull(context=Column(adds=1.0), **known)
    if env.rows:
        fuse = ContextHull(context=Column(adds=1.0), **(known | {"G_g": 2.0, "start_bound": -0.5}))
        hull = Together(rows=(hull, fuse))
    return SafeAction(env, RegionFilter(knowledge=hull), [0.0, 0.0], context=look, **options)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_action_is_outside_in_a_context_that_jumps(dtype, rows):
    random, feeder = np.random.default_rng(0), Feeder(dtype, rows)
    env = in_context(feeder)
    assert "and g depends only on the action and the context" in env.guarantee
    for day in range(5):
        env.reset(seed=day)
        for t in range(40):
            wish = np.ones(2) if t % 2 else random.uniform(0.0, 1.0, 2)
            *_, info = env.step(wish.astype(dtype))
            assert "surefoot" not in info
            if t > 1:
                assert info["certificate"].bound <= 0
    assert max(feeder.values) <= 0
    assert max(feeder.values) > -1e-6  # the room there is in each context is used
    # The action follows the context: more base load, less else, in the same step.
    inside = [x @ SLOPE for x in feeder.played if (x > 0).any()]
    assert max(inside) - min(inside) > 0.4


def test_an_agent_that_plays_anything_is_never_left_without_an_action():
    # In a search within the box moved inwards, an action was certified and then, asked again after
    # many others, was not, by a rounding: it was not played, and the step failed.
    learner = script("examples/gymnasium_feeder.py")
    for seed in (3, 18):
        feeder, random = learner.Feeder(), np.random.default_rng(seed)
        env = learner.limited(feeder, "context")
        env.reset(seed=seed)
        for _ in range(64):
            wish = np.clip(random.normal(0.2, 0.6, 2), 0, 1).astype(np.float32)
            wish[0] *= random.random() >= 0.3
            env.step(wish)
        assert feeder.outside == 0


def test_the_context_is_that_of_the_next_action_not_of_the_last():
    # One step behind, the same filter is outside: the attack that the order must withstand.
    worst = {}
    for behind in (False, True):
        feeder, before = Feeder(np.float64), [0.5]

        def look(observation, info, before=before, behind=behind):
            before.append(float(observation[1]))
            return [before[-2] if behind else before[-1]]

        env = in_context(feeder, look, on_contradiction="warn")
        env.reset(seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PremiseWarning)
            for _ in range(40):
                env.step(np.ones(2))
        worst[behind] = max(feeder.values)
    assert worst[False] <= 0 < worst[True]


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (lambda base: [float("nan")], "context must be finite, got nan"),
        (lambda base: [float("inf")], "context must be finite"),
        (lambda base: [base, base], "context must be one number, one per column, got 2"),
        (lambda base: "warm", "context must be"),
        (lambda base: None, "context must be"),
    ],
    ids=["nan", "infinite", "length", "text", "none"],
)
@pytest.mark.parametrize("at", [0, 1, 5])
def test_a_context_that_cannot_be_read_is_played_at_the_start(odd, words, at):
    feeder, calls = Feeder(), []

    def look(observation, info):
        calls.append(1)
        base = float(observation[1])
        return odd(base) if len(calls) == at + 1 else [base]

    env = in_context(feeder, look)
    env.reset(seed=0)
    for t in range(12):
        *_, info = env.step(np.ones(2, np.float32))
        assert ("surefoot" in info) == (t == at)
        if t == at:
            assert info["surefoot"].startswith(f"the start is played, because {words}")
            assert info["action_played"].tolist() == [0.0, 0.0]
            assert info["certificate"] is None
    assert max(feeder.values) <= 0
    assert feeder.played[-1].any()  # and then it goes on


@pytest.mark.parametrize("at", [0, 1, 4])
def test_a_step_that_fails_or_is_not_measured_in_contexts(at):
    for failing in (True, False):
        feeder = Feeder()
        feeder.fails, feeder.unread = ((at,), ()) if failing else ((), (at,))
        env = in_context(feeder)
        env.reset(seed=0)
        for t in range(12):
            if failing and t == at:
                with pytest.raises(RuntimeError, match="busy"):
                    env.step(np.ones(2, np.float32))
                continue
            *_, info = env.step(np.ones(2, np.float32))
            # Nobody saw what follows a failed step; a reading alone is not needed.
            assert ("surefoot" in info) == (failing and t == at + 1)
        assert max(feeder.values) <= 0
        assert feeder.played[-1].any()


def test_a_vector_of_environments_begins_each_day_in_its_own_context():
    feeders = [Feeder(days=3), Feeder(days=4)]
    makers = [lambda feeder=feeder: in_context(feeder) for feeder in feeders]
    for mode in gymnasium.vector.AutoresetMode:
        if mode is gymnasium.vector.AutoresetMode.DISABLED:
            continue
        vector = gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=mode)
        vector.reset(seed=3)
        for _ in range(40):
            vector.step(np.ones((2, 2), np.float32))
        for feeder in feeders:
            assert max(feeder.values) <= 0
            assert any(x.any() for x in feeder.played)
            assert sum(not x.any() for x in feeder.played) >= 8  # a day begins at the start


def test_contexts_of_a_filter_and_of_the_host_go_together():
    plain = RegionFilter(knowledge=LipschitzHull(**{**HULL, "start_bound": None}))
    hull = {"context": Column(adds=1.0), **HULL}
    moving = RegionFilter(knowledge=ContextHull(**hull))
    told = RegionFilter(knowledge=ContextHull(**(hull | {"context": AnnouncedDrift()})))
    unbound = RegionFilter(knowledge=ContextHull(**(hull | {"start_bound": None})))
    for safe, options, words in (
        (moving, {}, "context must be a function of the observation and the info, because the fil"),
        (plain, {"context": read_base}, "context must be None for a filter without contexts"),
        (unbound, {"context": read_base}, "filter must have a start_bound in contexts"),
        (told, {"context": read_base}, "contexts must be columns, which an observation may have"),
        (moving, {"context": [0.5]}, "context must be a function"),
        (moving, {"context": read_base, "action_only": True}, "action_only must be False where"),
    ):
        with pytest.raises(InvalidValueError, match=words):
            SafeAction(Feeder(), safe, [0.0, 0.0], **options)


def test_a_context_in_float32_is_rejected_unless_the_rounding_is_allowed_for():
    def look(observation, info):
        return observation[1:]

    with pytest.raises(InvalidValueError, match=r"context.*float32"):
        in_context(Feeder(), look).reset(seed=0)
    env = in_context(Feeder(), look, known={"errors": Errors(evaluation=1e-6)})
    env.reset(seed=0)
    env.step(np.ones(2, np.float32))


def test_a_bound_on_the_start_takes_the_margin_of_float32_too():
    env = SafeAction(Feeder(days=99), RegionFilter(knowledge=LipschitzHull(**HULL)), [0.0, 0.0])
    keeper = env._keeper
    assert keeper.filter.knowledge.start_bound == pytest.approx(-0.25 + 1.25 * keeper.length)
    assert keeper.filter.knowledge.start_bound >= -0.25 + 1.25 * keeper.length


class Warming(gymnasium.Env):
    """A limit that creeps up by 0.001 per step, whatever is played, and forgets it at a reset."""

    action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float64)
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def __init__(self, forgets=True):
        self.forgets, self.heat = forgets, 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.heat = 0.0 if self.forgets else self.heat
        return np.zeros(1), {}

    def step(self, action):
        value = action[0] - 0.5 + self.heat
        self.heat += 0.001
        seen = {"constraint_value": value, "constraint_subgradient": np.ones(1)}
        return np.zeros(1), 0.0, False, False, seen


@pytest.mark.parametrize("policy", ["warn", "raise"])
@pytest.mark.parametrize("across", [False, True], ids=["in a day", "from day to day"])
def test_a_false_claim_is_answered_in_the_agents_words(policy, across):
    safe = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0))
    env = SafeAction(
        Warming(forgets=not across), safe, [0.0], action_only=True, on_contradiction=policy
    )
    env.reset(seed=0)
    env.step(np.zeros(1))
    if across:
        assert env.guarantee.startswith("g <= 0 in every round")
        env.reset(seed=0)
    env.step(np.zeros(1))  # the same action reads otherwise
    words = r"g depends on the state \(its reading moved by 0.001 at the same action\): give a dr"
    if policy == "raise":
        with pytest.raises(PremiseError, match=words):
            env.step(np.zeros(1))
    else:
        with pytest.warns(PremiseWarning, match=words):
            env.step(np.zeros(1))
    assert env.guarantee.startswith("nothing: g depends on the state")


def test_no_claim_is_called_false_without_a_reading_that_says_so(cable):
    env = wrapped(cable.Cable(), on_contradiction="raise")
    for day in range(2):
        env.reset(seed=day)
        for wish in (np.zeros(2), np.ones(2), np.ones(2), np.zeros(2), np.zeros(2)):
            env.step(wish.astype(np.float32))
    assert env.guarantee.startswith("g <= 0 in every round")


def test_checkers_have_nothing_to_say_of_contexts():
    from gymnasium.utils.env_checker import check_env
    from stable_baselines3.common.env_checker import check_env as check_sb3

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*different from the unwrapped version.*")
        check_env(in_context(Feeder()), skip_render_check=True)
        warnings.filterwarnings("ignore", ".*symmetric and normalized Box.*")  # loads are not
        check_sb3(in_context(Feeder()))


@pytest.mark.slow
def test_ppo_earns_more_with_the_context_than_with_a_drift_and_is_never_outside():
    pytest.importorskip("stable_baselines3")
    outside, with_context = learning.train("context", 1_024, seed=0)
    drifting, with_drift = learning.train("drift", 1_024, seed=0)
    assert outside == drifting == 0
    assert with_context > 1.2 * with_drift
    assert learning.train("", 512, seed=0)[0] > 128
