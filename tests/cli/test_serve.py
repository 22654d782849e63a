"""The service as a program has it: lines through pipes and sockets, files, signals, exit codes."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from surefoot import Ball, Controller, replay
from surefoot.controller import Plant, read_journal
from surefoot.controller.check import check
from surefoot.controller.service import Client, NoServiceError
from surefoot.rules import SafetyFilter

PLANT = """\
surefoot = 1
name = "two machines"
round = "10 s"
journal = "plane.jsonl"

[actuator.a]
unit = "kW"
range = [0, 10]
start = 1

[actuator.b]
unit = "kW"
range = [0, 10]
start = 1

[limit.cable]
unit = "A"
at_most = 40
meter_error = 0.1
start_margin = 20
steepness = { a = 3, b = 4 }
"""
WANTED = {"a": 9, "b": 5}


def current(x):
    """What the cable carries: within what the file says of it."""
    return 2 * x["a"] + 3 * x["b"] + 10


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plane.toml").write_text(PLANT)
    return tmp_path


class Host:
    """A program that starts a service, and asks it through its pipes or a socket."""

    def __init__(self, folder, *words, socket_name=""):
        words = [*words, "--listen", socket_name] if socket_name else words
        self.process = subprocess.Popen(
            [sys.executable, "-m", "surefoot", "serve", *words],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.client = None
        if socket_name:
            end = time.monotonic() + 60
            while self.client is None:
                with contextlib.suppress(NoServiceError):
                    self.client = Client(str(folder / socket_name))
                assert self.process.poll() is None, self.process.stderr.read()
                assert time.monotonic() < end
                time.sleep(0.01)

    def say(self, request):
        if self.client is not None:
            return self.client.say(**request)
        line = request if isinstance(request, bytes) else json.dumps(request).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def play(self, rounds):
        for _ in range(rounds):
            x = self.say({"do": "ask"})["set_points"]
            report = {"readings": {"cable": current(x)}, "wanted": WANTED}
            answer = self.say({"do": "tell", **report})
            assert answer["ok"], answer
        return self.say({"do": "ask"})["set_points"]

    def end(self):
        if self.client is not None:
            self.client.close()
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def seconds(self):
        """The time that the processors gave to the service."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


# --- standard input ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_service_ends_with_its_input_or_on_a_signal_and_goes_on_from_its_journal(folder):
    host = Host(folder, "plane.toml")
    assert host.say({"do": "hello"})["round"] == 1
    host.play(10)
    # A line of ten megabytes is one line, and its answer is one, too.
    assert host.say(b"x" * 10_000_000)["error"].endswith("at most 1000000 bytes, got 10000000")
    assert "subscribe must come over a socket" in host.say({"do": "subscribe"})["error"]
    host.play(5)
    code, out, err = host.end()
    assert (code, out) == (0, b"")
    assert b"Traceback" not in err
    path = folder / "plane.jsonl"
    assert not read_journal(path).is_open
    host = Host(folder, "plane.toml")
    last = host.play(5)
    host.process.send_signal(signal.SIGTERM)
    assert host.end() == (0, b"", b"")
    record = read_journal(path)
    assert (record.round_count, record.is_open) == (20, False)
    host = Host(folder, "plane.toml")
    assert host.say({"do": "ask"})["set_points"] == last
    host.play(3)
    host.process.kill()
    host.end()
    assert replay(path).is_same
    assert check(str(path)).code == 0


def test_the_journal_of_the_command_replaces_that_of_the_file(desk):
    (desk.folder / "plane.toml").write_text(PLANT)
    assert desk.do("serve plane.toml --journal j.db").code == 0  # the input is at its end at once
    assert not (desk.folder / "plane.jsonl").exists()
    assert read_journal(desk.folder / "j.db").round_count == 0


