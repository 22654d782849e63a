"""The transport of a service: who is answered, who waits, and who is left."""

import contextlib
import json
import os
import socket
import stat
import threading
import time

import pytest

from surefoot import Ball, Controller
from surefoot.controller import StoreError, journal as journals, read_journal
from surefoot.controller.service import Address, ControllerService, NoServiceError, daemon
from surefoot.core.errors import InUseError, InvalidValueError
from surefoot.rules import SafetyFilter

from ._clock import SetClock
from ._host import Served, free_port, lines_of, wait_for

PLAYER = SafetyFilter(G_g=1.0, domain=Ball(1.0), rho=0.1)
TOLD = {"proposal": [1.0], "constraint_value": -0.5, "constraint_subgradient": [1.0]}


@pytest.fixture
def service(tmp_path):
    """A controller with a journal, behind lines."""
    path = tmp_path / "j.jsonl"
    return ControllerService(Controller(PLAYER, [0.0], journal=path), path)


@pytest.fixture
def clock(service, monkeypatch):
    """A clock that the test sets, of a service that looks at it all the time."""
    clock, look = SetClock(monkeypatch), service.check_deadline
    monkeypatch.setattr(daemon, "time", clock)
    monkeypatch.setattr(service, "check_deadline", lambda: min(look(), 0.01))
    service.deadline = 60.0
    service.set_clocks([""])
    return clock


def play(client, rounds=1):
    for _ in range(rounds):
        assert client.say(do="ask")["ok"]
        answer = client.say(do="tell", **TOLD)
        assert answer["ok"], answer
    return answer["round"]


def test_a_host_plays_over_a_socket_that_only_its_user_and_group_can_open(service, tmp_path):
    with Served(service, tmp_path) as served, served.client() as client:
        assert stat.S_IMODE(served.path.stat().st_mode) == 0o660
        found = client.say(do="hello", id=7)
        assert (found["ok"], found["id"], found["protocol"], found["round"]) == (True, 7, 2, 1)
        assert {"ask", "tell", "subscribe", "yield", "retreat"} <= set(found["commands"])
        assert play(client, 5) == 6
        assert client.say(do="explain")["is_proven"]
    assert not served.path.exists()
    record = read_journal(tmp_path / "j.jsonl")
    assert (record.round_count, record.is_open) == (5, False)


def test_the_first_client_that_orders_something_writes_and_all_others_read(service, tmp_path):
    with Served(service, tmp_path) as served, served.client() as one, served.client() as other:
        assert other.say(do="status")["writer"] is None
        play(one)
        found = other.say(do="tell", id="x", **TOLD)
        assert (found["ok"], found["kind"], found["id"], found["round"]) == (False, "busy", "x", 2)
        assert f"(process {os.getpid()}, user " in found["error"]
        assert found["error"].endswith("this one may read, and retreat")
        status = other.say(do="status")
        assert (status["round"], status["is_writer"]) == (2, False)
        assert f"process {os.getpid()}" in status["writer"]
        assert one.say(do="status")["is_writer"]
        assert one.say(do="yield")["ok"]
        assert play(other) == 3
        assert one.say(do="ask")["kind"] == "busy"
        other.close()
        wait_for(lambda: one.say(do="ask")["ok"])


def test_who_has_not_asked_cannot_report(service, tmp_path):
    with Served(service, tmp_path) as served, served.client() as one, served.client() as other:
        one.say(do="ask")
        one.say(do="yield")
        found = other.say(do="tell", **TOLD)
        assert "tell must come after ask: this client has not asked" in found["error"]
        assert play(other) == 2


def test_everybody_may_retreat_and_the_host_asks_again(service, tmp_path):
    with Served(service, tmp_path) as served, served.client() as host, served.client() as other:
        play(host, 3)
        host.say(do="ask")
        assert other.say(do="retreat", reason="fire")["ok"]
        found = host.say(do="tell", **TOLD)
        assert "ask for the action of round 4 first" in found["error"]
        assert [alarm["kind"] for alarm in found["alarms"]] == ["order"]
        assert host.say(do="ask")["action"] == [0.0]
        assert host.say(do="tell", **TOLD)["ok"]
        assert other.say(do="resume", reason="x")["kind"] == "busy"


