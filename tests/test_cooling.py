"""The hall of docs/cooling.md: its program is short, keeps the limit exactly, and costs little."""

import re

import numpy as np
import pytest
from benchmarks.cooling import LIMIT, PROGRAM, ROUNDS, WITH_SLOPES, Played, judge, play

from surefoot.controller import PremiseError


@pytest.fixture(scope="module")
def week():
    return play(PROGRAM, WITH_SLOPES)


def temperature(*played):
    return judge(Played(*played))


def test_the_program_has_at_most_25_lines():
    assert PROGRAM.count("\n") <= 25


def test_no_round_of_both_weeks_is_above_the_limit_in_exact_arithmetic(week):
    assert len(week.rounds) == 2 * ROUNDS
    assert max(judge(one) for one in week.rounds) <= LIMIT


def test_the_page_computes_the_temperature_that_is_judged(week):
    hottest = play().names["hottest"]
    for one in week.rounds[::97]:
        assert hottest(*one) == pytest.approx(float(judge(one)), abs=1e-12)


def test_values_alone_need_at_most_half_as_much_energy_again(week):
    names, with_values, with_slopes = week.names, week.energy(0), week.energy(ROUNDS)
    assert names["energy"] == pytest.approx(with_values)
    assert names["reference"] == pytest.approx(with_slopes)
    assert with_values <= 1.5 * with_slopes
    assert with_slopes < 0.5 * 168 * names["power"](np.ones(6))  # and both save


def test_no_program_reads_a_slope_but_the_one_that_says_so():
    assert "constraint_subgradient" not in PROGRAM
    assert "constraint_subgradient" in WITH_SLOPES


def test_the_constants_of_the_table_hold_in_the_hall(week):
    names = week.names
    player, context = names["player"], names["week"]
    knowledge, box = player.knowledge, player.knowledge.domain
    rng = np.random.default_rng(3)
    places = [(32.0, 1.0), (20.0, 1.0), *context[::40]]
    for _ in range(300):
        x, y = rng.uniform(box.lower, box.upper, (2, 6))
        y = x + 0.02 * (y - x)
        for degrees, load in places:
            rise = temperature(y, degrees, load) - temperature(x, degrees, load)
            assert float(rise) <= knowledge.G_g * np.linalg.norm(y - x) + 1e-12
        more = temperature(x, 20.0, 0.9) - temperature(x, 20.0, 0.6)
        assert 0 <= float(more) <= 17.5 * 0.3 + 1e-12
        assert temperature(x, 21.0, 0.7) - temperature(x, 20.0, 0.7) == 1
    assert temperature(np.ones(6), 32.0, 1.0) - 27 <= knowledge.start_bound
    assert context[:, 0].max() <= 32.0
    assert context[:, 1].max() <= 1.0
    moves = np.abs(np.diff(context, axis=0)).max(axis=0)
    assert (moves <= [column.changes for column in knowledge.context.columns]).all()
    # Where it is worst the constant is hardly larger than it must be.
    slopes = np.array([2.0, 2.0, 3.0]) / 0.4**2
    assert knowledge.G_g == pytest.approx(np.hypot(np.linalg.norm(slopes), 16.0), rel=0.01)


def test_half_of_the_constant_is_refuted_in_a_sentence():
    with pytest.raises(PremiseError, match="G_g"):
        play(PROGRAM.replace("G_g=30.4", "G_g=15.0"))


TRIES = {
    "a ramp, and not how fast weather moves": (
        (", changes=0.8", ""),
        "say how far each column moves in a round: Column(..., changes=...)",
    ),
    "a ramp, and no bound at the start": (
        ("    start_bound=-4.0,\n", ""),
        "give start_bound, what g is at most at the start in every context",
    ),
    "a ramp of another plant": (
        ("0.15, 0.25]", "0.25]"),
        "ramp must be one number, or 6 as x1 has, got (0.15, 0.15, 0.15, 0.15, 0.25)",
    ),
    "one column for two numbers": (
        (', Column(G_c=17.5, worse="up", changes=0.03)', ""),
        "context must be one number, one per column, got 2",
    ),
    "no first weather": ((", context=week[0]", ""), "round 1 has no action before its context is"),
    "no next weather": (
        ("missing=True, context=later", "missing=True"),
        "has no action before its context is known: tell(..., context=...) or announce",
    ),
    "a gap that is not said": (
        ("missing=True", "cost_gradient=np.ones(6), constraint_value=float('nan')"),
        "constraint_value must be finite, got nan: pass missing=True if nothing was measured",
    ),
    "a slope": (
        ("constraint_value=value", "constraint_value=value, constraint_subgradient=np.ones(6)"),
        "constraint_subgradient is not used by ValuesFollower: leave it out",
    ),
    "the error of a slope": (
        ("value_error=0.2", "slope_error=0.2"),
        "LeaderFollower has slope_err",
    ),
    "a word of another tool": (
        ("value_error=0.2", "meter_error=0.2"),
        "did you mean 'value_error'?",
    ),
    "the reading in degrees": (
        ("g + rng.uniform(-0.2, 0.2)", "g + 27.0"),
        "the start must be strictly feasible, by more than the error of g, got g(x_1) = 2",
    ),
    "weather that moves faster": (
        ("changes=0.8", "changes=0.4"),
        "column 0 of the context changed by 0.414197 in one round, more than changes = 0.4; likely "
        "causes, most likely first: (1) changes of that column is too small",
    ),
    "a meter that errs by more": (
        ("rng.uniform(-0.2, 0.2)", "rng.uniform(-1.2, 1.2)"),
        "G_g = 30.4 or a column of the context (adds = 1, G_c = 17.5) is wrong",
    ),
}


@pytest.mark.parametrize("name", TRIES)
def test_a_mistake_in_the_program_is_one_sentence_in_its_words(name):
    (words, others), sentence = TRIES[name]
    assert words in PROGRAM
    with pytest.raises((ValueError, TypeError, PremiseError)) as error:
        play(PROGRAM.replace(words, others))
    said = str(error.value)
    assert sentence in said
    assert "\n" not in said
    assert not re.search(r"Columns\(|ContextHull|Probing|Ramped", said)
