"""The service as a program has it: lines through pipes, files, signals."""

import json
import signal
import subprocess
import sys

import pytest

from surefoot import Controller, replay
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
    "machines.db", "fleet"
)


@pytest.mark.slow
def test_a_fleet_is_served_by_the_same_lines(tmp_path):
    (tmp_path / "fleet.toml").write_text(FLEET)
    for first in (1, 3):
        host = Host(tmp_path, "--fleet", "fleet.toml")
        assert host.say({"do": "hello"})["members"] == 2
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
        assert host.say({"do": "explain", "member": 1})["is_proven"]
        assert "member must be" in host.say({"do": "explain", "member": 9})["error"]
        wrong = host.say(told | {"constraint_value": [-0.1]})
        assert wrong["kind"] == "invalid"
        assert host.say({"do": "hold", "reason": "lunch", "members": [0]})["ok"]
        assert host.say({"do": "status"})["halted"] == {"0": "lunch"}
        assert host.say({"do": "resume", "reason": "back", "members": [0]})["ok"]
        host.process.communicate()
        assert host.process.returncode == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("G_g = 1.1", "G_g = 4.4"), "player.knowledge.G_g is 1.1 there and 4.4 here"),
        (("[0.1, 0.1]]", "[0.1, 0.0]]"), "starts[1] is [0.1, 0.1] there and [0.1, 0.0] here"),
        (
            ("[0.1, 0.1]]", "[0.1, 0.1], [0.0, 0.0]]"),
            "starts.shape is (2, 2) there and (3, 2) here",
        ),
        (("journal", 'on_contradiction = "record"\njournal'), "there and 'record' here"),
    ],
    ids=["a constant", "a start", "a member", "a policy"],
)
def test_a_journal_of_another_fleet_is_refused(desk, change, words):
    (desk.folder / "c.toml").write_text(FLEET)
    (desk.folder / "edited.toml").write_text(FLEET.replace(*change, 1))
    assert desk.do("serve --fleet c.toml").code == 0
    before = (desk.folder / "fleet" / "fleet.jsonl").read_bytes()
    code, _, err = desk.do("serve --fleet edited.toml")
    assert code == 2
    assert "is that of another fleet: " in err
    assert words in err
    assert len(err.splitlines()) == 1
    assert (desk.folder / "fleet" / "fleet.jsonl").read_bytes() == before
    assert desk.do("serve --fleet c.toml").code == 0
