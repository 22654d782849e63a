"""Where a service listens, its token, its numbers, and what it tells a service manager."""

import os
import socket
import struct
import time
import urllib.error
import urllib.request

import pytest

from surefoot import Ball, Controller
from surefoot.controller.service import Address, ControllerService, read_token
from surefoot.controller.service.endpoints import Peer
from surefoot.controller.service.metrics import to_text
from surefoot.controller.service.notify import notify, watchdog_pause
from surefoot.controller.service.snapshot import Sample
from surefoot.core.errors import InvalidValueError
from surefoot.rules import SafetyFilter

from ._host import Served, free_port, wait_for

PLAYER = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
TOLD = {"proposal": [1.0], "constraint_value": -0.5, "constraint_subgradient": [1.0]}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("/run/s", (None, "", 0)),
        ("plant.sock", (None, "", 0)),
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("127.8.0.1:0", ("127.8.0.1", 0)),
        ("[::1]:9464", ("::1", 9464)),
    ],
)
def test_a_place_is_a_path_or_a_loopback_address(text, address):
    found = Address.parse(text, "listen")
    if found.path is None:
        assert (found.host, found.port) == address
    assert str(found) == text


@pytest.mark.parametrize(
    "text",
    [
        *("0.0.0.0:80", "10.0.0.1:80", "[::]:80", "example.org:80", ":80", "127.0.0.1:99999"),
        *("local:80", "127.0.0.1.evil:80", "", "a" * 108, "a\0b", "2130706433:80"),
    ],
)
def test_another_place_is_rejected_in_a_sentence(text):
    with pytest.raises(InvalidValueError, match=r"^listen must be a path .* got ") as error:
        Address.parse(text, "listen")
    assert len(str(error.value)) < 250


@pytest.mark.parametrize(
    ("mode", "text", "words"),
    [
        (0o644, "x" * 32, "mode 0644"),
        (0o660, "x" * 32, "mode 0660"),
        (0o600, "x" * 31 + "\n", "at least 32 bytes, got 31"),
    ],
)
def test_a_token_that_others_can_read_or_guess_is_rejected(tmp_path, mode, text, words):
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(InvalidValueError, match=words):
        read_token(path)


def test_a_token_is_in_a_file_and_in_no_pipe_or_folder(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("pipe", ".", "absent"):
        with pytest.raises(InvalidValueError, match=r"^token_file '.*' (must be a file|cannot be)"):
            read_token(tmp_path / name)
    (tmp_path / "token").write_text("  " + "y" * 32 + "\n")
    (tmp_path / "token").chmod(0o400)
    assert read_token(tmp_path / "token") == b"y" * 32


def test_a_peer_is_told_by_the_system():
    one, other = socket.socketpair()
    with one, other:
        found = Peer.of(one)
        assert found.process == os.getpid()
        assert str(found).startswith(f"process {os.getpid()}, user ")
        size = struct.calcsize("3i")
        assert len(one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)) == size
    with socket.socket() as line:
        assert str(Peer.of(line)) == "a client over TCP"


# --- numbers for a monitor -----------------------------------------------------------------------


def test_numbers_of_one_name_follow_each_other():
    helps = {"a": ("gauge", "A."), "b": ("counter", "B.")}
    samples = [Sample("a", 1, {"x": "1"}), Sample("b", 2.5), Sample("a", 3, {"x": 'q"\\\n'})]
    assert to_text(samples, helps) == (
        "# HELP surefoot_a A.\n# TYPE surefoot_a gauge\n"
        'surefoot_a{x="1"} 1\nsurefoot_a{x="q\\"\\\\\\n"} 3\n'
        "# HELP surefoot_b B.\n# TYPE surefoot_b counter\nsurefoot_b 2.5\n"
    )


