"""Many controllers told by arrays: each is what it would be by itself, and stops no other."""

import re
import threading
import warnings

import numpy as np
import pytest

from surefoot import PFS, Ball, Constants, Controller, kernel, replay
from surefoot.controller import Fleet, JournalWarning, StoreError, read_journal
from surefoot.controller.check import check
from surefoot.knowledge import Curvature, Errors, LipschitzHull
from surefoot.rules import CertifiedOGD, ChangeOver, LeaderFollower, RegionFilter, SafetyFilter

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
    return {
        proposal: TARGETS if name in FILTERS else 0.3 * (x - TARGETS),
        "constraint_value": g,
        "constraint_subgradient": NORMALS.copy(),
    }


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
            mine, theirs = fleet.explain(i), one.explain()
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
        assert list(fleet.halted) == [3]
        assert fleet.explain(1).is_proven
        assert "exceeds G_g" in str(fleet.explain(3))
        drive(fleet, "leader", 3)
        assert fleet.ask()[3].tobytes() == stands.tobytes()
        assert not np.array_equal(fleet.ask()[1], before[1])  # measured again, it goes on
        fleet.resume("the sensor was changed", [3])
        drive(fleet, "leader", 2)
        assert not np.array_equal(fleet.ask()[3], stands)


def test_a_rule_that_cannot_start_elsewhere_holds_unless_told_otherwise():
    assert Fleet(PLAYERS["no certificate"], np.zeros((N, D)))._now[0].on_contradiction == "hold"
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
    with Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=tmp_path / "fleet") as fleet:
        drive(fleet, "leader", 3)
        before, written = fleet._now, (tmp_path / "fleet" / "fleet.jsonl").read_bytes()
        told = seen_at("leader", fleet.ask())
        edit(told)
        with pytest.raises(ValueError, match=sentence):
            fleet.tell(**told)
        assert fleet._now is before
        assert (tmp_path / "fleet" / "fleet.jsonl").read_bytes() == written
        drive(fleet, "leader", 1)
    with pytest.raises(ValueError, match="tell must come once after each ask"):
        fleet.tell(**seen_at("leader", before[1].actions))


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
        folder = tmp_path / "fleet"
        fleet = Fleet(PLAYERS[name], np.zeros((N, D)), journal=folder, on_alarm=heard.append)
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
        assert fleet.explain(2).is_proven
        assert len(heard) == 1
        assert re.match(f"member 2: round 4: .*{sentence}", heard[0].sentence)
        assert heard[0].kind == "refused"
        fleet.close()
        with Fleet.open(folder) as again:
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
        assert [fleet.explain(i).is_proven for i in range(N)] == [i != 2 for i in range(N)]
        drive(fleet, "leader", 2)  # what is feasible now is started from
        assert fleet.ask()[2].any()
        assert fleet.explain(2).is_proven


@pytest.mark.parametrize("starts", [[0.0, 0.0], np.zeros((0, 2)), [["a"]]])
def test_starts_that_are_none_are_refused(starts):
    with pytest.raises(ValueError, match="starts"):
        Fleet(PLAYERS["leader"], starts)


@pytest.mark.parametrize("name", PLAYERS)
def test_a_journal_goes_on_bit_for_bit(name, tmp_path):
    folder, player = tmp_path / "fleet", PLAYERS[name]

    def gone(g):
        g[2] = np.nan

    with Fleet(player, np.zeros((N, D)), journal=folder) as fleet:
        drive(fleet, name, 30)
        drive(fleet, name, 1, constraint_value=gone)
        if name != "no certificate":
            fleet.retreat("storm", [4])
        drive(fleet, name, 3)
    assert len([r for r in records(folder / "fleet.jsonl") if r["kind"] == "round"]) == 34
    with pytest.raises(StoreError, match="exists already"):
        Fleet(player, np.zeros((N, D)), journal=folder)
    with Fleet.open(folder) as again:
        assert again.round == 35
        assert again.ask().tobytes() == fleet.ask().tobytes()
        assert [str(again.explain(i)) for i in range(N)] == [
            str(fleet.explain(i)) for i in range(N)
        ]
        drive(again, name, 3)
    whole = Fleet(player, np.zeros((N, D)))
    drive(whole, name, 30)
    drive(whole, name, 1, constraint_value=gone)
    if name != "no certificate":
        whole.retreat("storm", [4])
    drive(whole, name, 6)
    assert again.ask().tobytes() == whole.ask().tobytes()


def test_a_fleet_is_continued_by_its_own_player_starts_and_policies_alone(tmp_path):
    folder, starts = tmp_path / "fleet", np.zeros((N, D))
    for t in (1, 4):
        with Fleet.open_or_create(folder, PLAYERS["leader"], starts, on_missing="retreat") as fleet:
            assert fleet.round == t
            drive(fleet, "leader", 3)
    wider = LeaderFollower(G_g=2.0, domain=Ball(9.0))
    others = {
        "player.knowledge.G_g is 1.0 there and 2.0 here": (wider, starts, "retreat"),
        "on_missing is 'retreat' there and 'hold' here": (PLAYERS["leader"], starts, "hold"),
        r"starts\[0\] is \[0.0, 0.0\] there and \[0.1, 0.1\] here": (
            PLAYERS["leader"],
            starts + 0.1,
            "retreat",
        ),
    }
    for words, (player, first, policy) in others.items():
        with pytest.raises(ValueError, match=f"is that of another fleet: {words}; name that fleet"):
            Fleet.open_or_create(folder, player, first, on_missing=policy)
    with Fleet.open(folder) as again:  # what is opened by its folder alone is that
        assert again.ask().tobytes() == fleet.ask().tobytes()


