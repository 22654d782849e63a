"""``surefoot export-c``: the certified step of a player as one C99 header."""

import re
from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli._exit import UsageError
from surefoot.cli._output import Json, argument, option, show
from surefoot.cli.options import read_player

_MARK = "written by `surefoot export-c`"


def export_c(
    source: Annotated[
        Path, argument("SOURCE", "A journal, or a TOML or JSON file that describes a player.")
    ],
    out: Annotated[
        Path | None, option("FILE", "The header (default: standard output).", "--out", "-o")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="The prefix of every name in it (default: the name of the file)."),
    ] = None,
    vectors: Annotated[
        Path | None,
        option("FILE", "Also write rounds with their exact results, for a test.", "--vectors"),
    ] = None,
    member: Annotated[
        str | None, option("NAME", "Of a journal or a file of a fleet, the member.")
    ] = None,
    json: Json = False,
) -> None:
    """Write the certified step of a player as one C99 header.

    The header holds the text of the compiled kernel with the player's constants: an init and a
    step that allocate nothing, the bound on the next g before it is played, and a status code for
    rejected input. Its numbers are exactly the kernel's, if compiled with -ffp-contract=off. The
    player comes from a journal, or from a file as for `surefoot serve`, such as

      start = [0.0, 0.0]
      [player]
      class = "LeaderFollower"
      G_g = 1.0
      domain = { class = "Ball", radius = 1.0 }

    A header that this command wrote before is replaced; any other file is not.

    Examples:
      surefoot export-c player.toml --out limiter.h --vectors limiter_vectors.h
      surefoot export-c plant.journal --name plant
      surefoot export-c fleet.jsonl --member north --name north
    """
    import numpy as np

    from surefoot.controller.export import c_header, c_vectors

    player, start, *_ = read_player(source, member=member)
    name, d = _name(out) if name is None else name, np.asarray(start).size
    text = c_header(player, d, name=name, start=start)
    if vectors is not None:
        _write(vectors, c_vectors(player, d, name=name, start=start))
    if out is not None:
        _write(out, text)
    wrote = f"wrote {out}; compile with -std=c99 -ffp-contract=off, link with -lm"
    data = {"path": out, "name": name, "dimension": d, "text": None if out else text}
    show(json, data, [wrote if out else text.rstrip("\n")])


def _write(out: Path, text: str) -> None:
    """Write the header; replace only a header that this command wrote."""
    if out.is_file() and _MARK not in out.read_text(encoding="utf-8", errors="replace"):
        raise UsageError(f"'{out}' is not a header of this command and is not overwritten")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")


def _name(out: Path | None) -> str:
    """Return the name of the file as a C identifier."""
    name = "" if out is None else re.sub(r"[^A-Za-z0-9_]+", "_", out.stem).strip("_")
    return name if re.match(r"[A-Za-z]", name) else "surefoot"
