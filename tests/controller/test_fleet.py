"""Many controllers told by arrays: each is what it would be by itself, and stops no other."""

import contextlib
import re
import threading
import warnings

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, Controller, kernel, replay
from surefoot.controller import Fleet, JournalWarning, StoreError, read_journal
from surefoot.controller.check import check
from surefoot.core.plain import decode, encode_bytes
from surefoot.knowledge import Curvature, CurvatureRows, Errors, LipschitzHull, Together
from surefoot.rules import (
    CertifiedOGD,
    ChangeOver,
    LeaderFollower,
    RegionFilter,
    SafetyFilter,
    ValuesFollower,
)

from ._lines import forge, records
from ._live import CONSTANTS

N, D = 6, 2
RNG = np.random.default_rng(5)
NORMALS = RNG.normal(size=(N, D))
NORMALS /= np.linalg.norm(NORMALS, axis=1)[:, None]
TARGETS = 2 * RNG.normal(size=(N, D))
PLAYERS = {
    "leader": LeaderFollower(G_g=1.0, domain=Ball(9.0)),
    "tuned leader": LeaderFollower.default(CONSTANTS),
    "wrapper": ChangeOver(
        base=LeaderFollower(G_g=1.0, domain=Ball(9.0)),
        constants=Constants(R=9.0, G_f=5.0, G_g=1.0, start_slack=0.3),
        horizon=10_000,
    ),
    "values": ValuesFollower(G_g=1.0, domain=Ball(9.0)),
    "filter": SafetyFilter(G_g=1.0, domain=Ball(9.0), rho=0.05),
    "drifting": RegionFilter(
        knowledge=LipschitzHull(G_g=1.0, reach=9.0, errors=Errors(drift=1e-3))
    ),
    "curved": CertifiedOGD(knowledge=Curvature(beta=0.1, reach=9.0), radius=9.0),
    "no certificate": PFS(eta=0.1, rho=0.1, domain=Ball(9.0)),
}
FILTERS = ("filter", "drifting")


def seen_at(name, x):
    """What a round reveals at the actions of all members."""
    proposal = "proposal" if name in FILTERS else "cost_gradient"
    g = np.einsum("ij,ij->i", NORMALS, x) - 0.3
    told = {
        proposal: TARGETS if name in FILTERS else 0.3 * (x - TARGETS),
        "constraint_value": g,
    }
    return told if name == "values" else told | {"constraint_subgradient": NORMALS.copy()}


def drive(fleet, name, rounds, **changes):
    for _ in range(rounds):
        told = seen_at(name, fleet.ask())
        for key, edit in changes.items():
            edit(told[key])
        fleet.tell(**told)


@pytest.mark.slow
@pytest.mark.parametrize("engine", kernel.engines())
@pytest.mark.parametrize("name", PLAYERS)
def test_each_member_is_a_controller_bit_for_bit(name, engine):
    player = PLAYERS[name]
    with kernel.engine(engine):
        fleet = Fleet(player, np.zeros((N, D)))
        policy = "hold" if name == "no certificate" else "retreat"
        alone = [Controller(player, np.zeros(D), on_contradiction=policy) for _ in range(N)]
        for _ in range(40):
            x = fleet.ask()
            assert x.tobytes() == np.array([one.ask() for one in alone]).tobytes()
            told = seen_at(name, x)
            fleet.tell(**told)
            for i, one in enumerate(alone):
                own = {key: part[i] for key, part in told.items()}
                own["constraint_value"] = float(own["constraint_value"])
                one.tell(**own)
        for i, one in enumerate(alone):
            mine, theirs = fleet.explain(str(i)), one.explain()
            assert mine.certificate == theirs.certificate
            assert (mine.bound, mine.is_proven, mine.slack) == (
                theirs.bound,
                theirs.is_proven,
                theirs.slack,
            )


@pytest.mark.parametrize("policy", ["hold", "retreat", None])  # which is to retreat
@pytest.mark.parametrize("engine", kernel.engines())
def test_a_member_that_is_missing_or_contradicted_stops_no_other(engine, policy):
    with kernel.engine(engine):
        heard, starts = [], np.zeros((N, D))
        policies = {"on_contradiction": policy, "on_alarm": heard.append}
        fleet = Fleet(PLAYERS["leader"], starts, **policies)
        other = Fleet(PLAYERS["leader"], np.zeros((N, D)))
        drive(fleet, "leader", 5)
        drive(other, "leader", 5)

        def gone(g):
            g[1] = np.nan

        def steep(s):
            s[3] *= 5.0

        before = fleet.ask()
        stands = before[3] if policy == "hold" else starts[3]
        drive(fleet, "leader", 1, constraint_value=gone, constraint_subgradient=steep)
        drive(other, "leader", 1)
        after = fleet.ask()
        assert after[1].tobytes() == before[1].tobytes()
        assert after[3].tobytes() == stands.tobytes()
        rest = [0, 2, 4, 5]
        assert after[rest].tobytes() == other.ask()[rest].tobytes()
        assert [a.sentence.partition(":")[0] for a in heard] == ["member 1", "member 3"]
        assert [a.kind for a in heard] == ["missing", "contradiction"]
        assert list(fleet.halted) == ["3"]
        assert fleet.explain("1").is_proven
        assert "exceeds G_g" in str(fleet.explain("3"))
        drive(fleet, "leader", 3)
        assert fleet.ask()[3].tobytes() == stands.tobytes()
        assert not np.array_equal(fleet.ask()[1], before[1])  # measured again, it goes on
        fleet.resume("the sensor was changed", ["3"])
        drive(fleet, "leader", 2)
        assert not np.array_equal(fleet.ask()[3], stands)


