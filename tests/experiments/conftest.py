import importlib
from pathlib import Path

import pytest


@pytest.fixture
def work(monkeypatch, tmp_path):
    """The module that workers import by name, with a log of its own."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setenv("SWEEP_LOG", str(tmp_path / "played.log"))
    return importlib.import_module("_sweep_work")