def test_lines_that_are_no_requests_harm_nobody(service, tmp_path):
    with Served(service, tmp_path) as served, served.client() as host, served.raw() as wild:
        lines = [b"", b"hello", b"\xff\xfe", b"[]", b"[" * 50_000, b"x" * 1_000_001, b"\0" * 9]
        lines += [b'{"do": ["ask"]}', b'{"do": "tell", "id": {}}', b'{"do": "ask"']
        wild.sendall(b"".join(line + b"\n" for line in lines))
        answers = lines_of(wild, len(lines))
        assert [(a["ok"], a["kind"]) for a in answers] == [(False, "request")] * len(lines)
        assert answers[0]["error"] == "a line must be one JSON object, got an empty line"
        assert answers[5]["error"] == "a line must have at most 1000000 bytes, got 1000001"
        assert play(host, 2) == 3
        wild.sendall(b'{"do": "status"}')  # and its end is the end of the connection
        wild.shutdown(socket.SHUT_WR)
        assert lines_of(wild, 1)[0]["round"] == 3
        assert wild.recv(1) == b""


def test_a_client_that_reads_no_answers_is_left_and_holds_up_no_round(
    service, tmp_path, monkeypatch
):
    monkeypatch.setattr(daemon, "PATIENCE", 0.3)
    with Served(service, tmp_path) as served, served.client() as host, served.raw() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(0.2)
        with pytest.raises(OSError, match=r"timed out|Broken pipe|reset"):
            slow.sendall(b'{"do": "explain"}\n' * 1_000_000)
        assert play(host, 20) == 21
        wait_for(lambda: served.daemon.dropped)
        wait_for(lambda: host.say(do="status")["ok"])
        assert len(served.daemon._sessions) == 1


def test_a_subscriber_that_does_not_listen_is_left(service, tmp_path, monkeypatch):
    monkeypatch.setattr(daemon, "_BUFFER", 1_000)
    with Served(service, tmp_path) as served, served.client() as host, served.raw() as slow:
        slow.sendall(b'{"do": "subscribe"}\n')
        wait_for(lambda: any(s.is_subscriber for s in served.daemon._sessions))
        text = "x" * 900  # an alarm with it is a long line
        for _ in range(400):
            assert host.say(do="hold", reason=text)["ok"]
            if served.daemon.dropped:
                break
        assert served.daemon.dropped == 1
        assert host.say(do="resume", reason="r")["ok"]


def test_a_subscriber_hears_every_round_once_and_alarms_and_heartbeats(service, tmp_path):
    served = Served(service, tmp_path, heartbeat=0.2)
    with served, served.client() as host, served.client() as other:
        assert other.say(do="subscribe")["heartbeat"] == 0.2
        play(host, 30)
        host.say(do="hold", reason="maintenance")
        events = [other.hear() for _ in range(33)]
        rounds = [e["round"] for e in events if e["event"] == "round"]
        assert rounds[:30] == [*range(2, 32)]
        assert rounds[30:] in ([31], [])  # the order, unless a heartbeat came between
        alarms = [e for e in events if e["event"] == "alarm"]
        assert [(a["kind"], a["level"]) for a in alarms] == [("order", "warning")]
        beat = wait_for(lambda: (e := other.hear())["event"] == "heartbeat" and e)
        assert beat["round"] == 31
        assert 0 <= beat["age"] < 20


def test_no_more_than_64_clients_are_served_at_a_time(service, tmp_path):
    with Served(service, tmp_path) as served:
        assert _try(served)
        wait_for(lambda: not served.daemon._sessions)
        clients = [served.client() for _ in range(64)]
        assert all(client.say(do="status")["ok"] for client in clients)
        with served.raw() as late:
            found = lines_of(late, 1)[0]
            assert (found["kind"], found["error"]) == (
                "busy",
                "the service has 64 clients already: come again later",
            )
            assert late.recv(1) == b""
        clients.pop().close()
        wait_for(lambda: _try(served))
        for client in clients:
            client.close()


def _try(served):
    with served.client() as client:
        return client.say(do="status")["ok"]


# --- deadlines -----------------------------------------------------------------------------------


def test_a_round_that_nobody_reports_counts_as_missing(service, clock, tmp_path):
    with Served(service, tmp_path) as served, served.client() as host, served.client() as other:
        other.say(do="subscribe")
        play(host, 3)
        assert host.say(do="ask")["round"] == 4
        events = [other.hear() for _ in range(3)]
        for t in (5, 6):
            clock.pass_by(60)
            wait_for(lambda t=t: other.say(do="status")["round"] == t)
        events += [other.hear() for _ in range(6)]
        deadlines = [e for e in events if e.get("kind") == "deadline"]
        assert [(e["round"], e["level"]) for e in deadlines] == [(4, "error"), (5, "error")]
        assert deadlines[1]["sentence"].startswith("round 5: nobody reported for 120 s")
        late = host.say(do="tell", **TOLD)
        assert "this client has not asked" in late["error"]
        kinds = [alarm["kind"] for alarm in late["alarms"]]
        assert kinds == ["missing", "deadline"] * 2
        assert play(host) == 7
        assert host.say(do="status")["healthy"]
    assert [r.is_missing for r in read_journal(tmp_path / "j.jsonl").rounds] == [
        *[False] * 3,
        *[True] * 2,
        False,
    ]


