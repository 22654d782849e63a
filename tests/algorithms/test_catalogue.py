"""What the catalogue says of an algorithm, and how one joins it."""

from surefoot import algorithms, problems
from surefoot.algorithms import ALGORITHMS, tuned_for
from surefoot.algorithms.catalogue import find_algorithms


def test_a_logarithm_is_no_power():
    toy = problems.paper_toy(1_000, trials=1)
    kind = algorithms.ScheduledPFS
    entry = tuned_for(kind, "strongly_convex", toy.constants, 1_000, toy.domain)
    assert entry.promise == "every round; regret log T"


def test_a_class_with_a_theorem_joins_by_its_import_alone():
    class Mine(algorithms.OGD):
        pass

    class Untuned(algorithms.OGD):
        tunings = ()

    names = {"Mine": Mine, "Untuned": Untuned, "filter": algorithms.SafetyFilter, "number": 3}
    assert find_algorithms(names) == (Mine,)


def test_every_algorithm_is_exported_and_no_state_is():
    assert {kind.__name__ for kind in ALGORITHMS} <= set(algorithms.__all__)
    assert not [name for name in algorithms.__all__ if name.endswith("State")]
