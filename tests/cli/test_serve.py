"""The service as a program has it: lines through pipes, files, signals."""

import json
import signal
import subprocess
import sys

import pytest

from surefoot import Controller, replay
from surefoot.cli.options import read_player
from surefoot.controller import read_journal
from surefoot.controller.configuring import player_from

CONFIG = """\
start = [0.2, 0.2]
journal = "machines.db"

[player]
class = "LeaderFollower"

[constants]
R = 1.5
G_g = 1.1
start_slack = 0.2
start_reach = 1.8
"""


class Host:
    """A program that asks a service, through its pipes."""

    def __init__(self, folder, *words):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "surefoot", "serve", *words],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def say(self, request):
        line = request if isinstance(request, bytes) else json.dumps(request).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def play(self, rounds):
        for _ in range(rounds):
            x = self.say({"do": "ask"})["action"]
            found = self.say(
                {
                    "do": "tell",
                    "cost_gradient": [2 * (x[0] - 0.9), 2 * (x[1] - 0.4)],
                    "constraint_value": 0.6 * x[0] + 0.9 * x[1] - 0.5,
                    "constraint_subgradient": [0.6, 0.9],
                }
            )
            assert found["ok"], found
        return self.say({"do": "ask"})["action"]

    def end(self):
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.mark.slow
def test_a_service_ends_with_its_input_or_on_a_signal_and_goes_on_from_its_journal(tmp_path):
    (tmp_path / "machines.toml").write_text(CONFIG)
    host = Host(tmp_path, "machines.toml")
    assert host.say({"do": "hello"})["round"] == 1
    host.play(10)
    # A line of ten megabytes is one line, and its answer is one, too.
    assert host.say(b"x" * 10_000_000)["error"].endswith("at most 1000000 bytes, got 10000001")
    host.play(5)
    assert host.end() == (0, b"", b"")
    path = tmp_path / "machines.db"
    assert not read_journal(path).is_open
    host = Host(tmp_path, "machines.toml")
    last = host.play(5)
    host.process.send_signal(signal.SIGTERM)
    assert host.end() == (0, b"", b"")
    record = read_journal(path)
    assert (record.round_count, record.is_open) == (20, False)
    assert record.action.tolist() == last
    host = Host(tmp_path, "machines.toml")
    host.play(3)
    host.process.kill()
    host.end()
    assert replay(path).is_same
    with Controller.open(path) as controller:
        assert controller.round == 24


def test_the_journal_of_the_command_replaces_that_of_the_file(desk):
    (desk.folder / "c.toml").write_text(CONFIG)
    code, _, err = desk.do("serve c.toml --journal j.db")
    assert not (desk.folder / "machines.db").exists()
    assert (code, err) == (0, "")  # the input is at its end at once
    assert read_journal(desk.folder / "j.db").player.startswith(
        "LeaderFollower.of(Leader(domain=Ball("
    )


def test_a_journal_of_another_player_is_refused_unless_it_was_resumed_with(desk):
    (desk.folder / "c.toml").write_text(CONFIG)
    (desk.folder / "wider.toml").write_text(CONFIG.replace("G_g = 1.1", "G_g = 1.3"))
    wider = "serve wider.toml"
    assert desk.do("serve c.toml").code == 0
    assert desk.do("serve c.toml").code == 0
    code, _, err = desk.do(wider)
    assert code == 2
    assert "is that of another player: player.knowledge.G_g is 1.1 there and 1.3 here" in err
    with Controller.open(desk.folder / "machines.db") as controller:
        numbers = {"R": 1.5, "G_g": 1.3, "start_slack": 0.2, "start_reach": 1.8}
        controller.resume(player_from({"class": "LeaderFollower"}, constants=numbers))
    assert desk.do("serve c.toml").code == desk.do(wider).code == 0


