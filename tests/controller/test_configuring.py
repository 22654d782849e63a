"""A player from plain data: what is made, and what is refused in a sentence."""

import pytest

from surefoot import Ball, Controller
from surefoot.controller.configuring import player_from
from surefoot.knowledge import LipschitzHull
from surefoot.rules import OGD, LeaderFollower, RegionFilter
from surefoot.sets import Box

from ._live import CONSTANTS, PLAYERS, START, drive

NUMBERS = {n: getattr(CONSTANTS, n) for n in CONSTANTS.origins}


def test_a_ramp_in_a_file_goes_with_parameters_and_with_a_tuning():
    table = {"class": "Ball", "radius": 1.0}
    plain = {"class": "LeaderFollower", "G_g": 1.0, "domain": table, "ramp": [0.1, 0.2]}
    assert player_from(plain).ramp == (0.1, 0.2)
    tuned = player_from({"class": "LeaderFollower", "ramp": 0.1}, constants=NUMBERS)
    assert (tuned.ramp, tuned.knowledge.G_g) == (0.1, NUMBERS["G_g"])
    with pytest.raises(ValueError, match=r"player.ramp must be left out for PFS, got 0.1"):
        player_from({"class": "PFS", "tuning": "tuned", "ramp": 0.1}, constants=NUMBERS, horizon=9)
    with pytest.raises(ValueError, match="ramp must be above 0"):
        player_from({"class": "LeaderFollower", "ramp": 0.0}, constants=NUMBERS)


def test_a_player_is_made_as_its_constructor_makes_it():
    named = player_from({"class": "LeaderFollower"}, constants=NUMBERS)
    assert named.algorithm == LeaderFollower.default(CONSTANTS, None, Ball(CONSTANTS.R)).algorithm
    assert named.guarantee.kind == "every round"
    tuned = player_from({"class": "PFS", "tuning": "tuned"}, constants=NUMBERS, horizon=5_000)
    assert tuned.algorithm == PLAYERS["PFS tuned"].algorithm
    table = {"class": "Box", "lower": [-0.4, -0.3], "upper": [0.6, 0.45]}
    box = player_from({"class": "OGD", "eta": 0.1, "domain": table})
    assert box == OGD(eta=0.1, domain=Box([-0.4, -0.3], [0.6, 0.45]))
    drive(Controller(box, START), box, 3)
    changing = {"class": "RECOO", "tuning": "changing"}  # of a rule that needs the set otherwise
    made = player_from(changing, constants=NUMBERS | {"G_f": 1.0}, horizon=50)
    assert made.algorithm.domain == Ball(CONSTANTS.R)


def test_a_pair_is_made_by_its_name_and_by_its_parts():
    ball = {"class": "Ball", "radius": 1.5}
    named = {"class": "LeaderFollower", "G_g": 1.2, "domain": ball, "cuts": 4, "value_error": 0.1}
    knowledge = {"class": "LipschitzHull", "G_g": 1.2, "domain": ball}
    knowledge["errors"] = {"class": "Errors", "value": 0.1}
    pair = {"class": "Certified", "proposer": {"class": "Leader", "domain": ball, "cuts": 4}}
    wanted = LeaderFollower(G_g=1.2, domain=Ball(1.5), cuts=4, value_error=0.1)
    assert player_from(named) == wanted
    assert player_from(pair | {"knowledge": knowledge}).parts == wanted.parts
    hull = {"class": "RegionFilter", "knowledge": {"class": "LipschitzHull", "G_g": 1, "reach": 2}}
    assert player_from(hull) == RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0))


BALL = {"class": "Ball", "radius": 2.0}
UNKNOWN = {"class": "LeaderFollower", "tuning": "unknown"}


def test_a_file_may_name_a_rule_for_an_unknown_constant():
    player, promise = player_from(UNKNOWN | {"violations": 1, "value_error": 0.1}, domain=BALL)
    expected = LeaderFollower.unknown(Ball(2.0), violations=1, value_error=0.1)
    assert (player, str(promise)) == (expected.algorithm, str(expected.guarantee))


@pytest.mark.parametrize(
    ("player", "more", "words"),
    [
        ({}, {}, "player.class must be a rule of `surefoot list`, got None; known: "),
        ({"class": ["OGD"]}, {}, "player.class must be a rule of `surefoot list`, got ['OGD']"),
        ({"class": "Ball", "radius": 1.0}, {}, "player.class must be a rule of `surefoot list`"),
        ({"class": "LeaderFolower"}, {}, "got 'LeaderFolower'; did you mean 'LeaderFollower'?"),
        ({"class": "PFS", "tuning": "anytme"}, {}, "got 'anytme'; did you mean 'anytime'?"),
        (
            {"class": "PFS", "tunning": "anytime"},
            {},
            "player must have the fields of PFS, got 'tunning'; known: eta, rho, domain",
        ),
        (
            {"class": "PFS", "tuning": "anytime", "eta": 0.1},
            {"constants": NUMBERS, "horizon": 9},
            "PFS.anytime has no parameter 'eta'",
        ),
        (
            {"class": "SafetyFilter", "sigm": 1.0},
            {},
            "player must have the fields of SafetyFilter, got 'sigm'; did you mean 'sigma'?",
        ),
        ({"class": "LeaderFollower", "G_g": 1.0}, {}, "player must have domain, which L"),
        ({"class": "LeaderFollower"}, {}, "constants must have R, which Constants needs"),
        ({"class": "LeaderFollower"}, {"constants": {"R": 1.0}}, "needs"),
        ({"class": "LeaderFollower"}, {"constants": {"R": 1.0, "Gg": 2.0}}, "did you mean 'G_g'?"),
        ({"class": "OGD", "eta": 0.1}, {}, "player must have domain, which OGD needs"),
        ({"class": "OGD", "eta": "x", "domain": {"class": "Ball", "radius": 1}}, {}, "eta must be"),
        (
            {"class": "OGD", "eta": 0.1, "domain": {"class": "Bal", "radius": 1}},
            {},
            "player.domain.class must be one of the library, got 'Bal'; did you mean 'Ball'?",
        ),
        ({"class": "OGD", "eta": 0.1, "domain": {}}, {}, "player.domain.class must be one of"),
        (
            {"class": "PFS", "tuning": "tuned"},
            {"constants": NUMBERS},
            "horizon must be given for PFS.tuned",
        ),
        (
            {"class": "OGD", "tuning": "best"},
            {"constants": NUMBERS},
            "player.tuning must be one of",
        ),
        ([], {}, "player must be a table"),
        (UNKNOWN, {}, "domain must be given for LeaderFollower.unknown"),
        (
            UNKNOWN | {"drift": 0.1},
            {"domain": BALL},
            "LeaderFollower.unknown has no parameter 'drift'",
        ),
        (
            UNKNOWN,
            {"domain": BALL, "constants": {"R": 1.0}},
            "constants must be left out for LeaderFollower.unknown",
        ),
    ],
)
def test_a_player_that_cannot_be_made_is_refused_in_one_sentence(player, more, words):
    with pytest.raises(ValueError, match=r".") as error:
        player_from(player, **more)
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 1
