"""What every public rule and wrapper promises, made as a user makes it, wherever that is said."""

import pytest
from tests._tuned import tuned_cases
from tests.composition.parts import find_knowledge as find_kinds

from surefoot import rules
from surefoot.certified import Certified
from surefoot.controller import Controller, read_journal
from surefoot.core.algorithm import Algorithm
from surefoot.core.constants import Constants
from surefoot.core.lazy import read_names
from surefoot.guarantees import explain_nothing, promises_of, safety_of, unpack
from surefoot.knowledge import Curvature, HullOfLog, LipschitzHull
from surefoot.knowledge.base import find_knowledge
from surefoot.proposers.proposals import Proposals
from surefoot.rules import (
    OGD,
    PFS,
    Averaged,
    ChangeOver,
    CostProbing,
    Delayed,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    ValuesAveraging,
    ValuesFollower,
)
from surefoot.rules.certified.moving_balls import MovingBalls
from surefoot.rules.wrappers.wrapper import Wrapper
from surefoot.sets import Ball, Box
from surefoot.testing import small_problem

START = [0.0, 0.0]
DISC = Ball(1.0)
HULL = LipschitzHull(G_g=1.0, domain=DISC)
BENT = Curvature(beta=1.0, reach=1.0)
FOLLOWER = LeaderFollower(G_g=1.0, domain=DISC)
KNOWN = Constants(R=1.0, G_f=1.0, G_g=1.0, start_slack=0.5, start_reach=1.0, beta=1.0)


def public(package, kind):
    """Every public class of a package that is of a kind."""
    found = [getattr(package, name) for name in read_names(package.__name__)]
    return [one for one in found if isinstance(one, type) and issubclass(one, kind)]


BARE = {
    "Certified": [Certified(proposer=Proposals(), knowledge=HULL)],
    "LeaderFollower": [
        FOLLOWER,
        LeaderFollower(G_g=1.0, domain=DISC, ramp=0.1),
        LeaderFollower(G_g=1.0, domain=DISC, value_error=0.01, drift=0.001),
        LeaderFollower(G_g=[1.0, 2.0], domain=DISC),
        LeaderFollower.unknown(DISC).algorithm,
    ],
    "ValuesFollower": [ValuesFollower(G_g=1.0, domain=DISC)],
    "ValuesAveraging": [ValuesAveraging(knowledge=BENT, radius=1.0, start_slope=1.0)],
    "RegionFilter": [
        RegionFilter(knowledge=HULL),
        RegionFilter(knowledge=HullOfLog(points=[START, [1.0, 0.0]], values=[-0.5, 0.5])),
    ],
    "SafetyFilter": [SafetyFilter(G_g=1.0, domain=DISC, rho=0.1)],
    "MovingBalls": [MovingBalls(knowledge=BENT, eta=0.1)],
    "Delayed": [
        Delayed(base=FOLLOWER, delay=1),
        Delayed(base=FOLLOWER, delay=2, copies=False, late=True),
        Delayed(base=PFS(eta=0.1, rho=0.1, domain=DISC), delay=1),
    ],
    "Averaged": [Averaged(base=FOLLOWER, sigma=0.01)],
    "CostProbing": [
        CostProbing(base=FOLLOWER, length=0.01),
        CostProbing(base=Averaged(base=FOLLOWER, sigma=0.01), length=0.01),
    ],
    "ChangeOver": [ChangeOver(base=FOLLOWER, constants=KNOWN, horizon=1_000)],
}
"""Rules with parameters of the user's own, by the name of their class."""
WITHOUT_LOOP = {"NetworkPenalty", "LevyKrause"}
"""Rules of several agents, or of several points a round: no controller plays them."""
BASES = {"Measuring"}
"""Wrappers that are played as another public class."""


def players_of(kind):
    """Players of a class as a user makes them: by hand, and with the parameters of a theorem."""
    tuned = [(player, start) for player, start in tuned_cases(kind) if kind.tunings]
    return [(player, START) for player in BARE.get(kind.__name__, ())] + tuned


RULES = [
    kind
    for kind in public(rules, Algorithm)
    if kind.__name__ not in WITHOUT_LOOP | BASES
]  # fmt: skip


@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
def test_what_is_promised_of_every_player_is_said_wherever_it_is_asked(kind, tmp_path):
    players = players_of(kind)
    assert players, f"{kind.__name__} is new: give one that a user makes in BARE"
    for i, (player, start) in enumerate(players):
        path = tmp_path / f"{i}.jsonl"
        with Controller(player, start, journal=path) as loop:
            explained = str(loop.explain())
        record, promise = read_journal(path), promises_of(player).feasibility
        audit = str(record)
        if promise is None:
            why = explain_nothing(player)
            assert find_knowledge(player) is None, kind
            assert type(player).__name__ in why
            assert "certifies no action" in why
            assert f"feasibility  {why}" in explained
            assert record.guarantee == why
        else:
            assert "certified by" in promise.theorem
            assert promise.theorem.lower().startswith(("theorem", "the ", "one theorem"))
            assert promise.needs
            assert f"feasibility  {promise.theorem}" in explained
            assert record.guarantee.startswith(promise.theorem)
            assert record.promises.feasibility == promise
            assert f"needs           {promise.needs[0]}" in audit
        for text in (explained, audit):
            assert "no guarantee" not in text
            assert "guarantee       none" not in text
            assert "feasibility     none" not in text
            assert "feasibility  none" not in text


