"""A case is looked at where what it needs is installed: no environment has everything."""

import importlib
from importlib.util import find_spec
from pathlib import Path

from surefoot.core.optional import MissingExtraError

collect_ignore = [] if find_spec("torch") else ["scoring/multipliers.py"]
for path in Path(__file__).parent.glob("*/requirements.txt"):
    try:
        importlib.import_module(f"cases.{path.parent.name}")
    except MissingExtraError:
        collect_ignore.append(path.parent.name)
