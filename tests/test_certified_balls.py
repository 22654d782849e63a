"""The picture of docs/lengths.md and the run it shows."""

from tests._scripts import ROOT, script

balls = script("examples/certified_balls.py")


def test_the_run_shows_both_rules_and_ends_below_each_bound():
    played = balls.run()
    assert {r.certificate.rule for r in played} == {"slack", "contraction"}
    assert {played[t - 1].certificate.rule for t in balls.SHOWN} == {"slack", "contraction"}
    for r in played:
        assert balls.POLYGON.value(r.after) <= r.certificate.bound <= 0
        assert balls.POLYGON.value(r.x) == r.g


def test_the_figure_is_saved_and_what_was_certified_is_said(tmp_path, capsys):
    balls.main(["--out", str(tmp_path / "new")])
    assert (tmp_path / "new" / "certified.png").read_bytes().startswith(b"\x89PNG")
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("round 1: slack 0.66 and g rises by at most G_g = 1")
    assert said[-1].startswith("largest g of 120 rounds: -0.0")
    assert (ROOT / "docs" / "images" / "certified.png").is_file()
