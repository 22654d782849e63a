"""The example of a field bus: a plant behind a server in this process, whose parts fail."""

import asyncio
import importlib.util
import json
import logging
import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from surefoot.controller import Plant

asyncua = pytest.importorskip("asyncua")
pytestmark = [pytest.mark.hosts, pytest.mark.filterwarnings("default")]  # its own

from asyncua import Client, Server, ua  # noqa: E402

EXAMPLE = Path(__file__).parents[1] / "examples" / "opcua.py"
HALL = """\
surefoot = 1
round = "0.01 s"
journal = "hall.jsonl"
[actuator.fan1]
unit = "%"
range = [30, 100]
start = 100
node = "ns=2;s=hall.fan1"
[actuator.fan2]
unit = "%"
range = [30, 100]
start = 100
node = "ns=2;s=hall.fan2"
[context.outside]
unit = "degC"
range = [-20, 40]
node = "ns=2;s=hall.outside"
[limit.hot_spot]
unit = "degC"
at_most = 27.0
meter_error = 0.1
start_margin = 2.0
steepness = { fan1 = 0.1, fan2 = 0.05 }
rise = { outside = 0.25 }
node = "ns=2;s=hall.hot_spot"
"""


def example():
    spec = importlib.util.spec_from_file_location("opcua_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Hall:
    """A server whose meters are read when somebody asks."""

    def __init__(self):
        self.round, self.heats, self.spoilt = 1, [], {}

    async def __aenter__(self):
        self.server = Server()
        await self.server.init()
        self.server.set_endpoint("opc.tcp://127.0.0.1:0/")
        assert await self.server.register_namespace("urn:hall") == 2
        self.nodes = {}
        for name in ("fan1", "fan2", "outside", "hot_spot"):
            node = ua.NodeId(f"hall.{name}", 2)
            self.nodes[name] = await self.server.nodes.objects.add_variable(node, name, 100.0)
        for name in ("fan1", "fan2"):
            await self.nodes[name].set_writable()
        for name, measure in (("outside", self.forecast), ("hot_spot", self.heat)):
            node = self.nodes[name].nodeid
            self.server.set_attribute_value_callback(node, self.meter(name, measure))
        await self.server.start()
        return self

    async def __aexit__(self, *_):
        await self.server.stop()

    @property
    def url(self):
        return f"opc.tcp://127.0.0.1:{self.server.bserver.port}/"

    def weather(self, ahead=0):
        return 15.0 + 5.0 * math.sin((self.round + ahead) / 9)

    def forecast(self):
        return self.weather(ahead=1)  # that of the round that begins

    def heat(self):
        values = self.server.iserver.aspace
        fans = [values.read_attribute_value(self.nodes[n].nodeid, 13) for n in ("fan1", "fan2")]
        fan1, fan2 = (data.Value.Value for data in fans)
        warm = 22.0 + 0.09 * (100 - fan1) + 0.04 * (100 - fan2) + 0.2 * (self.weather() - 15.0)
        self.heats.append(warm)
        return warm + 0.1 * math.cos(7 * self.round)

    def meter(self, name, measure):
        def read(nodeid, attribute):
            how, now = self.spoilt.get((name, self.round)), datetime.now(UTC)
            bad = how == "bad" and ua.StatusCode(ua.StatusCodes.BadSensorFailure)
            stamp = now - timedelta(minutes=1) if how == "old" else now
            value = {"text": "?", "far": 1e9}.get(how) or measure()
            good = ua.StatusCode(ua.StatusCodes.Good)
            return ua.DataValue(ua.Variant(value), bad or good, SourceTimestamp=stamp)

        return read


async def play(path, hall, rounds, on_round=None, file=None):
    events = []

    def take(event):
        events.append(event)
        hall.round = event.round + 1
        if on_round is not None:
            on_round(hall)

    with Plant.open(path, on_round=take) as plant:
        async with Client(hall.url) as client:
            await example().run(plant, client, rounds)
    return events


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The plant file."""
    monkeypatch.setattr(logging.getLogger("asyncua"), "level", logging.CRITICAL)
    path = tmp_path / "hall.toml"
    path.write_text(HALL)
    return path


def test_a_sensor_that_breaks_is_five_rounds_without_a_reading(path):
    async def main():
        async with Hall() as hall:
            hall.spoilt = dict.fromkeys([("hot_spot", t) for t in range(20, 23)], "bad")
            hall.spoilt |= {("hot_spot", 23): "old", ("hot_spot", 24): "text"}
            return await play(path, hall, 60), hall.heats

    events, heats = asyncio.run(main())
    assert [event.round for event in events] == list(range(1, 61))
    assert [e.round for e in events if math.isnan(e.readings["hot_spot"])] == [20, 21, 22, 23, 24]
    assert max(heats) <= 27.0
    assert max(heats) > 26.0  # it does not stay at its start
    assert min(event.set_points["fan1"] for event in events) < 70.0
    assert all(event.is_proven for event in events)
    code, said = verdict(path)
    assert (code, said.partition(";")[0]) == (0, "certified: 60 of 60 rounds")


def test_a_write_that_fails_is_reported_as_what_reads_back(path, capsys):
    async def main():
        async with Hall() as hall:

            def lock(hall):
                if hall.round in (30, 33):
                    change = hall.nodes["fan2"].set_writable(hall.round == 33)
                    tasks.append(asyncio.ensure_future(change))

            tasks = []
            events = await play(path, hall, 50, lock)
            await asyncio.gather(*tasks)
            return events

    asked = [event.set_points["fan2"] for event in asyncio.run(main())]
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" was not written: ")[0] for line in lines] == [
        f"fan2 = {value:g}" for value in asked[29:32]
    ]
    code, said = verdict(path)
    assert (code, said.partition(";")[0]) == (3, "certified: 47 of 50 rounds")
    for t in (30, 31, 32):
        assert f"not checked: round {t}: another action was played than the one asked for" in said


def test_a_reading_that_no_meter_shows_is_a_round_without_a_reading(path, capsys):
    async def main():
        async with Hall() as hall:
            hall.spoilt = {("hot_spot", 7): "far"}
            return await play(path, hall, 12)

    events = asyncio.run(main())
    assert [e.round for e in events if math.isnan(e.readings["hot_spot"])] == [7]
    assert "readings.hot_spot must be a number within 1024 times" in capsys.readouterr().err
    assert verdict(path)[0] == 0


def test_without_a_connection_rounds_go_on_without_a_reading(path, capsys):
    async def main():
        async with Hall() as hall:

            def cut(hall):
                if hall.round == 10:
                    tasks.append(asyncio.ensure_future(hall.server.stop()))

            tasks = []
            events = await play(path, hall, 15, cut)
            await asyncio.gather(*tasks)
            return events

    events = asyncio.run(main())
    assert [e.round for e in events if math.isnan(e.readings["hot_spot"])] == list(range(10, 16))
    assert "was not written: " in capsys.readouterr().err
    assert verdict(path)[0] == 0


@pytest.mark.parametrize("changes", [None, 0.0, 0.001])
def test_a_plant_that_moves_begins_anew_where_nobody_counted_rounds(path, changes):
    if changes is not None:
        text = HALL.replace("rise =", f"changes = {changes}\nrise =")
        path.write_text(text.replace('"0.01 s"', '"0.2 s"'))  # or all rounds are late

    async def main():
        async with Hall() as hall:
            await play(path, hall, 12)
            return await play(path, hall, 8)

    events = asyncio.run(main())
    assert [event.round for event in events] == list(range(13, 21))
    begins = [record for record in records(path) if "amend" in json.dumps(record)]
    assert bool(begins) == bool(changes)
    assert (events[0].set_points == {"fan1": 100.0, "fan2": 100.0}) == bool(changes)
    assert verdict(path)[0] == 0


def verdict(path):
    command = [sys.executable, "-m", "surefoot", "check", str(path.with_name("hall.jsonl"))]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def records(path):
    lines = path.with_name("hall.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]
