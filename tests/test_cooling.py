"""The hall of docs/cooling.md: its program is short, keeps the limit exactly, and costs little."""

import contextlib
import io
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from surefoot.controller import PremiseError

PAGE = Path(__file__).parents[1] / "docs/cooling.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
HALL, PROGRAM, WITH_SLOPES = PROGRAMS[:3]


def temperature(x, outside, load):
    """The page's formula in exact arithmetic, for the floats that were played."""
    *fans, pump, cooler, chiller = (Fraction(float(part)) for part in x)
    warmer = [Fraction(2), Fraction(1.7), Fraction(1.4)]
    aisle = max(rise / fan for rise, fan in zip(warmer, fans, strict=True))
    balance = Fraction(float(load)) * (aisle + 2 / pump + 3 / cooler)
    return Fraction(float(outside)) + balance - 16 * chiller


def play(*programs):
    """Run programs of the page after the hall; return its names and what was played, in order."""
    names, rounds = {"__name__": "page"}, []
    with contextlib.redirect_stdout(io.StringIO()):
        exec(HALL, names)
        hottest = names["hottest"]

        def watched(x, outside, load):
            rounds.append((np.array(x), outside, load))
            return hottest(x, outside, load)

        names["hottest"] = watched
        for program in programs:
            exec(program, names)
    return names, rounds


@pytest.fixture(scope="module")
def week():
    return play(PROGRAM, WITH_SLOPES)


def test_the_program_has_at_most_25_lines():
    assert PROGRAM.count("\n") <= 25


def test_no_round_of_both_weeks_is_above_the_limit_in_exact_arithmetic(week):
    rounds = week[1]
    assert len(rounds) == 2 * 672
    assert max(temperature(*one) for one in rounds) <= 27


def test_the_page_computes_the_temperature_that_is_judged(week):
    hottest = play()[0]["hottest"]
    for x, outside, load in week[1][::97]:
        exact = temperature(x, outside, load)
        assert hottest(x, outside, load) == pytest.approx(float(exact), abs=1e-12)


def test_values_alone_need_at_most_half_as_much_energy_again(week):
    names, rounds = week
    with_values, with_slopes = (
        sum(names["power"](x) / 4 for x, _, _ in half) for half in (rounds[:672], rounds[672:])
    )
    assert names["energy"] == pytest.approx(with_values)
    assert names["reference"] == pytest.approx(with_slopes)
    assert with_values <= 1.5 * with_slopes
    assert with_slopes < 0.5 * 168 * names["power"](np.ones(6))  # and both save


def test_no_program_reads_a_slope_but_the_one_that_says_so():
    assert "constraint_subgradient" not in PROGRAM
    assert "constraint_subgradient" in WITH_SLOPES


def test_the_constants_of_the_table_hold_in_the_hall(week):
    names = week[0]
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
