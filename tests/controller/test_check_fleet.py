"""The checker of fleets: each member is judged as a controller is, and said to be."""

import copy
import json
import random

import numpy as np
import pytest

from surefoot.controller.check import check
from surefoot.controller.check.lines import read_records
from surefoot.controller.check.members import Members
from surefoot.controller.journal import seal

from ._columns import Writer, column, numbers, run_of
from ._fleets import GROUPS, HULLS, Play, expand, fleet_of
from ._honest import PLANTS, play
from ._lines import forge, records
from ._live import FILTERS, PLAYERS
from .forging import NUMBERS, forged_tables
from .test_check import JUDGED, played


def followers(path):
    """What is known of each member in the end."""
    members = Members()
    for record in read_records(str(path)):
        members.take(record)
    return {member.name: member.follower for member in members._all}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A fleet of hulls whose members are all there from the first to the last round."""
    return fleet_of(tmp_path_factory.mktemp("plain"), HULLS)


@pytest.fixture(scope="module")
def eventful(tmp_path_factory):
    """The journals of all honest plants, and the controllers' own records."""
    folder = tmp_path_factory.mktemp("eventful")
    paths = {n: play(folder / f"run{i}", n, 1, rounds=12) for i, n in enumerate(PLANTS)}
    return paths, {name: run_of(path) for name, path in paths.items()}


# --- honest journals -----------------------------------------------------------------------------


@pytest.mark.parametrize("in_columns", [True, False], ids=["columns", "records"])
def test_a_member_is_judged_as_its_controller_is(in_columns, eventful, tmp_path):
    paths, runs = eventful
    rng = np.random.default_rng(in_columns)
    writer = Writer(tmp_path / "fleet.jsonl", rng, rotate=25, in_columns=in_columns)
    path = writer.write(runs, first=40, leaving=0.5)
    assert writer.kinds >= {"rounds", "orders", "joined", "left", "snapshot", "resume", "hold"}
    assert writer.part > 10
    report = check(str(path))
    assert report.is_right, report.said[0]
    found = followers(path)
    certified, rounds = 0, 0
    for name, own in paths.items():
        ((_, alone),) = followers(own).items()
        member = found[name]
        # A first context is told after the first line here, and may certify the start, too.
        assert member.certified - alone.certified in (0, 1), name
        assert (member.t, member.unjudged) == (alone.t, alone.unjudged), name
        certified, rounds = certified + member.certified, rounds + alone.t - 1
    what = f"certified: {certified} of {rounds} rounds of {len(paths)} members; "
    assert report.said[0] == f"{what}the first of each is its start"


