"""Run as ``python -m surefoot.controller.check FILE``, or by its folder alone, without the library.

``python path/to/check FILE`` needs this folder and the standard library: copy it where you like.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

_ALONE = "surefoot_check"


def _import_folder() -> Any:
    """Return this folder as a package of its own, whatever it is called and wherever it is."""
    folder = Path(__file__).resolve().parent
    found = importlib.util.spec_from_file_location(
        _ALONE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert found is not None
    assert found.loader is not None
    module = sys.modules[_ALONE] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def main() -> int:
    """Check the journal that the command line names; return the exit code."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: check FILE\n")
        return 2
    report = _import_folder().check(sys.argv[1])
    print(report)
    return int(report.code)


if __name__ == "__main__":
    sys.exit(main())
