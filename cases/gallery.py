"""Write the gallery, docs/cases.md, and the tables of two READMEs from the cases' own READMEs.

``python -m cases.gallery``. A README begins with a title and one line; its table was measured by
the command of the case, and says by its bold rows which rules are certified.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from benchmarks.pages import table, write_page

__all__ = ["Case", "find_cases", "main"]

HERE = Path(__file__).parent


class Case(NamedTuple):
    """What the gallery says of a case.

    Attributes:
        name: of its folder.
        title: of its README.
        line: what is decided, and what must hold.
        ours: violations of all certified rules.
        theirs: violations of the others, the least and the most.
    """

    name: str
    title: str
    line: str
    ours: str
    theirs: str


def read(folder: Path) -> Case:
    """Return what a README says."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    title, line = re.findall(r"^(?:# )?(\S.*)$", text, re.MULTILINE)[:2]
    measured = text.partition("<!-- measured -->")[2].partition("<!-- end")[0]
    rows = [line.strip("| ").split(" | ") for line in measured.splitlines() if line.startswith("|")]
    at = rows[0].index("violations")
    both: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for row in rows[2:]:
        outside, played = (int(count.replace(",", "")) for count in row[at].split(" of "))
        both[row[0].startswith("**")].append((outside, played))
    (least, _), (most, played) = min(both[False]), max(both[False])
    theirs = f"{'' if least == most else f'{least:,} to '}{most:,} of {played:,}"
    outside, certified = (sum(counts) for counts in zip(*both[True], strict=True))
    return Case(folder.name, title, line, f"{outside:,} of {certified:,}", theirs)


def find_cases() -> list[Case]:
    """Return the cases whose tables were measured, by name."""
    readmes = sorted(HERE.glob("*/README.md"))
    measured = [path for path in readmes if "| --- |" in path.read_text(encoding="utf-8")]
    return [read(path.parent) for path in measured if (path.parent / "requirements.txt").exists()]


def main() -> None:
    """Write the pages."""
    cases, page = find_cases(), []
    for case in cases:
        page += [
            f"## {case.title}",
            "",
            f"{case.line} Violations: **{case.ours}** by certified rules, {case.theirs} by the "
            f"others ([table, rivals, data, licences](../cases/{case.name}/README.md)).",
            "",
            f"![{case.title}](images/case_{case.name}.png)",
            "",
            "```console",
            f"python -m cases.{case.name} --small",
            "```",
            "",
        ]
    write_page(HERE.parent / "docs" / "cases.md", page)
    rows = [[f"[{c.title}]({c.name}/README.md)", c.line, c.ours, c.theirs] for c in cases]
    head = ("case", "what must hold", "violations, certified", "violations, others")
    write_page(HERE / "README.md", table(head, rows))
    cells = [
        f"![{c.title}](docs/images/case_{c.name}.png) [{c.title}](cases/{c.name}/README.md): "
        f"violations {c.ours}, others {c.theirs}"
        for c in cases
    ]
    pairs = [[*cells[i : i + 2], ""][:2] for i in range(0, len(cells), 2)]
    write_page(HERE.parent / "README.md", table(("", ""), pairs))


if __name__ == "__main__":
    main()
