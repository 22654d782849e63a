"""The journal of a fleet read for people: what that of a controller for each member would say."""

import itertools

import numpy as np
import pytest

from surefoot import Ball, Controller, kernel
from surefoot.controller import Fleet, FleetRecord, StoreError, read_journal
from surefoot.rules import CertifiedPFS, LeaderFollower, SafetyFilter

from ._lines import change

NAMES = ("north", "south", "west")
NORMALS = {"north": [1.0, 0.0], "south": [0.6, 0.8], "west": [0.0, 1.0], "east": [0.8, 0.6]}
STARTS = {name: [0.0, 0.0] for name in NAMES}
LEADER = LeaderFollower(G_g=1.0, domain=Ball(2.0))


def seen_at(names, x, t):
    """What members with these actions report."""
    normals = np.array([NORMALS[name] for name in names])
    g = np.einsum("ij,ij->i", normals, x) - 0.3
    target = np.array([0.9, 0.5 + 0.2 * np.sin(t)])
    return {
        "cost_gradient": x - target,
        "constraint_value": g,
        "constraint_subgradient": normals,
    }


def drive(fleet, rounds, missing=(), steep=(), names=None):
    """Let members play; some in some rounds are not measured, or contradict G_g."""
    for _ in range(rounds):
        told = names or list(fleet.names)
        x = fleet.ask()[[fleet.names.index(name) for name in told]]
        report = seen_at(told, x, fleet.round)
        for name in missing:
            report["constraint_value"][told.index(name)] = np.nan
        for name in steep:
            report["constraint_subgradient"][told.index(name)] *= 5.0
        fleet.tell(**report, members=names)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fleet.jsonl"


@pytest.mark.parametrize("engine", kernel.engines())
def test_a_member_reads_as_the_journal_of_its_own_controller(path, tmp_path, engine):
    with kernel.engine(engine):
        with Fleet(LEADER, STARTS, journal=path) as fleet:
            drive(fleet, 6)
            drive(fleet, 2, missing=["south"])
            drive(fleet, 3)
            fleet.hold("lunch", ["west"])
            drive(fleet, 2)
            fleet.resume("back", ["west"])
            drive(fleet, 4)
        record = read_journal(path)
        assert isinstance(record, FleetRecord)
        assert list(record.members) == list(NAMES)
        for name in NAMES:
            alone = tmp_path / f"{name}.jsonl"
            with Controller(LEADER, STARTS[name], journal=alone, on_contradiction="retreat") as one:
                for t in range(1, 18):
                    if t == 12 and name == "west":
                        one.hold("lunch")
                    if t == 14 and name == "west":
                        one.resume(reason="back")
                    report = seen_at([name], one.ask()[None], t)
                    report = {key: part[0] for key, part in report.items()}
                    report["constraint_value"] = float(report["constraint_value"])
                    is_missing = t in (7, 8) and name == "south"
                    one.tell(**{"missing": True} if is_missing else report)
            mine, member = read_journal(alone), record.members[name]
            assert [str(r) for r in member.rounds] == [str(r) for r in mine.rounds]
            columns, others = member.columns(), mine.columns()
            assert columns.keys() == others.keys()
            assert all(columns[n] == others[n] for n in columns if n != "time")
            for part in ("g", "bounds", "lengths", "errors", "action"):
                assert getattr(member, part).tobytes() == getattr(mine, part).tobytes(), part
            for part in ("missing", "certified", "notes", "breaches", "status", "certificate"):
                assert getattr(member, part) == getattr(mine, part), part
            for part in ("player", "guarantee", "promises", "on_contradiction", "halted"):
                assert getattr(member, part) == getattr(mine, part), part
            facts = {"journal", "written by", "member", "halted"}
            pairs = [
                {k: v for k, v in each.facts().items() if k not in facts} for each in (member, mine)
            ]
            assert pairs[0] == pairs[1]
            one = read_journal(path, member=name)
            assert str(one) == str(member)
            assert [str(r) for r in one.rounds] == [str(r) for r in member.rounds]