@pytest.mark.parametrize(
    ("change", "policy"),
    [
        (("", ""), "retreat"),
        (("journal", 'on_contradiction = "raise"\njournal'), "raise"),
        (('"LeaderFollower"', '"OGD"\neta = 0.1\ndomain = {class = "Ball", radius = 1.5}'), "hold"),
    ],
    ids=["a certified rule", "another policy", "a rule that cannot start elsewhere"],
)
def test_a_service_retreats_after_a_contradiction_unless_told_otherwise(desk, change, policy):
    (desk.folder / "c.toml").write_text(CONFIG.replace(*change, 1))
    for _ in range(2):  # and when it goes on
        assert desk.do("serve c.toml").code == 0
        assert read_journal(desk.folder / "machines.db").on_contradiction == policy


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("start", "strat"), "serve c.toml", "'c.toml' has 'strat'"),
        (("LeaderFollower", "LeaderFolower"), "serve c.toml", "LeaderFollower"),
        (("1.1", "-1.1"), "serve c.toml", "G_g must be"),
        (("[player]", "[player"), "serve c.toml", "'c.toml' cannot be read"),
        (("", ""), "serve d.toml", "no such file"),
        (("start = ", "# "), "serve c.toml", "'c.toml' must have start"),
        (("R = 1.5", 'R = "one"'), "serve c.toml", "R must be"),
        (
            ("[0.2, 0.2]", "[[0.2, 0.2]]"),
            "serve c.toml",
            "start must be one action (--fleet serves",
        ),
        (
            ("x", "x"),
            "serve --fleet c.toml",
            "start must be a list of first actions: [[0.0], [0.0]], ",
        ),
        (
            ("start = [0.2, 0.2]", "members = {north = [0.2, 0.2]}"),
            "serve c.toml",
            "members must come with --fleet",
        ),
        (
            ("[player]", "members = {north = [0.2, 0.2]}\n[player]"),
            "serve --fleet c.toml",
            "start must be left out where members have theirs",
        ),
        (
            ("start = [0.2, 0.2]", "members = [[0.2, 0.2]]"),
            "serve --fleet c.toml",
            "members must be a table of names and first actions, got [[0.2, 0.2]]",
        ),
        (
            ("start = [0.2, 0.2]", "members = {}"),
            "serve --fleet c.toml",
            "members must be a table",
        ),
        (
            ("start = [0.2, 0.2]", 'members = {north = "here"}'),
            "serve --fleet c.toml",
            "start must be",
        ),
        (("0.2, 0.2", '"a", "b"'), "serve c.toml", "start must be"),
        (('"LeaderFollower"', '"OGD"\ntuning = "never"'), "serve c.toml", "player.tuning must be"),
    ],
)
def test_a_mistake_in_the_configuration_is_one_sentence(desk, change, line, words):
    (desk.folder / "c.toml").write_text(CONFIG.replace(*change))
    code, out, err = desk.do(line)
    assert code in (1, 2)
    assert out == ""
    assert words in err
    assert len(err.splitlines()) == 1
    assert not (desk.folder / "machines.db").exists()


@pytest.mark.slow
def test_a_journal_is_served_again_by_what_it_played(tmp_path):
    (tmp_path / "machines.toml").write_text(CONFIG)
    host = Host(tmp_path, "machines.toml")
    host.play(3)
    host.process.communicate()
    again = Host(tmp_path, "machines.db")  # from its start, without a journal
    assert again.say({"do": "status"})["round"] == 1
    again.play(2)
    again.process.communicate()
    assert again.process.returncode == 0


FLEET = CONFIG.replace("start = [0.2, 0.2]", "start = [[0.2, 0.2], [0.1, 0.1]]").replace(
    "machines.db", "fleet.db"
)
NAMED = CONFIG.replace("start = [0.2, 0.2]\n", "").replace("machines.db", "named.db")
NAMED += "\n[members]\nnorth = [0.2, 0.2]\nsouth = [0.1, 0.1]\n"


@pytest.mark.slow
@pytest.mark.parametrize(("config", "names"), [(FLEET, ["0", "1"]), (NAMED, ["north", "south"])])
def test_a_fleet_is_served_by_the_same_lines(tmp_path, config, names):
    (tmp_path / "fleet.toml").write_text(config)
    for first in (1, 3):
        host = Host(tmp_path, "--fleet", "fleet.toml")
        found = host.say({"do": "hello"})
        assert (found["names"], found["dimension"]) == (names, 2)
        assert found["rounds"] == dict.fromkeys(names, first)
        for t in (first, first + 1):
            asked = host.say({"do": "ask"})
            assert asked["round"] == t
            x = asked["action"]
            told = {
                "do": "tell",
                "cost_gradient": [[-1.0, 0.0], [0.0, -1.0]],
                "constraint_value": [0.6 * a + 0.9 * b - 0.5 for a, b in x],
                "constraint_subgradient": [[0.6, 0.9], [0.6, 0.9]],
            }
            if t == 2:  # nothing was measured of the second
                told["constraint_value"][1] = None
            found = host.say(told)
            assert found["ok"], found
            assert ("alarms" in found) == (t == 2)
        assert host.say({"do": "explain", "member": names[1]})["is_proven"]
        assert "a member must be" in host.say({"do": "explain", "member": 1})["error"]
        wrong = host.say(told | {"constraint_value": [-0.1]})
        assert wrong["kind"] == "invalid"
        assert host.say({"do": "hold", "reason": "lunch", "members": names[:1]})["ok"]
        assert host.say({"do": "status"})["halted"] == {names[0]: "lunch"}
        assert host.say({"do": "resume", "reason": "back", "members": names[:1]})["ok"]
        host.process.communicate()
        assert host.process.returncode == 0


