"""The site, built once for all workers that test it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site; warnings are errors."""
    pytest.importorskip("sphinx")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    out, done = shared / "site", shared / "site.done"
    try:
        (shared / "site.lock").open("x").close()
    except FileExistsError:  # another worker builds it
        while not done.exists():
            time.sleep(0.2)
    else:
        command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(shared / "doctrees")]
        built = subprocess.run(
            [sys.executable, *command, str(ROOT / "docs"), str(out)], capture_output=True, text=True
        )
        done.write_text(built.stderr if built.returncode else "")
    assert done.read_text() == ""
    return out
