"""``surefoot export-c``: the certified step of a player as one C99 header."""

from __future__ import annotations

import json as json_
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from surefoot.cli._exit import Debug, UsageError
from surefoot.cli._output import Json, argument, option, say, say_json
from surefoot.core.errors import first_line

_MARK = "written by `surefoot export-c`"
_LARGEST = 100_000  # bytes of a description


def export_c(
    source: Annotated[
        Path, argument("SOURCE", "A journal, or a TOML or JSON file that describes a player.")
    ],
    out: Annotated[
        Path | None, option("FILE", "The header; standard output without.", "--out", "-o")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="What every name in it begins with; that of the file unless given."),
    ] = None,
    dimension: Annotated[
        int | None, option("D", "Length of an action, where no start tells it.", min=1)
    ] = None,
    vectors: Annotated[
        Path | None, option("FILE", "Rounds and the bits that follow, for a test.", "--vectors")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write the certified step of a player as one C99 header.

    The header holds the text of the compiled kernel with the player's constants: an init and a
    step that allocate nothing, the bound on the next g before it is played, and a status code for
    refused input. Its numbers are the kernel's bit for bit, if compiled with -ffp-contract=off. The
    player comes from the journal of a controller, or from a file such as

      start = [0.0, 0.0]
      [player]
      class = "LeaderFollower"
      G_g = 1.0
      domain = { class = "Ball", radius = 1.0 }

    A header that this command wrote before is replaced; any other file is not.

    Examples:
      surefoot export-c player.toml --out limiter.h --vectors limiter_vectors.h
      surefoot export-c plant.journal --name plant
    """
    from surefoot.controller.export import c_header, c_vectors

    player, d, start = _read(source, dimension)
    name = _name(out) if name is None else name
    text = c_header(player, d, name=name, start=start)
    if vectors is not None:
        _write(vectors, c_vectors(player, d, name=name, start=start))
    if out is not None:
        _write(out, text)
    if json:
        say_json({"path": out, "name": name, "dimension": d, "text": None if out else text})
    elif out is None:
        say(text.rstrip("\n"))
    else:
        say(f"wrote {out}; compile with -std=c99 -ffp-contract=off, link with -lm")


def _read(source: Path, dimension: int | None) -> tuple[Any, int, Any]:
    """Return the player, the length of its action, and the start if it is known."""
    from surefoot.controller.journal import HEAD
    from surefoot.controller.records import read_run
    from surefoot.core.plain import build

    with source.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if data.startswith(HEAD):
        run = read_run(source)
        return run.algorithm, len(run.start), run.start
    table = _table(source, data)
    strangers = sorted(set(table) - {"player", "start", "dimension"})
    if strangers or not isinstance(table.get("player"), dict):
        got = ", ".join(strangers) or "no player"
        raise UsageError(
            f"'{source}' must have a table player, and may have start and dimension, got {got}"
        )
    start = table.get("start")
    d = table.get("dimension", dimension)
    if d is None and isinstance(start, list):
        d = len(start)
    if d is None:
        raise UsageError(f"'{source}' says no dimension: add a start to it, or give --dimension")
    return build(table["player"], "player"), d, start


def _table(source: Path, data: bytes) -> dict[str, Any]:
    if len(data) > _LARGEST:
        raise UsageError(f"'{source}' must have at most {_LARGEST:,} bytes, and has more")
    reader, kind = (json_, "JSON") if source.suffix == ".json" else (tomllib, "TOML")
    try:
        found = reader.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # what both readers, and decoding, raise
        why = first_line(error)
        raise UsageError(f"'{source}' is neither a journal nor {kind}: {why}") from error
    if not isinstance(found, dict):
        raise UsageError(f"'{source}' must have a table player, got {type(found).__name__}")
    return found


def _write(out: Path, text: str) -> None:
    """Write the header, over one that was written before and over nothing else."""
    try:
        if out.exists() and _MARK not in out.read_text(encoding="utf-8", errors="replace"):
            raise UsageError(f"'{out}' is not a header of this command and is not overwritten")
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"'{out}' cannot be written: {error.strerror}") from error


def _name(out: Path | None) -> str:
    """Return the name of the file as a C identifier."""
    found = "" if out is None else re.sub(r"[^A-Za-z0-9_]+", "_", out.stem).strip("_")
    return found if re.match(r"[A-Za-z]", found) else "surefoot"
