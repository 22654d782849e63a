"""Write what a command measured into a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from surefoot.core.errors import InvalidValueError

__all__ = ["table", "write_page", "write_section"]


_BEGIN, _END = "<!-- measured -->", "<!-- end of what was measured -->"


def write_page(page: Path, lines: Iterable[str], begin: str = _BEGIN, end: str = _END) -> None:
    """Put lines between two marks of a page.

    Args:
        page: a Markdown file.
        lines: what to put there, in place of what is.
        begin: the mark before them.
        end: the mark behind them.
    """
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise InvalidValueError(f"{page} must have the lines {begin!r} and {end!r} once each")
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    body = "\n".join(lines).strip()
    page.write_text(f"{before}{begin}\n\n{body}\n\n{end}{after}", encoding="utf-8")


def write_section(page: Path, name: str, lines: Iterable[str]) -> None:
    """Put lines between the marks of one section of a page, in place of what is there."""
    write_page(page, lines, f"<!-- measured: {name} -->", f"<!-- end: {name} -->")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    names = list(head)
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [names, ["---"] * len(names), *cells]
    return [f"| {' | '.join(line)} |" for line in lines]
