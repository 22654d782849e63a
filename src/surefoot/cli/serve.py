"""``surefoot serve``: a controller for programs in any language."""

from __future__ import annotations

import json
import os
import signal
import sys
import tomllib
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from surefoot.cli._exit import Debug, UsageError
from surefoot.cli._output import argument, option, warn

if TYPE_CHECKING:
    from surefoot.controller import Controller, Fleet
    from surefoot.controller.serve import Service

__all__ = ["serve"]

_KEYS = (
    "player",
    "constants",
    "domain",
    "horizon",
    "start",
    "journal",
    "on_contradiction",
    "on_missing",
)
_CHUNK = 1 << 16


def serve(
    config: Annotated[
        Path | None, argument("CONFIG", "A TOML or JSON file that names the player.")
    ] = None,
    player: Annotated[str | None, option("NAME", "The class of the player.")] = None,
    tuning: Annotated[str | None, option("NAME", "The constructor of the player.")] = None,
    constants: Annotated[
        list[str] | None,
        option("NAME=NUMBER", "A constant; may be given more than once.", "--constant"),
    ] = None,
    start: Annotated[str | None, option("X,X,...", "The first action, strictly feasible.")] = None,
    journal: Annotated[
        Path | None, option("FILE", "The journal: continued if it exists, else created.")
    ] = None,
    horizon: Annotated[
        int | None, option("N", "Number of rounds, if a tuning needs it.", min=1)
    ] = None,
    fleet: Annotated[
        bool, typer.Option("--fleet", help="Serve a fleet: the start is a list of first actions.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Serve a controller to a program in any language, by lines of JSON.

    Each line on standard input is a request, such as {"do": "ask"} or {"do": "tell",
    "cost_gradient": [...], "constraint_value": -0.2, "constraint_subgradient": [...]}; each is
    answered by one line on standard output. {"do": "hello"} tells the version of the protocol and
    the commands. A request that is refused is answered by one sentence and changes nothing. The end
    of the input, SIGTERM and Ctrl-C end the service and close the journal. Options of the command
    line replace those of the file.

    The file may be a journal: then its player is served from its start. With --fleet the start is a
    list of first actions, the journal a folder, and requests have one entry per member.

    Examples:
      surefoot serve machines.toml
      surefoot serve --player LeaderFollower --constant R=1.5 --constant G_g=1.1
               --constant start_slack=0.2 --start 0.2,0.2 --journal machines.jsonl
    """
    given: dict[str, Any] = {} if config is None else _read(config)
    if player is not None:
        given["player"] = {"class": player}
    if tuning is not None:
        if not isinstance(given.get("player"), dict):
            raise UsageError("--tuning needs --player, or a file that names one")
        given["player"] = {**given["player"], "tuning": tuning}
    if constants:
        given["constants"] = {**given.get("constants", {}), **dict(map(_constant, constants))}
    if start is not None:
        given["start"] = [_float(part, "--start") for part in start.split(",")]
    options = {"journal": journal, "horizon": horizon}
    given |= {name: value for name, value in options.items() if value is not None}
    needed = () if "run" in given else ("player", "start")
    if missing := [name for name in needed if name not in given]:
        raise UsageError(f"{' and '.join(missing)} must be given, in a file or as options")
    from surefoot.controller.serve import FleetService, Service

    try:
        if fleet:
            many = _fleet(given)
            with many:
                _answer_all(FleetService(many), sys.stdin.buffer, sys.stdout.buffer)
            return
        controller = _controller(given)
    except ValueError as error:
        raise UsageError(str(error)) from error
    with controller:
        _answer_all(Service(controller), sys.stdin.buffer, sys.stdout.buffer)


def _read(path: Path) -> dict[str, Any]:
    from surefoot.controller import is_journal
    from surefoot.controller.records import read_run

    if is_journal(path):  # what it plays, from its start
        return {"run": read_run(path)}
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        why = str(error).partition("\n")[0]
        raise UsageError(f"'{path}' cannot be read: {why}") from error
    if not isinstance(found, dict):
        raise UsageError(f"'{path}' must hold an object, got {type(found).__name__}")
    if strangers := sorted(set(found) - set(_KEYS)):
        raise UsageError(f"'{path}' has {strangers[0]!r}: it may have {', '.join(_KEYS)}")
    if isinstance(found.get("journal"), str):
        found["journal"] = path.parent / found["journal"]
    return found


def _constant(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--constant must be NAME=NUMBER, got {text!r}")
    return name.strip(), _float(value, "--constant")


def _float(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option} must be given numbers, got {text!r}") from None


def _player(given: dict[str, Any], start: Any) -> Any:
    from surefoot.controller.configuring import player_from

    names = ("constants", "domain", "horizon")
    return player_from(given["player"], start=start, **{n: given.get(n) for n in names})


def _controller(given: dict[str, Any]) -> Controller:
    from surefoot.controller import Controller
    from surefoot.core.errors import InvalidValueError

    run, path = given.get("run"), given.get("journal")
    policies = {n: given[n] for n in ("on_contradiction", "on_missing") if n in given}
    if run is not None:
        made, start = run.player, run.start
    else:
        start = given["start"]
        made = _player(given, start)
    if path is None:
        return Controller(made, start, **policies)
    try:
        return Controller.open_or_create(path, made, start, **policies)
    except InvalidValueError as error:
        raise UsageError(str(error)) from None


def _fleet(given: dict[str, Any]) -> Fleet:
    from surefoot.controller import Fleet

    start, path = given.get("start"), given.get("journal")
    if not isinstance(start, list) or not start or not isinstance(start[0], list):
        raise UsageError("start must be a list of first actions for a fleet: [[0.0], [0.0]]")
    policies = {n: given[n] for n in ("on_contradiction", "on_missing") if n in given}
    if path is not None and (Path(path) / "fleet.jsonl").exists():
        return Fleet.open(path)
    return Fleet(_player(given, start[0]), start, journal=path, **policies)


# --- lines ---------------------------------------------------------------------------------------


class _StoppedError(BaseException):
    """SIGTERM has come while nothing was being done."""


def _answer_all(service: Service, source: BinaryIO, target: BinaryIO) -> None:
    """Answer line by line until the input ends or the process is told to stop."""
    waiting = stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        if waiting:
            raise _StoppedError

    before = signal.signal(signal.SIGTERM, stop)
    try:
        while not stopped:
            waiting = True
            line, size = _next_line(source, service.longest)
            waiting = False
            if not size:
                break
            answer = service.answer(line) if line else service.too_long(size)
            target.write(answer.encode("ascii") + b"\n")
            target.flush()
    except _StoppedError:
        pass
    except BrokenPipeError:
        warn("surefoot: whoever asked has left")
        os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())  # nothing more can be written
    finally:
        waiting = False
        signal.signal(signal.SIGTERM, before)


def _next_line(source: BinaryIO, longest: int) -> tuple[bytes, int]:
    """Return the next line and its size; of one that is too long nothing is kept but its size."""
    line = source.readline(longest + 2)
    size = len(line)
    if size <= longest or line.endswith(b"\n"):
        return line, size
    while line and not line.endswith(b"\n"):
        line = source.readline(_CHUNK)
        size += len(line)
    return b"", size
