"""Accelerator steering: correctors bend a beam to its target, and no orbit leaves the aperture."""

import importlib
import warnings
from pathlib import Path

from cases.show import require

require(Path(__file__).parent)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of PyTorch, at what these import
    for name in ("cheetah", "botorch", "xopt.generators.bayesian", "xopt.resources.testing"):
        importlib.import_module(name)
