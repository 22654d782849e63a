"""Play what people would use instead, and write the tables into docs/alternatives.md.

That of training under a limit goes into docs/hosts.md.
``python -m benchmarks.alternatives`` runs every rival (minutes), with a name one of them.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks.pages import write_section

NAMES = ("scipy_minimize", "streams", "barrier_functions", "ppo", "limits_in_torch", "parity")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"parity": "hosts.md"}


def main() -> None:
    """Run what was named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; all unless given")
    parser.add_argument("--page", type=Path, help="to write to, in place of the table's own page")
    options = parser.parse_args()
    for name in options.names or NAMES:
        if name not in NAMES:
            parser.error(f"unknown rival {name!r}: there are {', '.join(NAMES)}")
        lines = importlib.import_module(f"benchmarks.alternatives.{name}").measure()
        write_section(options.page or DOCS / PAGES.get(name, "alternatives.md"), name, lines)
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
