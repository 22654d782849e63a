"""The commands that write the page of alternatives, at tiny size; and the page itself."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def module(monkeypatch):
    """Import a module of the benchmarks, which are beside the tests and not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    known = set(sys.modules)
    yield lambda name: importlib.import_module(f"benchmarks.{name}")
    for name in set(sys.modules) - known:
        if name.startswith("benchmarks"):
            del sys.modules[name]


def cells(lines):
    """The cells of a Markdown table, without its head."""
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    return rows[2:]


def test_a_section_of_a_page_is_replaced_and_the_rest_stays(module, tmp_path):
    pages = module("pages")
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- measured: x -->\nold\n<!-- end: x -->\nb\n")
    pages.write_section(page, "x", pages.table(("p", "q"), [("1", "|2|")]))
    assert page.read_text() == (
        "a\n<!-- measured: x -->\n\n| p | q |\n| --- | --- |\n| 1 | \\|2\\| |\n\n"
        "<!-- end: x -->\nb\n"
    )
    with pytest.raises(ValueError, match="once each"):
        pages.write_section(page, "y", [])


def test_every_section_of_the_page_was_measured(module):
    main = module("alternatives.__main__")
    for name in main.NAMES:
        page = main.DOCS / main.PAGES.get(name, "alternatives.md")
        text = page.read_text(encoding="utf-8")
        _, found, rest = text.partition(f"<!-- measured: {name} -->")
        assert found
        assert "| --- |" in rest.partition(f"<!-- end: {name} -->")[0], name


def test_no_certified_row_of_the_page_has_a_point_outside():
    text = (ROOT / "docs" / "alternatives.md").read_text(encoding="utf-8")
    certified = [row for row in cells(text.splitlines()) if row[0].startswith("**")]
    assert len(certified) > 7
    for row in certified:
        assert "0" in row[1:3] or row[1].startswith("0 of "), row


def test_under_parity_adam_is_within_a_point_of_momentum_and_never_outside():
    text = (ROOT / "docs" / "hosts.md").read_text(encoding="utf-8")
    table = text.partition("<!-- measured: parity -->")[2].partition("<!-- end: parity -->")[0]
    rows = {row[0]: row for row in cells(table.splitlines())}
    kept = [row for name, row in rows.items() if "KeepFeasible" in name]
    assert len(kept) == 3
    assert all(row[1] == "0 0 0" for row in kept)
    right = {
        name: [float(n) for n in row[4].removesuffix(" %").split()] for name, row in rows.items()
    }
    own = right["**Adam in `KeepFeasible`, its own metric**"]
    momentum = right["SGD with momentum in `KeepFeasible`"]
    assert all(a >= b - 1.0 for a, b in zip(own, momentum, strict=True))


@pytest.mark.slow
def test_rivals_see_the_same_program(module):
    rows = module("alternatives.rows")
    program = rows.Program()
    x = np.linalg.lstsq(program.A, program.target)[0]
    assert program.best < 0.5 * program.target @ program.target
    solve = module("alternatives.scipy_minimize")
    found = program.row("scipy", "", lambda p: solve.by_scipy(p, "SLSQP"))
    assert found.outside > 0
    assert abs(float(found.result.split("=")[1])) < 1e-6
    assert x.shape == (5,)


@pytest.mark.slow
def test_certified_rules_beat_the_best_barrier_weight_on_smooth_costs(module):
    streams = module("alternatives.streams")
    for problem in (streams.smooth(150), streams.changing(streams.smooth(150), every=50)):
        barrier, *ours = list(streams.smooth_rows(problem, 6.0))[:4]
        assert barrier.outside == 0
        assert all(row.outside == 0 for row in ours)
        regrets = [float(row.result.split()[1].replace(",", "")) for row in (barrier, *ours)]
        assert min(regrets[1:]) < regrets[0]
