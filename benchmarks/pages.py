"""Write what a command measured into a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from surefoot.experiments.paper.related import write_page

__all__ = ["table", "write_section"]


def write_section(page: Path, name: str, lines: Iterable[str]) -> None:
    """Put lines between the marks of one section of a page, in place of what is there."""
    write_page(page, lines, f"<!-- measured: {name} -->", f"<!-- end: {name} -->")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    names = list(head)
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [names, ["---"] * len(names), *cells]
    return [f"| {' | '.join(line)} |" for line in lines]
