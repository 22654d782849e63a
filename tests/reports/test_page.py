import base64
import dataclasses
import gzip
import hashlib
import json
import os
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hatchling.builders.wheel import WheelBuilder

from surefoot.core.errors import InvalidValueError
from surefoot.core.optional import MissingExtraError
from surefoot.experiments import Facts, Place, Results, Row, gather
from surefoot.experiments.notes import Story
from surefoot.experiments.record import VerdictFacts
from surefoot.experiments.rows import arrange
from surefoot.reports.page import write_page
from surefoot.reports.page._charts import SHOWN, chart_data
from surefoot.reports.page._format import number
from surefoot.reports.page._verdicts import pairs_of, summary, word_of
from surefoot.reports.page.write import _in_script
from surefoot.reports.style import look_of

from . import _pages as pages

PLACE = {"problem": "p", "algorithm": "a", "horizon": 5, "block": 0}

ROOT = Path(__file__).parents[2]
VOID = {"meta", "link", "input", "br", "img"}


class Document(HTMLParser):
    """What a page consists of; a tag that is not closed where it should be is an error."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.open = [], [], []
        self.words = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def data(self):
        return json.loads(self.unpacked("data"))

    def unpacked(self, name):
        (found,) = [text for attributes, text in self.scripts if attributes.get("id") == name]
        return gzip.decompress(base64.b64decode(found)).decode()


def read(path):
    return Document(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def path(sample, tmp_path_factory):
    spec = 'name = "sample"\nseed = 7\n# <kept> as it is\n'
    waiting = Place(address="f" * 64, problem="paper toy", algorithm="Yuan", horizon=2_000, block=0)
    return pages.made_page(
        sample,
        tmp_path_factory.mktemp("page"),
        notes={"claims": pages.CLAIMS},
        plan=[waiting],
        specification=spec,
    )


@pytest.fixture(scope="module")
def page(path):
    return read(path)


def row_of(path, table, *words):
    """The only row of a table that has all the words, tags taken out."""
    text = path.read_text(encoding="utf-8")
    body = text[text.index(f'<table id="{table}"') :]
    body = body[body.index("<tbody>") : body.index("</tbody></table></div>")]
    found = [
        line
        for line in body.split("\n")
        if all(word in re.sub("<[^>]*>", "|", line) for word in words)
    ]
    assert len(found) == 1, found
    return re.sub(r"\|+", "|", re.sub("<[^>]*>", "|", found[0])).strip("|").split("|")


# --- the document --------------------------------------------------------------------------------


def test_every_reference_of_the_page_stays_in_it(page):
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            target = attributes.get(name, "#main")
            assert target.startswith(("#", "data:")), target
            if target.startswith("#"):
                assert target[1:] in ids
        for name in ("for", "aria-labelledby"):
            assert name not in attributes or attributes[name] in ids
    assert [tag for tag, _ in page.elements].count("h1") == 1
    assert page.all("html") == [{"lang": "en"}]
    assert "a" in {tag for tag, a in page.elements if a.get("class") == "skip"}


def test_only_the_two_scripts_of_the_page_may_run_and_nothing_may_be_fetched(page):
    (policy,) = [
        m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    code = [text for attributes, text in page.scripts if "type" not in attributes]
    assert len(code) == 1
    code.insert(0, page.unpacked("library"))  # which the page's own script inserts
    assert "plotly.js" in code[0][:60]
    hashes = [base64.b64encode(hashlib.sha256(c.encode()).digest()).decode() for c in code]
    assert rules["script-src"] == " ".join(f"'sha256-{h}'" for h in hashes)
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules
    assert "unsafe-eval" not in policy


def test_the_same_results_give_the_same_bytes_wherever_they_are(results_path, tmp_path):
    first = tmp_path / "a" / "page.html"
    with Results.open(results_path) as store:
        assert write_page(store, first) == first
    moved = tmp_path / "moved.sqlite"
    moved.write_bytes(results_path.read_bytes())
    with Results.open(moved) as store:
        second = write_page(store, str(tmp_path / "b.html"))
    assert first.read_bytes() == second.read_bytes()


def test_a_write_that_fails_leaves_the_page_that_was_there(results, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("before", encoding="utf-8")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_page(results, target)
    assert target.read_text(encoding="utf-8") == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_without_plotly_there_is_one_sentence_and_no_page(results, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "plotly.offline", raising=False)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtraError, match=r"report page needs plotly.*surefoot\[plot\]"):
        write_page(results, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_the_wheel_has_every_piece_of_the_page():
    files = {f.distribution_path for f in WheelBuilder(str(ROOT)).recurse_included_files()}
    here = ROOT / "src" / "surefoot" / "reports" / "page"
    pieces = {f"surefoot/reports/page/{p.name}" for p in here.glob("page.*")}
    assert len(pieces) == 3
    assert pieces <= files


# --- what it says --------------------------------------------------------------------------------


def test_the_verdict_comes_first_in_one_sentence_each(page):
    said = page.text[page.text.index("sample: Surefoot report") :]
    assert said.index("Figure 1a is reproduced only") < said.index("Every promise whose")
    assert "and Figure 1b is not reproduced." in said
    assert "Every promise whose premises held was kept: of 13 pairs" in said
    assert (
        "the promise was kept for 4, a premise broke for 2, nothing is promised for 2, 2 were "
        "refused, 2 ended by an error and 1 is not played yet." in said
    )


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        ("PFS, Corollary 1", ["promise kept", "Theorem 1", "every round"]),
        ("PFS as plotted", ["premise broken at round 17", "|grad f| = 2.75 exceeds G_f = 1"]),
        ("OGD", ["no promise"]),
        ("Jenatton", ["refused", "rho must be &lt; epsilon = 0.25"]),
        ("Certified", ["ended by an error", "the solver gave up", "promise kept: T = 2,000"]),
        ("Yuan", ["not played yet", "run the same command again"]),
    ],
)
def test_every_pair_has_its_verdict_with_the_reason(path, algorithm, words):
    row = "|".join(row_of(path, "verdicts", f"|{algorithm}|", "|paper toy|"))
    for word in words:
        assert word in row


@pytest.mark.parametrize(
    ("status", "word", "shown"),
    [
        ("done", "failed", "PROMISE NOT KEPT"),
        ("done", "stopped", "stopped"),
        ("set aside", "", "set aside"),
    ],
)
def test_what_is_grave_at_one_horizon_is_the_verdict_of_the_pair(
    sample, tmp_path, status, word, shown
):
    cells = [list(pair) for pair in sample.cells if pair[0].algorithm == "DPP"]
    last = cells[5][1]
    assert cells[5][0].horizon == 20_000
    told = pages.with_facts(last, verdict={"word": word or "held", "sentence": "so it was"})
    note = "it killed two workers" if status != "done" else ""
    cells[5][1] = dataclasses.replace(told, status=status, note=note)
    made = pages.made_page(sample, tmp_path / "p", cells)
    row = row_of(made, "verdicts", "|DPP|", "|paper toy|")
    assert row[2:4] == ["Theorem 1", "cumulative"]
    assert row[4] == shown
    counts = [c.arrays["count"] for _, c in cells[4 : 6 if status == "done" else 5]]
    assert row[5] == f"{np.concatenate(counts).mean():,.0f} of 20,000"
    assert (note or "so it was") in row[6]
    assert row[7].startswith(f"{shown}: T = 20,000; promise kept: T = 2,000, 8,000")
    if word == "failed":
        assert "1 promise was NOT KEPT: of 2 pairs" in read(made).text


def test_the_first_screen_says_who_stayed_inside_who_was_best_and_what_was_not_reproduced(
    sample, tmp_path
):
    told = Story(
        paper="A. Author, Steps, 2025",
        question="Do the figures come out again?",
        settings=(("as written", "the constants of the text"),),
        link="https://example.org/paper",
    )
    notes = {"claims": pages.CLAIMS, "story": told.to_plain()}
    made = read(pages.made_page(sample, tmp_path / "p", notes=notes))
    said = made.text[: made.text.index("Claims Verdicts Figures")]
    for words in (
        "The paper. A. Author, Steps, 2025",
        "The question. Do the figures come out again?",
        "as written the constants of the text",
        "Not reproduced : Figure 1b, DPP, [sum g]+",
        "Only with other constants : Figure 1a, PFS, regret: 191 published, 191.1 measured at "
        "T = 10,000 (what was tried, at T = 2,000 and 10,000: as written it is 112.0).",
    ):
        assert words in said, words
    (found,) = re.findall(r"paper toy , 20,000 rounds: (\d) of (\d) algorithms stayed inside", said)
    with Results.open(tmp_path / "p" / "results.sqlite") as results:
        last = [r for r in gather(results) if (r.problem, r.horizon) == ("paper toy", 20_000)]
    last = [r for r in last if r.played]
    inside = [r for r in last if r.arrays["worst"].max() <= 0]
    assert found == (str(len(inside)), str(len(last)))
    best = min(inside, key=lambda r: r.arrays["regret"].mean())
    assert f"of these {best.algorithm} has the least regret" in said
    worse = min(last, key=lambda r: r.arrays["regret"].mean())
    assert (f"{worse.algorithm} has less" in said) is (worse not in inside)


def test_tables_show_at_most_eight_columns_at_first_and_the_longest_horizon_on_top(path):
    text = path.read_text(encoding="utf-8")
    for name in ("verdicts", "results", "effort", "rates"):
        head = text[text.index(f'<table id="{name}"') :].partition("</thead>")[0]
        columns = len(re.findall(r"<th [^>]*>", head))
        assert (f'class="columns" data-table="{name}"' in text) is (columns > 8), name
    assert ".sortable.short tr > :nth-child(n+9) { display: none; }" in text
    rows = text[text.index('<table id="results"') :].partition("</tbody>")[0]
    lengths = re.findall(r"<td>paper toy</td><td class=n data-v=\"(\d+)", rows)
    assert len(lengths) > 3
    assert lengths == sorted(lengths, key=int, reverse=True)


def test_published_and_measured_numbers_stand_side_by_side(path):
    text = path.read_text(encoding="utf-8")
    claims = text[text.index('id="claims"') : text.index('id="verdicts-section"')]
    numbers = re.sub(r"\s*<[^>]*>\s*", "|", claims)
    assert re.search(r"2,000\|+88\|+87\.8\|+10,000\|+191\|+191\.1", numbers)
    assert re.search(r"2,000\|+15\|+–\|", numbers)
    assert "reproduced only with other constants than stated" in numbers


def test_without_claims_there_is_no_table_of_claims_and_the_commands_are_those_of_a_run(
    sample, tmp_path
):
    made = read(pages.made_page(sample, tmp_path / "p", name="limits", specification="seed = 1"))
    assert "What was published" not in made.text
    assert "surefoot run limits.toml surefoot report ." in made.text
    assert "surefoot reproduce" not in made.text


def test_the_specification_is_shown_and_saved_as_it_was_given(page):
    spec = 'name = "sample"\nseed = 7\n# <kept> as it is\n'
    assert spec in page.words
    (link,) = [a for a in page.all("a") if "download" in a]
    assert link["download"] == "sample.toml"
    assert base64.b64decode(link["href"].partition(",")[2]).decode() == spec
    assert "surefoot reproduce" in page.text


def test_every_constant_and_parameter_has_its_origin_and_its_value_at_every_horizon(page):
    said = page.text[page.text.index("Every constant") :]
    assert "T = 2,000 T = 8,000 T = 20,000 G_f constant specification 1 " in said
    assert "eta parameter Theorem 1 0.00559017 0.00279508 0.00176777 " in said
    assert "regret bound Theorem 1 424.853 849.706 1,343.5" in said


def test_the_table_of_results_has_the_numbers_of_the_file(path, rows):
    (dpp,) = [
        r for r in rows if (r.algorithm, r.problem, r.horizon) == ("DPP", "paper toy", 20_000)
    ]
    row = row_of(path, "results", "|DPP|", "|paper toy|", "|20,000|")
    regret = dpp.arrays["regret"]
    assert row[3:5] == ["sum of g bounded", "promise kept"]
    assert row[7:11] == [f"{regret.mean():.1f} ± {regret.std():.0f}", "5", "707.1", "30 %"]
    hard, worst = dpp.arrays["hard"], dpp.arrays["worst"]
    assert row[11].startswith(f"{hard.mean():.1f} ± ")
    assert row[6] == f"{worst.max():.4g}"
    assert row[15] == str(dpp.arrays["first_violation"].min())
    assert row[16:] == ["not by the end", "exact"]
    never = row_of(path, "results", "|PFS, Corollary 1|", "|paper toy|", "|20,000|")
    assert never[5] == never[11] == "0"
    assert never[15:] == ["never", "1", "exact"]


def test_the_first_violation_is_that_of_the_trials_that_have_one(sample, tmp_path):
    place, cell = next(pair for pair in sample.cells if pair[0].algorithm == "DPP")
    some = pages.with_arrays(cell, first_violation=np.array([0, 31, 17]))
    made = pages.made_page(sample, tmp_path / "p", [(place, some)])
    assert row_of(made, "results", "|DPP|")[15] == "17"


def test_a_row_without_a_verdict_is_not_said_to_have_held():
    row = Row(problem="p", algorithm="a", horizon=5, trials=1, status="done")
    assert word_of(row) == "not claimed"
    checked = replace(row, facts=Facts(verdict=VerdictFacts(word="not checked")))
    (pair,) = pairs_of([checked], [Place(address="x", **PLACE)])
    assert (pair.word, pair.badge) == ("not checked", "not checked")
    assert "a promise could not be checked for 1" in summary([pair])


def test_the_path_of_a_curve_is_that_of_the_longest_horizon(results):
    data = chart_data(gather(results, paths="all"))
    assert {curve["path"]["T"] for p in data["problems"] for curve in p["curves"]} == {20_000}


@pytest.mark.parametrize("code", ["a</script>", "<!-- <script", "<!--<SCRIPT>"])
def test_a_script_that_would_end_early_is_refused(code):
    with pytest.raises(InvalidValueError, match=r"^this script cannot be put into a page"):
        _in_script(code)
    assert _in_script("a < b\r\n<!--") == "\na < b\n<!--\n"


@pytest.mark.skipif(os.name != "posix", reason="files have no such permissions here")
def test_others_may_read_a_page_as_any_file_its_owner_makes(results, rows, tmp_path):
    before = os.umask(0o027)
    try:
        write_page(results, tmp_path / "report.html", rows)
    finally:
        os.umask(before)
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(("value", "text"), [(0.0005, "0.0005"), (0.00005, "5×10⁻⁵")])
def test_small_numbers_are_written_out_down_to_a_ten_thousandth(value, text):
    assert number(value) == text


def test_the_gap_of_the_comparator_is_stated(sample, tmp_path):
    cells = [
        (p, pages.with_facts(c, comparator={"gap": 0.0125, "exact": False}))
        for p, c in sample.cells[:4]
    ]
    made = pages.made_page(sample, tmp_path / "p", [*cells, *sample.cells[4:6]])
    assert "known exactly for 1 of 3 rows" in read(made).text
    assert "certified gap of the best, at most 0.0125, and regret" in read(made).text
    assert row_of(made, "results", "|2,000|")[-1] == "0.0125"


def test_what_is_not_finite_is_told_in_words_and_left_out_of_the_figures(sample, tmp_path):
    place, cell = sample.cells[0]
    lost = pages.with_arrays(
        cell,
        regret=np.array([1.5, np.nan, 2.0]),
        worst=np.array([0.5, np.inf, 0.1]),
        constraint=np.full_like(cell.arrays["constraint"], np.nan),
    )
    made = pages.made_page(sample, tmp_path / "p", [(place, lost)])
    row = row_of(made, "results", place.algorithm)
    assert row[7] == "not a number"
    assert row[6] == "infinite"
    (curve,) = read(made).data["problems"][0]["curves"]
    assert curve["regret"] == [None]
    assert set(curve["path"]["mean"]) == {None}


@pytest.mark.parametrize("played", [False, True])
def test_an_experiment_of_which_nothing_is_there_yet_has_a_page(sample, tmp_path, played):
    plan = [] if not played else [sample.cells[0][0]]
    made = read(pages.made_page(sample, tmp_path / "p", [], plan=plan))
    said = "1 is not played yet" if played else "Nothing was planned"
    assert said in made.text
    assert made.data["problems"] == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1234567.0, "1,234,567"),
        (0.30000000000000004, "0.3"),
        (999.96, "1,000"),
        (-2.5e-7, "−2.5×10⁻⁷"),
        (6.02214e23, "6.022×10²³"),
        (np.float64(-np.inf), "minus infinity"),
        (np.int64(7), "7"),
        (None, "–"),
        ("words", "words"),
        (True, "True"),
    ],
)
def test_numbers_have_the_digits_that_matter(value, text):
    assert number(value) == text


# --- what it draws -------------------------------------------------------------------------------


def test_figures_draw_the_means_of_the_file_in_the_colours_of_all_figures(rows):
    data = chart_data(rows)
    assert data["names"][:2] == ["PFS, Corollary 1", "DPP"]
    assert [look["light"] for look in data["looks"]] == [
        look_of(k).colour for k in range(len(data["names"]))
    ]
    toy = data["problems"][0]
    dpp = toy["curves"][1]
    own = [r for r in rows if r.problem == "paper toy" and r.algorithm == "DPP"]
    assert dpp["regret"] == pytest.approx([r.arrays["regret"].mean() for r in own], rel=1e-5)
    assert dpp["std"] == pytest.approx([r.arrays["regret"].std() for r in own], rel=1e-5)
    assert dpp["violation"]["soft"]["bound"] == [40.0, 40.0, 40.0]
    assert dpp["violation"]["worst"]["y"][2] == pytest.approx(
        own[2].arrays["worst"].max(), rel=1e-5
    )
    assert dpp["path"]["T"] == dpp["plane"]["T"] == 20_000
    assert dpp["rate"][0] == pytest.approx(0.5, abs=0.1)
    assert "plane" not in data["problems"][1]["curves"][0]


def test_thinning_a_path_for_the_screen_keeps_its_extremes(sample):
    place, cell = sample.cells[0]
    n = 5_000
    g = np.full((n, 3), -0.25)
    peak = g.copy()
    g[1234, 1], peak[3217, 2] = -0.75, 0.5
    paths = {"rounds": 2 * np.arange(1, n + 1), "constraint": g, "peak": peak}
    long = dataclasses.replace(
        cell, arrays={n: a for n, a in cell.arrays.items() if n not in ("regret_path", "actions")}
    )
    (row,) = arrange([place], [(place, pages.with_arrays(long, **paths))])
    path = chart_data([row])["problems"][0]["curves"][0]["path"]
    assert len(path["t"]) == 400
    assert path["t"][-1] == 10_000
    assert min(path["low"]) == -0.75
    assert max(path["high"]) == 0.5
    k = path["high"].index(0.5)
    assert path["t"][k - 1] < 2 * 3218 <= path["t"][k]


def test_many_algorithms_are_not_all_drawn_at_first(sample, tmp_path):
    made = read(pages.made_page(sample, tmp_path / "p", list(pages.large_cells(50))))
    assert made.data["shown"] == SHOWN < len(made.data["names"]) == 25
    assert f"At first {SHOWN} algorithms are drawn" in made.text


# --- what a specification cannot do --------------------------------------------------------------


def test_texts_of_a_specification_are_text_wherever_they_stand(sample, tmp_path):
    made = pages.hostile_page(sample, tmp_path / "p")
    page = read(made)
    assert page.all("img") == page.all("b") == []
    assert len(page.scripts) == 3
    shown = pages.HOSTILE
    assert sum(shown in words for words in page.words) > 100
    assert page.words.count(shown) > 10
    assert page.data["names"][0] == shown + "PFS, Corollary 1"
    raw = made.read_text(encoding="utf-8")
    data = raw[raw.index('id="data">') :]
    data = data[: data.index("</script>")]
    assert not set(data[10:]) & set("<>&\u2028")


def test_control_characters_and_halves_of_characters_cannot_break_a_page(sample, tmp_path):
    name = "a\x00b\rc\ud800d"
    cells = [(dataclasses.replace(p, algorithm="x\x07\r\ny"), c) for p, c in sample.cells[:1]]
    file = tmp_path / "results.sqlite"
    sample.write(file, cells)
    with Results.open(file) as store:
        header = {**store.header(), "name": name}
        store.header = lambda: header
        made = write_page(store, tmp_path / "report.html")
    raw = made.read_bytes()
    assert b"\x00" not in raw
    assert b"\r" not in raw
    assert "a\ufffdb\ufffdc?d" in raw.decode("utf-8")
