"""A plant over OPC UA: ``python examples/opcua.py plant.toml opc.tcp://127.0.0.1:4840``.

The plant file has the ``node`` of each actuator (of type Double), context and limit. Every round
writes certified set points; when it is over, what was read goes into the journal. Another bus is
the same lines with another client. Needs ``surefoot[opcua]``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from asyncua import Client, ua

from surefoot.controller import Plant
from surefoot.core.errors import InvalidValueError

LOST = (OSError, TimeoutError, ua.UaError)  # no connection, no answer, a refusal


class Bus:
    """Numbers by name: the nodes of actuators, of contexts or of limits."""

    def __init__(self, client: Client, parts: Iterable[Any]) -> None:
        self.nodes = {part.name: client.get_node(part.node) for part in parts}

    async def read(self, since: datetime | None = None) -> dict[str, float | None]:
        """Return the values; None for one with a bad status, or that is older than a time."""
        return {name: await self._read(name, since) for name in self.nodes}

    async def _read(self, name: str, since: datetime | None) -> float | None:
        try:
            data = await self.nodes[name].read_data_value(raise_on_bad_status=False)
        except LOST:
            return None
        stamp, value = data.SourceTimestamp, data.Value.Value
        is_old = since is not None and (stamp is None or stamp < since)
        is_number = isinstance(value, int | float) and data.StatusCode.is_good()
        return float(value) if is_number and not is_old else None

    async def write(self, values: Mapping[str, float]) -> None:
        """Write values; what failed is seen when they are read back."""
        for name, value in values.items():
            try:
                await self.nodes[name].write_value(value, ua.VariantType.Double)
            except LOST as error:
                print(f"{name} = {value:g} was not written: {error}", file=sys.stderr)


def begin(plant: Plant) -> None:
    """Begin anew if a limit moves by itself, where nobody counted the rounds."""
    changes = [limit.changes for limit in plant.description.limits]
    if plant.round > 1 and any(each is not None and each.value for each in changes):
        with suppress(InvalidValueError):  # after a contradiction it is at its start already
            plant.begin_anew(by="opcua.py", reason="nobody counted the rounds")


async def run(plant: Plant, client: Client, rounds: float = float("inf")) -> None:
    """Play rounds; what is wanted, here the least of each range, is for you to say."""
    parts = plant.description
    kinds = (parts.actuators, parts.contexts, parts.limits)
    actuators, contexts, limits = (Bus(client, kind) for kind in kinds)
    wanted = {actuator.name: actuator.low for actuator in parts.actuators}
    seconds, clock = 60 * parts.round_minutes, asyncio.get_running_loop().time
    due, end = clock(), plant.round + rounds
    begin(plant)
    while plant.round < end:
        set_points, since = plant.ask(), datetime.now(UTC)
        await actuators.write(set_points)
        due += seconds
        await asyncio.sleep(due - clock())
        values = (await actuators.read()).items()
        played = {name: value for name, value in values if value is not None}
        lost = len(played) < len(set_points)  # nobody knows where it was read
        seen, context = await limits.read(since), await contexts.read(since)
        try:
            real = None if lost else played
            plant.tell(readings=seen, wanted=wanted, played=real, context=context, missing=lost)
        except InvalidValueError as error:
            print(error, file=sys.stderr)
            plant.tell(missing=True)
        if clock() > due + 0.1 * seconds:  # late: the next round is a whole one
            due = clock()
            begin(plant)


async def main(file: str, url: str) -> None:
    """Go on from the journal of a plant file."""
    with Plant.open(file) as plant:
        async with Client(url, auto_reconnect=True) as client:
            await run(plant, client)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