def test_a_rule_that_cannot_start_elsewhere_holds_unless_told_otherwise():
    fleet = Fleet(PLAYERS["no certificate"], np.zeros((N, D)))
    assert fleet._now[0].runs[0].on_contradiction == "hold"
    with pytest.raises(ValueError, match="'retreat' needs a rule that can start from another act"):
        Fleet(PLAYERS["no certificate"], np.zeros((N, D)), on_contradiction="retreat")


WRONG = {
    "a shape": (lambda t: t.update(cost_gradient=np.zeros((N, D + 1))), "cost_gradient.shape must"),
    "too few": (
        lambda t: t.update(constraint_value=np.zeros(N - 1)),
        "constraint_value.shape must",
    ),
    "nothing": (lambda t: t.update(constraint_value=None), "constraint_value must be"),
    "words": (lambda t: t.update(constraint_value=["a"] * N), "constraint_value must be"),
    "a rounded value": (
        lambda t: t.update(constraint_value=t["constraint_value"].astype(np.float32)),
        "constraint_value.dtype must be float64, got float32",
    ),
    "rounded slopes": (
        lambda t: t.update(constraint_subgradient=np.ones((N, D), dtype=np.float16)),
        "constraint_subgradient.dtype must be float64, got float16",
    ),
    "a proposal": (lambda t: t.update(proposal=np.zeros((N, D))), "needs cost_gradient"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_is_one_sentence_and_changes_nothing(what, tmp_path):
    edit, sentence = WRONG[what]
    with Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=tmp_path / "fleet.jsonl") as fleet:
        drive(fleet, "leader", 3)
        before, written = fleet._now, (tmp_path / "fleet.jsonl").read_bytes()
        told = seen_at("leader", fleet.ask())
        edit(told)
        with pytest.raises(ValueError, match=sentence):
            fleet.tell(**told)
        assert fleet._now is before
        assert (tmp_path / "fleet.jsonl").read_bytes() == written
        drive(fleet, "leader", 1)
    with pytest.raises(ValueError, match="tell must come once after each ask"):
        fleet.tell(**seen_at("leader", before[0].actions))


def put(key, at, number):
    return lambda told: told[key].__setitem__(at, number)


def flatten(told):
    told["constraint_value"][2] = 0.1
    told["constraint_subgradient"][2] = 0.0


# What one member is told, the sentence, and whether that says that its action is infeasible.
BAD = {
    "a gradient of NaN": (put("cost_gradient", (2, 1), np.nan), "cost_gradient must be fin", False),
    "a gradient of 1e160": (put("cost_gradient", 2, 1e160), "cost_gradient must have a f", False),
    "a slope of NaN": (put("constraint_subgradient", (2, 0), np.nan), "subgradient must be", False),
    "a value of infinity": (put("constraint_value", 2, np.inf), "constraint_value must be", True),
    "a value of -infinity": (put("constraint_value", 2, -np.inf), "constraint_value must", False),
    "a flat g above 0": (flatten, "constraint_subgradient must not be 0 where", True),
}


@pytest.mark.parametrize("engine", kernel.engines())
@pytest.mark.parametrize("name", ["leader", "tuned leader"])
@pytest.mark.parametrize("what", BAD)
def test_a_member_whose_numbers_cannot_be_used_stops_no_other(what, name, engine, tmp_path):
    edit, sentence, is_infeasible = BAD[what]
    heard, others = [], [i for i in range(N) if i != 2]
    with kernel.engine(engine), warnings.catch_warnings():
        warnings.simplefilter("error")
        path = tmp_path / "fleet.jsonl"
        fleet = Fleet(PLAYERS[name], np.zeros((N, D)), journal=path, on_alarm=heard.append)
        usual = Fleet(PLAYERS[name], np.zeros((N, D)))
        for one in (fleet, usual):
            drive(one, name, 3)
        before = fleet.ask()
        told = seen_at(name, before)
        edit(told)
        fleet.tell(**told)
        drive(usual, name, 1)
        after = fleet.ask()
        assert after[others].tobytes() == usual.ask()[others].tobytes()
        assert after[2].tobytes() == (np.zeros(D) if is_infeasible else before[2]).tobytes()
        assert fleet.explain("2").is_proven
        assert len(heard) == 1
        assert re.match(f"member 2: round 4: .*{sentence}", heard[0].sentence)
        assert heard[0].kind == "refused"
        fleet.close()
        assert replay(path).is_same
        with Fleet.open(path) as again:
            assert again.ask().tobytes() == after.tobytes()
            drive(again, name, 3)
            drive(usual, name, 3)
            assert again.ask()[others].tobytes() == usual.ask()[others].tobytes()
            assert (again.ask()[2] != after[2]).any()  # and goes on


@pytest.mark.parametrize("engine", kernel.engines())
def test_a_start_that_is_not_feasible_stops_no_other(engine):
    with kernel.engine(engine):
        heard = []
        fleet = Fleet(PLAYERS["leader"], np.zeros((N, D)), on_alarm=heard.append)
        for _ in range(4):
            told = seen_at("leader", fleet.ask())
            told["constraint_value"][2] += 0.4
            fleet.tell(**told)
        words = "member 2: round 1: the start must be strictly feasible"
        assert heard[0].sentence.startswith(words)
        assert [a.round for a in heard] == [1, 2, 3, 4]
        x = fleet.ask()
        assert not x[2].any()
        assert x[[0, 1, 3, 4, 5]].any(axis=1).all()
        assert [fleet.explain(str(i)).is_proven for i in range(N)] == [i != 2 for i in range(N)]
        drive(fleet, "leader", 2)  # what is feasible now is started from
        assert fleet.ask()[2].any()
        assert fleet.explain("2").is_proven


@pytest.mark.parametrize("starts", [[0.0, 0.0], np.zeros((0, 2)), [["a"]]])
def test_starts_that_are_none_are_refused(starts):
    with pytest.raises(ValueError, match="starts"):
        Fleet(PLAYERS["leader"], starts)


@pytest.mark.parametrize("name", PLAYERS)
def test_a_journal_goes_on_bit_for_bit(name, tmp_path):
    path, player = tmp_path / "fleet.jsonl", PLAYERS[name]

    def gone(g):
        g[2] = np.nan

    with Fleet(player, np.zeros((N, D)), journal=path) as fleet:
        drive(fleet, name, 30)
        drive(fleet, name, 1, constraint_value=gone)
        if name != "no certificate":
            fleet.retreat("storm", ["4"])
        drive(fleet, name, 3)
    assert len([r for r in records(path) if r["kind"] == "rounds"]) == 34
    with pytest.raises(StoreError, match="exists already"):
        Fleet(player, np.zeros((N, D)), journal=path)
    with Fleet.open(path) as again:
        assert again.round == 35
        assert again.ask().tobytes() == fleet.ask().tobytes()
        assert [str(again.explain(str(i))) for i in range(N)] == [
            str(fleet.explain(str(i))) for i in range(N)
        ]
        drive(again, name, 3)
    whole = Fleet(player, np.zeros((N, D)))
    drive(whole, name, 30)
    drive(whole, name, 1, constraint_value=gone)
    if name != "no certificate":
        whole.retreat("storm", ["4"])
    drive(whole, name, 6)
    assert again.ask().tobytes() == whole.ask().tobytes()


def test_a_fleet_is_continued_by_its_own_player_starts_and_policies_alone(tmp_path):
    path, starts = tmp_path / "fleet.jsonl", np.zeros((N, D))
    for t in (1, 4):
        with Fleet.open_or_create(path, PLAYERS["leader"], starts, on_missing="retreat") as fleet:
            assert fleet.round == t
            drive(fleet, "leader", 3)
    wider = LeaderFollower(G_g=2.0, domain=Ball(9.0))
    others = {
        "player.knowledge.G_g is 1.0 there and 2.0 here": (wider, starts, "retreat"),
        "on_missing is 'retreat' there and 'hold' here": (PLAYERS["leader"], starts, "hold"),
        r"the start of 0 is \[0.0, 0.0\] there and \[0.1, 0.1\] here": (
            PLAYERS["leader"],
            starts + 0.1,
            "retreat",
        ),
    }
    for words, (player, first, policy) in others.items():
        with pytest.raises(ValueError, match=f"is that of another fleet: {words}; name that fleet"):
            Fleet.open_or_create(path, player, first, on_missing=policy)
    with Fleet.open(path) as again:  # what is opened by its path alone is that
        assert again.ask().tobytes() == fleet.ask().tobytes()


@pytest.mark.parametrize("name", PLAYERS)
def test_snapshots_are_opened_from(name, tmp_path):
    path = tmp_path / "fleet.jsonl"
    with Fleet(PLAYERS[name], np.zeros((N, D)), journal=path) as fleet:
        for _ in range(40):
            members, at = fleet._now
            fleet._now = (members, at._replace(least=0))
            drive(fleet, name, 1)
            if fleet.round == 20 and name != "no certificate":
                fleet.hold("repairs", ["2"])
    found = [r["state"] for r in records(path) if r["kind"] == "snapshot"]
    assert all(len(s["loops"]) + sum(len(r["members"]) for r in s["rows"]) == 1 for s in found)
    assert len(found) == 40  # each with one of the members
    with Fleet.open(path) as again:
        assert again.ask().tobytes() == fleet.ask().tobytes()
        assert [str(again.explain(str(i))) for i in range(N)] == [
            str(fleet.explain(str(i))) for i in range(N)
        ]
        drive(again, name, 3)
    assert replay(path).is_same


@pytest.mark.parametrize("name", PLAYERS)
def test_a_fleet_goes_on_in_another_file(name, tmp_path):
    with Fleet(
        PLAYERS[name], np.zeros((N, D)), journal=tmp_path / "fleet.jsonl", rotate=4
    ) as fleet:
        drive(fleet, name, 10)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["fleet.jsonl", "fleet.jsonl.2", "fleet.jsonl.3"]
    with Fleet.open(tmp_path / "fleet.jsonl") as again:
        assert again.round == 11
        drive(again, name, 3)
    assert len(list(tmp_path.iterdir())) == 4
    whole = Fleet(PLAYERS[name], np.zeros((N, D)))
    drive(whole, name, 13)
    assert again.ask().tobytes() == whole.ask().tobytes()


def test_a_torn_line_is_taken_off_and_said_and_damage_is_refused(tmp_path):
    path = tmp_path / "fleet.jsonl"
    with Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=tmp_path / "fleet.jsonl") as fleet:
        drive(fleet, "leader", 5)
        data = path.read_bytes()
    path.write_bytes(data[:-100])
    with pytest.warns(
        JournalWarning, match="round 5 was being written; 4 is the last certain round"
    ):
        Fleet.open(tmp_path / "fleet.jsonl").close()
    damaged = data.replace(b'"members":null', b'"members":[0]', 1)
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="is damaged"):
        Fleet.open(tmp_path / "fleet.jsonl")
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("kind", ["hold", "retreat", "resume"])
def test_after_an_order_a_round_is_asked_for_again(kind):
    fleet = Fleet(PLAYERS["leader"], np.zeros((N, D)))
    drive(fleet, "leader", 20)
    told = seen_at("leader", fleet.ask())
    getattr(fleet, kind)("storm", ["1"])
    with pytest.raises(ValueError, match="ask for the action of round 21 first"):
        fleet.tell(**told)  # which was measured at actions that are others now
    drive(fleet, "leader", 1)


