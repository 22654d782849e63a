import pytest

from surefoot.controller.configuring import rules_by_name
from surefoot.experiments.build import PROBLEMS
from surefoot.experiments.paper.related import BIBLIOGRAPHY, NEIGHBOURS
from surefoot.rules import ALGORITHMS

NAMES = [f"{kind.__name__}.{tuning}" for kind in ALGORITHMS for tuning in kind.tunings]
MORE = ["NetworkPenalty.trade_off", "NetworkPenalty.strongly_convex", "MovingBalls.default"]
MORE += [
    f"{n}.unknown" for n in ("LeaderFollower", "ValuesFollower", "RegionFilter", "CertifiedOGD")
]
PARTS = ("feasibility", "observed", "in_advance")


def test_every_algorithm_and_every_problem_is_listed(desk):
    code, out, err = desk.do("list")
    assert (code, err) == (0, "")
    first = [line.split()[0] for line in out.splitlines() if line]
    cited = [work.work.split()[0] for work in (*BIBLIOGRAPHY, *NEIGHBOURS)]
    assert first == ["algorithm", *NAMES, *MORE, "problem", *PROBLEMS, "work", *cited]


def test_every_algorithm_has_feedback_promise_and_work(desk):
    for entry in desk.do("list algorithms --json").data["algorithms"]:
        wanted = ("feedback", "feasibility", "observed", "in_advance", "work", "from", "rule")
        assert all(entry[key] for key in wanted), entry


def test_a_bounded_sum_of_violations_is_not_called_logarithmic(desk):
    found = {e["name"]: e for e in desk.do("list algorithms --json").data["algorithms"]}
    one = found["RECOO.fixed_strongly_convex"]
    assert (one["feasibility"], one["in_advance"]) == ("sum_positive, O(1)", "regret log T")


def test_the_three_parts_of_a_promise_have_a_column_each(desk):
    head, *_ = desk.do("list algorithms").out.splitlines()
    assert " ".join(head.split()).startswith("algorithm feedback feasibility observed in advance")
    found = {e["name"]: e for e in desk.do("list algorithms --json").data["algorithms"]}
    said = {name: [found[name][part] for part in PARTS] for name in found}
    assert said["CertifiedPFS.default"] == ["every round", "Theorem D (3)", "regret T^0.5"]
    assert said["PFS.nearly"] == ["bounded, T^0.5", "none", "regret T^0.5"]
    assert said["ValuesFollower.default"] == ["every round", "none", "none"]
    assert said["CVVPro.tuned"] == ["none", "none", "regret T^0.5"]
    assert said["LeaderFollower.strongly_convex"] == ["every round", "Theorem F", "none"]


def test_the_source_of_a_tuning_is_its_own(desk):
    found = {e["name"]: e for e in desk.do("list algorithms --json").data["algorithms"]}
    assert found["ScalarDPP.tuned"]["from"] == "Yu, Neely and Wei, NeurIPS 2017"
    assert found["ScalarDPP.windows"]["from"] == "Liakopoulos et al., ICML 2019"
    assert found["GaugeNewton.known_horizon"]["rule"] == "derived here"
    assert found["RECOO.fixed"]["rule"] == "as published"
    for name in ("RECOO.changing", "RECOO.changing_strongly_convex"):
        assert found[name]["rule"] == "derived here", "the source does not linearise"
    assert found["FrankWolfe.textbook"]["rule"] == "from memory"
    assert found["FrankWolfe.tuned"]["from"].startswith("Weibel")
    assert found["FrankWolfe.tuned"]["rule"] == "from memory"


def test_the_literature_says_what_runs_here_and_what_does_not(desk):
    rows = {e["work"]: e for e in desk.do("list literature --json").data["literature"]}
    assert rows["Guo et al. 2022"]["here"] == [{"name": "RECOO"}]
    assert rows["Hu et al. 2023"]["as"] == "out of scope"
    assert "Riemannian" in rows["Hu et al. 2023"]["note"]
    assert rows["Polyak 2001"] == {
        "work": "Polyak 2001",
        "here": [{"name": "deep_cut"}],
        "as": "offline",
        "note": "",
    }
    assert rows["Hamoud et al. 2025"]["as"] == "neighbour"
    assert "Riemannian" in desk.do("list literature").out


def test_moving_balls_are_described_with_what_they_ask_for(desk):
    (tuning,) = desk.do("list MovingBalls --json").data["algorithm"]["tunings"]
    assert [option["name"] for option in tuning["options"]] == ["cost_curvature", "least_slope"]
    assert [tuning[part] for part in PARTS] == ["every round", "none", "none"]


def test_a_rule_for_agents_is_described(desk):
    out = desk.do("list NetworkPenalty").out
    assert "the rule is derived here" in out
    assert "trade_off        sum_positive, T^0.75  none      regret T^0.5" in out


def test_one_algorithm_in_detail(desk):
    (found,) = desk.do("list PFS --json").data.values()
    tunings = {t["name"]: t for t in found["tunings"]}
    assert [o["name"] for o in tunings["chosen"]["options"]] == ["eta", "rho"]
    assert [tunings["anytime"][part] for part in PARTS] == ["every round", "none", "regret T^0.5"]
    assert [p["name"] for p in found["parameters"]] == ["eta", "rho"]
    assert "parameter  kind    required  default\neta        number  yes" in desk.do("list PFS").out


def test_filters_and_wrappers_are_described_too(desk):
    found = desk.do("list SafetyFilter --json").data["algorithm"]
    assert [tuning["name"] for tuning in found["tunings"]] == ["default"]
    assert {p["name"] for p in found["parameters"] if p["required"]} == {"G_g", "rho"}
    assert "delay      whole   yes" in desk.do("list Delayed").out
    for name in rules_by_name():
        assert desk.do("list", name).code == 0


def test_one_problem_in_detail(desk):
    out = desk.do("list adversarial_cube").out
    assert out.startswith("adversarial_cube: A cube, ")
    assert "argument   required  default  about\nadversary  yes" in out
    arguments = desk.do("list adversarial_cube --json").data["problem"]["arguments"]
    assert arguments[1] == {
        "name": "dimension",
        "required": False,
        "default": 2,
        "about": "entries of an action",
    }


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("list Pfs2", "unknown name 'Pfs2'; did you mean 'PFS'?"),
        ("list problem", "unknown name 'problem'; did you mean 'problems'?"),
    ],
)
def test_a_wrong_word_gets_the_nearest_right_one(desk, line, sentence):
    assert sentence in desk.refusal(line)


@pytest.mark.parametrize("name", ["PFS", "AdaGradOGD", "GarberKretzu", "LevyKrause", "portfolio"])
def test_formulas_are_printed_as_one_would_type_them(desk, name):
    out = desk.do(f"list {name}").out
    assert not any(mark in out for mark in (":math:", "\\", "`", "{T}"))


def test_a_formula_in_words(desk):
    assert "Gradient descent in blocks of b rounds" in desk.do("list GarberKretzu").out
