"""Every work of the bibliography that is an algorithm is one of ours, and none of ours is lost."""

from pathlib import Path

import pytest
from tests._names import NAMES

from surefoot.experiments.paper.related import BIBLIOGRAPHY, NEIGHBOURS
from surefoot.rules import ALGORITHMS, NetworkPenalty, source_of
from surefoot.rules.related import offline

BY_NAME = {kind.__name__: kind for kind in ALGORITHMS}


def test_the_bibliography_has_the_works_of_the_paper():
    assert len(BIBLIOGRAPHY) == len({cited.work for cited in BIBLIOGRAPHY}) == 40
    standings = [cited.standing for cited in BIBLIOGRAPHY]
    counts = {word: standings.count(word) for word in set(standings)}
    assert counts == {"algorithm": 23, "agents": 1, "offline": 7, "out of scope": 1, "context": 8}


@pytest.mark.parametrize("cited", BIBLIOGRAPHY, ids=lambda cited: cited.work)
def test_what_a_work_is_here_exists_and_names_it(cited):
    assert bool(cited.here) == (cited.standing in ("algorithm", "agents", "offline"))
    assert cited.here or cited.note
    year = cited.work.split()[-1]
    for name in cited.here:
        if cited.standing == "offline":
            assert name in offline.__all__
            continue
        kind, _, tuning = name.partition(".")
        rule = NetworkPenalty if cited.standing == "agents" else BY_NAME[kind]
        assert not tuning or tuning in rule.tunings
        source = source_of(rule, tuning or None).work
        assert cited.work.split()[0] in source
        assert year in source


@pytest.mark.parametrize("cited", NEIGHBOURS, ids=lambda cited: cited.work)
def test_what_answers_a_neighbour_exists_and_the_page_compares_them(cited):
    assert set(cited.here) <= set(NAMES)
    assert cited.note
    page = (Path(__file__).parents[2] / "docs" / "related.md").read_text()
    first, year = cited.work.split()[0], cited.work.split()[-1]
    assert any(f"| {first}" in line and year in line for line in page.splitlines())


def test_every_algorithm_says_where_it_comes_from():
    for kind in (*ALGORITHMS, NetworkPenalty):
        assert source_of(kind).work != "your own"


def test_a_rule_without_a_source_is_your_own():
    assert source_of(object).work == "your own"
