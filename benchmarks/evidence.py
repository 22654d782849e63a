"""Results of long runs, each with the commit that it was made on.

A soak that is started with ``--stamp`` writes one JSON file into ``evidence/``: a :class:`Record`
with its command, the commit, the date, the rounds and violations of every rule, and a digest of the
files that the result depends on. While these files stay as they are the record is *current*;
afterwards it is *of an earlier text*, and the table says so.

``python -m benchmarks.evidence`` checks the records and the table of ``docs/promises.md``,
``--write`` writes that table, and ``--release`` also fails on a record that is not current, that
counts a violation, or that is missing.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import hashlib
import json
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pages import table, write_section
from surefoot.core.errors import InvalidValueError

SCHEMA = 1
ROOT = Path(__file__).parents[1]
FOLDER = "evidence"
PAGE = "docs/promises.md"
SECTION = "evidence"
"""The name of the marks in the page."""


class Needed(NamedTuple):
    """How long the run of a claim must be.

    Attributes:
        total: the actions that were judged, of all rules together.
        each: those of each rule.
    """

    total: int
    each: int


CLAIMS = {"safety.kernel": Needed(10**8, 10**6), "safety.knowledge": Needed(10**6, 10**5)}
"""A release has a current record of each, so long at least."""
CURRENT, EARLIER = "current", "of an earlier text"
LIBRARY = (
    "src/surefoot/core/**/*.py",
    "src/surefoot/sets/**/*.py",
    "src/surefoot/knowledge/**/*.py",
    "src/surefoot/certified.py",
    "src/surefoot/kernel_bridge.py",
    "src/surefoot/proposers/**/*.py",
    "src/surefoot/rules/certified/*.py",
    "src/surefoot/rules/wrappers/*.py",
    "src/surefoot/kernel/**/*.py",
    "src/surefoot/kernel/**/*.[ch]",
)
"""What decides the actions of a certified rule."""


class EvidenceError(InvalidValueError):
    """A record cannot be written or read."""


@dataclasses.dataclass(frozen=True)
class Row:
    """What came of the attacks on one rule.

    Args:
        rule: the rule, or the kind of knowledge.
        rounds: steps of the rule.
        violations: how many actions had g > 0.
        nearest: the largest g.
        actions: attacked actions, where a round has several; 0 where it has one.
        unit: what ``nearest`` is divided by; empty for g itself.
    """

    rule: str
    rounds: int
    violations: int
    nearest: float
    actions: int = 0
    unit: str = ""

    def __post_init__(self) -> None:
        is_complete = (
            _is_line(self.rule)
            and _is_count(self.rounds)
            and self.rounds > 0
            and _is_count(self.violations)
            and _is_number(self.nearest)
            and _is_count(self.actions)
            and (self.unit == "" or _is_line(self.unit))
        )
        if not is_complete:
            raise EvidenceError(
                "a row must have a rule, rounds > 0, violations and a finite nearest, got "
                f"{dataclasses.asdict(self)}"
            )

    @property
    def judged(self) -> int:
        """How many actions were judged."""
        return self.actions or self.rounds


@dataclasses.dataclass(frozen=True)
class Record:
    """One run.

    Args:
        name: of the run; its file is named after it.
        claim: the promise that it is evidence for.
        command: what was typed.
        commit: the commit that was checked out, forty hexadecimal digits.
        date: the day on which it ended.
        covers: patterns of the files that the result depends on.
        digest: of these files.
        machine: what it ran on.
        seconds: how long it took.
        rows: one per rule.
        schema: the version of this list of fields.
    """

    name: str
    claim: str
    command: str
    commit: str
    date: str
    covers: tuple[str, ...]
    digest: str
    machine: str
    seconds: float
    rows: tuple[Row, ...]
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        if not _is_count(self.schema) or self.schema != SCHEMA:
            raise EvidenceError(f"schema must be {SCHEMA}, got {self.schema!r}")
        for field in ("name", "claim", "command", "machine"):
            _require(self, field, "must be one line of text", _is_line)
        _require(self, "commit", "must be 40 hexadecimal digits", _matcher("[0-9a-f]{40}"))
        _require(self, "digest", "must be 64 hexadecimal digits", _matcher("[0-9a-f]{64}"))
        _require(self, "date", "must be a day like 2026-11-18", _is_day)
        _require(self, "seconds", "must be a number of at least 0", _is_duration)
        _require(self, "covers", "must be patterns of files in this repository", _are_patterns)
        if not self.rows:
            raise EvidenceError(f"rows must have at least one row, got none in {self.name!r}")

    @property
    def path(self) -> str:
        """The file of the record."""
        return f"{FOLDER}/{re.sub('[^a-z0-9]+', '-', self.name.lower()).strip('-')}.json"

    @property
    def violations(self) -> int:
        """The violations of all rules."""
        return sum(row.violations for row in self.rows)

    def is_long_enough(self, needed: Needed) -> bool:
        """Return whether as many actions were judged as a claim needs."""
        judged = [row.judged for row in self.rows]
        return sum(judged) >= needed.total and min(judged) >= needed.each

    def state(self, root: Path = ROOT) -> str:
        """Return whether the covered files are as they were."""
        try:
            is_same = digest(self.covers, root) == self.digest
        except EvidenceError:  # there is no such file any more
            is_same = False
        return CURRENT if is_same else EARLIER

    def to_json(self) -> str:
        """Return the text of the file."""
        content = dataclasses.asdict(self)
        ordered = {"schema": content.pop("schema"), **content}
        for row in ordered["rows"]:
            for optional in ("actions", "unit"):
                if not row[optional]:
                    del row[optional]
        return json.dumps(ordered, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Return the record that a text has."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise EvidenceError(f"a record must be JSON, got {error}") from None
        if isinstance(content, dict) and content.get("schema") != SCHEMA:
            raise EvidenceError(f"schema must be {SCHEMA}, got {content.get('schema')!r}")
        made: Record = _build(cls, content, rows=_rows_of, covers=_tuple_of)
        return made


# --- what a field must be ------------------------------------------------------------------------


def _is_line(value: object) -> bool:
    """Whether a value is text that a cell of a table shows as it is."""
    if not isinstance(value, str) or not value.strip():
        return False
    return value.isprintable() and not set(value) & set("<>`")


def _is_number(value: object) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < 2**53
    return isinstance(value, float) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_duration(value: object) -> bool:
    return _is_number(value) and float(value) >= 0  # type: ignore[arg-type]


def _is_day(value: object) -> bool:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return False
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _matcher(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _are_patterns(value: object) -> bool:
    if not isinstance(value, tuple) or not value or not all(_is_line(part) for part in value):
        return False
    paths = [PurePosixPath(part) for part in value]
    return not any(path.is_absolute() or ".." in path.parts for path in paths)


def _require(record: Record, field: str, rule: str, is_right: Callable[[object], bool]) -> None:
    value = getattr(record, field)
    if not is_right(value):
        raise EvidenceError(f"{field} {rule}, got {value!r}")


def _build(kind: type, content: object, **convert: Callable[[object], object]) -> Any:
    """Return a dataclass made of the keys of a mapping, which must be its fields."""
    if not isinstance(content, dict):
        raise EvidenceError(f"a {kind.__name__.lower()} must be a mapping, got {content!r}")
    fields = dataclasses.fields(kind)
    needed = {field.name for field in fields if field.default is dataclasses.MISSING}
    unknown = content.keys() - {field.name for field in fields}
    missing = needed - content.keys()
    if unknown or missing:
        wrong = [f"no {name!r}" for name in sorted(missing)]
        wrong += [f"the unknown key {name!r}" for name in sorted(unknown)]
        raise EvidenceError(
            f"a {kind.__name__.lower()} must have {', '.join(sorted(needed))}; got "
            f"{', '.join(wrong)}"
        )
    return kind(**content | {name: make(content[name]) for name, make in convert.items()})


def _rows_of(value: object) -> tuple[Row, ...]:
    if not isinstance(value, list):
        raise EvidenceError(f"rows must be a list, got {value!r}")
    return tuple(_build(Row, row) for row in value)


def _tuple_of(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


# --- writing -------------------------------------------------------------------------------------


def digest(covers: Iterable[str], root: Path = ROOT) -> str:
    """Return the SHA-256 over ``path NUL bytes NUL`` of the covered files, in order of their paths.

    Args:
        covers: patterns of paths; each must match a file.
        root: the folder that they begin in.
    """
    paths: set[str] = set()
    for pattern in covers:
        found = {path.relative_to(root).as_posix() for path in root.glob(pattern) if path.is_file()}
        if not found:
            raise EvidenceError(f"covers must match a file, got {pattern!r}")
        paths |= found
    hashed = hashlib.sha256()
    for path in sorted(paths):
        hashed.update(path.encode() + b"\0" + (root / path).read_bytes() + b"\0")
    return hashed.hexdigest()


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise EvidenceError("a result can be stamped in a git checkout only") from None
    return done.stdout


def find_commit(root: Path = ROOT) -> str:
    """Return the commit of a tree in which nothing is changed but the evidence itself."""
    others = ["--", ".", f":!{FOLDER}", f":!{PAGE}"]
    changed = _git(root, "status", "--porcelain", *others).splitlines()
    if changed:
        raise EvidenceError(
            f"a result of a changed tree cannot be stamped: commit first ({changed[0].strip()})"
        )
    return _git(root, "rev-parse", "HEAD").strip()


def describe_machine(*more: str) -> str:
    """Return processors, architecture, what else is named, and the versions of Python and NumPy."""
    parts = [f"{os.cpu_count()} processors", platform.machine(), *more]
    parts += [f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    return ", ".join(parts)


class Stamp:
    """The commit and digest at the beginning of a run; :meth:`write` compares them with the end.

    Args:
        name: of the run.
        claim: the promise that it is evidence for.
        covers: patterns of the files that the result depends on.
        root: the folder of the repository.
        machine: what it runs on.
    """

    def __init__(
        self,
        name: str,
        claim: str,
        covers: Sequence[str],
        *,
        root: Path = ROOT,
        machine: str | None = None,
    ) -> None:
        self.name, self.claim, self.covers, self.root = name, claim, tuple(covers), root
        self.machine = machine or describe_machine()
        self.commit, self.digest = find_commit(root), digest(self.covers, root)
        self.began = time.monotonic()

    def write(self, command: str, rows: Iterable[Row], status: int = 0) -> str:
        """Write the record, whole or not at all, and return a sentence that says so.

        Args:
            command: what was typed.
            rows: one per rule.
            status: the exit status of the run, which only violations may have made one of failure.
        """
        rows = tuple(rows)
        if status and not any(row.violations for row in rows):
            raise EvidenceError("a run that failed without a violation cannot be stamped")
        if (find_commit(self.root), digest(self.covers, self.root)) != (self.commit, self.digest):
            raise EvidenceError("the tree changed while the run was going on: run it again")
        record = Record(
            name=self.name,
            claim=self.claim,
            command=command,
            commit=self.commit,
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            covers=self.covers,
            digest=self.digest,
            machine=self.machine,
            seconds=round(time.monotonic() - self.began, 1),
            rows=rows,
        )
        path = self.root / record.path
        path.parent.mkdir(exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(record.to_json(), encoding="utf-8")
        part.replace(path)
        return (
            f"{record.path} is written; python -m benchmarks.evidence --write puts it on the page"
        )


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--stamp`` to the command line of a soak."""
    parser.add_argument(
        "--stamp", action="store_true", help=f"write a record of the run into {FOLDER}/"
    )


