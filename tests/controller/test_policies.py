"""What a controller does after a contradiction, and what an operator may order."""

import json
import warnings

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, Controller
from surefoot.controller import PremiseError, PremiseWarning, read_journal, replay
from surefoot.core.errors import InvalidValueError
from surefoot.knowledge import Column, ContextHull, Curvature, Errors, LipschitzHull
from surefoot.rules import LeaderFollower, RegionFilter, SafetyFilter
from surefoot.sets import Box

from ._live import CONSTANTS, MOVABLE, START, drive, same_bits, seen_at

HULL = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0))


def steep(x, slope=2.0):
    """g(x) = slope x[1] - 0.5: steeper than the constant says."""
    value = slope * float(x[1]) - 0.5
    return {"constraint_value": value, "constraint_subgradient": np.array([0.0, slope])}


def contradicted(policy, player=HULL, proposal=(0.0, 0.2), **options):
    """A filter whose first round shows a slope of 2, against G_g = 1."""
    controller = Controller(player, [0.0, 0.0], on_contradiction=policy, **options)
    with pytest.warns(PremiseWarning, match=r"\|s\| = 2 exceeds G_g = 1"):
        controller.tell(proposal=proposal, **steep(controller.ask()))
    return controller


def test_hold_keeps_the_action_until_it_is_resumed():
    controller = contradicted("hold")
    assert controller.halted == "|s| = 2 exceeds G_g = 1"
    for _ in range(3):
        assert controller.ask().tolist() == [0.0, 0.0]
        controller.tell(proposal=[0.0, 0.2], **steep([0.0, 0.0]))
    reason = controller.explain()
    assert "halted       until resumed: |s| = 2" in str(reason)
    assert reason.is_proven  # by what was measured there, if g does not change
    controller.resume(RegionFilter(knowledge=LipschitzHull(G_g=2.0, reach=2.0)))
    assert (controller.halted, controller.round) == (None, 5)
    controller.tell(proposal=[0.0, 0.2], **steep(controller.ask()))
    assert controller.ask().round(9).tolist() == [0.0, 0.2]
    assert controller.explain().is_proven
    assert controller.explain().broken == ()


def test_retreat_goes_back_to_the_start():
    controller = Controller(HULL, [0.0, 0.0], on_contradiction="retreat")
    gentle = {"constraint_value": -0.5, "constraint_subgradient": [0.0, 1.0]}
    controller.ask()
    controller.tell(proposal=[0.0, 0.2], **gentle)
    x = controller.ask()
    assert x.tolist() == [0.0, 0.2]
    with pytest.warns(PremiseWarning, match="round 2"):
        controller.tell(proposal=[0.0, 0.4], **steep(x))
    assert controller.ask().tolist() == [0.0, 0.0]
    assert controller.explain().bound == -0.5
    assert controller.halted is not None


def test_hold_from_outside_takes_the_way_back():
    player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0))
    controller = Controller(player, [0.0, 0.0], on_contradiction="hold")
    controller.ask()
    controller.tell(proposal=[0.0, 0.5], constraint_value=-0.5, constraint_subgradient=[0.0, 1.0])
    x = controller.ask()
    with pytest.warns(PremiseWarning, match="above its certified bound"):
        controller.tell(
            proposal=[0.0, 0.5], constraint_value=0.5, constraint_subgradient=[0.0, 1.0]
        )
    # g = 0.5 at x and -0.5 at the start: three quarters of the way have g <= -0.25.
    assert controller.ask()[1] == pytest.approx(0.25 * x[1])
    assert controller.explain().bound == pytest.approx(-0.25)


@pytest.mark.parametrize("convex", [True, False])
def test_the_least_curvature_that_fits_is_among_the_causes(convex):
    known = Curvature(beta=0.5, reach=2.0, convex=convex)
    controller = Controller(RegionFilter(knowledge=known), [0.0])
    for last in (False, True):  # g = 1.5 x^2 - 1 has the curvature 3
        x = controller.ask()
        told = {"constraint_value": 1.5 * float(x[0]) ** 2 - 1, "constraint_subgradient": 3 * x}
        if not last:
            controller.tell(proposal=[0.25], **told)
    with pytest.raises(PremiseError) as error:
        controller.tell(proposal=[0.25], **told)
    assert "beta = 0.5 is too small: 3 fits" in error.value.causes
    # Nobody said that g is convex: then that it is not explains nothing.
    assert ("g is not convex" in error.value.causes) == convex