def test_a_silent_host_loses_its_turn_and_the_service_is_not_healthy(service, clock, tmp_path):
    with Served(service, tmp_path) as served, served.client() as host, served.client() as other:
        play(host)
        assert other.say(do="ask")["kind"] == "busy"
        clock.pass_by(121)
        wait_for(lambda: other.say(do="status")["round"] == 3)
        assert not other.say(do="status")["healthy"]
        assert "nobody has reported a round for 121 s" in other.say(do="status")["illness"]
        assert play(other)
        assert host.say(do="ask")["kind"] == "busy"
        assert other.say(do="status")["healthy"]


def test_a_deadline_that_cannot_be_written_is_an_alarm_and_comes_again(
    service, clock, tmp_path, monkeypatch
):
    with Served(service, tmp_path) as served, served.client() as host:
        play(host)
        host.say(do="ask")
        with monkeypatch.context() as broken:
            broken.setattr(journals, "_write_all", fail)
            clock.pass_by(60)
            wait_for(lambda: "the disk is full" in host.say(do="status")["illness"])
            assert host.say(do="status")["round"] == 2
        clock.pass_by(60)
        wait_for(lambda: host.say(do="status")["round"] > 2)
        assert play(host)


# --- the disk ------------------------------------------------------------------------------------


def fail(*_):
    raise OSError(28, "No space left on device")


def test_on_a_full_disk_no_round_is_accepted_and_the_next_one_is_when_there_is_space(
    service, tmp_path, monkeypatch
):
    with Served(service, tmp_path) as served, served.client() as host:
        play(host, 2)
        host.say(do="ask")
        with monkeypatch.context() as broken:
            broken.setattr(journals, "_write_all", fail)
            found = host.say(do="tell", **TOLD)
            assert (found["kind"], found["round"]) == ("journal", 3)
            assert "the disk is full" in found["error"]
            assert not host.say(do="status")["healthy"]
        assert host.say(do="tell", **TOLD)["round"] == 4
        assert host.say(do="status")["healthy"]
    assert read_journal(tmp_path / "j.jsonl").round_count == 3


def test_a_reader_does_not_wait_for_the_disk(service, tmp_path, monkeypatch):
    slow = threading.Event()

    def wait(number):
        assert slow.wait(20)
        os.fsync(number)

    with Served(service, tmp_path) as served, served.raw() as host, served.client() as reader:
        host.sendall(b'{"do": "ask"}\n')
        lines_of(host, 1)
        monkeypatch.setattr(journals, "sync", wait)
        host.sendall(json.dumps({"do": "tell", **TOLD}).encode() + b"\n")
        for _ in range(50):
            assert reader.say(do="status")["round"] == 1
        slow.set()
        assert lines_of(host, 1)[0]["round"] == 2
        assert reader.say(do="status")["round"] == 2


def test_what_is_being_answered_when_a_service_ends_is_answered(service, tmp_path, monkeypatch):
    slow, began = threading.Event(), threading.Event()

    def wait(number):
        began.set()
        assert slow.wait(20)
        os.fsync(number)

    with Served(service, tmp_path) as served, served.raw() as host, served.client() as idle:
        host.sendall(b'{"do": "ask"}\n')
        lines_of(host, 1)
        monkeypatch.setattr(journals, "sync", wait)
        host.sendall(json.dumps({"do": "tell", **TOLD}).encode() + b"\n")
        assert began.wait(20)
        served.daemon.stop()
        with pytest.raises(NoServiceError, match="has left"):
            idle.hear()
        slow.set()
        assert lines_of(host, 1)[0] == {"ok": True, "round": 2}
        assert host.recv(1) == b""
    assert read_journal(tmp_path / "j.jsonl").round_count == 1


# --- who may come in -----------------------------------------------------------------------------

TOKEN = "s3cret-" * 6