@pytest.mark.parametrize("group", GROUPS)
def test_fleets_of_the_library_are_certified(group, tmp_path):
    names, words = GROUPS[group], []
    for eventful in (False, True):
        path = Play(tmp_path / f"{eventful}.jsonl", names, 0, eventful).play(12)
        report = check(str(path))
        assert report.is_right, report.said[0]
        words.append(report.said[0].split())
    late = sum("late" in name for name in names)  # stays until its first reading
    delayed = sum("copies" in name or "ahead" in name for name in names)
    drifting = sum(name in ("lengths, drift", "lengths, both") for name in names)
    rounds, certified = 12 * len(names), int(words[0][1])
    assert int(words[0][3]) == rounds
    assert certified >= rounds - len(names) - 2 * (late + delayed) - 12 * drifting


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("group", GROUPS)
def test_no_fleet_of_the_library_is_blamed(group, seed, tmp_path):
    report = check(str(Play(tmp_path / "fleet.jsonl", GROUPS[group], seed).play(20)))
    assert report.is_right, report.said[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_no_honest_fleet_is_blamed(seed, tmp_path):
    runs = {n: run_of(play(tmp_path / f"run{i}", n, seed)) for i, n in enumerate(PLANTS)}
    writer = Writer(tmp_path / "fleet.jsonl", np.random.default_rng(seed), rotate=40)
    report = check(str(writer.write(runs, first=60, leaving=0.2)))
    assert report.is_right, report.said[0]


def test_members_with_one_log_share_its_points_and_nothing_else(tmp_path):
    players = {"a": JUDGED["a log"], "b": JUDGED["a log"], "c": JUDGED["an average"]}
    players["d"] = players["c"]
    a, b, c, d = followers(fleet_of(tmp_path, players, 3)).values()
    assert a.kind is b.kind
    assert c.kind is not d.kind


def test_a_fleet_is_said_to_be_certified_with_its_members(plain):
    report = check(str(plain))
    said = "certified: 33 of 36 rounds of 3 members; the first of each is its start"
    assert (report.code, report.said) == (0, [said])


def test_constants_are_said_once_for_all_who_have_them(tmp_path):
    players = {f"m{i}": JUDGED["hull filter"] for i in range(5)}
    fleet = fleet_of(tmp_path, players | {"other": JUDGED["leader and follower"]}, 3)
    first, second = check(str(fleet)).constants
    assert first.startswith("constants: members 'm0', 'm1', 'm2' and 2 more: from round 1: Region")
    assert first.endswith(", from [0.2, 0.2]")
    assert second.startswith("constants: member 'other': from round 1: LeaderFollower(")

    def move(found):  # a round later, so that nothing else is wrong
        table = found[0]["members"]
        starts = numbers(table["starts"])
        starts[0] += 1e-9
        table["starts"] = column(starts)
        del found[1:]

    forge(fleet, move)
    assert check(str(fleet)).constants[0].endswith(", from its own start, each")


def test_who_joined_left_and_was_ordered_is_said_once_for_all(tmp_path, plain):
    path = tmp_path / "fleet.jsonl"
    path.write_bytes(plain.read_bytes())

    def edit(found):
        head = found[0]
        order = {"round": 1, "reason": "a storm", "next": [0.2, 0.2], "certificate": None}
        orders = [{"kind": "hold", "member": name, **order} for name in ("north", "west")]
        player = {**head["players"][0], "start": [0.1, 0.1], "reason": "new"}
        joined = {"kind": "joined", "member": "east", "round": 1, "time": "now", **player}
        left = {"kind": "left", "member": "south", "round": 1, "time": "now", "reason": "old"}
        found[1:] = [{"kind": "orders", "time": "now", "records": orders}, joined, left]

    forge(path, edit)
    report = check(str(path))
    assert report.events == (
        "order: members 'north', 'west': round 1: ordered to hold",
        "order: member 'south': round 1: left",
        "order: member 'east': round 1: joined",
    )
    assert report.said[0] == (
        "certified: 0 of 0 rounds of 4 members; the first of each is its start"
    )


def test_rounds_that_are_not_checked_are_named_and_a_long_list_is_short(tmp_path):
    few = {"north": HULLS["north"], "old": PLAYERS["PFS"]}
    report = check(str(fleet_of(tmp_path / "few", few)))
    why = "the choice of this player is not judged"
    said = "certified: 11 of 24 rounds of 2 members; the first of each is its start"
    gap = f"not checked: member 'old', rounds 2 to 13: {why}"
    assert (report.code, report.said) == (3, [said, gap])
    many = {f"old{i}": PLAYERS["PFS"] for i in range(12)}
    report = check(str(fleet_of(tmp_path / "many", many, 3)))
    assert len(report.said) == 11
    assert report.said[9] == f"not checked: member 'old8', rounds 2 to 4: {why}"
    assert report.said[10] == "not checked: 9 rounds more, of 3 members"
    report = check(str(fleet_of(tmp_path / "ten", dict(list(many.items())[:10]), 3)))
    assert report.said[10] == f"not checked: member 'old9', rounds 2 to 4: {why}"


def test_numbers_that_could_not_be_used_break_nothing(plain, tmp_path):
    """Its round is refused without a contradiction, and then it is one without a measurement."""

    def edit(found, breaches=()):
        line = next(r for r in found if r["kind"] == "rounds" and first_step(r, "north"))
        x = expand(found)["north"][0]["next"]
        order = {"member": "north", "round": 2}
        refused = {"kind": "refused", **order, "breaches": list(breaches)}
        missing = {"kind": "round", **order, "missing": True, "how": "held", "next": x}
        why = {"why": {"policy": "hold"}, "certificate": None}
        end = {"kind": "rounds", "time": "now", "steps": [], "records": [refused, missing | why]}
        found[found.index(line) + 1 :] = [end]

    for breaches, code in (((), 0), ((json.loads('{"class": "Breach"}'),), 3)):
        path = tmp_path / f"fleet{code}"
        path.write_bytes(plain.read_bytes())
        forge(path, lambda found, b=breaches: edit(found, b))
        report = check(str(path))
        assert report.is_right, report.said[0]
        assert report.code == code


def first_step(line, name):
    """Whether a line of rounds has the first of a member."""
    names = ["north", "south", "west"]
    for steps in line["steps"]:
        places = steps["members"] or range(3)
        if names.index(name) in places:
            return numbers(steps["round"])[list(places).index(names.index(name))] == 1
    return False


def test_the_first_context_of_a_member_is_that_of_its_start(eventful, tmp_path):
    """It is announced after the first line, and the start itself needs no certificate."""
    _, runs = eventful
    run = {"additive": run_of(play(tmp_path / "run", "additive", 0, rounds=8, eventful=False))}
    path = Writer(tmp_path / "fleet.jsonl", np.random.default_rng(0)).write(run, 1)
    assert "announce" in {r["kind"] for r in runs["additive"]}
    report = check(str(path))
    assert report.said == ["certified: 7 of 8 rounds of 1 member; the first of each is its start"]


def test_a_name_may_be_used_again_by_a_new_member(plain, tmp_path):
    path = tmp_path / "fleet.jsonl"
    path.write_bytes(plain.read_bytes())

    def edit(found):
        end = {"member": "north", "time": "now", "reason": "new"}
        player = {**found[0]["players"][0], "start": [0.2, 0.2]}
        found[-1:] = [
            {"kind": "left", "round": 13, **end},
            {"kind": "joined", "round": 1, **end, **player},
        ]
        again = [{"kind": "round", "member": "north", **r} for r in expand(found[:-2])["north"]]
        found += [{"kind": "rounds", "time": "now", "steps": [], "records": [r]} for r in again]

    forge(path, edit)
    report = check(str(path))
    assert report.said == [
        "certified: 44 of 48 rounds of 4 members; the first of each is its start"
    ]


# --- fuzz ----------------------------------------------------------------------------------------

TEXTS = ("", "x", "AAAA", "AAAAAAAA8D8=", "north", "amend", "round", "float64", "é", "\ud800", "\n")
TABLES = tuple(forged_tables({"class": "A", "x": 1.0}))


def places(data):
    """Every table and list of plain data that has something in it."""
    stack = [data]
    while stack:
        table = stack.pop()
        if table:
            yield table
        parts = table.values() if isinstance(table, dict) else table
        stack += [part for part in parts if isinstance(part, (dict, list))]


def spoil_at_random(found, rng):
    """Change one part of a journal: any part, in any way."""
    tables = list(places(rng.choice(found)))
    if not tables:
        return
    table = rng.choice(tables)
    keys = list(table) if isinstance(table, dict) else range(len(table))
    key, how = rng.choice(list(keys)), rng.random()
    if how < 0.2:
        table.pop(key)
    elif how < 0.3 and isinstance(table, list):
        table.insert(key, copy.deepcopy(table[key]))
    elif how < 0.4:
        other = rng.choice(tables)
        parts = other.values() if isinstance(other, dict) else other
        table[key] = copy.deepcopy(rng.choice(list(parts)))
    elif how < 0.5 and isinstance(table, dict):
        table[rng.choice(("kind", "member", "round", "state", "x", "class", "bytes"))] = table[key]
    elif how < 0.7 and isinstance(table[key], str) and table[key]:
        at = rng.randrange(len(table[key]))
        table[key] = table[key][:at] + rng.choice("A/+=9z\x00") + table[key][at + 1 :]
    elif how < 0.8 and isinstance(table[key], (int, float)):
        table[key] = rng.choice((table[key] + 1, -table[key], table[key] * 2**62))
    else:
        table[key] = copy.deepcopy(rng.choice((*NUMBERS, *TEXTS, *TABLES, [], {}, [[]], 10**30)))


def shuffle_lines(found, rng):
    """Leave out a line, write one twice, or put one in the place of another."""
    i, j, how = rng.randrange(len(found)), rng.randrange(len(found)), rng.randrange(3)
    if how:
        found.insert(i, copy.deepcopy(found[j]))
    if how < 2:
        del found[i + bool(how) : i + 1 + bool(how)]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Small journals with all kinds of lines: what is changed at random."""
    folder = tmp_path_factory.mktemp("seeds")
    players = {"north": HULLS["north"], "rows": FILTERS["rows in a box"]}
    several = fleet_of(folder / "a", players, 4, rotate=6, first=1, leaving=0.5)
    names = ("hull, both", "additive", "ahead, late", "average")
    runs = {n: run_of(play(folder / f"run{i}", n, 3, rounds=4)) for i, n in enumerate(names)}
    writer = Writer(folder / "b", np.random.default_rng(2))
    later = several.with_name("fleet.jsonl.2")
    return (several, None), (later, several), (writer.write(runs, 3, 0.3), None)


def spoil_and_check(seeds, folder, count, seed):
    """Check journals with one to three changes; how many were still right."""
    rng, right = random.Random(seed), 0
    sources = [(records(path), path.name, first) for path, first in seeds]
    for n in range(count):
        lines, name, first = sources[n % len(sources)]
        found = json.loads(json.dumps(lines))
        for record in found:
            del record["digest"]
        for _ in range(rng.randint(1, 3)):
            (spoil_at_random if rng.random() < 0.9 else shuffle_lines)(found, rng)
            if not found:
                break
        digest, data = str(found[0].get("after", "")) if found else "", b""
        try:
            for record in found:
                line, digest = seal(digest, record)
                data += line
        except (ValueError, UnicodeError):
            continue
        if first is not None:
            (folder / first.name).write_bytes(first.read_bytes())
        (folder / name).write_bytes(data)
        report = check(str(folder / (first or folder / name).name))
        words = str(report)
        words.encode()
        assert len(words.split("\n")) == len(words.splitlines())
        if not report.is_right:
            assert len(report.said) == 1
        right += report.is_right
        (folder / name).unlink()
    return right


def test_a_journal_that_was_changed_at_random_is_answered_in_sentences(seeds, tmp_path):
    right = spoil_and_check(seeds, tmp_path, 2_000, 0)
    assert 50 < right < 1_200  # what is taken on trust may be anything


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_journals_that_were_changed_at_random_are_answered(seed, seeds, tmp_path):
    spoil_and_check(seeds, tmp_path, 5_000, seed)


@pytest.mark.slow
def test_a_hundred_members_are_checked_in_reasonable_time(tmp_path):
    run = run_of(played(tmp_path / "run", HULLS["north"], 200))
    writer = Writer(tmp_path / "fleet.jsonl", np.random.default_rng(0))
    path = writer.write({f"m{i}": run for i in range(100)}, 100)
    said = "certified: 19900 of 20000 rounds of 100 members; the first of each is its start"
    assert check(str(path)).said == [said]