def test_the_journal_of_a_controller_is_served_from_where_it_is(desk):
    path = desk.folder / "m.jsonl"
    with Controller(SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1), [0.0], journal=path) as loop:
        loop.ask()
        loop.tell(proposal=[1.0], constraint_value=-0.5, constraint_subgradient=[1.0])
    code, _, err = desk.do("serve m.jsonl")
    assert (code, err) == (0, "")
    assert desk.do("serve m.jsonl --at-least 2").code == 4
    assert desk.do("serve m.jsonl --journal k.jsonl").code == 2
    host = Host(desk.folder, "m.jsonl")
    assert host.say({"do": "ask"})["round"] == 2
    told = {"proposal": [1.0], "constraint_value": -0.2, "constraint_subgradient": [1.0]}
    assert host.say({"do": "tell", **told})["ok"]
    assert host.end()[0] == 0
    assert read_journal(path).round_count == 2


def test_the_journal_of_a_plant_is_served_by_its_file_only(desk):
    (desk.folder / "plane.toml").write_text(PLANT)
    assert desk.do("serve plane.toml").code == 0
    code, _, err = desk.do("serve plane.jsonl")
    assert code == 2
    assert "is the journal of a plant: serve the plant file" in err


# --- exit codes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("at_most = 40", 'at_most = "40 A"'), "plane.toml:18: limit.cable.at_most must be"),
        (("[actuator.a]", "[actuator.a"), "plane.toml"),
        (("journal =", "# journal ="), "journal must be given"),
        (("range = [0, 10]", "range = [10, 0]"), "actuator.a.range"),
    ],
)
def test_a_mistake_in_the_file_ends_with_2_and_writes_nothing(desk, change, words):
    (desk.folder / "plane.toml").write_text(PLANT.replace(*change, 1))
    code, out, err = desk.do("serve plane.toml")
    assert (code, out) == (2, "")
    assert words in err
    assert sorted(p.name for p in desk.folder.iterdir()) == ["limits.toml", "plane.toml"]


@pytest.mark.parametrize(
    "words",
    [
        "serve absent.toml",
        "serve plane.toml --listen 10.0.0.1:80",
        "serve plane.toml --listen 127.0.0.1:0",
        "serve plane.toml --metrics 0.0.0.0:80",
        "serve plane.toml --metrics here.sock",
        "serve plane.toml --listen absent/s",
        "serve plane.toml --at-least -1",
    ],
)
def test_a_wrong_command_is_one_sentence(desk, words):
    (desk.folder / "plane.toml").write_text(PLANT)
    code, out, err = desk.do(words)
    assert code in (1, 2)
    assert out == ""
    assert "Traceback" not in err


def test_an_edited_file_ends_with_3_and_its_differences_and_can_be_amended(desk):
    file = desk.folder / "plane.toml"
    file.write_text(PLANT)
    assert desk.do("serve plane.toml").code == 0
    before = (desk.folder / "plane.jsonl").read_bytes()
    file.write_text(PLANT.replace("a = 3", "a = 2.5"))
    code, out, err = desk.do("serve plane.toml")
    assert (code, out) == (3, "")
    assert "limit.cable.steepness.a" in err
    assert "is 3.0 there and 2.5 here" in err
    assert 'surefoot amend plane.toml --by "NAME" --reason "TEXT"' in err
    assert (desk.folder / "plane.jsonl").read_bytes() == before
    code, out, err = desk.do("amend", "plane.toml", "--by", "E. Moser", "--reason", "step test")
    assert (code, err) == (0, "")
    assert "plane.toml goes on with round 1" in out
    assert desk.do("serve plane.toml").code == 0
    assert desk.do("amend", "plane.toml", "--by", "E. Moser", "--reason", "again").code == 2
    assert desk.do("amend", "plane.toml", "--by", "E. Moser").code == 2


def test_a_plant_is_shown_before_its_first_round_and_confirmed_if_it_looks_wrong(desk):
    file = desk.folder / "plane.toml"
    file.write_text(PLANT)
    code, out, err = desk.do("serve plane.toml")
    assert (code, out) == (0, "")
    assert err.startswith("two machines: 2 actuators, 1 limit; rounds of 10 s")
    assert desk.do("serve plane.toml") == (0, "", "")  # the journal has it
    file.write_text(PLANT.replace("a = 3, b = 4", "a = 3000, b = 4000"))
    code, _, err = desk.do("serve plane.toml --journal other.jsonl")
    assert code == 2
    assert "begin with --yes" in err
    assert not (desk.folder / "other.jsonl").exists()
    assert desk.do("serve plane.toml --journal other.jsonl --yes").code == 0
    assert desk.do("serve plane.toml --journal other.jsonl").code == 0


