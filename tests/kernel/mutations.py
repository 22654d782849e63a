"""Change a constant in the Python text alone, and find the fast kernel tests that notice.

    python -m tests.kernel.mutations [NAME ...]

Every constant of the kernel's table is changed, or those that are named: a count by one up, then by
one down, another number by a fifth, then fourfold. The first test that fails is printed. The
module is a plugin of pytest, too: it plants the changed constants before the library is imported.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from .constants import MODULE, read_table

CHANGE = "SUREFOOT_CONSTANT"
TESTS = ("test_equality.py", "test_alarms.py", "test_games.py")


def change(value, which):
    """Return a number that is changed, the first or the second way."""
    if isinstance(value, int):
        return value + (1, -1)[which]
    return value * (1.2, 4.0)[which] if value else (0.1, 1.0)[which]


def plant(name, place, which):
    """Make the module of the constants one in which a number is changed."""
    spec = importlib.util.spec_from_file_location("surefoot.core.kernel_constants", MODULE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    value = getattr(module, name)
    if isinstance(value, tuple):
        value = tuple(change(part, which) if i == place else part for i, part in enumerate(value))
    else:
        value = change(value, which)
    setattr(module, name, value)
    sys.modules["surefoot.core.kernel_constants"] = module


def notice(name, place, which):
    """Return the first fast test that fails; None if all pass."""
    tests = [Path(__file__).parent / test for test in TESTS]
    options = ["-q", "-x", "-m", "not slow", "-p", "tests.kernel.mutations"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", *tests],
        env=os.environ | {CHANGE: f"{name} {place} {which}"},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.search(r"^(?:FAILED|ERROR) \S*?(\w+\.py.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return failed[1] if failed else None


def main(names):
    """Print for each constant which test notices a change of it."""
    for name, value, _ in (row for rows in read_table().values() for row in rows):
        if name in names or not names:
            for place in range(len(value)) if isinstance(value, list) else [0]:
                found = notice(name, place, 0) or notice(name, place, 1)
                print(name, place, found or "NOT NOTICED", flush=True)


if CHANGE in os.environ:
    constant, index, way = os.environ[CHANGE].split()
    plant(constant, int(index), int(way))
if __name__ == "__main__":
    main(sys.argv[1:])
