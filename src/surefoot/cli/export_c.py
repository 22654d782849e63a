"""``surefoot export-c``: the certified step of a plant or a player as one C header."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from surefoot.cli._exit import UsageError
from surefoot.cli._output import Json, argument, option, show

if TYPE_CHECKING:
    from surefoot.problems.plant import PlantDescription

__all__ = ["export_c"]

_MARK = "written by `surefoot export-c`"


def export_c(
    source: Annotated[Path, argument("SOURCE", "A plant file, or a journal.")],
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
        str | None, option("NAME", "Of a fleet, in a file or a journal, the member.")
    ] = None,
    json: Json = False,
) -> None:
    """Write the certified step of a plant as one C99 header.

    The header holds the text of the compiled kernel with the plant's constants: an init and a step
    that allocate nothing, take readings and give set points in the units of the plant file, and a
    status code for rejected input. Its numbers are exactly the kernel's, if compiled with
    -ffp-contract=off. C has no contexts, ramps, steps of actuators and machines that are off: the
    command says so, and `surefoot serve` plays them for a program in any language.

    The source may be a journal: of a plant, or of any controller whose rule the kernel plays; that
    one is exported in the numbers of the rule. What counts is what it plays at its end: constants
    as amended, and with the factor of recoveries. A journal whose readings contradict them is
    rejected. A header that this command wrote before is replaced; any other file is not.

    Examples:
      surefoot export-c pumps.toml --out pumps.h --vectors pumps_vectors.h
      surefoot export-c pumps.toml --member north --name north
      surefoot export-c machine.jsonl --name machine
    """
    prefix = _name(out) if name is None else name
    text, tests, d = _export(source, member, prefix)
    if vectors is not None:
        _write(vectors, tests)
    if out is not None:
        _write(out, text)
    wrote = f"wrote {out}; compile with -std=c99 -ffp-contract=off, link with -lm"
    data = {"path": out, "name": prefix, "dimension": d, "text": None if out else text}
    show(json, data, [wrote if out else text.rstrip("\n")])


class _Exported(NamedTuple):
    header: str
    vectors: str
    dimension: int


def _export(source: Path, member: str | None, name: str) -> _Exported:
    """Return the header of a source, and rounds to test it with."""
    from surefoot.controller import is_journal, read_journal
    from surefoot.controller.export import c_header, c_vectors
    from surefoot.controller.records import read_run
    from surefoot.problems.plant import plant_from_data, read_plant

    if not is_journal(source):
        return _export_plant(_member_of(read_plant(source), member), name)
    run = read_run(source, member)
    record = read_journal(source, latest=1, member=member)
    wrong = [each for each in record.breaches if each.constant != "action"]
    if any(each.affects != "regret" for each in wrong):
        raise UsageError(
            f"'{source}' must not contradict its own constants, got {wrong[0].sentence}: amend or "
            "resume it first"
        )
    if run.plant is not None:
        plant, factor = plant_from_data(run.plant["description"]), float(run.plant["factor"])
        return _export_plant(plant, name, factor)
    d = len(run.start)
    header = c_header(run.player, d, name=name, start=run.start)
    return _Exported(header, c_vectors(run.player, d, name=name, start=run.start), d)


def _export_plant(plant: PlantDescription, name: str, factor: float = 1.0) -> _Exported:
    from surefoot.controller.export import plant_header, plant_vectors

    header = plant_header(plant, name=name, factor=factor)
    vectors = plant_vectors(plant, name=name, factor=factor)
    return _Exported(header, vectors, len(plant.actuators))


def _member_of(plant: PlantDescription, member: str | None) -> PlantDescription:
    """Return the plant of a member, or the only one of a file."""
    from surefoot.core.errors import suggest

    members = plant.members
    if member is None:
        if members:
            raise UsageError(f"--member must be one of {', '.join(members)}")
        return plant
    if member not in members:
        known = suggest(member, members) if members else ": the file has no members"
        raise UsageError(f"--member must be one of the file, got {member!r}{known}")
    return members[member]


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