def begin(
    options: argparse.Namespace,
    name: str,
    claim: str,
    covers: Sequence[str],
    kinds: Iterable[str] = (),
) -> Stamp | None:
    """Return the stamp of a run; None without ``--stamp``.

    Args:
        options: the command line of a soak, perhaps with ``factor``, ``state`` and ``kinds``.
        name: of the run.
        claim: the promise that it is evidence for.
        covers: patterns of the files that the result depends on.
        kinds: what a whole run attacks; empty where nothing can be left out.
    """
    if not options.stamp:
        return None
    if missing := sorted(set(kinds) - set(getattr(options, "kinds", kinds))):
        raise EvidenceError(f"a run with --kinds cannot be stamped: it has no {missing[0]!r}")
    if getattr(options, "factor", 1.0) != 1.0:
        raise EvidenceError("a run with --factor cannot be stamped: it is to find violations")
    if getattr(options, "state", None) is not None:
        raise EvidenceError(
            "a run with --state cannot be stamped: its first part may be of another text"
        )
    return Stamp(name, claim, covers)


def typed_command(module: str) -> str:
    """Return the command of this process: ``python -m benchmarks.soak --rounds 1e8``."""
    words = [word for word in sys.argv[1:] if word != "--stamp"]
    return shlex.join(["python", "-m", f"benchmarks.{module}", *words])