@pytest.fixture
def tcp(service, tmp_path):
    address = Address.parse(f"127.0.0.1:{free_port()}", "listen")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "token").chmod(0o600)
    return Served(service, tmp_path, listen=address, token=TOKEN.encode())


def test_over_tcp_a_client_shows_its_token_first(tcp, tmp_path):
    with tcp as served, served.client(token_file=tmp_path / "token") as host:
        assert play(host, 2) == 3
        assert host.say(do="hello", token=TOKEN[:-1])["ok"]  # it was shown already
        for line in (
            b'{"do": "status"}',
            b'{"do": "hello"}',
            b'{"do": "hello", "token": "' + TOKEN[:-1].encode() + b'"}',
            b'{"do": "hello", "token": ["x"]}',
            b'{"do": "retreat", "reason": "x", "token": "' + TOKEN.encode() + b'"}',
            b"GET / HTTP/1.1",
        ):
            with served.raw() as wild:
                wild.sendall(line + b"\n" + b'{"do": "status"}\n')
                answer = lines_of(wild, 1)[0]
                assert (answer["ok"], answer["kind"]) == (False, "token")
                assert wild.recv(1) == b""
        (tmp_path / "token").write_text("x" * 40)
        with pytest.raises(NoServiceError, match="token must be that of the service"):
            served.client(token_file=tmp_path / "token")


def test_who_shows_no_token_in_time_is_left(tcp, monkeypatch):
    monkeypatch.setattr(daemon, "PATIENCE", 0.3)
    with tcp as served, served.raw() as wild:
        assert wild.recv(1) == b""
        wait_for(lambda: served.daemon.dropped)


def test_who_has_no_token_keeps_nobody_out_who_has_one(tcp, tmp_path):
    with tcp as served, contextlib.ExitStack() as strangers:
        for _ in range(daemon.MOST + 5):
            strangers.enter_context(served.raw())
        with served.client(token_file=tmp_path / "token") as host:
            assert play(host, 2) == 3
            for _ in range(daemon.MOST + 5):
                strangers.enter_context(served.raw())
            assert play(host, 2) == 5


def test_who_shows_a_token_byte_by_byte_is_left_as_soon(tcp, monkeypatch):
    monkeypatch.setattr(daemon, "PATIENCE", 1.0)
    with tcp as served, served.raw() as wild:
        end = time.monotonic() + 30
        with contextlib.suppress(OSError):  # what is sent to nobody may be refused
            while not served.daemon.dropped:
                wild.sendall(b" ")
                time.sleep(0.1)
                assert time.monotonic() < end


# --- sockets -------------------------------------------------------------------------------------


def test_the_socket_of_a_service_that_has_ended_is_replaced(service, tmp_path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
    with Served(service, tmp_path) as served, served.client() as client:
        assert client.say(do="status")["ok"]


def test_the_socket_of_a_living_service_is_not(service, tmp_path):
    with Served(service, tmp_path) as served:
        player = ControllerService(Controller(PLAYER, [0.0]))
        with pytest.raises(InUseError, match="another service listens there"):
            daemon.Daemon(player, served.daemon.listen).run()
        with served.client() as client:
            assert client.say(do="status")["ok"]


def test_a_file_is_not_replaced_by_a_socket(service, tmp_path):
    (tmp_path / "s").write_text("words")
    with (
        pytest.raises(InvalidValueError, match="is a file and no socket"),
        Served(service, tmp_path),
    ):
        pass
    assert (tmp_path / "s").read_text() == "words"


def test_the_journal_is_closed_when_nothing_can_listen(service, tmp_path):
    address = Address.parse(str(tmp_path / "absent" / "s"), "listen")
    with pytest.raises(InvalidValueError, match="cannot be listened on"):
        daemon.Daemon(service, address).run()
    assert not read_journal(tmp_path / "j.jsonl").is_open


def test_a_service_removes_no_socket_but_its_own(service, tmp_path):
    with Served(service, tmp_path) as served:
        served.path.unlink()
        other = socket.socket(socket.AF_UNIX)
        other.bind(str(served.path))
    assert served.path.exists()
    other.close()


def test_a_bug_in_the_background_ends_the_service_with_it(service, clock, tmp_path, monkeypatch):
    def crash():
        raise StoreError("a bug")

    served = Served(service, tmp_path)
    served.__enter__()
    monkeypatch.setattr(service, "look", crash)
    clock.pass_by(60)
    served.thread.join(20)
    with pytest.raises(StoreError, match="a bug"):
        served.__exit__()
    assert not read_journal(tmp_path / "j.jsonl").is_open
