"""``surefoot serve``: a controller for programs in any language."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from surefoot.cli._output import argument, option, warn
from surefoot.cli.options import Described, read_player

if TYPE_CHECKING:
    from surefoot.controller import Controller, Fleet
    from surefoot.controller.serve import Service

__all__ = ["serve"]

_CHUNK = 1 << 16


def serve(
    config: Annotated[
        Path, argument("CONFIG", "A TOML or JSON file that names the player, or a journal.")
    ],
    journal: Annotated[
        Path | None, option("FILE", "The journal: continued if it exists, else created.")
    ] = None,
    fleet: Annotated[
        bool, typer.Option("--fleet", help="Serve a fleet: the file has members with a start each.")
    ] = False,
) -> None:
    """Serve a controller to a program in any language.

    Each line on standard input is a request in JSON, such as {"do": "ask"} or {"do": "tell",
    "cost_gradient": [...], "constraint_value": -0.2, "constraint_subgradient": [...]}; each is
    answered by one line on standard output. {"do": "hello"} returns the version of the protocol and
    the commands. A rejected request is answered by one sentence and changes nothing. The end
    of the input, SIGTERM and Ctrl-C end the service and close the journal. After a round that
    contradicts a constant the action goes back to the start and stays there until {"do": "resume"},
    unless the file has another on_contradiction. An example of the file:

      start = [0.2, 0.2]
      journal = "machines.jsonl"
      [player]
      class = "LeaderFollower"
      [constants]
      R = 1.5
      G_g = 1.1
      start_slack = 0.2

    The file may be a journal: then its player is served from its start. With --fleet the file has
    members with their names, and requests have lists with one entry per member; a request can name
    the members that it is about, and {"do": "add"} and {"do": "remove"} let them come and leave:

      [members]
      north = [0.2, 0.2]
      south = [0.1, 0.1]

    Examples:
      surefoot serve machines.toml
      surefoot serve machines.toml --journal monday.jsonl
      surefoot serve --fleet chargers.toml
    """
    from surefoot.controller import Controller
    from surefoot.controller.serve import FleetService, Service

    described = read_player(config, fleet=fleet)
    if journal is not None:
        described = described._replace(journal=journal)
    with _make(described, fleet) as served:
        if isinstance(served, Controller):
            service = Service(served)
        else:
            service = FleetService(served, described.make, **described.policies)
        _answer_all(service, sys.stdin.buffer, sys.stdout.buffer)


def _make(described: Described, fleet: bool) -> Controller | Fleet:
    from surefoot.controller import Controller, Fleet
    from surefoot.controller.configuring import reaction_of

    player, start, journal, policies, _ = described
    if fleet:
        if journal is None:
            return Fleet(player, start, **policies)
        return Fleet.open_or_create(journal, player, start, **policies)
    if journal is None or not os.path.lexists(journal):  # a journal has its policy
        policies = {"on_contradiction": reaction_of(player), **policies}
    if journal is None:
        return Controller(player, start, **policies)
    return Controller.open_or_create(journal, player, start, **policies)


# --- lines ---------------------------------------------------------------------------------------


def _answer_all(service: Service, source: BinaryIO, target: BinaryIO) -> None:
    """Answer line by line until the input ends or SIGTERM arrives."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # the journal is closed
    try:
        while (request := _next_line(source, service.longest))[1]:
            line, size = request
            answer = service.answer(line) if line else service.too_long(size)
            target.write(answer.encode("ascii") + b"\n")
            target.flush()
    except BrokenPipeError:
        warn("surefoot: the client has left")
        os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())  # nothing more can be written
    finally:
        signal.signal(signal.SIGTERM, before)


def _next_line(source: BinaryIO, longest: int) -> tuple[bytes, int]:
    """Return the next line and its size; of one that is too long, only the size."""
    line = source.readline(longest + 2)
    size = len(line)
    if size <= longest or line.endswith(b"\n"):
        return line, size
    while line and not line.endswith(b"\n"):
        line = source.readline(_CHUNK)
        size += len(line)
    return b"", size
