"""Some of the calls that ``make fuzz`` makes a hundred thousand of."""

import pytest

from .fuzz import fuzz, public


def test_everything_public_is_found():
    names = public()
    assert len(names) > 150
    assert {name.split(".")[1] for name in names} >= {"sets", "problems", "knowledge", "controller"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_calls_with_anything_are_answered_by_a_value_or_a_sentence():
    words, wrong = fuzz(1_500, seed=1)
    assert wrong == {}
    assert words["a value"] > 450
    assert words["a SurefootError"] > 300
