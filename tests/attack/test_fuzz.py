"""Some of the calls that ``make fuzz`` makes a hundred thousand of."""

import re

import pytest

from .fuzz import fuzz, public

# Arguments that are no set, no constraint or no array at all are still met by Python's own words in
# the packages that this leaves out: a list to be shortened.
KNOWN = re.compile(
    r"(Attribute|Index|Key|Overflow|ZeroDivision)Error at (?!controller|_sqlite|results|constants)"
    r"|(PeekingError|TypeError) of several lines or none$"
)


def test_everything_public_is_found():
    names = public()
    assert len(names) > 150
    assert {name.split(".")[1] for name in names} >= {"sets", "constraints", "theory", "controller"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_calls_with_anything_are_answered_by_a_value_or_a_sentence():
    words, wrong = fuzz(1_500, seed=1)
    assert [sentence for sentence in wrong if not KNOWN.search(sentence)] == []
    assert words["a value"] > 450
    assert words["a SurefootError"] > 300