def run(command: Callable[[], int]) -> int:
    """Return the status of a command; 2 after an :class:`EvidenceError`, which is printed."""
    try:
        return command()
    except EvidenceError as error:
        print(error, file=sys.stderr)
        return 2


class Counts:
    """What attacks add up to, rule by rule.

    Args:
        unit: what the g of all of them is divided by; empty for g itself.
    """

    def __init__(self, unit: str = "") -> None:
        self.unit = unit
        self.rows: dict[str, Row] = {}

    def add(self, rule: str, rounds: int, violations: int, nearest: float) -> None:
        """Add an attack; one without a round counts for nothing."""
        if rounds == 0 and violations == 0:
            return
        so_far = self.rows.get(rule)
        if so_far is not None:
            rounds, violations = rounds + so_far.rounds, violations + so_far.violations
            nearest = max(nearest, so_far.nearest)
        self.rows[rule] = Row(rule, rounds, violations, float(nearest), unit=self.unit)

    @property
    def rounds(self) -> int:
        """The rounds of all rules."""
        return sum(row.rounds for row in self.rows.values())

    @property
    def violations(self) -> int:
        """The violations of all rules."""
        return sum(row.violations for row in self.rows.values())


# --- reading -------------------------------------------------------------------------------------


def read_records(root: Path = ROOT) -> list[Record]:
    """Return the records of the folder, in the order of their names."""
    records = []
    for path in sorted((root / FOLDER).glob("*.json")):
        try:
            record = Record.from_json(path.read_text(encoding="utf-8"))
            if record.path != f"{FOLDER}/{path.name}":
                raise EvidenceError(f"name must be that of the file, got {record.name!r}")
        except (EvidenceError, UnicodeDecodeError) as error:
            raise EvidenceError(f"{FOLDER}/{path.name}: {error}") from None
        records.append(record)
    return records


