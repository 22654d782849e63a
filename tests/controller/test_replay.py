import sqlite3

import numpy as np
import pytest

from surefoot import Controller
from surefoot._sqlite import digest, to_bytes
from surefoot.controller import StoreError, replay
from surefoot.core.types import Info

from ._live import PLAYERS, START, drive, same_bits, seen_at


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


def written(path, name, rounds=9):
    with Controller(PLAYERS[name], START, journal=path) as controller:
        drive(controller, PLAYERS[name], rounds)


def change(path, statement, *arguments):
    connection = sqlite3.connect(path)
    assert connection.execute(statement, arguments).rowcount == 1
    connection.commit()
    connection.close()


@pytest.mark.parametrize("name", PLAYERS)
def test_every_action_is_derived_again(name, path):
    written(path, name)
    before = path.read_bytes()
    found = replay(path)
    assert found.is_same
    assert found.rounds == 9
    assert str(found) == (f"journal '{path}', 9 rounds: every action derived again, bit for bit")
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


def test_an_action_that_was_changed_is_found_with_its_round(path):
    written(path, "PFS")
    change(path, "UPDATE rounds SET action = ? WHERE round = 4", to_bytes(np.array([0.25, 0.5])))
    found = replay(path).difference
    assert (found.round, found.part) == (4, "action")
    assert same_bits(found.stored, np.array([0.25, 0.5]))
    whole = Controller(PLAYERS["PFS"], START)
    assert same_bits(found.derived, drive(whole, PLAYERS["PFS"], 3)[3])
    assert str(found).startswith("round 4: the action is [0.25 0.5 ], derived [")


def test_the_last_bit_of_an_action_counts(path):
    written(path, "PFS")
    whole = Controller(PLAYERS["PFS"], START)
    third = drive(whole, PLAYERS["PFS"], 2)[2]
    third[1] = np.nextafter(third[1], 1.0)
    change(path, "UPDATE rounds SET action = ? WHERE round = 3", to_bytes(third))
    assert replay(path).difference.round == 3


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("cost_gradient", to_bytes(np.array([0.125, 0.25]))),
        ("constraint_value", -0.75),
        ("constraint_subgradient", to_bytes(np.array([0.125, 0.25]))),
        ("cost_value", 3.5),
        ("certificate", None),
        ("digest", b"0" * 32),
    ],
)
@pytest.mark.parametrize("name", ["PFS", "certified"])
def test_whatever_else_of_a_row_was_changed_is_found_with_its_round(column, value, name, path):
    written(path, name)
    if name == "PFS" and column == "certificate":
        value = "{}"
    change(path, f"UPDATE rounds SET {column} = ? WHERE round = 6", value)
    found = replay(path)
    assert (found.difference.round, found.difference.part) == (6, "row")
    assert str(found).endswith("9 rounds: round 6: the row was changed after it was written")


def test_a_row_that_is_no_array_is_an_action_that_differs(path):
    written(path, "PFS")
    change(path, "UPDATE rounds SET action = ? WHERE round = 2", b"none")
    found = replay(path).difference
    assert (found.round, found.part, found.stored) == (2, "action", None)


@pytest.mark.parametrize(
    ("name", "edit", "where"),
    [
        pytest.param("PFS", "DELETE FROM rounds WHERE round = 5", (5, "row"), id="a row gone"),
        pytest.param(
            "certified", "DELETE FROM rounds WHERE round = 9", (9, "state"), id="the last row gone"
        ),
        pytest.param(
            "certified",
            "UPDATE now SET state = replace(state, 'rounds\": 9.0', 'rounds\": 8.0')",
            (10, "state"),
            id="an end that the rounds do not lead to",
        ),
        pytest.param(
            "certified", "UPDATE now SET digest = zeroblob(32)", (10, "state"), id="the last digest"
        ),
    ],
)
def test_what_was_cut_off_or_changed_at_the_end_is_found(name, edit, where, path):
    written(path, name)
    change(path, edit)
    found = replay(path).difference
    assert (found.round, found.part) == where


def test_a_page_that_belongs_to_nothing_is_damage(path):
    written(path, "PFS")
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    data[28:32] = (len(data) // size + 1).to_bytes(4, "big")  # so many pages, says the header
    path.write_bytes(data + bytes(size))
    with pytest.raises(StoreError, match=r"is damaged: .*never used"):
        replay(path)


def test_another_rule_is_found_at_the_first_action_that_it_changes(path, monkeypatch):
    written(path, "certified")
    kind = type(PLAYERS["certified"].algorithm)
    real = kind.step

    def slower(self, state, feedback):
        new, info = real(self, state, feedback)
        return (new._replace(x=state.x) if state.memory.rounds == 5 else new), info

    monkeypatch.setattr(kind, "step", slower)
    found = replay(path).difference
    assert (found.round, found.part) == (7, "action")


def test_another_certificate_is_found(path, monkeypatch):
    written(path, "certified")
    real = Info.certificate.fget
    altered = property(lambda info: real(info)._replace(bound=-0.125))
    monkeypatch.setattr(Info, "certificate", altered)
    found = replay(path).difference
    assert (found.round, found.part) == (1, "certificate")
    assert found.derived.bound == -0.125
    assert found.stored.bound != -0.125


def test_a_rule_that_refuses_what_was_told_is_found(path, monkeypatch):
    written(path, "PFS")

    def strict(self, state, feedback):
        raise ValueError("not today")

    monkeypatch.setattr(type(PLAYERS["PFS"]), "step", strict)
    assert str(replay(path).difference) == "round 1: what was told is refused: not today"


def test_a_certificate_that_is_none_is_a_sentence_however_well_it_is_forged(path):
    written(path, "PFS")
    connection = sqlite3.connect(path)
    ((before,),) = connection.execute("SELECT digest FROM rounds WHERE round = 8").fetchall()
    ((_, *columns, _, _),) = connection.execute("SELECT * FROM rounds WHERE round = 9").fetchall()
    chain = digest(before, 9, *columns, "-1")
    ((_, *now, _),) = connection.execute("SELECT * FROM now").fetchall()
    connection.execute("UPDATE rounds SET certificate = '-1', digest = ? WHERE round = 9", (chain,))
    connection.execute("UPDATE now SET digest = ?", (digest(chain, *now),))
    connection.commit()
    connection.close()
    for call in (replay, Controller.open):
        with pytest.raises(StoreError, match=r"round 9 cannot be read \(a certificate has a bound"):
            call(path)
