"""Algorithms, one file each with their theorems: pure ``init`` and ``step``, bounds and proofs.

An algorithm joins by one line below, ``from <its file> import *``: ``__all__`` of a file names the
rule and its theorems. The catalogue, ``__all__`` of the package, the contract tests, the command
line and the tables of the docs are built from these lines, in their order. States are imported from
the files of their rules. ``related`` has the systems that the paper names.

Every tuning is called with the constants of the problem, the number of rounds T, and the set that
the rule works on or an oracle of it; a tuning describes them only where it asks for more, and
``unknown`` of two rules takes the set alone.
"""

# ruff: noqa: I001 (the order is that of the catalogue; "*" and "as" export names)

from surefoot.algorithms.catalogue import *
from surefoot.algorithms.catalogue import find_algorithms

from surefoot.algorithms.guarantee import *
from surefoot.algorithms.under_errors import *
from surefoot.algorithms.unknown import *
from surefoot.algorithms.observers import *

from surefoot.algorithms.certified import *
from surefoot.algorithms.leader import Leader as Leader
from surefoot.algorithms.policy_leader import *
from surefoot.algorithms.descent import Descent as Descent
from surefoot.algorithms.delayed import *
from surefoot.algorithms.averaged import *

from surefoot.algorithms.pfs import *
from surefoot.algorithms.perturbed_pfs import *
from surefoot.algorithms.leader_follower import *
from surefoot.algorithms.probing import *
from surefoot.algorithms.cost_probing import *
from surefoot.algorithms.uneven import *
from surefoot.algorithms.certified_pfs import *
from surefoot.algorithms.certified_ogd import *
from surefoot.algorithms.certified_dual_averaging import *
from surefoot.algorithms.moving_balls import *
from surefoot.algorithms.related.lb_sgd import *
from surefoot.algorithms.filters import *
from surefoot.algorithms.measuring import *
from surefoot.algorithms.scheduled_pfs import *
from surefoot.algorithms.related.mahdavi import *
from surefoot.algorithms.related.jenatton import *
from surefoot.algorithms.related.yuan import *
from surefoot.algorithms.related.dpp import *
from surefoot.algorithms.tighten import *
from surefoot.algorithms.related.sinha_vaze import *
from surefoot.algorithms.ogd import *
from surefoot.algorithms.adagrad_ftrl import *
from surefoot.algorithms.optimistic_dual_averaging import *
from surefoot.algorithms.related.entropic_dual_averaging import *
from surefoot.algorithms.related.frank_wolfe import *
from surefoot.algorithms.related.garber_kretzu import *
from surefoot.algorithms.related.separation_descent import *
from surefoot.algorithms.related.levy_krause import *
from surefoot.algorithms.related.gauge import *
from surefoot.algorithms.related.yu_neely import *
from surefoot.algorithms.related.yi import *
from surefoot.algorithms.related.recoo import *
from surefoot.algorithms.related.primal_dual import *
from surefoot.algorithms.related.cvv_pro import *
from surefoot.algorithms.related.bandit import *
from surefoot.algorithms.related.network_penalty import *

ALGORITHMS = find_algorithms(globals())
"""The algorithms that a theorem tunes."""

# The classes and functions imported above, and no submodule.
__all__ = sorted(
    ["ALGORITHMS", *(n for n, v in globals().items() if callable(v) and not n.startswith("_"))]
)
__all__.remove("find_algorithms")
