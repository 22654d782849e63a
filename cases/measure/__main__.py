"""Play the cases, and write their tables and figures into docs/cases.md.

``python -m cases.measure`` plays all (about ten minutes), ``python -m cases.measure scoring``
one of them.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks.pages import write_section

NAMES = ("charging", "scoring", "portfolio", "admission", "wrong")
PAGE = Path(__file__).parents[2] / "docs" / "cases.md"


def main() -> None:
    """Play what was named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; all unless given")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--days", type=int, help="of charging; the month unless given")
    options = parser.parse_args()
    for name in options.names or NAMES:
        if name not in NAMES:
            parser.error(f"unknown case {name!r}: there are {', '.join(NAMES)}")
        module = importlib.import_module(f"cases.measure.{name}")
        more = {"days": options.days} if name == "charging" and options.days else {}
        lines = list(module.measure(options.page.parent / "images", **more))
        write_section(options.page, name, lines)
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