@pytest.fixture
def served(tmp_path):
    service = ControllerService(Controller(PLAYER, [0.0], journal=tmp_path / "j"), tmp_path / "j")
    metrics = Address.parse(f"127.0.0.1:{free_port()}", "metrics")
    with Served(service, tmp_path, metrics=metrics) as running:
        yield running


def get(served, path, method="GET"):
    url = f"http://{served.daemon.metrics}{path}"
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_a_monitor_reads_numbers_and_health(served, tmp_path):
    with served.client() as host:
        for _ in range(3):
            host.say(do="ask")
            assert host.say(do="tell", **TOLD)["ok"]
        kind, text = get(served, "/metrics")
        assert kind.startswith("text/plain; version=0.0.4")
        numbers = dict(
            line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")
        )
        assert numbers["surefoot_round"] == "4"
        assert numbers['surefoot_rounds_total{how="step"}'] == "3"
        assert numbers["surefoot_journal_bytes"] == str((tmp_path / "j").stat().st_size)
        assert numbers["surefoot_clients"] == "1"
        assert float(numbers["surefoot_tell_seconds_sum"]) > 0
        assert get(served, "/health") == (kind, "healthy\n")
        served.service._tallies.failure = "the disk is full"
        served.service.refresh()
        with pytest.raises(urllib.error.HTTPError) as error:
            get(served, "/health")
        assert (error.value.code, error.value.read()) == (503, b"the disk is full\n")


@pytest.mark.parametrize(
    ("path", "method"),
    [("/", "GET"), ("/metrics", "POST"), ("/../etc", "GET"), ("/healthy", "GET")],
)
def test_a_monitor_finds_nothing_else(served, path, method):
    with pytest.raises(urllib.error.HTTPError) as error:
        get(served, path, method)
    assert error.value.code == 404
    error.value.close()


@pytest.mark.parametrize("data", [b"x" * 20_000, b"GET /metrics", b"", b"\0" * 100 + b"\r\n\r\n"])
def test_a_request_that_is_none_is_left_in_two_seconds(served, data):
    with served.daemon.metrics.connect(10.0) as line:
        line.sendall(data)
        began = time.monotonic()
        try:
            answer = line.recv(1 << 16)
        except ConnectionResetError:
            answer = b""
        assert answer == b"" or answer.startswith(b"HTTP/1.0 404")
        assert time.monotonic() - began < 8
    assert get(served, "/health")[1] == "healthy\n"


# --- the service manager -------------------------------------------------------------------------


@pytest.fixture
def manager(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(tmp_path / "notify"))
        line.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield line


def test_a_service_tells_that_it_is_ready_that_it_lives_and_that_it_stops(
    manager, tmp_path, monkeypatch
):
    monkeypatch.setenv("WATCHDOG_USEC", "600000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    words = set()
    with Served(ControllerService(Controller(PLAYER, [0.0])), tmp_path) as served:
        for _ in range(4):
            words |= set(manager.recv(1000).decode().splitlines())
        wait_for(lambda: not served.daemon._sessions)
    while "STOPPING=1" not in words:
        words |= set(manager.recv(1000).decode().splitlines())
    assert words == {"READY=1", "STATUS=round 1: healthy", "WATCHDOG=1", "STOPPING=1"}


def test_without_a_manager_nothing_is_told(monkeypatch):
    for place in ("", "relative", "/absent/socket"):
        monkeypatch.setenv("NOTIFY_SOCKET", place)
        notify("READY=1")
    monkeypatch.setenv("WATCHDOG_USEC", "600000")
    monkeypatch.setenv("WATCHDOG_PID", "1")
    assert watchdog_pause() is None
    monkeypatch.setenv("WATCHDOG_USEC", "-6")
    assert watchdog_pause() is None


def test_an_abstract_socket_is_told_too(monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(f"\0surefoot-test-{os.getpid()}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@surefoot-test-{os.getpid()}")
        notify("READY=1", "STATUS=x")
        assert line.recv(100) == b"READY=1\nSTATUS=x"