LIKELY = {
    "a steep slope": ({"constraint_value": -0.5, "constraint_subgradient": [0.0, 2.0]}, "G_g = 1"),
    "a value off by little": (
        {"constraint_value": -0.39, "constraint_subgradient": [0.0, 1.0]},
        "a sensor error (value_error) of 0.01 or more",
    ),
    "a value off by much": (
        {"constraint_value": 0.4, "constraint_subgradient": [0.0, 1.0]},
        "G_g is too small",
    ),
}


@pytest.mark.parametrize("what", LIKELY)
def test_the_likeliest_cause_comes_first(what):
    told, first = LIKELY[what]
    controller = Controller(HULL, [0.0, 0.0])
    controller.ask()
    controller.tell(proposal=[0.0, 0.1], constraint_value=-0.5, constraint_subgradient=[0.0, 1.0])
    controller.ask()
    with pytest.raises(PremiseError) as error:
        controller.tell(proposal=[0.0, 0.1], **told)
    assert error.value.causes[0].startswith(first)
    assert "; likely causes, most likely first: (1) " in str(error.value)
    assert "\n" not in str(error.value)
    assert controller.round == 2


def test_a_slack_of_the_anchor_that_fell_is_drift_first():
    controller = Controller(HULL, [0.0, 0.0])
    told = {"proposal": [0.0, 0.0], "constraint_subgradient": [0.0, 1.0]}
    controller.ask()
    controller.tell(constraint_value=-0.5, **told)
    controller.ask()
    with pytest.raises(PremiseError) as error:
        controller.tell(constraint_value=-0.2, **told)
    assert error.value.causes[0] == "g has changed: its slack at the anchor fell by 0.3"


def causes_of(player, rounds):
    """Return the causes of the last of rounds, each of a value and the next context."""
    in_contexts = getattr(player, "knowledge", None) is not None and player.knowledge.in_contexts
    live = Controller(player, [0.0], **({"context": [0.0]} if in_contexts else {}))
    *before, (last, _) = rounds
    for g, context in before:
        live.ask()
        more = {"context": [context]} if in_contexts else {}
        live.tell(proposal=[0.0], constraint_value=g, constraint_subgradient=[1.0], **more)
    live.ask()
    with pytest.raises(PremiseError) as error:
        live.tell(proposal=[0.0], constraint_value=last, constraint_subgradient=[1.0])
    return error.value.causes


SETTLED = "the plant had not settled when g was read"


def test_a_start_slack_that_is_too_large_is_the_first_cause():
    player = LeaderFollower.default(
        Constants(R=1.0, G_f=2.0, G_g=1.0, start_slack=0.5, start_reach=1.0)
    )
    live = Controller(player, [0.0])
    live.ask()
    with pytest.raises(PremiseError) as error:
        live.tell(cost_gradient=[1.0], constraint_value=-0.3, constraint_subgradient=[1.0])
    first, second, third = error.value.causes
    assert first == "start_slack = 0.5 is too large: 0.3 was read"
    assert second == "a sensor error (value_error) of 0.2 or more"
    assert third == SETTLED


def in_context(start_bound):
    context = Column(G_c=0.1)
    known = ContextHull(G_g=1.0, reach=2.0, context=context, start_bound=start_bound)
    return RegionFilter(knowledge=known)


DRIFTING = RegionFilter(
    knowledge=LipschitzHull(G_g=1.0, reach=2.0, start_bound=-0.4, errors=Errors(drift=0.01))
)


