"""A journal read for people: all that it says, while it is written, and nothing changed by it."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surefoot import Ball, Controller
from surefoot.controller import StoreError, read_journal
from surefoot.knowledge import Errors, LipschitzHull
from surefoot.rules import OGD, CertifiedPFS, RegionFilter

from ._lines import change
from ._live import PLAYERS, START, drive

WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from _live import PLAYERS, START, seen_at
from surefoot import Controller

player = PLAYERS["certified"]
with Controller(player, START, journal=sys.argv[1]) as controller:
    print("open", flush=True)
    while True:
        controller.tell(**seen_at(player, controller.round, controller.ask()))
"""


def bytes_of(path):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in path.parent.iterdir()}


def test_a_decision_is_shown_with_what_was_known_before_it_was_played(tmp_path):
    path, player = tmp_path / "j.jsonl", PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        told = []
        for _ in range(12):
            why = controller.explain()
            x = controller.ask()
            told.append((why.certificate, x))
            drive(controller, player, 1, controller.round)
        at_hand = controller.ask()
    record = read_journal(path)
    assert record.round_count == 12
    assert not record.is_open
    assert record.action.tobytes() == at_hand.tobytes()
    for row, (certificate, x) in zip(record.rounds, told, strict=True):
        assert row.action.tobytes() == x.tobytes()
        assert row.certificate == certificate
        assert row.bound == (None if certificate is None else certificate.bound)
    assert record.worst == max(row.g for row in record.rounds) <= 0
    assert record.margin == min(r.bound - r.g for r in record.rounds[1:]) > 0
    assert np.isnan(record.bounds[0])
    assert record.bounds[5] == record.rounds[5].bound
    assert record.lengths[5] == record.rounds[5].length
    assert record.breaches == ()
    assert record.status == "the data contradict nothing"
    assert "Theorem D" in str(record)
    assert repr(player.algorithm) == record.player


@pytest.mark.parametrize("name", PLAYERS)
def test_the_journal_of_every_player_can_be_read(tmp_path, name):
    path, player = tmp_path / "j.jsonl", PLAYERS[name]
    with Controller(player, START, journal=path, on_contradiction="record") as controller:
        actions = drive(controller, player, 4)
        record = read_journal(path)  # by the process that writes it
    assert [r.action.tobytes() for r in record.rounds] == [x.tobytes() for x in actions[:4]]
    again = read_journal(path)
    assert (again.round_count, again.is_open, record.is_open) == (4, False, True)
    assert str(again.rounds[2]) == str(record.rounds[2])
    assert set(map(len, again.columns().values())) == {4}


def test_only_the_rounds_asked_for_are_returned_and_all_are_counted(tmp_path):
    path, player = tmp_path / "j.jsonl", PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 20)
    whole = read_journal(path)
    for wanted, rounds in (
        ({"first": 18}, [18, 19, 20]),
        ({"last": 2}, [1, 2]),
        ({"first": 4, "last": 5}, [4, 5]),
        ({"latest": 3}, [18, 19, 20]),
        ({"last": 9, "latest": 1}, [9]),
        ({"first": 30}, []),
    ):
        part = read_journal(path, **wanted)
        assert [row.round for row in part.rounds] == rounds
        assert part.round_count == 20
        assert part.worst == whole.worst
    with pytest.raises(ValueError, match="latest must be a whole number"):
        read_journal(path, latest=0)


def test_a_contradiction_is_named_with_what_it_costs(tmp_path):
    path = tmp_path / "j.jsonl"
    player = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
    with Controller(player, [0.0, 0.0], journal=path, on_contradiction="record") as controller:
        for s in (1.0, 7.0):
            controller.ask()
            controller.tell(
                cost_gradient=[1.0, 0.0], constraint_value=-0.5, constraint_subgradient=[0.0, s]
            )
    record = read_journal(path)
    assert [b.round for b in record.breaches] == [2]
    assert "not guaranteed" in record.status
    assert "round 2" in str(record)


