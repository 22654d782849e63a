"""What the site links to in other documentation: intersphinx inventories, written offline."""

from __future__ import annotations

import zlib
from pathlib import Path

KNOWN = {
    "python": (
        "https://docs.python.org/3/",
        {
            "collections.abc.Callable": "library/collections.abc.html#$",
            "collections.abc.Mapping": "library/collections.abc.html#$",
            "collections.abc.Sequence": "library/collections.abc.html#$",
            "pathlib.Path": "library/pathlib.html#$",
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        {"numpy.ndarray": "reference/generated/numpy.ndarray.html#$"},
    ),
}


def write(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project, and return the mapping that intersphinx wants."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, (address, names) in KNOWN.items():
        lines = "".join(f"{name} py:class 1 {place} -\n" for name, place in names.items())
        head = (
            f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
            "# The remainder of this file is compressed using zlib.\n"
        )
        path = folder / f"{project}.inv"
        path.write_bytes(head.encode() + zlib.compress(lines.encode()))
        mapping[project] = (address, str(path))
    return mapping
