"""A sample of all combinations, with a fixed seed; ``python -m tests.composition`` plays all."""

from __future__ import annotations

import pytest

from surefoot import kernel
from tests.composition.cases import Case, sample
from tests.composition.live import Outcome, play
from tests.composition.parts import check_tables, find_knowledge, find_wrappers

SEED = 20_261_118


def play_all(cases: list[Case], folder: object) -> list[Outcome]:
    """Return what became of cases; fail with all that was found."""
    outcomes = [play(case, folder) for case in cases]
    findings = [str(finding) for outcome in outcomes for finding in outcome.findings]
    assert findings == []
    return outcomes


def test_every_part_has_a_value_for_each_of_its_parameters():
    assert check_tables() == []


def test_a_sample_of_all_combinations_is_safe_or_refused_in_a_sentence(tmp_path):
    cases = sample(1, SEED, engines=kernel.engines()[:1])
    outcomes = play_all(cases, tmp_path)
    assert {case.setting.kind for case in cases} == {k.__name__ for k in find_knowledge()}
    wrapped = {case.wrappings[-1].kind for case in cases if case.wrappings}
    assert wrapped == {k.__name__ for k in find_wrappers()}
    played = [outcome for outcome in outcomes if not outcome.unsupported]
    # A judge who judges nothing finds nothing: most rounds are proved, and every order is given.
    assert sum(o.proved for o in played) > 0.7 * sum(o.rounds for o in played) > 1_000


@pytest.mark.slow
def test_more_of_all_combinations_are_safe_or_refused_in_a_sentence(tmp_path):
    play_all(sample(3, SEED + 1), tmp_path)
