"""Related work, measured: who plays where, promises kept, and the page that it is written to."""

from dataclasses import replace

import pytest
from benchmarks import pages
from benchmarks.pages import write_page
from benchmarks.related import _line, agents_on_a_ring, measure

from surefoot.experiments import build_spec, dump_spec, parse_spec
from surefoot.experiments.build import ALGORITHMS_BY_NAME
from surefoot.experiments.paper.related import BIBLIOGRAPHY, specification
from surefoot.experiments.record import VerdictFacts


def test_every_cited_algorithm_plays_somewhere():
    spec = specification()
    assert parse_spec(dump_spec(spec)).data == spec.data
    played = {row.name for row in spec.algorithms} | {row.title for row in spec.algorithms}
    cited = {name for work in BIBLIOGRAPHY if work.standing == "algorithm" for name in work.here}
    assert cited <= played
    # Every theorem of a cited algorithm, unless the paper cites one of them.
    for name in cited & ALGORITHMS_BY_NAME.keys():
        tunings = {f"{name}.{tuning}" for tuning in ALGORITHMS_BY_NAME[name].tunings}
        assert tunings <= played
    assert all(row.only for row in spec.algorithms)


def test_rules_play_where_they_are_at_home():
    at_home = {row.title: row.only for row in specification().algorithms}
    assert at_home["EntropicDualAveraging.fixed"] == ["simplex"]
    assert at_home["LevyKrause.fixed"] == ["ellipsoid"]
    assert at_home["GaugeNewton.known_horizon"] == ["square", "thin box"]
    assert at_home["CVVPro.tuned"] == ["changing half-spaces"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    few = {
        *("PFS.tuned", "SeparationDescent.known_horizon", "EntropicDualAveraging.fixed"),
        *(
            "RECOO.changing",
            "PrimalDual.known_margin",
            "YuNeely.linear",
            "BlockBandit.known_horizon",
        ),
    }

    def some(*sizes):
        data = specification(*sizes).data
        rows = [row for row in data["algorithms"] if f"{row['name']}.{row['tuning']}" in few]
        return build_spec(data | {"algorithms": rows})

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(measure.__globals__, "specification", some)
        return measure(tmp_path_factory.mktemp("related"), horizon=60, trials=2, workers=0)


def test_no_promise_is_broken(measured):
    played = [row for row in measured.rows if row.played]
    assert len(played) == 9
    assert {row.verdict for row in played} == {"held"}
    bounds = {row.algorithm: row.guarantee.regret_bound for row in played}
    assert all(row.arrays["regret"].max() <= bounds[row.algorithm] for row in played)


def test_oracle_calls_are_counted(measured):
    asked = {(row.algorithm, row.problem): row.facts.oracle for row in measured.rows if row.played}
    assert asked["SeparationDescent.known_horizon", "square"]["separations"] >= 60
    assert asked["RECOO.changing", "square"]["proxes"] == 60


def test_the_tables_have_a_line_for_every_row(measured):
    lines = list(measured.tables())
    assert sum(line.startswith("| `") for line in lines) == len(measured.rows) + 1
    (refused,) = [line for line in lines if "PrimalDual" in line]
    assert "needs a horizon of at least 715 rounds" in refused
    widths = {line.count("|") for line in lines if line.startswith("| `")}
    assert widths == {12, 8}  # those of the problems, and that of the agents


@pytest.mark.parametrize("word", ["not checked", "failed", "premise broken"])
def test_what_became_of_a_promise_is_the_verdict_of_its_game(measured, word):
    kinds = set()
    for row in measured.rows:
        if row.played:
            kinds |= set(row.facts.guarantee.bounds)
            told = replace(row.facts, verdict=VerdictFacts(word=word))
            assert _line(replace(row, facts=told)).endswith(f" | **{word}** |")
    assert kinds >= {"round", "rows", "sum_positive"}


def test_a_bound_on_each_round_is_no_share_of_that_of_the_last(measured):
    row = next(r for r in measured.rows if r.algorithm == "YuNeely.linear")
    falling = replace(row.facts.guarantee, kind="bounded", bounds={"round": 0.1})
    row = replace(row, facts=replace(row.facts, guarantee=falling))
    assert _line(row).endswith(" | round 0.1 | held |")


def test_agents_on_a_ring_keep_what_is_promised():
    trace, best = agents_on_a_ring(300)
    assert trace.regret(best) <= trace.guarantee.regret_bound(300)
    assert trace.network_violation.sum() <= trace.guarantee.bounds(300)["sum_positive"]


def test_a_page_is_written_between_its_marks_and_nowhere_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{pages._BEGIN}\nold\n{pages._END}\nafter\n", encoding="utf-8")
    write_page(page, ["new", ""])
    wanted = f"before\n{pages._BEGIN}\n\nnew\n\n{pages._END}\nafter\n"
    assert page.read_text(encoding="utf-8") == wanted
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="must have the lines"):
        write_page(page, [])
