"""What the catalogue says of an algorithm, and how one joins it."""

from types import SimpleNamespace

import pytest

from surefoot import problems, rules
from surefoot.core.errors import InvalidTypeError
from surefoot.core.types import needs_of
from surefoot.rules import ALGORITHMS, OGD, LevyKrause, SafetyFilter, ScheduledPFS, try_tuning
from surefoot.rules.entries import find_algorithms
from surefoot.sets import Ball, Box, Simplex


def test_a_logarithm_is_no_power():
    toy = problems.paper_toy(1_000, trials=1)
    kind = ScheduledPFS
    entry = try_tuning(kind, "strongly_convex", toy.constants, 1_000, toy.domain)
    assert (entry.feasibility, entry.in_advance) == ("every round", "regret log T")


def test_a_class_with_a_theorem_joins_by_its_import_alone():
    class Mine(OGD):
        pass

    class Untuned(OGD):
        tunings = ()

    names = {"Mine": Mine, "Untuned": Untuned, "filter": SafetyFilter, "number": 3}
    assert find_algorithms(SimpleNamespace(**names), names) == (Mine,)


def test_every_algorithm_is_exported_and_no_state_is():
    assert {kind.__name__ for kind in ALGORITHMS} <= set(rules.__all__)
    assert not [name for name in rules.__all__ if name.endswith("State")]


# A set for each kind of domain that a constructor looks at before it looks at the constants.
DOMAINS = {"ball": Ball(2.0), "feasible": Box.cube(1.0, 2), "simplex": Simplex(2)}
NOT_CONSTANTS = ({"R": 1.0, "G_f": 1.0}, problems.paper_toy(20, trials=1), None, 1.0)


@pytest.mark.parametrize("given", NOT_CONSTANTS, ids=lambda given: type(given).__name__)
@pytest.mark.parametrize(
    ("kind", "tuning"), [(kind, tuning) for kind in ALGORITHMS for tuning in kind.tunings]
)
def test_every_tuning_names_the_class_to_give_for_what_are_no_constants(kind, tuning, given):
    domain = Ball(1.0) if kind is LevyKrause else DOMAINS[needs_of(kind).domain]
    with pytest.raises(InvalidTypeError) as refused:
        getattr(kind, tuning)(given, 100, domain)
    assert str(refused.value) == (
        "constants must be a surefoot.Constants, such as problem.constants, "
        f"got a {type(given).__name__}"
    )
