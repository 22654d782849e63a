"""The site, built once for all workers that test it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What `make docs` does not install, in an environment that may have all of it.
WITHOUT = """
import sys

NAMES = {"torch", "jax", "gymnasium", "optax", "sklearn", "river", "cvxpy", "dask", "scipy"}


class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Without())
"""


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
        (shared / "sitecustomize.py").write_text(WITHOUT)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(shared), *sys.path])}
        command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(shared / "doctrees")]
        built = subprocess.run(
            [sys.executable, *command, str(ROOT / "docs"), str(out)],
            capture_output=True,
            text=True,
            env=environment,
        )
        done.write_text(built.stderr if built.returncode else "")
    assert done.read_text() == ""
    return out
