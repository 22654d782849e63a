"""What every test runs under, and the arrays it may run with."""

import gc
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

from surefoot import kernel
from surefoot.core.arrays import to_numpy

# Derandomised: a failure today is a failure tomorrow. No deadline: the machine may be busy.
settings.register_profile("surefoot", deadline=None, derandomize=True)
settings.load_profile("surefoot")

# What JAX compiles for one run of the tests is there for the next, and not in the user's folder.
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / "build" / "cache")

# A script for the installed wheel, which must find nothing loaded that NumPy alone does not need;
# collecting doctests would run it here.
collect_ignore = ["contributed.py", "smoke.py"]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage among what stays until the end.

    Thousands of tests and the modules they import do: looking through them takes a fifth of the
    time of their collection, and would go on in every test.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest drops what the marks leave out
def pytest_collection_modifyitems(items):
    """What compiles with JAX takes seconds, each time anew: leave it to the slow tests.

    The site comes first: while one worker builds it, the other has enough to do.
    """
    items.sort(key=lambda item: "/site/" not in item.nodeid)
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        named = {p for p in parameters if isinstance(p, str)}
        if named & {"jax", "scan"} or "x64" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=kernel.engines())
def each_engine(request):
    """Let a test run with the compiled kernel, where it was built, and with Python."""
    with kernel.engine(request.param):
        yield request.param


class Backend(NamedTuple):
    """An array library, float64."""

    name: str
    xp: Any

    def array(self, values):
        return self.xp.asarray(np.asarray(values, dtype=np.float64).tolist(), dtype=self.xp.float64)

    def holds(self, value):
        """Whether a value is an array of this library."""
        return type(value) is type(self.array([0.0]))

    @staticmethod
    def numpy(value):
        return np.asarray(to_numpy(value))


@pytest.fixture
def x64():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield jax


@pytest.fixture(
    params=["numpy", "array-api-strict", "jax", pytest.param("torch", marks=pytest.mark.torch)]
)
def backend(request):
    if request.param == "numpy":
        return Backend("numpy", np)
    if request.param == "array-api-strict":
        return Backend(request.param, pytest.importorskip("array_api_strict"))
    if request.param == "torch":
        return Backend("torch", pytest.importorskip("torch"))
    return Backend("jax", request.getfixturevalue("x64").numpy)


@pytest.fixture(scope="module")
def chromium():
    """A headless browser; a test that uses it carries the marker browser."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        if os.environ.get("SUREFOOT_NEEDS_BROWSER"):
            pytest.fail("chromium is not installed, and SUREFOOT_NEEDS_BROWSER asks for it")
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
