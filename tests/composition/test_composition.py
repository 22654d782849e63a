"""A sample of all combinations, with a fixed seed; ``python -m tests.composition`` plays all."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import pytest

from surefoot import kernel
from surefoot.rules.wrappers.change_over import ChangeOverState
from tests.composition import live
from tests.composition.cases import Case, is_supported, sample, wrapped_cases
from tests.composition.live import LiveRun, Outcome, play
from tests.composition.orders import BETWEEN, TOLD, Program
from tests.composition.parts import Setting, check_tables, find_knowledge, find_wrappers

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


@pytest.mark.parametrize("proposer", ["Probing", "Proposals"])
def test_an_unknown_slope_plays_with_errors_in_boxes_and_with_a_bound_on_the_start(
    tmp_path, proposer
):
    settings = [
        Setting("EstimatedHull", "rows", errors, domain, options=options)
        for errors in ((), ("value",), ("value", "slope"))
        for domain in ("ball", "box", "grid")
        for options in ((), ("start_bound",), ("violations",), ("largest_G_g",))
    ]
    outcomes = play_all([Case(setting, proposer) for setting in settings], tmp_path)
    assert [outcome.unsupported for outcome in outcomes if outcome.unsupported] == []


@pytest.mark.slow
def test_more_of_all_combinations_are_safe_or_refused_in_a_sentence(tmp_path):
    play_all(sample(3, SEED + 1), tmp_path)


class OrdersAtChangeOver(LiveRun):
    """A live loop that is quiet but where a second rule has not read its start yet, and in halts.

    Half of the feasible actions of somebody's own are there on the limit.
    """

    given: ClassVar[Counter[str]] = Counter()

    @property
    def is_fresh(self):
        """Whether a second rule is in force that has not read its start."""
        state = self.controller.state
        is_begun = isinstance(state, ChangeOverState) and state.block > 0
        return is_begun and not state.then.memory.rounds

    def before_round(self):
        is_due = self.is_fresh or self.controller.halted is not None
        self.program = Program(tuple(BETWEEN), tuple(TOLD), 0.7 if is_due else 0.0)
        super().before_round()

    def draw_own(self, order, x):
        found = super().draw_own(order, x)
        if not self.is_fresh or not order:  # a resumed player may be another
            return found
        self.given[order] += 1
        if order == "own, feasible" and self.rng.random() < 0.5:
            self.given["on the limit"] += 1
            return self.draw_on_limit()
        return found

    def draw_on_limit(self):
        """Return the last action that is feasible on the way from the start to one outside."""
        low, high = self.world.start, self.world.start + 0.01 * self.draw_way()
        while self.world.g(high) <= 0:
            high = low + 1.3 * (high - low)
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.world.g(middle) <= 0 else (low, middle)
        return low


def test_orders_and_own_actions_right_after_a_change_over_are_safe(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "LiveRun", OrdersAtChangeOver)
    monkeypatch.setattr(OrdersAtChangeOver, "given", Counter())
    cases = [
        case._replace(engine=engine, seed=seed)
        for case in wrapped_cases(1, 24)
        if case.wrappings[0].kind == "ChangeOver" and is_supported(case)
        for engine in kernel.engines()
        for seed in range(8)
    ]
    outcomes = play_all(cases, tmp_path)
    given = OrdersAtChangeOver.given
    assert set(TOLD) <= given.keys()
    assert given["on the limit"] >= 10
    refused = [sentence for outcome in outcomes for sentence in outcome.refused]
    assert not [sentence for sentence in refused if "start" in sentence or "x1" in sentence]
