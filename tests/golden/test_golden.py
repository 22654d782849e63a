"""Rules and filters play what they played when the golden files were written."""

from dataclasses import replace

import pytest
from tests.golden.cases import FILES
from tests.golden.recorded import DATA, distances, files, names, read, replay
from tests.golden.streams import Stream

FAST = {
    "leader_follower": ("default: polytope, 20, all", "default: bowl, 2, drift"),
    "certified_pfs": ("default: polytope, 20, all",),
    "safety_filter": ("default: polytope, 20, all, proposes",),
    "region_filter_hull": ("default: polytope, 20, drift, proposes",),
    "certified_ogd": ("rows: rows, 20, value",),
}
"""What is fast beside the first case of every file."""


def cases():
    found = []
    for file in files():
        for i, name in enumerate(names(file)):
            fast = i == 0 or name in FAST.get(file, ())
            found.append(pytest.param(file, name, marks=() if fast else pytest.mark.slow))
    return found


@pytest.mark.parametrize(("file", "name"), cases())
def test_actions_are_those_of_the_golden_file(file, name):
    case = read(file)[name]
    assert distances(case, replay(case)).max() <= case.tolerance


def test_another_rule_and_other_readings_do_not_pass():
    case = read("leader_follower")["few cuts: polytope, 20, value"]
    assert distances(case, replay(replace(case, player=case.player | {"cuts": 4}))).max() > 1e-3
    assert distances(case, replay(replace(case, values=case.values + 1e-9))).max() > 1e-10


def test_fast_cases_are_in_the_files_which_are_small_and_those_that_the_recorder_writes():
    assert all(name in names(file) for file, some in FAST.items() for name in some)
    assert files() == sorted(FILES)
    assert sum(path.stat().st_size for path in DATA.iterdir()) <= 3e6


@pytest.mark.parametrize("file", sorted(FILES))
def test_files_hold_the_cases_of_the_recorders_table(file):
    table = {name: plain for name, _, plain, _ in FILES[file]()}
    assert list(table) == names(file)
    for case in read(file).values():
        assert case.stream == Stream(**table[case.name], seed=case.stream.seed)
        assert len(case.actions) == len(case.kept) >= 2
