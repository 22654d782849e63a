"""What goes with what: pairs that must play, and a page that says what a program finds."""

import re

import numpy as np
import pytest
from benchmarks import combinations
from benchmarks.combinations import DOORS, HOSTS, NAMES, NOT_NEEDED, PAGE, play

MUST_PLAY = {
    "no slope": ("context", "ramp", "value error", "delay", "steps", "off or on", "unknown G_g"),
    "context": ("ramp", "drift", "steps", "off or on"),
    "steps": ("value error", "start bound", "missing", "announced"),
    "off or on": ("value error", "start bound", "missing", "announced"),
    "unknown G_g": ("value error", "box"),
    "no gradient": ("box", "announced"),
}
"""Pairs that no later change may refuse."""


def rows_of(section):
    """Return the cells of the first table of a section of the page, by row and column."""
    text = PAGE.read_text(encoding="utf-8")
    _, _, rest = text.partition(f"<!-- measured: {section} -->")
    lines = [line for line in rest.partition("<!-- end")[0].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    head = [cell.strip() for cell in cells[0]]
    return {row[0].strip("*"): dict(zip(head[1:], row[1:], strict=True)) for row in cells[2:]}


@pytest.mark.parametrize("one", MUST_PLAY)
def test_pairs_that_must_play_do_with_no_violation(one):
    for other in MUST_PLAY[one]:
        cell = play([one, other])
        assert (cell.plays, cell.violations * ("unknown G_g" not in (one, other))) == (True, 0), (
            f"{one} and {other}: {cell.words}"
        )


def test_a_need_is_named_once_and_every_pair_is_of_needs():
    assert len(set(NAMES)) == len(NAMES)
    assert set().union(*NOT_NEEDED) <= set(NAMES)
    assert {name for names in combinations.TRIPLES for name in names} <= set(NAMES)


def test_an_error_that_is_not_the_librarys_ends_the_program(monkeypatch):
    def fail(names):
        raise TypeError("unexpected keyword argument")

    monkeypatch.setattr(combinations, "build", fail)
    with pytest.raises(TypeError):
        play(["box"])


def test_a_violation_is_found(monkeypatch):
    judge = combinations.Game.judge

    def judge_higher(game, x, t):
        judge(game, 2.0 * x, t)

    monkeypatch.setattr(combinations.Game, "judge", judge_higher)
    with pytest.raises(AssertionError, match=r"value error: .* rounds in violation"):
        play(["value error"])


@pytest.mark.slow
def test_the_page_is_what_the_program_finds(monkeypatch):
    monkeypatch.setattr(combinations, "DOORS", combinations.OWN_DOORS)
    sections = combinations.lines_of()
    page = PAGE.read_text(encoding="utf-8")
    said = {words for line in sections["sentences"] for _, _, words in [line.partition(". ")]}
    for name in ("needs", "triples"):
        assert without_marks(sections[name]) == without_marks(section(page, name))
    assert without_marks(sections["pairs"]) == without_marks(section(page, "pairs"))
    for row in sections["doors"][2:]:
        own = without_marks([row])[0].rstrip(" |")
        assert any(line.startswith(own) for line in without_marks(section(page, "doors"))), own
    assert all(words in page for words in said)


def without_marks(lines):
    """Return lines without the numbers of sentences, which hosts may shift."""
    return [re.sub(r"no \[\d+\]", "no", line) for line in lines]


def section(page, name):
    """Return the lines of a section."""
    inside = page.partition(f"<!-- measured: {name} -->")[2].partition(f"<!-- end: {name} -->")[0]
    return inside.strip("\n").split("\n")


@pytest.mark.hosts
@pytest.mark.torch
def test_hosts_do_what_the_page_says():
    found, page = rows_of("doors"), rows_of("doors")
    for name in NAMES:
        for host in HOSTS:
            plays = combinations.at_door(host, [name]).plays
            assert plays == (page[name][host] == "yes"), f"{name} at {host}: {found[name][host]}"
    assert set(DOORS) == set(next(iter(page.values())))


def test_a_round_with_six_loads_is_timed_and_judged():
    timed = combinations.time_rounds(["no slope", "context", "ramp"], rounds=12)
    assert timed.names == ("no slope", "context", "ramp")
    assert 0.0 < timed.median <= timed.high
    assert combinations.time_rounds(["context", "delay"], rounds=12) is None
    lines = combinations.time_lines([timed])
    assert lines[-1].startswith("| no slope, context, ramp | ")


def test_the_constants_of_the_six_loads_hold():
    plant = combinations.Plant([], combinations.SIX)
    rng = np.random.default_rng(2)
    for _ in range(200):
        x = rng.uniform(0.0, 0.9, 6)
        if max(plant.rows(x, 1)) <= 0:
            assert np.linalg.norm(plant.slopes(x)[0]) <= 1.6
            assert np.linalg.norm(plant.slopes(x)[1]) <= 1.0
    assert max(plant.rows(combinations.SIX.start, 1)) <= -0.3 - 0.05