@pytest.mark.parametrize(
    ("player", "rounds"),
    [
        (DRIFTING, [(-0.3, None)]),
        (DRIFTING, [(-0.405, None), (-0.396, None)]),  # by less than the drift
        (in_context(-0.4), [(-0.3, None)]),
        (in_context(-0.4), [(-0.5, 9.0), (-0.3, None)]),
    ],
    ids=["drift, first", "drift, later", "context, first", "context, later"],
)
def test_a_start_bound_that_is_too_small_is_the_first_cause(player, rounds):
    first, noise, settled = causes_of(player, rounds)
    g = rounds[-1][0]
    assert first == f"start_bound = -0.4 is too small: {g:g} was read"
    assert noise == f"a sensor error (value_error) of {g + 0.4:.3g} or more"
    assert settled == SETTLED


def test_a_change_with_the_context_names_the_G_c_that_fits():
    # At one action, -0.5 and -0.2 in contexts that are 1 apart: G_c is 0.3 at least, and not 0.1.
    causes = causes_of(in_context(None), [(-0.5, 1.0), (-0.2, None)])
    assert "G_c = 0.1 is too small: 0.3 fits" in causes
    assert SETTLED in causes


def test_every_constant_that_a_bound_rests_on_is_named():
    player = in_context(-0.4)
    live = Controller(player, [0.0], context=[0.0])
    live.ask()
    live.tell(proposal=[0.3], constraint_value=-0.5, constraint_subgradient=[1.0], context=[0.0])
    live.ask()
    with pytest.raises(PremiseError) as error:
        live.tell(proposal=[0.0], constraint_value=0.5, constraint_subgradient=[1.0])
    first = error.value.causes[0]
    assert first == "G_g, G_c or start_bound is too small, or the start is not what it was"
    assert SETTLED in error.value.causes


@pytest.mark.parametrize(
    ("player", "options", "sentence"),
    [
        (PFS(eta=0.1, rho=0.1, domain=Ball(1.0)), {"on_contradiction": "retreat"}, "got PFS"),
        (PFS(eta=0.1, rho=0.1, domain=Ball(1.0)), {"on_missing": "retreat"}, "got PFS"),
        (HULL, {"on_contradiction": "widen"}, "on_contradiction must be one of"),
        (HULL, {"on_missing": "wait"}, "on_missing must be one of"),
        (HULL, {"rotate": 0}, "rotate must be"),
    ],
)
def test_a_policy_that_a_player_cannot_follow_is_refused(player, options, sentence):
    with pytest.raises(InvalidValueError, match=sentence):
        Controller(player, [0.0, 0.0], **options)


# --- orders --------------------------------------------------------------------------------------


def test_an_operator_holds_and_resumes_where_the_rule_was():
    player = MOVABLE["certified"]
    controller = Controller(player, START)
    drive(controller, player, 5)
    x = controller.ask()
    controller.hold("lunch")
    for t in range(6, 9):
        assert same_bits(controller.ask(), x)
        controller.tell(**seen_at(player, t, x))
    assert controller.explain().is_proven
    controller.resume()
    controller.tell(**seen_at(player, 9, controller.ask()))
    assert not same_bits(controller.ask(), x)
    assert controller.halted is None


def test_a_retreat_has_a_speed_and_ends_at_the_start():
    player = MOVABLE["hull filter"]
    controller = Controller(player, START)
    drive(controller, player, 8)
    x = controller.ask()
    controller.retreat("storm", speed=0.05)
    lengths = []
    for t in range(9, 60):
        y = controller.ask()
        lengths.append(float(np.linalg.norm(y - x)))
        x = y
        controller.tell(**seen_at(player, t, x))
    assert max(lengths) <= 0.05 * (1 + 1e-12)
    assert same_bits(controller.ask(), START)


def test_an_order_asks_for_the_action_again():
    controller = Controller(HULL, [0.0, 0.0])
    controller.ask()
    controller.hold("wait")
    with pytest.raises(InvalidValueError, match="tell must come after ask"):
        controller.tell(proposal=[0.0, 0.0], **steep([0.0, 0.0]))