def forge_steps(**changes):
    def edit(found):
        for key, change in changes.items():
            table = found[2]["steps"][0]
            table[key] = change(table[key])

    return edit


def numbers(change):
    return lambda column: encode_bytes(change(decode(column)))


FORGERIES = {
    "no members": lambda found: found[0]["members"].update(names=[]),
    "members in words": lambda found: found[0].update(members="many"),
    "a name twice": lambda found: found[0]["members"].update(names=["0"] * N),
    "a name that is none": lambda found: found[0]["members"].update(names=list(range(N))),
    "a player that is none": lambda found: found[0]["members"].update(players=[7] * N),
    "fewer starts": lambda found: found[0]["members"].update(starts=encode_bytes(np.zeros((2, D)))),
    "no values": lambda found: found[2]["steps"][0].pop("constraint_value"),
    "fewer values": forge_steps(constraint_value=numbers(lambda g: g[:-1])),
    "values of another shape": forge_steps(constraint_value=numbers(lambda g: g[:, None])),
    "other slopes": forge_steps(constraint_subgradient=numbers(lambda s: s[:, ::-1].copy())),
    "no actions": lambda found: found[2]["steps"][0].pop("next"),
    "another action": forge_steps(next=numbers(lambda x: x[:, ::-1].copy())),
    "another round": forge_steps(round=numbers(lambda t: t + 1)),
    "members that are not there": forge_steps(members=lambda _: list(range(1, N + 1))),
    "members out of order": forge_steps(members=lambda _: [1, 0, *range(2, N)]),
    "bytes that are none": forge_steps(next=lambda column: {**column, "bytes": "?"}),
    "a type that is none": forge_steps(next=lambda column: {**column, "type": "object"}),
    "a huge shape": forge_steps(next=lambda column: {**column, "shape": [2**40, 2**40]}),
    "a loop of nothing": lambda found: found[2].update(
        kind="snapshot", state={"rows": [], "loops": {"0": None}}
    ),
    "rows of nothing": lambda found: found[2].update(
        kind="snapshot", state={"rows": [{}], "loops": {}}
    ),
    "an order to nobody": lambda found: found[2].update(
        kind="orders", records=[{"kind": "hold", "member": "99", "reason": "x"}]
    ),
    "a record of nobody": lambda found: found[2].update(records=[{"kind": "round", "next": [1.0]}]),
    "one that joins twice": lambda found: found[2].update(kind="joined", member="0"),
    "one that joins with nothing": lambda found: found[2].update(kind="joined", member="new"),
    "one that leaves twice": lambda found: found[2].update(kind="left", member="99"),
    "an amendment": lambda found: found[2].update(kind="amend", member="0"),
    "a plant": lambda found: found[2].update(kind="plant"),
}


