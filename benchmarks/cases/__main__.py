"""Play the cases, and write their tables and figures into docs/cases.md.

``python -m benchmarks.cases`` plays all (about ten minutes), ``python -m benchmarks.cases scoring``
one of them.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks.pages import write_section

NAMES = ("charging", "scoring", "portfolio", "feeder", "admission", "wrong")
PAGE = Path(__file__).parents[2] / "docs" / "cases.md"


def main() -> None:
    """Play what was named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *NAMES], help="cases; all unless given")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    for name in options.names or NAMES:
        module = importlib.import_module(f"benchmarks.cases.{name}")
        lines = list(module.measure(options.page.parent / "images"))
        write_section(options.page, name, lines)
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
