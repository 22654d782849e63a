import numpy as np
import pytest

from surefoot import Controller, kernel
from surefoot.controller import JournalWarning, StoreError, replay
from surefoot.core.types import Info

from ._lines import forge, records
from ._live import PLAYERS, START, drive, same_bits, seen_at


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def written(path, name, rounds=9):
    with Controller(PLAYERS[name], START, journal=path) as controller:
        drive(controller, PLAYERS[name], rounds)


@pytest.mark.parametrize("name", PLAYERS)
def test_every_action_is_derived_again(name, path):
    written(path, name)
    before = path.read_bytes()
    found = replay(path)
    assert found.is_same
    assert found.rounds == 9
    assert str(found) == (f"journal '{path}', 9 rounds: every action derived again, exactly")
    assert path.read_bytes() == before


def test_a_journal_of_no_rounds_is_replayed(path):
    written(path, "PFS", 0)
    assert replay(path).is_same


def test_rounds_that_were_taken_in_spite_of_a_contradiction_are_replayed(path):
    player = PLAYERS["certified"]
    with Controller(player, START, journal=path, on_contradiction="record") as controller:
        right = seen_at(player, 1, controller.ask())
        controller.tell(**right | {"constraint_subgradient": np.array([3.0, 4.0])})
        drive(controller, player, 3, first=2)
        assert controller.explain().broken
    assert replay(path).is_same


@pytest.mark.parametrize("name", ["PFS", "PFS tuned"])
def test_a_journal_is_replayed_with_the_guarantee_that_it_was_played_with(name, path):
    player = PLAYERS[name]
    with Controller(player, START, journal=path, on_contradiction="record") as controller:
        right = seen_at(player, 1, controller.ask())
        controller.tell(**right | {"cost_gradient": np.array([30.0, 40.0])})  # longer than G_f
        drive(controller, player, 2, first=2)
        assert bool(controller.explain().broken) == (name == "PFS tuned")
    assert replay(path).is_same


def put(key, value, t):
    """Put something into the record of a round."""

    def edit(found):
        (record,) = (r for r in found if r["kind"] == "round" and r["round"] == t)
        record[key] = value

    return edit


def test_an_action_that_was_changed_is_found_with_its_round(path):
    written(path, "PFS")
    forge(path, put("next", [0.25, 0.5], 3))
    found = replay(path).difference
    assert (found.round, found.part) == (3, "action")
    assert same_bits(found.stored, np.array([0.25, 0.5]))
    whole = Controller(PLAYERS["PFS"], START)
    assert same_bits(found.derived, drive(whole, PLAYERS["PFS"], 3)[3])
    assert str(found).startswith("round 3: the action is [0.25 0.5 ], derived [")
    with pytest.raises(StoreError, match=r"its rounds lead elsewhere \(round 3: the action is"):
        Controller.open(path)


def test_the_last_bit_of_an_action_counts(path):
    written(path, "PFS")
    whole = Controller(PLAYERS["PFS"], START)
    third = drive(whole, PLAYERS["PFS"], 2)[2]
    third[1] = np.nextafter(third[1], 1.0)
    forge(path, put("next", third.tolist(), 2))
    assert replay(path).difference.round == 2


def test_other_last_bits_are_gone_on_from_and_said(path):
    written(path, "certified")
    next_ = records(path)[-2]["next"]
    next_[1] = float(np.nextafter(next_[1], 1.0))
    forge(path, put("next", next_, 9))
    heard = []
    with pytest.warns(JournalWarning, match="were derived again, with other last bits"):
        controller = Controller.open(path, on_alarm=heard.append)
    with controller:
        assert controller.ask().tolist() == next_  # the recorded action stands
        drive(controller, PLAYERS["certified"], 3, first=10)
    assert [alarm.kind for alarm in heard] == ["journal"]
    assert replay(path).difference.round == 9
    forge(path, lambda found: found.insert(1, {"kind": "rebuilt", "round": 1, "sentence": "."}))
    found = replay(path)
    assert found.is_same
    assert str(found).endswith("every action derived again, to 1e-12")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"cost_gradient":[', '"cost_gradient":[1'),
        ('"constraint_value":-0', '"constraint_value":-1'),
        ('"constraint_subgradient":[', '"constraint_subgradient":[1'),
        ('"time":"20', '"time":"21'),
        ('"certificate":', '"certificatf":'),
        ('"digest":"', '"digest":"0'),
    ],
)
@pytest.mark.parametrize("name", ["PFS", "certified"])
def test_whatever_else_of_a_line_was_changed_is_found_with_its_round(old, new, name, path):
    written(path, name)
    data = path.read_bytes()
    at = data.index(b'{"kind":"round","round":6')
    path.write_bytes(data[:at] + data[at:].replace(old.encode(), new.encode(), 1))
    found = replay(path)
    assert (found.difference.round, found.difference.part) == (6, "row")
    assert str(found).endswith("5 rounds: round 6: the line was changed after it was written")