WORDS = r"is damaged|reserves and does not read|cannot make again"


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_journal_of_a_fleet_is_refused_in_a_sentence(what, tmp_path):
    path = tmp_path / "fleet.jsonl"
    with Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=path) as fleet:
        drive(fleet, "leader", 5)
    forge(path, FORGERIES[what])
    before = path.read_bytes()
    with pytest.raises(StoreError, match=WORDS) as refusal:
        Fleet.open(path)
    assert "\n" not in str(refusal.value)
    assert path.read_bytes() == before
    with contextlib.suppress(StoreError):
        assert not replay(path).is_same


@pytest.mark.parametrize("kind", ["plant"])
def test_a_reserved_record_is_refused_by_every_reader(kind, tmp_path):
    path = tmp_path / "one.jsonl"
    with Controller(PLAYERS["leader"], np.zeros(D), journal=path) as loop:
        for _ in range(3):
            x = loop.ask()
            told = seen_at("leader", np.tile(x, (N, 1)))
            loop.tell(**{key: part[0] for key, part in told.items()})
    forge(path, lambda found: found[2].update(kind=kind))
    for read in (Controller.open, read_journal, replay):
        with pytest.raises(StoreError, match=f"of the kind '{kind}', which this version reserves"):
            read(path)
    assert not check(str(path)).is_right