def test_the_summary_names_the_worst_member_and_what_each_is_up_to(path):
    with Fleet(LEADER, STARTS, journal=path, on_contradiction="hold") as fleet:
        drive(fleet, 5)
        drive(fleet, 1, missing=["north"], steep=["south"])
        fleet.hold("lunch", ["west"])
        drive(fleet, 2)
        fleet.note("all is well")
        halted = fleet.halted
    record = read_journal(path)
    assert record.halted == halted == {"south": halted["south"], "west": "lunch"}
    assert (record.round_count, record.violations, record.missing) == (24, 0, 1)
    assert record.worst == max(max(r.g for r in m.rounds if r.g) for m in record.runs)
    assert record.worst_member.worst == record.worst
    assert record.margin == min(m.margin for m in record.runs)
    assert [m.member for m in record.contradicted] == ["south"]
    assert [n.text for n in record.notes] == ["all is well"]
    assert [n.text for n in record.members["west"].notes] == ["hold: lunch"]
    text = str(record)
    for words in (
        "members         3\n",
        "rounds          24, 21 with a certificate, 1 not measured",
        "contradictions  1: south",
        "halted          2: south; west",
        "notes           round 9: all is well",
        "  north         8 rounds, worst g ",
        ", 0 violations, 1 not measured\n",
        ", 0 violations, halted: lunch",
        "halted: |s| = 5 exceeds G_g = 1",
    ):
        assert words in text, words
    assert [r.member for r in record.by_need()][:2] == ["south", "west"]
    south = str(record.members["south"])
    assert "member          south\nhalted          |s| = 5 exceeds" in south
    assert "contradicted: feasibility is not guaranteed" in south


def test_members_that_left_are_there_and_a_name_that_came_back_is_another_member(path):
    filter_ = SafetyFilter(G_g=1.0, domain=Ball(2.0), rho=0.1)
    with Fleet(LEADER, STARTS, journal=path, rotate=4) as fleet:
        drive(fleet, 3)
        fleet.remove("south", "sold")
        fleet.add("east", LeaderFollower(G_g=1.5, domain=Ball(2.0)), [0.1, 0.0], "built")
        drive(fleet, 4)
        drive(fleet, 2, names=["north", "east"])
        fleet.add("south", LEADER, [0.0, 0.1], "bought again")
        drive(fleet, 2)
        rounds, last = fleet.rounds, fleet.ask()
        with pytest.raises(ValueError, match="members that all need"):
            fleet.add("up", filter_, [0.0, 0.0], "another kind")
    assert path.with_name("fleet.jsonl.3").exists()
    record = read_journal(path)
    assert [(m.member, m.run, m.has_left) for m in record.runs] == [
        ("north", 1, False),
        ("south", 1, True),
        ("west", 1, False),
        ("east", 1, False),
        ("south", 2, False),
    ]
    assert record.members["south"] is record.runs[-1]
    assert {n: m.round_count + 1 for n, m in record.members.items()} == rounds
    for x, name in zip(last, fleet.names, strict=True):
        assert record.members[name].action.tolist() == x.tolist()
    for member in record.runs:
        assert [r.round for r in member.rounds] == list(range(1, member.round_count + 1))
        assert str(member.rounds[0]).startswith("the start; round 1 played")
    first, again = (m for m in record.runs if m.member == "south")
    assert [n.text for n in first.notes] == ["left: sold"]
    assert [n.text for n in again.notes] == ["joined: bought again"]
    assert "G_g=1.5" in record.members["east"].player
    assert (first.label, again.label) == ("south", "south, run 2")
    text = str(record)
    assert "members         4, and 1 that left\n" in text
    assert "  south         3 rounds, " in text
    assert ", 0 violations, left\n" in text
    assert "  south, run 2  2 rounds, " in text
    assert "; " not in record.facts()["halted"]
    columns = record.columns()
    assert list(columns)[:3] == ["member", "run", "round"]
    assert len(columns["g"]) == record.round_count == 33
    keys = list(zip(columns["member"], columns["run"], columns["round"], strict=True))
    assert len(set(keys)) == 33
    assert len(read_journal(path, member="south").rounds) == 2