def test_how_it_is_served_may_change(desk):
    file = desk.folder / "plane.toml"
    file.write_text(PLANT)
    assert desk.do("serve plane.toml").code == 0
    file.write_text(PLANT.replace("two machines", "2") + '[service]\nheartbeat = "1 s"\n')
    assert desk.do("serve plane.toml").code == 0


def test_a_journal_that_lacks_rounds_ends_with_4(desk):
    (desk.folder / "plane.toml").write_text(PLANT)
    assert desk.do("serve plane.toml --at-least 1").code == 4
    assert desk.do("serve plane.toml").code == 0
    code, _, err = desk.do("serve plane.toml --at-least 1")
    assert code == 4
    assert "round 1, which must be there, is missing" in err
    path = desk.folder / "plane.jsonl"
    path.write_bytes(path.read_bytes().replace(b"cable", b"gable", 1))
    assert desk.do("serve plane.toml").code == 4


def test_a_journal_or_a_socket_that_is_in_use_ends_with_5(desk):
    (desk.folder / "plane.toml").write_text(PLANT)
    host = Host(desk.folder, "plane.toml", socket_name="s")
    code, _, err = desk.do("serve plane.toml")
    assert code == 5
    assert "is in use: one writer at a time" in err
    code, _, err = desk.do("serve plane.toml --journal other.jsonl --listen s")
    assert code == 5
    assert "another service listens there" in err
    assert host.say({"do": "status"})["ok"]
    assert desk.do("ping s").code == 0
    host.process.send_signal(signal.SIGTERM)
    assert host.end()[0] == 0
    assert not (desk.folder / "s").exists()
    code, _, err = desk.do("ping s")
    assert code == 1
    assert "nobody listens on s" in err


def test_over_tcp_a_service_and_ping_need_the_token(desk):
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{line.getsockname()[1]}"
    service = f'[service]\nlisten = "{place}"\ntoken_file = "token"\n'
    (desk.folder / "plane.toml").write_text(PLANT + service)
    code, _, err = desk.do("serve plane.toml")
    assert code == 2
    assert "token_file 'token' cannot be read" in err
    (desk.folder / "token").write_text("k" * 40)
    (desk.folder / "token").chmod(0o600)
    host = Host(desk.folder, "plane.toml")
    end = time.monotonic() + 60
    while (
        found := desk.do("ping", place, "--token-file", "token")
    ).code and time.monotonic() < end:
        time.sleep(0.05)
    assert found == (0, "round 1: healthy\n", "")
    code, _, err = desk.do("ping", place)
    assert code == 1
    assert "token must be shown first" in err
    assert desk.do("ping", "plane.toml").code == 1
    assert desk.do("ping", "10.0.0.1:80").code == 2
    assert desk.do("ping", place, "--token-file", "token", "--json").data["healthy"]
    host.process.terminate()
    code, _, err = host.end()
    assert code == 0
    assert b"wrong token" not in err


# --- sockets -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_signal_ends_a_service_with_clients_of_all_kinds_without_a_traceback(folder):
    host = Host(folder, "plane.toml", "--metrics", "127.0.0.1:0", socket_name="s")
    host.play(3)
    clients = [Client(str(folder / "s")) for _ in range(10)]
    for client in clients[:5]:
        client.say(do="subscribe")
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(str(folder / "s"))
    raw.sendall(b'{"do": "sta')
    began = time.monotonic()
    host.process.send_signal(signal.SIGTERM)
    code, out, err = host.end()
    assert time.monotonic() - began < 10
    assert (code, out) == (0, b"")
    assert b"Traceback" not in err
    assert b"listening on s" in err
    assert not read_journal(folder / "plane.jsonl").is_open
    for each in (raw, *clients):
        each.close()