@pytest.mark.parametrize("kind", [k for k in RULES if k.tunings], ids=lambda kind: kind.__name__)
def test_the_theorem_of_a_tuning_says_what_it_promises_of_the_constraint(kind):
    problem = small_problem([0.2, 0.4], rounds=8)
    for tuning in kind.tunings:
        entry = rules.try_tuning(
            kind, tuning, problem.constants, 1_000, problem.domain, Box([-0.5] * 2, [0.25, 0.5])
        )
        if entry.tuned is None:
            continue
        loop = Controller(entry.tuned, [0.2, 0.4])
        words = str(loop.explain())
        assert "feasibility  none" not in words
        if unpack(entry.tuned)[1].feasibility is None:
            assert "nothing is promised of the constraint: " in words


@pytest.mark.parametrize("kind", find_kinds(), ids=lambda kind: kind.__name__)
def test_every_kind_of_knowledge_names_the_statement_that_certifies(kind):
    assert vars(kind).get("proved_by"), f"{kind.__name__} is new: name its theorem in proved_by"


# --- by hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("player", "theorem"),
    [
        (FOLLOWER, "Theorem E (certified by LipschitzHull)"),
        (BARE["LeaderFollower"][1], "Theorem E (certified by LipschitzHull), within the ramp"),
        (BARE["LeaderFollower"][2], "Theorem E with N (certified by LipschitzHull)"),
        (BARE["LeaderFollower"][3], "one theorem per limit (certified by Together): Theorem E "
         "(certified by LipschitzHull)"),
        (BARE["LeaderFollower"][4], "Theorem U and V (certified by EstimatedHull)"),
        (BARE["ValuesAveraging"][0],
         "the quadratic bound of Theorem C (certified by Curvature), slopes by values"),
        (BARE["Delayed"][0], "Theorem E (certified by LipschitzHull), 2 copies in turn"),
        (BARE["Delayed"][1],
         "Theorem E (certified by LipschitzHull), played ahead of late readings"),
        (BARE["CostProbing"][1], "Theorem E (certified by LipschitzHull), with probability 0.99, "
         "costs by value"),
        (BARE["ChangeOver"][0], "Theorem E (certified by LipschitzHull), then Theorem D"),
    ],
)  # fmt: skip
def test_the_statement_of_a_wrapper_follows_from_that_of_its_base(player, theorem):
    assert safety_of(player).name == theorem


def test_noise_has_no_bound_on_the_error_of_a_value():
    promise = safety_of(BARE["Averaged"][0]).feasibility
    assert not [words for words in promise.needs if words.startswith("values err")]
    assert promise.needs[-1] == (
        "the noise of values is sub-Gaussian with sigma = 0.01, given the rounds before"
    )
    assert promise.not_covered == ("the runs that the probability leaves",)


def test_a_log_without_a_constant_leaves_out_rounding():
    (words,) = safety_of(BARE["RegionFilter"][1]).feasibility.not_covered
    assert words == "what the rounding of an action changes, without a G_g"


class Twice(Wrapper):
    """A wrapper of one's own that plays what its base did not certify."""

    counts_rounds = False

    def init(self, x1):
        return self.base.init(x1)

    def step(self, state, feedback):
        state, info = self.base.step(state, feedback)
        return state._replace(x=2 * state.x), info


class Free(LeaderFollower):
    """A rule of one's own with other steps."""

    def step(self, state, feedback):
        state, info = super().step(state, feedback)
        return state._replace(x=2 * state.x), info


class Own(LipschitzHull):
    """A knowledge of one's own, whose regions may be others."""


def test_what_a_user_changes_inherits_no_theorem():
    twice = Twice(base=FOLLOWER)
    assert safety_of(twice) is None
    assert safety_of(Delayed(base=twice, delay=1)) is None
    assert explain_nothing(twice) == (
        "nothing is promised: Twice says nothing of what follows from the promise of its base"
    )
    free = Free(G_g=1.0, domain=DISC)
    assert explain_nothing(free) == (
        "nothing is promised: Free changes the steps that its knowledge certifies"
    )
    assert safety_of(free) is None
    own = RegionFilter(knowledge=Own(G_g=1.0, domain=DISC))
    assert safety_of(own).name == "certified by Own"
    around = Delayed(base=OGD(eta=0.1, domain=DISC), delay=1)
    assert explain_nothing(around).startswith(
        "nothing is promised: Delayed is around OGD, which certifies no action, and no theorem"
    )


def test_a_promise_that_a_journal_cannot_read_is_not_called_none(tmp_path):
    class Half(Ball):
        pass

    path = tmp_path / "run.jsonl"
    Controller(LeaderFollower(G_g=1.0, domain=Half(1.0)), START, journal=path).close()
    record = read_journal(path)
    assert record.guarantee.startswith("not read: the player has parts of its user")
    assert not {"feasibility", "observed", "in advance", "needs"} & record.facts().keys()
