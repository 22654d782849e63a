"""A real notebook: figures, tables and records show themselves, without a magic line."""

import pytest

pytestmark = pytest.mark.hosts

CELLS = [
    "import surefoot as sf\ntoy = sf.problems.paper_toy(60, trials=2)\ntoy",
    "toy.constants",
    "found = sf.compare([sf.PFS.tuned], toy, progress=False)\nfound.table()",
    "found.plot()",
    "sf.calibrate(toy, horizon=60)",
    "sf.play(sf.PFS.tuned(toy.constants, 60), toy).regret()",
]


def test_a_notebook_shows_figures_and_tables():
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    client.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [{kind for out in cell.outputs for kind in out.get("data", {})} for cell in book.cells]
    for cell, kinds in zip(book.cells, shown, strict=True):
        assert not [out for out in cell.outputs if out.output_type in ("error", "stream")]
        figure = "plot(" in cell.source
        assert ("image/png" in kinds) is figure
        assert ("text/html" in kinds) is (not figure and "regret" not in cell.source)
    assert "array" not in book.cells[-1].outputs[0]["data"]["text/plain"]
