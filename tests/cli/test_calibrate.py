import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from surefoot import Constants, calibrate
from surefoot.cli.calibrate import _as_data
from surefoot.cli.options import build_named_problem
from surefoot.problems import paper_toy

MINE = "--constant R=0.9 --constant G_g=1.45 --constant start_slack=0.4"


def test_a_problem_gets_the_report_that_the_library_has(desk):
    code, out, err = desk.do("calibrate paper_toy --horizon 2000")
    assert (code, err) == (0, "")
    assert out == f"{calibrate(paper_toy(2000, trials=1), horizon=2000)}\n"


def test_numbers_alone_are_enough(desk):
    code, out, err = desk.do(f"calibrate {MINE} --horizon 2000")
    assert (code, err) == (0, "")
    assert out.startswith("for T = 2000; from the constants only: g was not queried\n")
    assert "CertifiedPFS.default" in out.split("that apply")[1].split("do not")[0]


def test_a_bound_that_is_known_only_as_it_goes_is_not_called_one_without_G_f(desk):
    for told, said in (("", "no number without G_f"), (" --constant G_f=1", "in advance")):
        out = desk.do(f"calibrate {MINE} --constant beta=1{told}").out
        (line,) = re.findall(r"^ *CertifiedDualAveraging\.default .*$", out, re.MULTILINE)
        assert line.rstrip().endswith(said)


def test_json_has_constants_with_their_origins_and_what_is_missing(desk):
    found = desk.do(f"calibrate {MINE} --json").data
    assert found["constants"]["G_g"] == {"value": 1.45, "origin": "given"}
    assert found["constants"]["sigma"]["origin"] == "local"
    best = found["proved"][0]
    # No number without G_f.
    assert (best["name"], best["regret"]) == ("LeaderFollower.default", None)
    missing = {m["name"]: m["because"] for m in found["missing"]}
    assert "needs G_f, which is unknown" in missing["PFS.tuned"]


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


def test_arguments_of_the_problem_count(desk):
    found = desk.do("calibrate random_polytope --set dimension=2 --set rows=5 --json").data
    assert found["constants"]["rows"]["value"] == 5
    assert "PFS.tuned" not in {m["name"] for m in found["missing"]}


def test_the_help_names_every_constant_that_it_lists_as_the_library_does(desk):
    listed = re.findall(r"^ {4}(\w+)  +[a-z]", desk.do("calibrate --help").out, re.MULTILINE)
    assert len(listed) == 15
    assert set(listed) <= set(Constants.names())


def test_a_given_constant_replaces_the_problem_s(desk):
    found = desk.do("calibrate paper_toy --horizon 500 --constant G_f=3.5 --json").data
    assert found["constants"]["G_f"] == {"value": 3.5, "origin": "given"}


def test_a_log_bounds_constants_and_the_page_shows_how(desk):
    page = Path(__file__).parents[2] / "docs" / "from_log.md"
    code = page.read_text(encoding="utf-8")
    csv, said = re.search(r"```none\n(.*?)```.*?```text\n(.*?)```", code, re.DOTALL).groups()
    (desk.folder / "cable.csv").write_text(csv)
    command = re.search(r"^surefoot (calibrate --log .*)$", code, re.MULTILINE)[1]
    assert desk.do(command) == (0, said, "")
    found = desk.do(f"{command} --json").data
    assert found["rounds"]["G_g"] == [4, 7]
    assert found["disagreement"] is None
    spaced = desk.do("calibrate --log cable.csv --actions 'pump, heater' --g level --json").data
    assert spaced == found


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("calibrate --log none.csv", "'none.csv' is not a file: give a log with a header"),
        ("calibrate --log limits.toml", "'limits.toml', line "),
        ("calibrate paper_toy --log limits.toml", "--log needs no problem, got 'paper_toy'"),
        ("calibrate --log a.csv --actions pump, heater", "no problem, got 'heater' (a space?)"),
        ("calibrate --constant Gg=1", "got 'Gg'; did you mean 'G_g'?"),
        ("calibrate --g level", "--actions, --g, --slopes and --context need --log"),
        ("calibrate --log limits.toml --constant R=1", "must be one of value_error, slope_error"),
        ("calibrate", "name a problem (`surefoot list problems` has them), or give constants"),
        ("calibrate --constant G_g=2", "constants must have R, which Constants needs"),
        ("calibrate --constant R=-1", "R must be"),
        ("calibrate --constant R", "--constant must be NAME=VALUE, got 'R'"),
        ("calibrate --constant R=one", "R must be"),
        ("calibrate --constant R=1 --constant Gg=1", "got 'Gg'; did you mean 'G_g'?"),
        ("calibrate --constant R=1 --constant sigma=0.3", "sigma must come with the level epsilon"),
        ("calibrate --constant R=inf", "R must be"),
        ("calibrate paper_toy --constant R=2", "given must name constants other than R"),
        ("calibrate paper_toy --constant G_g=0.9", "the answers contradict what is given"),
        ("calibrate paper_tony", "did you mean 'paper_toy'?"),
        ("calibrate --set rows=3", "--set needs a problem"),
        ("calibrate paper_toy --horizon 30000 --set published=0", "for more than 20000 rounds"),
        ("calibrate rotated_box --set dimension", "--set must be NAME=VALUE, got 'dimension'"),
        ("calibrate rotated_box --set dimension=0", "must be a whole number >= 1, got 0"),
        ("calibrate rotated_box --set dimensions=3", "did you mean 'dimension'?"),
    ],
)
def test_what_cannot_be_is_one_sentence(desk, line, sentence):
    assert sentence in desk.refusal(line)