@pytest.mark.slow
def test_a_deadline_is_kept_while_the_host_is_silent(folder):
    text = PLANT.replace('"10 s"', '"1 s"') + '[service]\ndeadline = "1 s"\n'
    (folder / "plane.toml").write_text(text)
    host = Host(folder, "plane.toml", socket_name="s")
    end = time.monotonic() + 60
    while host.say({"do": "status"})["round"] < 4:
        assert time.monotonic() < end
        time.sleep(0.05)
    host.process.terminate()
    assert host.end()[0] == 0
    lines = map(json.loads, (folder / "plane.jsonl").read_text().splitlines())
    told = [line for line in lines if line["kind"] == "round"]
    times = [datetime.fromisoformat(line["time"]).timestamp() for line in told]
    assert all(line["missing"] for line in told)
    assert min(b - a for a, b in itertools.pairwise(times)) > 0.9
    assert check(str(folder / "plane.jsonl")).code == 0


@pytest.mark.slow
def test_20_kills_lose_no_round_that_was_acknowledged(folder):
    acknowledged, last = 1, {}
    for k in range(20):
        host = Host(folder, "plane.toml", socket_name="s")
        status = host.say({"do": "status"})
        assert status["round"] >= acknowledged
        if status["round"] == acknowledged and last:
            assert status["set_points"] == last
        end = time.monotonic() + 0.02 + 0.38 * (k * 0.618 % 1.0)
        host.process.send_signal(signal.SIGCONT)
        killer = subprocess.Popen(
            ["sh", "-c", f"sleep {end - time.monotonic():.3f}; kill -9 {host.process.pid}"]
        )
        with contextlib.suppress(NoServiceError):
            while True:
                answer = host.say({"do": "ask"})
                acknowledged, last = answer["round"], answer["set_points"]
                report = {"readings": {"cable": current(last)}, "wanted": WANTED}
                answer = host.say({"do": "tell", **report})
                acknowledged, last = answer["round"], {}
        killer.wait()
        host.end()
    assert acknowledged > 100
    assert replay(folder / "plane.jsonl").is_same
    report = check(str(folder / "plane.jsonl"))
    assert report.code == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pwrite") or sys.platform != "linux", reason="needs prlimit")
def test_a_disk_that_is_full_takes_no_round_and_takes_the_next_when_there_is_space(folder):
    resource = pytest.importorskip("resource")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    host = Host(folder, "plane.toml", socket_name="s")
    pid, journal = host.process.pid, folder / "plane.jsonl"
    host.play(3)
    # In the middle of the line after the next: a part of it is written, and taken back.
    size = journal.stat().st_size
    host.play(1)
    line = journal.stat().st_size - size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + 2 * line + line // 2, unlimited[1]))
    host.play(1)
    for _ in range(3):
        before = host.say({"do": "ask"})
        found = host.say({"do": "tell", "readings": {"cable": 20.0}, "wanted": WANTED})
        assert (found["ok"], found["kind"], found["round"]) == (False, "journal", 6)
        after = host.say({"do": "status"})
        assert after["set_points"] == before["set_points"]
        assert (after["healthy"], "too large" in after["illness"].lower()) == (False, True)
    words = [sys.executable, "-m", "surefoot", "ping", str(folder / "s")]
    assert subprocess.run(words, stdout=subprocess.DEVNULL).returncode == 1
    resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
    host.play(2)
    assert host.say({"do": "status"})["healthy"]
    os.kill(pid, signal.SIGKILL)
    host.end()
    again = Host(folder, "plane.toml", socket_name="s")
    assert again.say({"do": "status"})["round"] == 8
    again.process.terminate()
    assert again.end()[0] == 0
    assert check(str(journal)).code == 0
    assert replay(journal).is_same


READERS = """
import json, socket, sys, threading, time
end, wrong, polls = time.monotonic() + float(sys.argv[2]), [], [0]
def read():
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sys.argv[1])
        answers, last = line.makefile("rb"), 0
        while time.monotonic() < end:
            line.sendall(b'{"do": "status"}\\n')
            t = json.loads(answers.readline())["round"]
            if t < last:
                wrong.append((last, t))
            last = t
            polls[0] += 1
            time.sleep(0.1)
threads = [threading.Thread(target=read) for _ in range(50)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([polls[0], wrong]))
"""


