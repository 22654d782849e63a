"""Run by `make wheel` with the installed wheel alone: NumPy and nothing else of the extras."""

import importlib.metadata
import sys

import surefoot as sf

toy = sf.problems.paper_toy(horizon=500, trials=2)
trace = sf.play(sf.PFS.tuned(toy.constants, 500), toy)
assert trace.engine in ("kernel", "batch")
assert (trace.violations.largest <= 0).all()
assert (trace.final_regret() <= trace.guarantee.regret_bound(500)).all()
heavy = {"jax", "torch", "scipy", "matplotlib", "typer", "rich"} & set(sys.modules)
assert not heavy, heavy
print(f"surefoot {importlib.metadata.version('surefoot')} from {sf.__file__}: {trace.verdict()}")
