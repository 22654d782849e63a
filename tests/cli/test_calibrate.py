from types import SimpleNamespace

import pytest

from surefoot import calibrate
from surefoot.cli.calibrate import _as_data
from surefoot.cli.options import build_named_problem
from surefoot.problems import paper_toy


def test_a_problem_gets_the_report_that_the_library_has(desk):
    code, out, err = desk.do("calibrate paper_toy --horizon 2000")
    assert (code, err) == (0, "")
    assert out == f"{calibrate(paper_toy(2000, trials=1), horizon=2000)}\n"


def test_numbers_alone_are_enough(desk):
    code, out, err = desk.do("calibrate --R 0.9 --G-g 1.45 --start-slack 0.4 --horizon 2000")
    assert (code, err) == (0, "")
    assert out.startswith("for T = 2000; from the constants alone: g was not queried\n")
    assert "CertifiedPFS.default" in out.split("that apply")[1].split("do not")[0]


def test_json_has_constants_with_their_origins_and_what_is_missing(desk):
    found = desk.do("calibrate --R 0.9 --G-g 1.45 --start-slack 0.4 --json").data
    assert found["constants"]["G_g"] == {"value": 1.45, "origin": "given"}
    assert found["constants"]["sigma"]["origin"] == "local"
    best = found["proved"][0]
    # No number without G_f.
    assert (best["name"], best["regret"]) == ("LeaderFollower.default", None)
    missing = {m["name"]: m["because"] for m in found["missing"]}
    assert "needs G_f, which is not known" in missing["PFS.tuned"]


def test_json_has_what_holds_only_if_an_estimate_does():
    found = calibrate(paper_toy(500, trials=1), horizon=500)
    first, *others = found.proved
    parts = ("constants", "horizon", "probes", "radius", "notes", "missing")
    estimated = SimpleNamespace(
        **{name: getattr(found, name) for name in parts}, proved=others, only_if=[first]
    )
    data = _as_data(estimated)
    assert [offer["name"] for offer in data["only_if"]] == [first.name]
    assert [offer["name"] for offer in data["proved"]] == [offer.name for offer in others]


def test_the_problem_has_as_many_rounds_as_were_asked_for():
    assert build_named_problem("paper_toy", [], 250).costs.horizon == 250


def test_a_given_constant_replaces_the_problem_s(desk):
    found = desk.do("calibrate paper_toy --horizon 500 --G-f 3.5 --json").data
    assert found["constants"]["G_f"] == {"value": 3.5, "origin": "given"}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("calibrate", "name a problem (`surefoot list problems` has them), or give numbers"),
        ("calibrate --G-g 2", "or give numbers, --R among them"),
        ("calibrate --R -1", "R must be"),
        ("calibrate --R 1 --sigma 0.3", "sigma must come with the level epsilon"),
        ("calibrate --R inf", "R must be"),
        ("calibrate paper_toy --R 2", "given must name constants other than R"),
        ("calibrate paper_toy --G-g 0.9", "what is given is contradicted"),
        ("calibrate paper_tony", "did you mean 'paper_toy'?"),
        ("calibrate --set rows=3", "--set needs a problem"),
        ("calibrate paper_toy --horizon 30000 --set published=0", "for more than 20000 rounds"),
    ],
)
def test_what_cannot_be_is_one_sentence(desk, line, sentence):
    assert sentence in desk.refusal(line)