@pytest.mark.slow
def test_members_of_a_served_fleet_come_and_leave(tmp_path):
    (tmp_path / "fleet.toml").write_text(NAMED)
    host = Host(tmp_path, "--fleet", "fleet.toml")
    new = {"do": "add", "name": "west", "start": [0.0, 0.1], "reason": "built"}
    assert host.say(new)["names"] == ["north", "south", "west"]
    assert host.say({"do": "remove", "name": "north", "reason": "sold"})["names"] == [
        "south",
        "west",
    ]
    host.process.communicate()
    host = Host(tmp_path, "--fleet", "named.db")  # as it began, without a journal
    assert host.say({"do": "status"})["names"] == ["north", "south"]
    host.process.communicate()
    assert host.process.returncode == 0
    record = read_journal(tmp_path / "named.db")
    assert [(m.member, m.has_left) for m in record.runs] == [
        ("north", True),
        ("south", False),
        ("west", False),
    ]
    assert record.runs[2].player == record.runs[1].player


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("G_g = 1.1", "G_g = 4.4"), "player.knowledge.G_g is 1.1 there and 4.4 here"),
        (("[0.1, 0.1]]", "[0.1, 0.0]]"), "start of 1 is [0.1, 0.1] there and [0.1, 0.0] here"),
        (
            ("[0.1, 0.1]]", "[0.1, 0.1], [0.0, 0.0]]"),
            "it has 2 members there and 3 here, among them '2' in one only",
        ),
        (("journal", 'on_contradiction = "record"\njournal'), "there and 'record' here"),
    ],
    ids=["a constant", "a start", "a member", "a policy"],
)
def test_a_journal_of_another_fleet_is_refused(desk, change, words):
    (desk.folder / "c.toml").write_text(FLEET)
    (desk.folder / "edited.toml").write_text(FLEET.replace(*change, 1))
    assert desk.do("serve --fleet c.toml").code == 0
    before = (desk.folder / "fleet.db").read_bytes()
    code, _, err = desk.do("serve --fleet edited.toml")
    assert code == 2
    assert "is that of another fleet: " in err
    assert words in err
    assert len(err.splitlines()) == 1
    assert (desk.folder / "fleet.db").read_bytes() == before
    assert desk.do("serve --fleet c.toml").code == 0


def test_the_constants_of_a_fleet_hold_from_its_farthest_start(desk):
    text = FLEET.replace("start_reach = 1.8\n", "").replace("[0.1, 0.1]]", "[0.0, 0.4]]")
    (desk.folder / "c.toml").write_text(text)
    described = read_player(desk.folder / "c.toml", fleet=True)
    (desk.folder / "far.toml").write_text(text.replace("[[0.2, 0.2], [0.0, 0.4]]", "[0.0, 0.4]"))
    assert described.player == read_player(desk.folder / "far.toml").player
    assert described.make([0.1, 0.1]) is described.player
    assert described.make([0.0, 0.5]) != described.player


def test_the_journal_of_a_fleet_is_served_as_one(desk):
    (desk.folder / "c.toml").write_text(NAMED)
    assert desk.do("serve --fleet c.toml").code == 0
    code, _, err = desk.do("serve named.db")
    assert code == 1
    assert "is that of a fleet: name one of its members" in err
    (desk.folder / "one.toml").write_text(CONFIG)
    assert desk.do("serve one.toml").code == 0
    assert "is that of one controller" in desk.do("serve --fleet machines.db").err