def render(records: Sequence[Record], root: Path = ROOT) -> list[str]:
    """Return the tables of all runs, in Markdown."""
    if not records:
        return ["No run is recorded."]
    rules = []
    for record in records:
        total = sum(row.judged for row in record.rows)
        state = record.state(root)
        rules += [_cells(record, row, total, state) for row in record.rows]
    runs = [
        [r.name, r.claim, f"`{r.command}`", f"{r.seconds:,.0f}", r.machine, f"{r.violations:,}"]
        for r in records
    ]
    columns = ["run", "rule", "rounds", "share of this run", "violations", "nearest g"]
    return [
        *table(["run", "claim", "command", "seconds", "machine", "violations"], runs),
        "",
        *table([*columns, "commit", "date", "state"], rules),
    ]


def _cells(record: Record, row: Row, total: int, state: str) -> list[str]:
    rounds = f"{row.rounds:,}"
    if row.actions:
        rounds += f", {row.actions:,} attacked actions"
    nearest = f"{row.nearest:.1e}" + (f" of the {row.unit}" if row.unit else "")
    share = f"{row.judged / total:.1%}"
    cells = [record.name, row.rule, rounds, share, f"{row.violations:,}", nearest]
    return [*cells, record.commit[:8], record.date, state]


def write_table(root: Path = ROOT) -> None:
    """Write the tables into the page."""
    write_section(root / PAGE, SECTION, render(read_records(root), root))


def find_faults(root: Path = ROOT, *, release: bool = False) -> list[str]:
    """Return what is wrong with the records and the page, one sentence each.

    Args:
        root: the folder of the repository.
        release: whether every claim needs a current record without a violation.
    """
    try:
        records = read_records(root)
    except EvidenceError as error:
        return [str(error)]
    faults = []
    page = (root / PAGE).read_text(encoding="utf-8")
    begin, end = f"<!-- measured: {SECTION} -->", f"<!-- end: {SECTION} -->"
    written = page.partition(begin)[2].partition(end)[0].strip()
    if written != "\n".join(render(records, root)).strip():
        faults.append(f"{PAGE} must have the table of {FOLDER}/: run it with --write")
    if release:
        stale = [r for r in records if r.state(root) != CURRENT]
        faults += [f"{r.path} is {EARLIER}: run {r.command} --stamp" for r in stale]
        faults += [f"{r.path} counts {r.violations:,} violations" for r in records if r.violations]
        for claim, needed in CLAIMS.items():
            if not any(r.claim == claim and r.is_long_enough(needed) for r in records):
                faults.append(
                    f"{FOLDER}/ must have a record of {claim} with {needed.total:,} actions, "
                    f"{needed.each:,} of each rule: make evidence"
                )
    return faults


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE}")
    parser.add_argument("--release", action="store_true", help="fail unless all are current")
    options = parser.parse_args(words)
    if options.write:
        write_table()
    faults = find_faults(release=options.release)
    for fault in faults:
        print(fault, file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(run(main))
