"""The picture of regions side by side in docs/certified.md."""

import numpy as np

from tests._scripts import ROOT, script

regions = script("examples/certified_regions.py")


def test_what_is_certified_is_feasible_and_more_knowledge_certifies_more():
    axis = np.linspace(-1.1, 1.1, 30)
    points = np.array([[a, b] for a in axis for b in axis])
    last, both, bent = (regions.certified(kind.region, points) for kind in regions.kinds())
    outside = np.array([regions.limit(p)[0] > 0 for p in points])
    assert not (outside & (last | both | bent)).any()
    assert (both | ~last).all()  # the hull holds the last ball
    assert both.sum() > last.sum() > 0
    assert bent.sum() > last.sum()


def test_the_figure_is_saved_and_the_shares_are_said(tmp_path, capsys):
    regions.main(["--out", str(tmp_path), "--corners", "20"])
    assert (tmp_path / "regions.png").read_bytes().startswith(b"\x89PNG")
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert (ROOT / "docs" / "images" / "regions.png").is_file()