def test_a_round_that_was_left_out_is_found(path):
    written(path, "PFS")
    forge(path, lambda found: found.pop(5))
    found = replay(path).difference
    assert (found.round, found.part) == (5, "row")


def test_a_snapshot_that_the_rounds_do_not_lead_to_is_found(path):
    written(path, "certified", 120)
    at = [i for i, record in enumerate(records(path)) if record["kind"] == "snapshot"]
    assert len(at) >= 1

    def edit(found):
        found[at[-1]]["loop"]["state"]["memory"]["distance"] += 1.0

    forge(path, edit)
    assert replay(path).difference.part == "state"


def test_another_rule_is_found_at_the_first_action_that_it_changes(path, monkeypatch):
    with kernel.engine("python"):
        written(path, "certified")
    kind = type(PLAYERS["certified"].algorithm)
    real = kind.step

    def slower(self, state, feedback):
        new, info = real(self, state, feedback)
        return (new._replace(x=state.x) if state.memory.rounds == 5 else new), info

    monkeypatch.setattr(kind, "step", slower)
    found = replay(path).difference
    assert (found.round, found.part) == (6, "action")


def test_another_certificate_is_found(path, monkeypatch):
    written(path, "certified")
    real = Info.certificate.fget
    altered = property(lambda info: real(info)._replace(bound=-0.125))
    monkeypatch.setattr(Info, "certificate", altered)
    forge(path, lambda lines: lines[0].update(engine="python"))
    found = replay(path).difference
    assert (found.round, found.part) == (1, "certificate")
    assert found.derived.bound == -0.125
    assert found.stored.bound != -0.125


def test_a_rule_that_refuses_what_was_told_is_found(path, monkeypatch):
    written(path, "PFS")

    def strict(self, state, feedback):
        raise ValueError("not today")

    monkeypatch.setattr(type(PLAYERS["PFS"]), "step", strict)
    assert str(replay(path).difference) == "round 1: what was reported is rejected: not today"


def test_a_certificate_that_is_none_is_a_sentence_however_well_it_is_forged(path):
    written(path, "PFS")
    forge(path, put("certificate", -1, 9))
    for call in (replay, Controller.open):
        with pytest.raises(StoreError, match=r"cannot be read \(a certificate has a bound"):
            call(path)


def test_a_journal_is_replayed_while_it_is_written(path):
    with Controller(PLAYERS["certified"], START, journal=path) as controller:
        drive(controller, PLAYERS["certified"], 4)
        assert replay(path).is_same
        drive(controller, PLAYERS["certified"], 2, first=5)
    assert replay(path).rounds == 6


@pytest.mark.skipif("kernel" not in kernel.engines(), reason="the kernel was not built")
@pytest.mark.parametrize(("first", "second"), [("kernel", "python"), ("python", "kernel")])
def test_a_journal_names_its_engine_and_the_change_is_a_record(first, second, path):
    player = PLAYERS["certified"]
    with kernel.engine(first), Controller(player, START, journal=path) as controller:
        drive(controller, player, 6)
    heard = []
    with kernel.engine(second), Controller.open(path, on_alarm=heard.append) as controller:
        drive(controller, player, 6, first=7)
    assert records(path)[0]["engine"] == first
    (change,) = (r for r in records(path) if r["kind"] == "engine")
    assert (change["engine"], change["round"]) == (second, 7)
    assert [alarm.kind for alarm in heard] == ["journal"]
    found = replay(path)
    assert (found.is_same, found.tolerance, found.rounds) == (True, 1e-12, 12)
