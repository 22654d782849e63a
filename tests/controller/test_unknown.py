"""A live loop whose player does not know G_g: rounds outside are counted, told, and kept."""

import logging

import numpy as np
import pytest

from surefoot import Ball, Controller, LeaderFollower, Tuned, play
from surefoot.controller import Fleet, read_journal, replay
from surefoot.controller.check import check
from surefoot.guarantees import Estimated, PremiseError
from surefoot.problems import rotated_box
from surefoot.rules import CertifiedOGD


def limit(x):
    """g = max(x/2 - 1, 4x - 3.2): a slope that nobody has seen before round 2."""
    rows, offsets = np.array([[0.5], [4.0]]), np.array([1.0, 3.2])
    i = int((rows @ x - offsets).argmax())
    return float(rows[i] @ x - offsets[i]), rows[i]


def tell(controller, rounds, **told):
    for _ in range(rounds):
        g, s = limit(controller.ask())
        controller.tell(cost_gradient=[-1.0], constraint_value=g, constraint_subgradient=s, **told)


def test_a_round_outside_is_counted_and_told_and_the_loop_goes_on():
    alarms = []
    controller = Controller(LeaderFollower.unknown(Ball(2.0)), start=[0.0], on_alarm=alarms.append)
    tell(controller, 1)
    why = controller.explain()
    assert "at most 2 more rounds outside if G_g <= 4" in str(why)
    assert not why.is_proven  # it rests on a guess
    assert why.estimate.outside == 0
    tell(controller, 1)
    (alarm,) = alarms
    assert (alarm.round, alarm.kind, alarm.level) == (2, "violation", logging.ERROR)
    assert alarm.sentence.startswith(
        "round 2: g = 0.8; G_g unknown: 4 is proved, 8 is used; 1 round"
    )
    why = controller.explain()
    assert why.is_proven  # by convexity alone
    assert why.regret_bound is not None
    assert why.broken == ()
    tell(controller, 40)
    assert len(alarms) == 1
    assert controller.explain().estimate.outside == 1


def test_a_round_without_a_measurement_goes_back_to_what_was_seen():
    controller = Controller(LeaderFollower.unknown(Ball(2.0)), start=[0.0])
    tell(controller, 1)
    assert controller.ask()[0] == pytest.approx(1.0)  # where g may be anything
    controller.tell(missing=True)
    assert controller.ask() == pytest.approx([0.0])
    assert controller.explain().is_proven
    tell(controller, 3)


def test_what_an_error_of_a_round_hides_is_said():
    controller = Controller(LeaderFollower.unknown(Ball(2.0), largest_G_g=9.0), start=[0.0])
    tell(controller, 1, value_error=0.1)
    assert "at most 4 more rounds outside by more than 0.2 if G_g <= 9" in str(controller.explain())


def test_with_a_number_of_violations_an_unseen_round_is_one_of_them():
    controller = Controller(LeaderFollower.unknown(Ball(2.0), violations=1), start=[0.0])
    tell(controller, 1)
    controller.ask()
    controller.tell(missing=True)
    assert "1 round unseen, no more rounds outside" in str(controller.explain())
    for _ in range(4):
        assert controller.ask() == pytest.approx([0.0])  # all that was ever seen
        tell(controller, 1)


def test_a_largest_constant_that_is_wrong_is_a_contradiction():
    controller = Controller(LeaderFollower.unknown(Ball(2.0), largest_G_g=3.0), start=[0.0])
    tell(controller, 1)
    with pytest.raises(PremiseError, match=r"\|s\| = 4 exceeds G_g = 3"):
        tell(controller, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: LeaderFollower.unknown(Ball(2.0)),
        lambda: LeaderFollower.unknown(Ball(2.0), violations=1),
        lambda: LeaderFollower.unknown(
            Ball(2.0), violations=2, largest_G_g=90.0, largest_violation=0.5
        ),
        lambda: CertifiedOGD.unknown(Ball(2.0)),
    ],
)
@pytest.mark.parametrize("cut", [1, 2, 3, 9])
def test_a_journal_that_is_cut_off_anywhere_goes_on_as_if_nothing_had_been(tmp_path, make, cut):
    whole = Controller(make(), start=[0.0])
    tell(whole, 12)
    path = tmp_path / "unknown.jsonl"
    part = Controller(make(), start=[0.0], journal=path)
    tell(part, cut)
    part.close()
    again = Controller.open(path)
    tell(again, 12 - cut)
    assert again.ask().tobytes() == whole.ask().tobytes()
    assert again.explain().estimate == whole.explain().estimate
    assert str(again.explain()) == str(whole.explain())
    again.close()
    assert replay(path).rounds == 12


def test_the_checker_never_calls_such_a_round_certified(tmp_path):
    path = tmp_path / "unknown.jsonl"
    with Controller(LeaderFollower.unknown(Ball(2.0)), start=[0.0], journal=path) as controller:
        tell(controller, 8)
    assert "0.8, 1 violation" in str(read_journal(path))
    good, sentences = check(str(path))[:2]
    assert good
    assert sentences[0].startswith("certified: 0 of 8 rounds")
    assert len(sentences) == 9
    assert all("not judged" in sentence for sentence in sentences[1:])


def test_a_fleet_counts_for_each_member():
    fleet = Fleet(LeaderFollower.unknown(Ball(2.0)), starts=[[0.0], [-0.5]])
    for _ in range(4):
        seen = [limit(x) for x in fleet.ask()]
        fleet.tell(
            cost_gradient=[[-1.0], [-1.0]],
            constraint_value=[g for g, _ in seen],
            constraint_subgradient=[s for _, s in seen],
        )
    assert [fleet.explain(str(i)).estimate.outside for i in range(2)] == [1, 0]


def test_a_game_is_judged_by_the_number_of_rounds_outside():
    box = rotated_box(3, horizon=60)
    player, _ = LeaderFollower.unknown(box.domain, theta=1.2)
    verdict = play(Tuned(player, Estimated(box.constants, theta=1.2)), box).verdict()
    assert " held: violations " in verdict
    promise = Estimated(box.constants, violations=0)
    reckless = LeaderFollower(G_g=0.1, domain=box.domain)
    verdict = play(Tuned(reckless, promise), box, watch="off").verdict()
    assert "FAILED" in verdict
    assert "bound 0" in verdict
