"""Checks that every algorithm must pass, yours too: ``check_algorithm(mine, start)``.

With pytest, one test for each check and backend::

    @pytest.mark.parametrize("check", CHECKS, ids=str)
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_mine(check, backend):
        if backend not in check.backends or why_missing(backend):
            pytest.skip(why_missing(backend) or f"{check} is not for {backend}")
        check(Mine(eta=0.1), [0.0, 0.2], backend=backend)

And checks of what an algorithm is given: ``check_constraint`` and ``check_costs``.
"""

from surefoot.testing.backends import BACKENDS, backends, why_missing
from surefoot.testing.case import tuned_cases
from surefoot.testing.checks import CHECKS, Check, check_algorithm
from surefoot.testing.oracles import check_constraint, check_costs

__all__ = [
    "BACKENDS",
    "CHECKS",
    "Check",
    "backends",
    "check_algorithm",
    "check_constraint",
    "check_costs",
    "tuned_cases",
    "why_missing",
]