def test_snapshots_are_opened_from(tmp_path, monkeypatch):
    player, folder = PLAYERS["leader"], tmp_path / "fleet"
    with Fleet(player, np.zeros((N, D)), journal=folder) as fleet:
        run, state, at = fleet._now
        fleet._now = (run, state, at._replace(least=3_000))
        drive(fleet, "leader", 30)
    kinds = [r["kind"] for r in records(folder / "fleet.jsonl")]
    assert kinds.count("snapshot") >= 1
    with Fleet.open(folder) as again:
        assert again.ask().tobytes() == fleet.ask().tobytes()


@pytest.mark.parametrize("name", PLAYERS)
def test_a_fleet_goes_on_in_another_file(name, tmp_path):
    with Fleet(PLAYERS[name], np.zeros((N, D)), journal=tmp_path / "fleet", rotate=4) as fleet:
        drive(fleet, name, 10)
    names = sorted(path.name for path in (tmp_path / "fleet").iterdir())
    assert names == ["fleet.jsonl", "fleet.jsonl.2", "fleet.jsonl.3"]
    with Fleet.open(tmp_path / "fleet") as again:
        assert again.round == 11
        drive(again, name, 3)
    assert len(list((tmp_path / "fleet").iterdir())) == 4
    whole = Fleet(PLAYERS[name], np.zeros((N, D)))
    drive(whole, name, 13)
    assert again.ask().tobytes() == whole.ask().tobytes()


def test_a_torn_line_is_taken_off_and_said_and_damage_is_refused(tmp_path):
    path = tmp_path / "fleet" / "fleet.jsonl"
    with Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=tmp_path / "fleet") as fleet:
        drive(fleet, "leader", 5)
        data = path.read_bytes()
    path.write_bytes(data[:-100])
    with pytest.warns(
        JournalWarning, match="round 5 was being written; 4 is the last certain round"
    ):
        Fleet.open(tmp_path / "fleet").close()
    damaged = data.replace(b'"round":2', b'"round":3', 1)
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="is damaged"):
        Fleet.open(tmp_path / "fleet")
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("kind", ["hold", "retreat", "resume"])
def test_after_an_order_a_round_is_asked_for_again(kind):
    fleet = Fleet(PLAYERS["leader"], np.zeros((N, D)))
    drive(fleet, "leader", 20)
    told = seen_at("leader", fleet.ask())
    getattr(fleet, kind)("storm", [1])
    with pytest.raises(ValueError, match="ask for the action of round 21 first"):
        fleet.tell(**told)  # which was measured at actions that are others now
    drive(fleet, "leader", 1)


FORGERIES = {
    "no members": lambda found: found[0].update(fleet=[]),
    "members in words": lambda found: found[0].update(fleet="many"),
    "no values": lambda found: found[2].pop("constraint_value"),
    "fewer values": lambda found: found[2]["constraint_value"].pop(),
    "no actions": lambda found: found[2].pop("next"),
    "another action": lambda found: found[2]["next"][0].reverse(),
    "loops of nothing": lambda found: found[2].update(kind="snapshot", loops=[None]),
    "an order to nobody": lambda found: found[2].update(kind="hold", members=[99], reason="x"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_journal_of_a_fleet_is_refused_in_a_sentence(what, tmp_path):
    path = tmp_path / "fleet" / "fleet.jsonl"
    with Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=tmp_path / "fleet") as fleet:
        drive(fleet, "leader", 5)
    forge(path, FORGERIES[what])
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is damaged"):
        Fleet.open(tmp_path / "fleet")
    assert path.read_bytes() == before


def test_a_fleet_is_no_controller(tmp_path):
    with Fleet(PLAYERS["leader"], np.zeros((N, D)), journal=tmp_path / "fleet") as fleet:
        drive(fleet, "leader", 2)
    with pytest.raises(StoreError, match=r"is that of a fleet: open its folder with Fleet\.open"):
        Controller.open(tmp_path / "fleet" / "fleet.jsonl")
    for read in (read_journal, replay):
        with pytest.raises(StoreError, match=r"that of a fleet, which only Fleet\.open reads$"):
            read(tmp_path / "fleet" / "fleet.jsonl")
    found = check(str(tmp_path / "fleet" / "fleet.jsonl"))
    said = "not checked: the journal of a fleet, of which no round is checked"
    assert (found.code, found.said) == (3, ["certified: no round", said])
    Controller(PLAYERS["leader"], np.zeros(D), journal=tmp_path / "fleet.jsonl").close()
    with pytest.raises(StoreError, match="is no journal of a fleet"):
        Fleet.open(tmp_path)


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
    assert fleet.explain(n - 1).is_proven
