import pytest

from surefoot.algorithms import ALGORITHMS
from surefoot.experiments.build import PROBLEMS
from surefoot.experiments.paper.related import BIBLIOGRAPHY

NAMES = [f"{kind.__name__}.{tuning}" for kind in ALGORITHMS for tuning in kind.tunings]
AGENTS = ["NetworkPenalty.trade_off", "NetworkPenalty.strongly_convex"]


def test_every_algorithm_and_every_problem_is_listed(desk):
    code, out, err = desk.do("list")
    assert (code, err) == (0, "")
    first = [line.split()[0] for line in out.splitlines() if line]
    cited = [work.work.split()[0] for work in BIBLIOGRAPHY]
    assert first == ["algorithm", *NAMES, *AGENTS, "problem", *PROBLEMS, "cited", *cited]


def test_every_algorithm_has_feedback_promise_and_work(desk):
    for entry in desk.do("list algorithms --json").data["algorithms"]:
        wanted = ("feedback", "promise", "work", "from", "rule")
        assert all(entry[key] for key in wanted), entry


def test_a_bounded_sum_of_violations_is_not_called_logarithmic(desk):
    found = {e["name"]: e for e in desk.do("list algorithms --json").data["algorithms"]}
    assert found["RECOO.fixed_strongly_convex"]["promise"].endswith("log T, violation O(1)")


def test_the_source_of_a_tuning_is_its_own(desk):
    found = {e["name"]: e for e in desk.do("list algorithms --json").data["algorithms"]}
    assert found["ScalarDPP.tuned"]["from"] == "Yu, Neely and Wei, NeurIPS 2017"
    assert found["ScalarDPP.windows"]["from"] == "Liakopoulos et al., ICML 2019"
    assert found["GaugeNewton.known_horizon"]["rule"] == "derived here"
    assert found["RECOO.fixed"]["rule"] == "the source's"
    for name in ("RECOO.changing", "RECOO.changing_strongly_convex"):
        assert found[name]["rule"] == "derived here", "the source does not linearise"
    assert found["FrankWolfe.textbook"]["rule"] == "as recalled"
    assert found["FrankWolfe.tuned"]["from"].startswith("Weibel")
    assert found["FrankWolfe.tuned"]["rule"] == "as recalled"


def test_the_literature_says_what_runs_here_and_what_does_not(desk):
    rows = {e["work"]: e for e in desk.do("list literature --json").data["literature"]}
    assert rows["Guo et al. 2022"]["here"] == ["RECOO"]
    assert rows["Hu et al. 2023"]["as"] == "out of scope"
    assert "Riemannian" in rows["Hu et al. 2023"]["note"]
    assert rows["Polyak 2001"] == {
        "work": "Polyak 2001",
        "here": ["deep_cut"],
        "as": "offline",
        "note": "",
    }


def test_a_rule_for_agents_is_described_and_applies_to_no_problem(desk):
    out = desk.do("list NetworkPenalty").out
    assert "the rule is derived here" in out
    assert "hard; regret T^0.5, violation T^0.75" in out
    rows = desk.do("list --problem paper_toy --json").data["algorithms"]
    assert [e["because"] for e in rows if e["name"] in AGENTS] == [
        "it is for agents on a network: play_network"
    ] * 2


def test_on_a_problem_an_algorithm_that_does_not_apply_says_why(desk):
    line = "list --problem paper_toy --horizon 5000 --json"
    found = {e["name"]: e for e in desk.do(line).data["algorithms"]}
    assert found["PFS.anytime"]["applies"] is True
    assert found["PFS.anytime"]["because"] == ""
    entropic = found["EntropicDualAveraging.fixed"]
    assert (entropic["applies"], entropic["because"]) == (
        False,
        "domain must be a Simplex, got a Box",
    )
    assert found["Mahdavi.no_violation"]["because"].endswith("got 5000")


def test_arguments_of_the_problem_count(desk):
    found = desk.do("list --problem random_polytope --set dimension=2 --set rows=5 --json")
    reasons = {e["name"]: e["because"] for e in found.data["algorithms"]}
    assert reasons["PFS.tuned"] == ""


def test_one_algorithm_in_detail(desk):
    (found,) = desk.do("list PFS --json").data.values()
    tunings = {t["name"]: t for t in found["tunings"]}
    assert [o["name"] for o in tunings["chosen"]["options"]] == ["eta", "rho"]
    assert tunings["anytime"]["promise"] == "every round; regret T^0.5"
    assert [p["name"] for p in found["parameters"]] == ["eta", "rho"]
    assert "or with your own parameters: eta, rho" in desk.do("list PFS").out


def test_one_problem_in_detail(desk):
    out = desk.do("list adversarial_cube").out
    assert out.startswith("adversarial_cube: A cube, ")
    assert "adversary  required" in out
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
        ("list --problem paper_toi", "unknown problem 'paper_toi'; did you mean 'paper_toy'?"),
        ("list problems --problem paper_toy", "--problem is for algorithms, got 'problems'"),
        ("list --set dimension=3", "--set needs --problem"),
        ("list --problem rotated_box --set dimension", "--set must be KEY=VALUE, got 'dimension'"),
        (
            "list --problem rotated_box --set dimension=0",
            "must be a whole number >= 1, got 0",
        ),
        ("list --problem rotated_box --set dimensions=3", "did you mean 'dimension'?"),
    ],
)
def test_a_wrong_word_gets_the_nearest_right_one(desk, line, sentence):
    assert sentence in desk.refusal(line)
