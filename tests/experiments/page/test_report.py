"""The whole report: one reading of the file, by any number of processes, and forged notes."""

from collections import Counter

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from surefoot.core.plain import json_plain
from surefoot.experiments import Results, StoreError, figures, gather, page as page_module
from surefoot.experiments.executors import AtOnce
from surefoot.experiments.figures.paper import Panels
from surefoot.experiments.page import write_report
from surefoot.experiments.record import claims_of

from . import _pages as pages

PANELS = Panels(
    problem="paper toy",
    violation_problem="paper toy",
    settings=[("as plotted", [("PFS as plotted", "PFS"), ("DPP", "DPP")])],
    published={"regret": {"PFS": {2000: 88.0}}},
    every=300,
)
PAPER = {f"paper-as-plotted{end}.{kind}" for end in ("", "-actions") for kind in ("pdf", "svg")}


@pytest.fixture
def quick(monkeypatch):
    """Figures are laid out and not rendered, which takes seconds."""
    monkeypatch.setattr(
        figures, "render_figure", lambda _, formats: dict.fromkeys(formats, b"<svg></svg>")
    )


@pytest.fixture
def reproduction(sample, tmp_path, monkeypatch):
    """A file with the claims of a reproduction, open."""
    monkeypatch.setattr(page_module, "paper_panels", lambda: PANELS)
    path = tmp_path / "results.sqlite"
    sample.write(path, notes={"claims": pages.CLAIMS})
    with Results.open(path) as results:
        yield results


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [False, True], ids=["this process", "a pool"])
def test_every_cell_is_read_once_for_figures_panels_and_page(
    reproduction, tmp_path, quick, monkeypatch, parallel
):
    monkeypatch.setattr(page_module, "FEW", 1)
    # The figures are not rendered here, which other processes would not know of.
    monkeypatch.setattr(page_module, "new_pool", lambda most: AtOnce())
    read, reads = Results.get, Counter()

    def counted(self, address):
        reads[address] += 1
        return read(self, address)

    monkeypatch.setattr(Results, "get", counted)
    rows = gather(reproduction)
    page, drawn = write_report(reproduction, tmp_path / "out", rows, parallel=parallel, pdf=True)
    assert set(reads.values()) == {1}
    assert len(reads) == len(reproduction.places())
    assert page.stat().st_size > 5e4
    names = {path.name for path in drawn}
    assert names >= PAPER | {"paper-toy-regret.pdf", "sparse-budget-violation.svg"}
    assert len(names) == len(drawn) == len(PAPER) + 2 * 11


@pytest.mark.slow
def test_rows_that_were_gathered_are_not_read_again(results, rows, tmp_path, quick, monkeypatch):
    monkeypatch.setattr(Results, "get", None)
    page, drawn = write_report(results, tmp_path, rows)
    assert page.exists()
    assert len(drawn) == 11  # no panels: this is no reproduction


def test_claims_come_back_as_they_were_written(reproduction):
    assert [json_plain(claim) for claim in claims_of(reproduction)] == pages.CLAIMS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ({"claims": {"figure": "1a"}}, "claims must be a list, got .*"),
        ({"claims": [{"figure": "1a"}]}, r"claims\[0\] must have 'statement', got \['figure'\]"),
        (
            {"claims": [pages.CLAIMS[0], pages.CLAIMS[1] | {"measured": {"2000": "many"}}]},
            r"claims\[1\].measured.2000 must be a number, got 'many'",
        ),
    ],
)
def test_forged_notes_are_one_sentence_and_no_report(sample, tmp_path, notes, why):
    path = sample.write(tmp_path / "results.sqlite", notes=notes)
    before = path.read_bytes()
    (key,) = notes
    sentence = f"^the {key} of results '.*' are damaged: {why}$"
    with Results.open(path) as results, pytest.raises(StoreError, match=sentence):
        write_report(results, tmp_path / "out", [])
    assert path.read_bytes() == before
    assert not (tmp_path / "out").exists()