def test_a_fleet_is_no_controller(tmp_path):
    with Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=tmp_path / "fleet.jsonl") as fleet:
        drive(fleet, "leader", 2)
    with pytest.raises(StoreError, match=r"is that of a fleet: open it with Fleet\.open"):
        Controller.open(tmp_path / "fleet.jsonl")
    Controller(PLAYERS["leader"], np.zeros(D), journal=tmp_path / "one.jsonl").close()
    with pytest.raises(StoreError, match=r"is that of one controller: open it with Controller"):
        Fleet.open(tmp_path / "one.jsonl")


# --- members of their own -------------------------------------------------------------------------

NAMES = ("north", "south", "west")


def own_fleet(tmp_path, **more):
    """Return a fleet whose members have constants and starts of their own, and their limits."""
    players = {n: LeaderFollower(G_g=1.0 + i, domain=Ball(9.0)) for i, n in enumerate(NAMES)}
    starts = {n: np.full(D, 0.01 * i) for i, n in enumerate(NAMES)}
    return players, starts, Fleet(players, starts, journal=tmp_path / "fleet.jsonl", **more)


def limit(x, i):
    """Return what a round reveals at an action, for a limit as steep as its constant."""
    s = (1.0 + i) * NORMALS[i]
    return {
        "cost_gradient": 0.3 * (x - TARGETS[i]),
        "constraint_value": float(s @ x) - 0.3,
        "constraint_subgradient": s,
    }


def rows_of(fleet, names):
    """Return what the members with these names are told."""
    x, at = fleet.ask(), [fleet.names.index(n) for n in names]
    told = [limit(x[i], NAMES.index(n)) for i, n in zip(at, names, strict=True)]
    return {key: np.array([one[key] for one in told]) for key in told[0]}


@pytest.mark.parametrize("engine", kernel.engines())
def test_members_have_players_starts_and_rounds_of_their_own(engine, tmp_path):
    with kernel.engine(engine):
        players, starts, fleet = own_fleet(tmp_path)
        alone = {n: Controller(players[n], starts[n]) for n in NAMES}
        rng = np.random.default_rng(1)
        with fleet:
            for _ in range(40):
                chosen = [n for n in fleet.names if rng.random() < 0.6] or ["west"]
                fleet.tell(**rows_of(fleet, chosen), members=chosen)
                for n in chosen:
                    alone[n].tell(**limit(alone[n].ask(), NAMES.index(n)))
        assert fleet.rounds == {n: alone[n].round for n in NAMES}
        assert len(set(fleet.rounds.values())) > 1
        for n, x in zip(fleet.names, fleet.ask(), strict=True):
            assert x.tobytes() == alone[n].ask().tobytes()
        assert replay(tmp_path / "fleet.jsonl").is_same
        with Fleet.open(tmp_path / "fleet.jsonl") as again:
            assert again.ask().tobytes() == fleet.ask().tobytes()
            assert again.rounds == fleet.rounds


@pytest.mark.parametrize("rotate", [None, 3])
def test_members_come_and_leave(rotate, tmp_path):
    players, starts, fleet = own_fleet(tmp_path, rotate=rotate)
    with fleet:
        for t in range(20):
            if t == 4:
                fleet.remove("south", "sold")
                with pytest.raises(ValueError, match="one of this fleet, got 'south'"):
                    fleet.explain("south")
            if t == 9:
                fleet.add("south", players["south"], starts["south"], "bought again")
            if t == 12:
                fleet.resume("a better constant", ["west"], LeaderFollower(G_g=9.0, domain=Ball(9)))
            fleet.tell(**rows_of(fleet, fleet.names))
    assert fleet.names == ("north", "west", "south")
    assert fleet.rounds == {"north": 21, "west": 21, "south": 12}
    alone = Controller(players["south"], starts["south"])
    for _ in range(11):
        alone.tell(**limit(alone.ask(), 1))
    assert fleet.ask()[2].tobytes() == alone.ask().tobytes()
    assert replay(tmp_path / "fleet.jsonl").is_same
    with Fleet.open(tmp_path / "fleet.jsonl") as again:
        assert again.names == fleet.names
        assert again.ask().tobytes() == fleet.ask().tobytes()
        again.tell(**rows_of(again, again.names))
    assert replay(tmp_path / "fleet.jsonl").is_same


