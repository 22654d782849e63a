"""Programs of `examples/` and `benchmarks/`, imported from their files."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def script(path):
    """Import a file below the top of the repository; its `main` is not called."""
    spec = importlib.util.spec_from_file_location(f"script_{Path(path).stem}", ROOT / path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # for dataclasses
    spec.loader.exec_module(module)
    return module