def bare_cost(folder, rounds=300):
    """What a round costs without a service, in a process with much else to do."""
    with Plant.open(folder / "plane.toml", journal=folder / "bare.jsonl") as plant:
        began = time.process_time()
        for _ in range(rounds):
            x = plant.ask()
            plant.tell(readings={"cable": current(x)}, wanted=WANTED)
        return (time.process_time() - began) / rounds


@pytest.mark.slow
def test_50_readers_at_10_hz_see_no_round_go_back_and_cost_the_host_little(folder):
    host = Host(folder, "plane.toml", socket_name="s")
    assert host.seconds() < 2.0  # until its first answer
    host.play(100)

    def read(seconds):
        words = [sys.executable, "-c", READERS, str(folder / "s"), str(seconds)]
        return subprocess.Popen(words, stdout=subprocess.PIPE)

    def end(readers):
        polls, wrong = json.loads(readers.communicate(timeout=60)[0])
        assert wrong == []
        assert polls > 100
        return polls

    # What an answer to a reader costs, without a host.
    before, readers = host.seconds(), read(2.0)
    polls = end(readers)
    reading = (host.seconds() - before) / polls
    times = []
    for _ in range(4):  # others use the processors, too: the best of some
        before = host.seconds()
        host.play(300)
        alone = (host.seconds() - before) / 300
        before, rounds, readers = host.seconds(), 0, read(2.0)
        while readers.poll() is None:
            host.play(20)
            rounds += 20
        polls = end(readers)
        together = (host.seconds() - before - polls * reading) / rounds
        times.append((together / alone, alone / max(1.0e-3, 2 * bare_cost(folder)), alone))
    print(f"{1e3 * min(t[2] for t in times):.3f} ms a round, {min(times)[0]:.2f} with readers")
    assert min(times)[0] < 1.2
    assert min(t[1] for t in times) < 1.0
    host.process.terminate()
    assert host.end()[0] == 0


@pytest.mark.slow
def test_a_flood_of_lines_keeps_no_other_client_waiting_and_leaves_no_words(folder):
    host = Host(folder, "plane.toml", socket_name="s")
    flood = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import socket, sys, threading\n"
            "line = socket.socket(socket.AF_UNIX); line.connect(sys.argv[1])\n"
            "def drink():\n"
            "    while line.recv(1 << 20): pass\n"
            "threading.Thread(target=drink, daemon=True).start()\n"
            "while True: line.sendall(bytes([10]) * 60_000)\n",
            str(folder / "s"),
        ]
    )
    time.sleep(0.3)
    times = []
    for _ in range(30):
        began = time.monotonic()
        assert host.say({"do": "status"})["ok"]
        times.append(time.monotonic() - began)
    flood.kill()
    flood.wait()
    assert sorted(times)[15] < 0.1
    host.play(3)
    host.process.terminate()
    code, _, err = host.end()
    assert code == 0
    assert len(err.splitlines()) < 10


# --- deploy --------------------------------------------------------------------------------------

UNIT = Path(__file__).parents[2] / "deploy" / "surefoot@.service"


def commands_of(text):
    """The command lines of a unit."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line.partition("=")[2].split() for line in lines if line.startswith("ExecStart=")]


def test_the_command_of_the_unit_is_one_of_the_program(desk):
    (words,) = commands_of(UNIT.read_text())
    assert Path(words[0]).name == "surefoot"
    code, out, _ = desk.do(*words[1:], "--help")
    assert code == 0
    for word in words:
        if word.startswith("--"):
            assert word in out


def test_the_unit_is_one_of_systemd(tmp_path):
    if not Path("/usr/bin/systemd-analyze").exists():
        pytest.skip("no systemd-analyze here")
    unit = tmp_path / "surefoot@.service"
    # The program is where the wheel puts it; here it is not installed for all users.
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/surefoot", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "surefoot@.service")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"SYSTEMD_LOG_LEVEL": "warning"},
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