WRONG_MEMBERS = {
    "a name that is none": (lambda f: f.hold("x", ["east"]), "a member must be the name of one of"),
    "a place": (
        lambda f: f.hold("x", [0]),
        "a member must be the name of one of this fleet, got 0",
    ),
    "one name": (lambda f: f.hold("x", "north"), "members must be a list of names, got 'north'"),
    "nobody": (lambda f: f.hold("x", []), "members must be a list of names, each of them once"),
    "twice": (lambda f: f.retreat("x", ["west", "west"]), "each of them once"),
    "no reason": (lambda f: f.retreat(" "), "reason must be words"),
    "a name that is there": (
        lambda f: f.add("west", PLAYERS["leader"], [0.0, 0.0], "x"),
        "name must be that of no member, got 'west'",
    ),
    "a name of nothing": (lambda f: f.add("", PLAYERS["leader"], [0.0, 0.0], "x"), "the name of a"),
    "a filter": (
        lambda f: f.add("east", PLAYERS["filter"], [0.0, 0.0], "x"),
        "members that all need cost_gradient, got SafetyFilter, which needs proposal",
    ),
    "another length": (
        lambda f: f.add("east", PLAYERS["leader"], [0.0], "x"),
        "starts must be of one length, 2, got 1",
    ),
    "a resume with a filter": (lambda f: f.resume("x", ["west"], PLAYERS["filter"]), "all need"),
    "who is not there": (lambda f: f.remove("east", "x"), "a member must be the name of one of"),
    "out of order": (
        lambda f: f.tell(**rows_of(f, ["west", "north"]), members=["west", "north"]),
        "members must be in the order of Fleet.names",
    ),
}


@pytest.mark.parametrize("what", WRONG_MEMBERS)
def test_a_wrong_member_is_one_sentence_and_changes_nothing(what, tmp_path):
    act, sentence = WRONG_MEMBERS[what]
    _, _, fleet = own_fleet(tmp_path)
    with fleet:
        fleet.tell(**rows_of(fleet, NAMES))
        before, data = fleet._now, (tmp_path / "fleet.jsonl").read_bytes()
        with pytest.raises(ValueError, match=sentence):
            act(fleet)
        assert fleet._now is before
        assert (tmp_path / "fleet.jsonl").read_bytes() == data
        fleet.tell(**rows_of(fleet, NAMES))


def test_the_last_member_stays(tmp_path):
    fleet = Fleet(PLAYERS["leader"], {"only": [0.0, 0.0]})
    with pytest.raises(ValueError, match="one of several members"):
        fleet.remove("only", "sold")


@pytest.mark.parametrize("engine", kernel.engines())
def test_what_few_rounds_report_is_heard_of_each_member(engine, tmp_path):
    player, path = LeaderFollower(G_g=1.0, domain=Ball(9.0)), tmp_path / "fleet.jsonl"
    nan = np.nan
    with kernel.engine(engine):
        alone = [Controller(player, np.zeros(D), on_contradiction="retreat") for _ in range(N)]
        more = {
            "value_error": [0.05, *[nan] * (N - 1)],
            "slope_error": [nan, 0.1, *[nan] * (N - 2)],
            "action": [[nan] * D] * 2 + [[0.01, 0.02]] + [[nan] * D] * (N - 3),
            "within": [None] * 3 + [Ball(0.05)] + [None] * (N - 4),
            "cost_value": [nan] * 4 + [3.0] + [nan] * (N - 5),
        }
        with Fleet(player, np.zeros((N, D)), journal=path) as fleet:
            for t in range(12):
                told = seen_at("leader", fleet.ask())
                seldom = {name: np.array(part) for name, part in more.items() if name != "within"}
                seldom["within"] = more["within"]
                fleet.tell(**told, **(seldom if t % 3 == 1 else {}))
                for i, one in enumerate(alone):
                    one.ask()
                    own = {key: part[i] for key, part in told.items()}
                    own["constraint_value"] = float(own["constraint_value"])
                    if t % 3 == 1:
                        own |= {n: p[i] for n, p in more.items() if not is_nothing(p[i])}
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        one.tell(**own)
        assert fleet.ask().tobytes() == np.array([one.ask() for one in alone]).tobytes()
        assert replay(path).is_same
        with Fleet.open(path) as again:
            assert again.ask().tobytes() == fleet.ask().tobytes()


