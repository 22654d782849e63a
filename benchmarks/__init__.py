"""How fast the library is, as ratios to what one would write by hand: ``python -m benchmarks``.

Each part is a module with ``run(effort) -> Findings``; :mod:`benchmarks.__main__` runs them, and
:mod:`benchmarks.timing` and :mod:`benchmarks.findings` are what they share. The soaks
(``soak*.py``, ``hostile.py``) attack what is certified, and :mod:`benchmarks.evidence` records what
came of that; ``paper_experiment.py`` is a script of its own.
"""

import os

# Before NumPy is imported. Vectors of 10^5 entries are too short for two threads to be worth
# their wait, and all contestants are to have the same one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