BAD_ORDERS = {
    "no reason": (lambda c: c.hold(""), InvalidValueError, "reason must be words"),
    "a number": (lambda c: c.retreat(3), InvalidValueError, "reason must be words .*, got 3"),
    "no speed": (lambda c: c.retreat("go", speed=0.0), InvalidValueError, "speed must be"),
    "a note without a journal": (lambda c: c.note("hi"), InvalidValueError, "note needs a journal"),
    "a start alone": (lambda c: c.resume(start=[0.0]), InvalidValueError, "start must come with"),
    "no player": (lambda c: c.resume(3), InvalidValueError, "player must be an algorithm"),
}


@pytest.mark.parametrize("what", BAD_ORDERS)
def test_an_order_that_is_none_is_one_sentence_and_changes_nothing(what):
    order, kind, sentence = BAD_ORDERS[what]
    controller = Controller(HULL, [0.0, 0.0])
    controller.ask()
    before = controller._now
    with pytest.raises(kind, match=f"^{sentence}"):
        order(controller)
    assert controller._now is before
    controller.tell(proposal=[0.0, 0.0], constraint_value=-1.0, constraint_subgradient=[0.0, 0.5])


# --- in one journal ------------------------------------------------------------------------------


def eventful(path, player, policy):
    """A journal with every kind of event, closed; the action it ends with."""
    controller = Controller(player, START, journal=path, on_contradiction=policy)
    for t in range(1, 25):
        x = controller.ask()
        told = seen_at(player, t, x)
        if t == 4:
            controller.note("the valve was cleaned")
        if t in (5, 6):
            controller.tell(missing=True)
            continue
        if t == 9:
            s = np.asarray(told["constraint_subgradient"])
            controller.tell(**told | {"constraint_subgradient": 3 * s})
            continue
        if t == 12:
            controller.resume(player, reason="a new sensor")
            told = seen_at(player, t, controller.ask())
        if t == 15:
            controller.retreat("storm", speed=0.1)
            controller.ask()
        if t == 18:
            controller.close()
            controller = Controller.open(path)
            controller.resume()
            told = seen_at(player, t, controller.ask())
        controller.tell(**told)
    end = controller.ask()
    controller.close()
    return end


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::surefoot.controller.PremiseWarning")
@pytest.mark.parametrize("policy", ["record", "hold", "retreat"])
@pytest.mark.parametrize("name", ["certified", "safety filter", "leader and follower"])
def test_every_event_is_in_one_journal_that_goes_on_and_is_replayed(name, policy, tmp_path):
    path, player = tmp_path / "run.jsonl", MOVABLE[name]
    end = eventful(path, player, policy)
    with Controller.open(path) as controller:
        assert same_bits(controller.ask(), end)
        assert controller.round == 25
    assert replay(path).is_same
    record = read_journal(path)
    assert record.round_count == 24
    texts = [note.text for note in record.notes]
    assert texts[0] == "the valve was cleaned"
    assert "resume: a new sensor" in texts
    assert "retreat: storm" in texts
    assert {row.how for row in record.rounds} >= {"stepped", "held", "retreated"}


def test_a_note_is_where_it_was_made(tmp_path):
    with Controller(HULL, [0.0, 0.0], journal=tmp_path / "run.jsonl") as controller:
        controller.note("before the first round")
        controller.ask()
        controller.tell(
            proposal=[0.0, 0.0], constraint_value=-1.0, constraint_subgradient=[0.0, 0.5]
        )
        controller.note("after it")
        assert controller.round == 2
    notes = read_journal(tmp_path / "run.jsonl").notes
    assert [(n.round, n.text) for n in notes] == [(1, "before the first round"), (2, "after it")]


def test_a_halted_journal_is_opened_halted(tmp_path):
    path = tmp_path / "run.jsonl"
    contradicted("hold", journal=path).close()
    with Controller.open(path) as controller:
        assert controller.halted == "|s| = 2 exceeds G_g = 1"
        assert controller.ask().tolist() == [0.0, 0.0]


def test_open_or_create_takes_the_player_once(tmp_path):
    path = tmp_path / "run.jsonl"
    player = SafetyFilter.default(CONSTANTS)
    rounds = []
    for _ in range(3):
        with Controller.open_or_create(path, player, START, on_contradiction="record") as loop:
            rounds.append(loop.round)
            loop.tell(**seen_at(player, loop.round, loop.ask()))
    assert rounds == [1, 2, 3]