@pytest.mark.parametrize("engine", kernel.engines())
def test_a_call_that_could_not_be_written_has_changed_nothing(engine, tmp_path, monkeypatch):
    with kernel.engine(engine):
        fleet = Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=tmp_path / "fleet.jsonl")
        usual = Fleet(PLAYERS["leader"], np.zeros((N, D)))
        for one in (fleet, usual):
            drive(one, "leader", 4)
        before = fleet.ask()
        told = seen_at("leader", before)
        errors = np.full(N, 0.01)  # every member is decided by itself, and becomes usual again

        def fail(*_):
            raise OSError(28, "no space")

        with monkeypatch.context() as patch:
            patch.setattr("surefoot.controller.journal.sync", fail)
            with pytest.raises(StoreError, match="cannot be written: the disk is full"):
                fleet.tell(**told, value_error=errors)
        assert fleet.ask().tobytes() == before.tobytes()
        again = Fleet(PLAYERS["leader"], np.zeros((N, D)))
        again._now = (fleet._now[0], None)
        for one in (again, usual):
            one.ask()
            one.tell(**told, value_error=errors)
            drive(one, "leader", 3)
        assert again.ask().tobytes() == usual.ask().tobytes()


def test_an_action_that_is_half_a_number_is_none_and_not_the_one_asked_for():
    heard = []
    fleet = Fleet(PLAYERS["leader"], np.zeros((N, D)), on_alarm=heard.append)
    actions = np.full((N, D), np.nan)
    actions[1, 0] = 0.01
    fleet.tell(**seen_at("leader", fleet.ask()), action=actions)
    assert [a.sentence.partition(" must")[0] for a in heard] == ["member 1: round 1: action"]


def is_nothing(part):
    return part is None or (not isinstance(part, Ball) and bool(np.isnan(part).any()))


def test_a_field_that_a_member_does_not_use_is_refused_for_it_alone():
    heard = []
    fleet = Fleet(PLAYERS["leader"], np.zeros((N, D)), on_alarm=heard.append)
    hints = np.full((N, D), np.nan)
    hints[2] = 1.0
    fleet.tell(**seen_at("leader", fleet.ask()), hint=hints)
    assert [a.sentence.partition(";")[0] for a in heard] == [
        "member 2: round 1: hint is not used by LeaderFollower: leave it out"
    ]
    assert fleet.ask().any(axis=1).tolist() == [i != 2 for i in range(N)]


# --- threads, and many members --------------------------------------------------------------------