def test_what_could_not_be_stored_is_not_needed_to_read(tmp_path):
    class Half(Ball):
        pass

    path = tmp_path / "j.jsonl"
    player = OGD(eta=0.1, domain=Half(0.5))
    with Controller(player, [0.0, 0.0], journal=path) as controller:
        controller.ask()
        controller.tell(cost_gradient=[1.0, 0.0])
    record = read_journal(path)
    assert record.player.startswith("OGD(")
    assert "Half>" in record.player
    assert record.status == "nothing was promised that data could contradict"
    assert record.worst is record.margin is None
    assert "the constraint was not reported" in str(record.rounds[0])


def test_a_journal_is_read_while_another_process_writes_it_and_its_writer_goes_on(tmp_path):
    path = tmp_path / "j.jsonl"
    command = [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "open\n"
        counts = []
        for _ in range(12):
            record = read_journal(path, latest=1)
            assert record.is_open
            counts.append(record.round_count)
        assert writer.poll() is None
        writer.kill()
        writer.wait()
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
    before = bytes_of(path)
    stopped = read_journal(path)
    assert bytes_of(path) == before
    assert stopped.round_count >= counts[-1]
    with Controller.open(path) as controller:
        assert controller.round == stopped.round_count + 1
        assert controller.ask().tobytes() == stopped.action.tobytes()


def test_a_changed_row_a_foreign_file_and_none_are_refused_in_one_sentence(tmp_path):
    path, player = tmp_path / "j.jsonl", PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        drive(controller, player, 5)
    change(path, '{"kind":"round","round":3,', '{"kind":"round","round":7,')
    with pytest.raises(StoreError, match=r"is not what was written; .* certain is 2"):
        read_journal(path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(StoreError, match="is not a Surefoot journal"):
        read_journal(tmp_path / "text")
    with pytest.raises(StoreError, match="does not exist"):
        read_journal(tmp_path / "none")


def test_a_record_is_a_table_of_pandas(tmp_path):
    pytest.importorskip("pandas")
    path, player = tmp_path / "j.jsonl", PLAYERS["certified"]
    with Controller(player, START, journal=path) as controller:
        actions = drive(controller, player, 6)
    table = read_journal(path).to_pandas()
    assert list(table.index) == [1, 2, 3, 4, 5, 6]
    assert table[["action_0", "action_1"]].to_numpy().tolist() == actions[:6].tolist()
    assert table["bound"].isna().tolist() == [True] + [False] * 5


def noisy(path, readings, told_error):
    """The journal of rounds at one place, read with an error."""
    known = LipschitzHull(G_g=1.0, reach=2.0, errors=Errors(value=told_error))
    with Controller(RegionFilter(knowledge=known), [0.0], journal=path) as controller:
        for g in readings:
            controller.ask()
            if g is None:
                controller.tell(missing=True)
            else:
                controller.tell(proposal=[0.0], constraint_value=g, constraint_subgradient=[1.0])
    return read_journal(path)


def test_readings_above_0_within_the_told_error_are_no_violations(tmp_path):
    record = noisy(tmp_path / "j.jsonl", [-0.25, 0.03, -0.1, 0.04], 0.2)
    assert (record.violations, record.within_error) == (0, 2)
    assert "0 violations, 2 readings above 0 within the given error" in str(record)
    assert "g = 0.03, above 0 within the given error" in str(record.rounds[1])
    assert "VIOLATION" not in str(record.rounds[1])


def test_a_round_that_nobody_measured_is_missing_and_no_contradiction(tmp_path):
    record = noisy(tmp_path / "j.jsonl", [-0.25, None, None, -0.25], 0.0)
    assert record.missing == 2
    assert record.breaches == ()
    assert record.status == "the data contradict nothing"
    assert "4, 3 with a certificate, 2 not measured" in str(record)
    assert "nothing was measured" in str(record.rounds[1])