# --- several files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["certified", "hull filter"])
def test_a_run_in_several_files_is_one_run(name, tmp_path):
    path, player = tmp_path / "run.jsonl", MOVABLE[name]
    with Controller(player, START, journal=path, rotate=10) as controller:
        drive(controller, player, 25)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.jsonl", "run.jsonl.2", "run.jsonl.3"]
    with Controller.open(path) as controller:
        controller.note("a new week")
        drive(controller, player, 10, first=26)
    whole = Controller(player, START)
    drive(whole, player, 35)
    with Controller.open(path) as controller:
        assert same_bits(controller.ask(), whole.ask())
        assert controller.round == 36
    found = replay(path)
    assert (found.rounds, found.is_same) == (35, True)
    assert replay(tmp_path / "run.jsonl.3").is_same
    record = read_journal(path)
    assert (record.round_count, len(record.rounds)) == (35, 35)
    assert [note.round for note in record.notes] == [26]


def test_a_file_may_be_full_by_its_size(tmp_path):
    path, player = tmp_path / "run.jsonl", MOVABLE["hull filter"]
    with Controller(player, START, journal=path, rotate="9 kB") as controller:
        drive(controller, player, 30)
    assert len(list(tmp_path.iterdir())) > 1
    assert replay(path).rounds == 30


@pytest.mark.parametrize("size", ["60", "0 kB", "many MB", "1.5 MB"])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(InvalidValueError, match=r"^rotate must be a number of rounds or a size"):
        Controller(HULL, [0.0, 0.0], rotate=size)


def test_a_file_that_another_continues_is_not_written_to(tmp_path):
    path, player = tmp_path / "run.jsonl", MOVABLE["hull filter"]
    with Controller(player, START, journal=path, rotate=3) as controller:
        drive(controller, player, 8)
    with pytest.raises(RuntimeError, match=r"is part 2 of a run: open '.*run.jsonl'$"):
        Controller.open(tmp_path / "run.jsonl.2")