def test_of_threads_that_tell_one_round_one_is_heard():
    fleet = Fleet(PLAYERS["leader"], np.zeros((N, D)))
    for t in range(1, 11):
        told, errors = seen_at("leader", fleet.ask()), []

        def tell(told=told, errors=errors):
            try:
                fleet.tell(**told)
            except ValueError as error:
                errors.append(str(error))

        threads = [threading.Thread(target=tell) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert fleet.round == t + 1
        assert len(errors) == 2


def test_ten_thousand_members_are_told_at_once():
    n = 10_000
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(n, 2))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    fleet = Fleet(PLAYERS["filter"], np.zeros((n, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            x = fleet.ask()
            g = np.einsum("ij,ij->i", normals, x) - 0.3
            assert (g <= 0).all()
            fleet.tell(proposal=2 * normals, constraint_value=g, constraint_subgradient=normals)
    assert len(fleet) == n
    assert fleet.explain("9999").is_proven


@pytest.mark.parametrize("engine", kernel.engines())
@pytest.mark.parametrize("back", ["b", None])
def test_a_member_that_left_since_a_snapshot_stops_no_opening(tmp_path, monkeypatch, engine, back):
    monkeypatch.setattr(
        "surefoot.controller.journal._SHARE_OF_MANY", 0
    )  # a snapshot in every call,
    monkeypatch.setattr("surefoot.controller.records._CHUNKS", 2)  # of half of the members
    path, starts = tmp_path / "fleet.jsonl", {name: np.zeros(D) for name in "abcdef"}
    with kernel.engine(engine):
        with Fleet(PLAYERS["leader"], starts, journal=path) as fleet:
            drive(fleet, "leader", 2)
            fleet.remove("b", "sold")
            fleet.add(back or "g", PLAYERS["curved" if back else "leader"], np.zeros(D), "bought")
            before = fleet.ask()
        with Fleet.open(path) as again:
            assert again.names == fleet.names
            assert again.ask().tobytes() == before.tobytes()
        assert replay(path).is_same


def test_an_order_before_the_first_round_is_kept_in_a_later_file(tmp_path):
    path = tmp_path / "fleet.jsonl"
    with Fleet(PLAYERS["leader"], np.zeros((2, D)), journal=path, rotate=1) as fleet:
        drive_two(fleet)
        fleet.add("new", PLAYERS["leader"], np.zeros(D), "came")
        fleet.hold("not yet", ["new"])
        fleet.remove("0", "sold")
        fleet.remove("1", "sold")
        assert fleet.round == 1
        drive_two(fleet)
        assert list(fleet.halted) == ["new"]
    assert len(list(tmp_path.iterdir())) == 2
    with Fleet.open(path) as again:
        assert (again.names, list(again.halted), again.rounds) == (("new",), ["new"], {"new": 2})
        assert again.ask().tobytes() == fleet.ask().tobytes()
    assert replay(path).is_same
    assert check(str(path)).is_right


def drive_two(fleet):
    """Tell a round of as many members as there are."""
    n = len(fleet)
    x = fleet.ask()
    told = {"cost_gradient": x - 1.0, "constraint_subgradient": NORMALS[:n]}
    fleet.tell(constraint_value=np.einsum("ij,ij->i", NORMALS[:n], x) - 0.3, **told)


# --- members with several limits ------------------------------------------------------------------

STEEP = np.array([[1.0, 0.5], [0.0, 30.0]])
MOST = np.array([0.5, 15.0])
NORMS = np.linalg.norm(STEEP, axis=1) * (1 + 2.0**-50)
SEVERAL = {
    "leader": LeaderFollower(G_g=NORMS, domain=Ball(1.0)),
    "hulls": RegionFilter(
        knowledge=Together(
            rows=tuple(LipschitzHull(G_g=float(G_g), reach=1.0) for G_g in NORMS), domain=Ball(1.0)
        )
    ),
    "rows": CertifiedOGD(knowledge=CurvatureRows(beta=0.1, rows=2, domain=Ball(1.0)), radius=1.0),
}
HERE = np.array([[0.0, 0.0], [0.1, -0.1], [-0.2, 0.3]])


def told_of(name, X, t):
    """What a round reveals of both limits of every member; one is not measured in round 5."""
    first = {"hulls": "proposal"}.get(name, "cost_gradient")
    towards = np.array([np.cos(0.4 * t), np.sin(0.4 * t)])
    g = X @ STEEP.T - MOST
    if t == 5:
        g[1, 0] = np.nan
    slopes = np.broadcast_to(STEEP, (len(X), 2, 2))
    ways = np.broadcast_to(towards if first == "proposal" else -towards, X.shape)
    return {first: ways, "constraint_value": g, "constraint_subgradient": slopes}


@pytest.mark.parametrize("name", SEVERAL)
def test_members_with_several_limits_are_what_their_controllers_are(name, tmp_path):
    path, player = tmp_path / "fleet", SEVERAL[name]
    fleet = Fleet(player, HERE, journal=path)
    policies = {"on_contradiction": "retreat", "on_missing": "hold"}
    alone = [Controller(player, start, **policies) for start in HERE]
    assert fleet.limits == 2
    for t in range(12):
        X = np.array(fleet.ask())
        assert X.tolist() == [one.ask().tolist() for one in alone]
        assert (X @ STEEP.T - MOST <= 0).all()
        columns = told_of(name, X, t)
        fleet.tell(**columns)
        for i, one in enumerate(alone):
            told = {key: part[i] for key, part in columns.items()}
            one.tell(**({"missing": True} if np.isnan(told["constraint_value"]).any() else told))
        if t == 7:
            fleet.close()
            fleet = Fleet.open(path)
    fleet.close()
    assert replay(path).is_same
    report = check(str(path))
    assert report.said[0].startswith("certified: 33 of 36 rounds of 3 members; ")
    assert len(report.said) == 1
    record = read_journal(path)
    assert (record.round_count, record.violations) == (36, 0)


def test_members_of_one_fleet_have_as_many_limits_each():
    fleet = Fleet(SEVERAL["leader"], HERE)
    X = fleet.ask()
    columns = told_of("leader", X, 0)
    for wrong, shape in (([-0.5] * 3, r"\(3,\)"), (np.full((3, 3), -0.5), r"\(3, 3\)")):
        sentence = rf"constraint_value.shape must be \(3, 2\), an entry .*, got {shape}"
        with pytest.raises(ValueError, match=sentence):
            fleet.tell(**columns | {"constraint_value": wrong})
    sentence = "must have members with as many limits each, which its columns hold, got 1 and 2"
    with pytest.raises(ValueError, match=sentence):
        fleet.add("new", LeaderFollower(G_g=1.0, domain=Ball(1.0)), [0.0, 0.0], "it is new")
    with pytest.raises(ValueError, match=sentence):
        fleet.resume("another", player=LeaderFollower(G_g=1.0, domain=Ball(1.0)))
    fleet.tell(**columns)
    assert fleet.round == 2


def test_a_member_whose_numbers_of_one_limit_cannot_be_used_stops_no_other():
    fleet = Fleet(SEVERAL["leader"], HERE)
    columns = told_of("leader", fleet.ask(), 0)
    fleet.tell(**columns)
    columns = told_of("leader", fleet.ask(), 1)
    columns["constraint_value"][1, 1] = np.inf
    with contextlib.suppress(UserWarning):
        fleet.tell(**columns)
    assert fleet.rounds == {"0": 3, "1": 3, "2": 3}
    assert fleet.ask()[1].tolist() == HERE[1].tolist()  # back to where it was measured
    assert (fleet.ask()[0] != HERE[0]).any()