@pytest.mark.parametrize("engine", kernel.engines())
def test_only_the_rounds_asked_for_are_returned_of_each_member(path, engine, monkeypatch):
    monkeypatch.setattr("surefoot.controller.reading._MOST", 5)  # so that rounds are dropped
    with kernel.engine(engine), Fleet(LEADER, STARTS, journal=path) as fleet:
        for _ in range(6):
            drive(fleet, 2)
            drive(fleet, 1, names=["south"])
            drive(fleet, 1, missing=["north"])
    whole = read_journal(path)
    for first, last, latest in itertools.product((1, 15), (None, 16), (None, 1, 3)):
        part = read_journal(path, first=first, last=last, latest=latest)
        for name, member in part.members.items():
            every = [r for r in whole.members[name].rounds if r.round >= first]
            every = [r for r in every if last is None or r.round <= last]
            wanted = every[-latest if latest else 0 :]
            assert [str(r) for r in member.rounds] == [str(r) for r in wanted]
            assert member.g.tobytes() == whole.members[name].g.tobytes()
            assert str(member) == str(whole.members[name])
    assert whole.members["south"].round_count == 24
    assert [r.round for r in whole.members["south"].rounds[2:4]] == [3, 4]


def test_a_later_file_is_read_from_where_it_begins(path):
    with Fleet(LEADER, STARTS, journal=path, rotate=5) as fleet:
        drive(fleet, 5)
        fleet.hold("lunch", ["west"])
        drive(fleet, 3)
        last = fleet.ask()
    part = read_journal(path.with_name("fleet.jsonl.2"))
    assert [m.round_count for m in part.runs] == [3, 3, 3]
    assert [r.round for r in part.runs[0].rounds] == [6, 7, 8]
    whole = read_journal(path)
    for name, x in zip(NAMES, last, strict=True):
        mine, member = part.members[name], whole.members[name]
        assert mine.action.tolist() == member.action.tolist() == x.tolist()
        assert mine.rounds[1].action.tolist() == member.rounds[6].action.tolist()
    assert part.halted == {"west": "lunch"}


def test_a_member_that_is_not_there_and_one_of_a_controller_are_refused(path, tmp_path):
    with Fleet(LEADER, STARTS, journal=path) as fleet:
        drive(fleet, 3)
    with pytest.raises(ValueError, match=r"^member must be one of the journal's, got 'nort'; did "):
        read_journal(path, member="nort")
    with Controller(LEADER, [0.0, 0.0], journal=tmp_path / "one.jsonl"):
        pass
    with pytest.raises(ValueError, match=r"^member must be left out for the journal of one contr"):
        read_journal(tmp_path / "one.jsonl", member="north")
    with Fleet(LEADER, np.zeros((300, 2)), journal=tmp_path / "many.jsonl"):
        pass
    with pytest.raises(ValueError, match=r"the first of 300: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9$"):
        read_journal(tmp_path / "many.jsonl", member="a large pump")
    change(path, '"time":"2', '"time":"3')
    with pytest.raises(StoreError, match="is not what was written"):
        read_journal(path)


def test_a_large_fleet_has_the_members_to_look_at_first(path):
    starts = np.zeros((40, 1))
    player = CertifiedPFS(G_g=1.0, domain=Ball(2.0), rho=0.1)
    with Fleet(player, starts, journal=path) as fleet:
        for _ in range(3):
            fleet.ask()
            g = np.full(40, -0.5)
            if fleet.round == 2:
                g[17] = 0.25
            fleet.tell(
                cost_gradient=np.ones((40, 1)),
                constraint_value=g,
                constraint_subgradient=np.full((40, 1), -1.0),
            )
    record = read_journal(path)
    lines = str(record).partition("the 10 to look at first:\n")[2].splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("  17            3 rounds, worst g 0.25, 1 violation")
    assert record.violations == 1
    assert record.worst_member.member == "17"


def test_a_fleet_is_a_table_of_pandas(path):
    pytest.importorskip("pandas")
    with Fleet(LEADER, STARTS, journal=path) as fleet:
        drive(fleet, 4)
    table = read_journal(path).to_pandas()
    assert table.index.names == ["member", "run", "round"]
    assert table.loc[("south", 1)]["g"].tolist() == read_journal(path, member="south").g.tolist()