def change(path, old, new):
    """Change some text of a journal, and nothing else."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_change_in_an_earlier_file_is_found(tmp_path):
    path, player = tmp_path / "run.jsonl", MOVABLE["hull filter"]
    with Controller(player, START, journal=path, rotate=3) as controller:
        drive(controller, player, 8)
    change(tmp_path / "run.jsonl.2", '{"kind":"round","round":5,', '{"kind":"round","round":6,')
    found = replay(path)
    assert (found.difference.round, found.difference.part) == (5, "row")


def test_what_was_entered_cannot_be_changed(tmp_path):
    path = tmp_path / "run.jsonl"
    with Controller(HULL, [0.0, 0.0], journal=path) as controller:
        controller.note("closed the valve")
    change(path, "closed the valve", "opened the valve")
    with pytest.raises(RuntimeError, match="is not what was written; the last round that is cert"):
        Controller.open(path)
    assert replay(path).difference.part == "row"


def test_an_anchor_whose_slack_has_changed_is_told():
    controller = Controller(HULL, [0.0, 0.0], on_contradiction="record")
    told = {"proposal": [0.0, 0.1], "constraint_subgradient": [0.0, 1.0]}
    controller.ask()
    controller.tell(constraint_value=-0.5, **told)
    controller.retreat("to look")
    controller.ask()
    controller.tell(constraint_value=-0.2, **told)
    assert [b.constant for b in controller.explain().broken] == ["anchor"]
    assert controller.explain().bound == -0.2  # what is true now


CALLS = {
    "no gradient": lambda c, told: c.tell(**told | {"cost_gradient": None, "proposal": None}),
    "NaN": lambda c, told: c.tell(**told | {"constraint_value": float("nan")}),
    "too many": lambda c, told: c.tell(**told | {"constraint_subgradient": np.ones(9)}),
    "steep": lambda c, told: c.tell(**told | {"constraint_subgradient": np.array([30.0, 40.0])}),
    "missing and told": lambda c, told: c.tell(missing=True, **told),
    "missing": lambda c, told: c.tell(missing=True),
    "another shape": lambda c, told: c.tell(action=[0.0], **told),
    "no error": lambda c, told: c.tell(value_error=-1.0, **told),
    "no set": lambda c, told: c.tell(within=3, **told),
    "no reason": lambda c, told: c.hold(None),
    "no speed": lambda c, told: c.retreat("go", speed=float("nan")),
    "no note": lambda c, told: c.note(""),
    "surrogates": lambda c, told: c.note("\ud800"),
    "no player": lambda c, told: c.resume(SafetyFilter),
    "a start far away": lambda c, told: c.resume(SafetyFilter.default(CONSTANTS), start=[9.0, 9.0]),
    "no policy": lambda c, told: c.resume(on_missing="wait"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["certified", "safety filter"])
def test_a_call_that_raises_leaves_the_action_and_the_journal_as_they_were(name, call, tmp_path):
    path, player = tmp_path / "run.jsonl", MOVABLE[name]
    with Controller(player, START, journal=path, on_missing="raise") as controller:
        drive(controller, player, 3)
        x, told = controller.ask(), seen_at(player, 4, controller.ask())
        before, written = controller._now[0].loop._replace(refused=()), path.read_bytes()
        with pytest.raises((ValueError, TypeError)) as error:
            CALLS[call](controller, told)
        assert "\n" not in str(error.value)
        assert controller._now[0].loop._replace(refused=()) == before
        # Nothing but that a round was refused.
        more = path.read_bytes().removeprefix(written).splitlines()
        assert [json.loads(line)["kind"] for line in more] in ([], ["refused"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PremiseWarning)  # of the round that was refused
            assert same_bits(controller.ask(), x)
        controller.tell(**told)
        assert controller.round == 5
    assert replay(path).is_same


def test_a_set_of_other_points_is_refused_by_its_name():
    with Controller(MOVABLE["certified"], START) as controller:
        controller.ask()
        words = "within must be of 2 entries, as the action, got Box"
        with pytest.raises(InvalidValueError, match=words):
            controller.tell(cost_gradient=[1.0, 0.0], constraint_value=-0.1, within=Box([0], [1]))


def test_a_reading_above_0_within_its_error_is_not_above_the_bound_of_the_guarantee():
    known = Constants(R=1.0, G_g=1.0, start_slack=0.5, start_reach=2.0, value_error=0.05)
    controller, most = Controller(LeaderFollower.default(known), [0.0]), -1.0
    for t in range(60):  # g(x) = x - 0.5; readings are too low, and then too high
        g = float(controller.ask()[0]) - 0.5
        reading = g + (0.05 if t > 40 else -0.05)
        controller.tell(
            cost_gradient=[-1.0], constraint_value=reading, constraint_subgradient=[1.0]
        )
        assert g <= 0.0
        most = max(most, reading)
    assert 0.0 < most <= 0.05
    assert controller.explain().broken == ()


def test_what_somebody_else_played_is_not_held_while_nothing_shows_that_it_is_safe(tmp_path):
    # A fixed limit: what was measured at the start is proved, and what others chose is not.
    path = tmp_path / "run"
    for ramp in (None, 0.1):
        player = RegionFilter(knowledge=LipschitzHull(G_g=1.0, reach=2.0), ramp=ramp)
        with Controller(player, [0.0, 0.0], journal=path) as controller:
            gentle = {"constraint_value": -0.5, "constraint_subgradient": [0.0, 1.0]}
            controller.ask()
            controller.tell(proposal=[0.0, 0.0], **gentle)
            controller.ask()
            controller.tell(missing=True, action=[0.0, 0.85])
            for _ in range(0 if ramp is None else 8):  # on the way back, at the pace of the ramp
                assert not controller.explain().is_proven
                assert controller.ask()[1] > 0.04
                controller.tell(missing=True)
            assert controller.ask().tolist() == pytest.approx([0.0, 0.0])
            assert controller.explain().is_proven
        assert replay(path).is_same
        path.unlink()
