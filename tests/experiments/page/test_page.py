"""The page of an experiment: what it says, and what a specification cannot do to it."""

import base64
import dataclasses
import hashlib
import os
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from setuptools import Distribution

from surefoot.core.optional import MissingExtraError
from surefoot.experiments import Facts, Place, Results, Row, gather
from surefoot.experiments.page import Drawing, _environment, compact_svg, write_page, write_report
from surefoot.experiments.page.findings import number, pairs_of, summarise_pairs, word_of
from surefoot.experiments.paper import read_data
from surefoot.experiments.record import VerdictFacts

from . import _pages as pages

PLACE = {"problem": "p", "algorithm": "a", "horizon": 5, "block": 0}

ROOT = Path(__file__).parents[3]
VOID = {"meta", "link", "input", "br", "img"}
SPEC = 'name = "sample"\nseed = 7\n# <kept> as it is'


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
        if "svg" not in self.open:
            self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.open

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def read(path):
    return Document(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def path(sample, tmp_path_factory):
    waiting = Place(address="f" * 64, problem="paper toy", algorithm="Yuan", horizon=2_000, block=0)
    return pages.made_page(
        sample,
        tmp_path_factory.mktemp("page"),
        notes={"claims": pages.CLAIMS},
        plan=[waiting],
        specification=SPEC,
    )


@pytest.fixture(scope="module")
def page(path):
    return read(path)


@pytest.fixture(scope="module")
def drawn(results, rows, tmp_path_factory):
    """A page with its figures."""
    return write_report(results, tmp_path_factory.mktemp("drawn"), rows)[0]


def row_of(path, table, *words):
    """The only row of a table that has all the words, tags taken out."""
    text = path.read_text(encoding="utf-8")
    body = text[text.index(f'<table id="{table}"') :]
    body = body[body.index("<tbody>") : body.index("</tbody>")]
    found = [
        line
        for line in body.split("\n")
        if all(word in re.sub("<[^>]*>", "|", line) for word in words)
    ]
    assert len(found) == 1, found
    return re.sub(r"\|+", "|", re.sub("<[^>]*>", "|", found[0])).strip("|").split("|")


# --- the document --------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_reference_of_the_page_stays_in_it(drawn, page):
    paper = read_data("figures")["story"]["link"]
    for document in (page, read(drawn)):
        ids = [a["id"] for _, a in document.elements if "id" in a]
        assert len(ids) == len(set(ids))
        for _, attributes in document.elements:
            assert not any(name.startswith("on") for name in attributes)
            for name in ("src", "href", "action", "data", "poster", "srcset"):
                target = attributes.get(name, "#verdicts")
                assert target.startswith(("#", "data:", paper)), target
                if target.startswith("#"):
                    assert target[1:] in ids
            for name in ("for", "aria-labelledby"):
                assert name not in attributes or attributes[name] in ids
        assert [tag for tag, _ in document.elements].count("h1") == 1
        assert document.all("html") == [{"lang": "en"}]
        assert "a" in {tag for tag, a in document.elements if a.get("class") == "skip"}
    assert "://" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", drawn.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_usual_report_is_small_and_every_figure_has_a_name(drawn):
    assert drawn.stat().st_size < 500_000
    figures = read(drawn).all("figure")
    kinds = ["regret", "path", "violation", "instant", "actions"]
    assert [a["class"] for a in figures] == [*kinds, *(k for k in kinds if k != "actions")]
    assert all(a["role"] == "img" and a["aria-label"] for a in figures)


def test_only_the_script_of_the_page_may_run_and_nothing_may_be_fetched(page):
    (policy,) = [
        m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    (code,) = page.scripts
    assert len(code.splitlines()) <= 150
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules
    assert "unsafe-eval" not in policy


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes_wherever_they_are(sample, tmp_path):
    cells = [pair for pair in sample.cells if pair[0].algorithm == "DPP"][:6]
    first = pages.made_page(sample, tmp_path / "a", cells, drawings=None)
    moved = tmp_path / "moved.sqlite"
    moved.write_bytes((tmp_path / "a" / "results.sqlite").read_bytes())
    with Results.open(moved) as store:
        second, _ = write_report(store, tmp_path / "b", gather(store))
    assert first.read_bytes() == second.read_bytes()


def test_a_write_that_fails_leaves_the_page_that_was_there(results, rows, tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("before", encoding="utf-8")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_page(results, target, rows, {})
    assert target.read_text(encoding="utf-8") == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_without_jinja_there_is_one_sentence_and_no_page(results, rows, tmp_path, monkeypatch):
    _environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"report page needs jinja2.*surefoot\[plot\]"):
        write_page(results, tmp_path / "report.html", rows, {})
    assert list(tmp_path.iterdir()) == []


def test_the_wheel_has_every_piece_of_the_page(monkeypatch):
    monkeypatch.chdir(ROOT)
    project = Distribution({"long_description": "as setup.py writes it"})
    project.script_name = "setup.py"
    project.parse_config_files()
    build = project.get_command_obj("build_py")
    build.ensure_finalized()
    files = {Path(f).relative_to(build.build_lib).as_posix() for f in build.get_outputs(False)}
    here = ROOT / "src" / "surefoot" / "experiments" / "page"
    pieces = [p.name for p in here.iterdir() if p.suffix in (".html", ".css", ".js")]
    assert len(pieces) == 7
    assert {f"surefoot/experiments/page/{name}" for name in pieces} <= files
    assert "surefoot/experiments/figures/paper.mplstyle" in files
    assert {"surefoot/kernel/c/surefoot.h", "surefoot/py.typed"} <= files


def test_a_drawing_is_shortened_and_its_words_are_not():
    data = (
        b'<?xml version="1.0"?><svg width="2.34567pt"><metadata>x</metadata>\n <g id="axes_1">'
        b'<path d="M 1.234567 2 \nL 3 4.4449 \nL -0.5 4 \nz\n"/>'
        b'<text style="font-size: 7px; font-family: '
        b"'A', 'B'; text-anchor: middle\">0.125 &lt; 1</text></g></svg>"
    )
    assert compact_svg(data) == (
        '<svg width="2.3pt"><g><path d="M 1.2 2 L 3 4.4 L -0.5 4 z "/>'
        '<text style="font-size: 7px; text-anchor: middle">0.125 &lt; 1</text></g></svg>'
    )


# --- what it says --------------------------------------------------------------------------------


def test_the_first_screen_is_one_finding_one_figure_and_one_table(drawn):
    text = drawn.read_text(encoding="utf-8")
    front = text[text.index("<h1>") : text.index("<nav")]
    assert front.count('class="finding"') == front.count("<figure") == front.count("<table") == 1
    assert "paper toy</strong>: 3 of 5 algorithms were feasible" in front
    assert '<figure class="regret"' in front
    assert '<table id="verdicts"' in front


def test_one_horizon_is_shown_by_regret_along_its_rounds(sample, tmp_path):
    cells = [(p, c) for p, c in sample.cells if p.horizon == 2_000 and p.algorithm == "DPP"]
    kinds = [Drawing(kind, kind, b"<svg></svg>") for kind in ("regret", "path", "violation")]
    drawings = {"paper toy": kinds, "sparse budget": kinds}
    made = pages.made_page(sample, tmp_path / "p", cells, drawings=drawings)
    assert [a["class"] for a in read(made).all("figure")][:3] == ["path", "regret", "violation"]


def test_a_promise_about_a_sum_has_another_look_than_one_about_every_round(path):
    text = path.read_text(encoding="utf-8")
    for name, look in (("DPP", "held sum"), ("PFS, Corollary 1", "held")):
        (row,) = re.findall(rf"<tr><th[^>]*>{name}<small>paper toy.*?</tr>", text)
        assert f'<span class="badge {look}">promise kept</span>' in row
    style = text[: text.index("</style>")]
    held, summed = (
        re.search(rf"\.badge\.{look} {{ background: ([^;]*);", style)[1]
        for look in ("held", r"held\.sum")
    )
    assert held != summed
    assert "about a sum, which single rounds may exceed" in read(path).text


def test_the_verdict_comes_first_in_one_sentence_each(page):
    said = page.text[page.text.index("sample: Surefoot report") :]
    assert said.index("Figure 1a is reproduced only") < said.index("Every promise whose")
    assert "and Figure 1b is not reproduced." in said
    assert "Every promise whose premises held was kept. Of 13 pairs" in said
    counted = "2 × ended by an error, 2 × premise broken, 1 × not played yet, 2 × rejected"
    assert f"{counted}, 2 × no promise, 4 × promise kept." in said


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        ("PFS, Corollary 1", ["promise kept", "Theorem 1", "every g ≤ 0"]),
        ("PFS as plotted", ["premise broken at round 17", "|grad f| = 2.75 exceeds G_f = 1"]),
        ("OGD", ["no promise"]),
        ("Jenatton", ["rejected", "rho must be &lt; epsilon = 0.25"]),
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
    assert row[:3] == ["DPP", "paper toy", shown]
    assert row[4:6] == ["sum of g bounded", "Theorem 1"]
    counts = [c.arrays["violations"] for _, c in cells[4 : 6 if status == "done" else 5]]
    assert row[6] == f"{np.concatenate(counts).mean():,.0f} of 20,000"
    assert (note or "so it was") in row[3]
    assert row[3].endswith(f"; {shown}: T = 20,000; promise kept: T = 2,000, 8,000")
    if word == "failed":
        assert "1 promise was NOT KEPT. Of 2 pairs" in read(made).text


@pytest.mark.slow
def test_findings_say_who_stayed_inside_who_was_best_and_what_was_not_reproduced(sample, tmp_path):
    made = read(pages.made_page(sample, tmp_path / "p", notes={"claims": pages.CLAIMS}))
    said = made.text[: made.text.index("What was published")]
    for words in (
        "Polyak Feasibility Steps, ICML 2025 . Its figures show",
        "as written eta and rho with the constants of the paper's text",
        "Figure 1a is reproduced only with other constants than stated and Figure 1b is not",
    ):
        assert words in said, words
    (found,) = re.findall(r"paper toy : (\d) of (\d) algorithms were feasible", said)
    with Results.open(tmp_path / "p" / "results.sqlite") as results:
        last = [r for r in gather(results) if (r.problem, r.horizon) == ("paper toy", 20_000)]
    last = [r for r in last if r.played]
    inside = [r for r in last if r.arrays["largest"].max() <= 0]
    assert found == (str(len(inside)), str(len(last)))
    best = min(inside, key=lambda r: r.arrays["regret"].mean())
    assert f"of these {best.algorithm} has the least regret" in said
    worse = min(last, key=lambda r: r.arrays["regret"].mean())
    assert (f"{worse.algorithm} has less" in said) is (worse not in inside)


def test_tables_have_the_longest_horizon_on_top_and_no_empty_column(path, sample, tmp_path):
    text = path.read_text(encoding="utf-8")
    rows = text[text.index('<table id="results"') :].partition("</tbody>")[0]
    lengths = re.findall(r"<td>paper toy</td><td class=n data-v=\"(\d+)", rows)
    assert len(lengths) > 3
    assert lengths == sorted(lengths, key=int, reverse=True)
    # Premises that differ by the horizon alone are told for the longest.
    assert set(re.findall(r"than the horizon = (\d+)", text)) == {lengths[0]}
    one = [pair for pair in sample.cells if pair[0].algorithm == "OGD"][:1]
    short = pages.made_page(sample, tmp_path / "p", one).read_text(encoding="utf-8")
    for title in ("Promised", "Bound", "Regret / bound", "Problem"):
        assert f">{title}</button>" in rows
        assert f">{title}</button>" not in short


def test_what_is_empty_is_left_out(sample, tmp_path):
    one = [pair for pair in sample.cells if pair[0].algorithm == "OGD"][:1]
    made = read(pages.made_page(sample, tmp_path / "p", one))
    ids = {a["id"] for _, a in made.elements if "id" in a}
    assert "results-section" in ids
    assert not ids & {"rates-section", "claims-section", "figures-section", "findings-section"}
    assert "about a sum" not in made.text


def test_published_and_measured_numbers_stand_side_by_side(path):
    first = row_of(path, "claims", "PFS, regret", "|2,000|")
    assert first[:6] == ["1a", "PFS, regret", "PFS as plotted", "2,000", "88", "87.8"]
    assert first[6:] == [
        "reproduced only with other constants than stated",
        "as written it is 112.0",
    ]
    assert row_of(path, "claims", "DPP, [sum g]+")[3:6] == ["2,000", "15", "–"]


def test_without_claims_there_is_no_table_of_claims_and_the_commands_are_those_of_a_run(
    sample, tmp_path
):
    made = read(pages.made_page(sample, tmp_path / "p", name="limits", specification="seed = 1"))
    assert "What was published" not in made.text
    assert "surefoot run limits.toml surefoot report ." in made.text
    assert "surefoot reproduce" not in made.text


def test_the_command_names_the_plugins(sample, tmp_path):
    made = pages.made_page(
        sample, tmp_path / "p", name="my own", specification="seed = 1", plugins=["mine", "a b"]
    )
    command = "surefoot run 'my own.toml' --plugin mine --plugin 'a b' surefoot report ."
    assert command in read(made).text


def test_the_specification_is_shown_and_saved_as_it_was_given(page):
    assert SPEC in page.words
    (link,) = [a for a in page.all("a") if "download" in a]
    assert link["download"] == "sample.toml"
    assert base64.b64decode(link["href"].partition(",")[2]).decode() == SPEC
    assert "surefoot reproduce" in page.text


def test_every_constant_and_parameter_has_its_origin_and_its_value_at_every_horizon(page):
    said = page.text[page.text.index("Every constant") :]
    assert "Algorithm Name Is a Origin Value all G_f constant specification 1 all G_g" in said
    eta = "0.00559017 at T = 2,000; 0.00279508 at T = 8,000; 0.00176777 at T = 20,000"
    assert f"eta parameter Theorem 1 {eta} " in said
    bound = "424.853 at T = 2,000; 849.706 at T = 8,000; 1,343.5 at T = 20,000"
    assert f"regret bound Theorem 1 {bound} " in said


def test_the_table_of_results_has_the_numbers_of_the_file(path, rows):
    (dpp,) = [
        r for r in rows if (r.algorithm, r.problem, r.horizon) == ("DPP", "paper toy", 20_000)
    ]
    row = row_of(path, "results", "|DPP|", "|paper toy|", "|20,000|")
    regret = dpp.arrays["regret"]
    assert row[3:5] == ["sum of g bounded", "promise kept"]
    assert row[7:11] == [f"{regret.mean():.1f} ± {regret.std():.0f}", "5", "707.1", "30 %"]
    hard, worst = dpp.arrays["sum_positive"], dpp.arrays["largest"]
    assert row[11].startswith(f"{hard.mean():.1f} ± ")
    assert row[6] == f"{worst.max():.4g}"
    assert row[15] == str(dpp.arrays["first_violation"].min())
    assert row[16:] == ["not by the end", "exact", "0.75", "9.5", "batch"]
    never = row_of(path, "results", "|PFS, Corollary 1|", "|paper toy|", "|20,000|")
    assert never[5] == never[11] == "0"
    assert never[15:18] == ["never", "1", "exact"]


def test_the_first_violation_is_that_of_the_trials_that_have_one(sample, tmp_path):
    place, cell = next(pair for pair in sample.cells if pair[0].algorithm == "DPP")
    some = pages.with_arrays(cell, first_violation=np.array([0, 31, 17]))
    made = pages.made_page(sample, tmp_path / "p", [(place, some)])
    assert row_of(made, "results", "|DPP|")[14] == "17"


def test_a_row_without_a_verdict_is_not_said_to_have_held():
    row = Row(problem="p", algorithm="a", horizon=5, trials=1, status="done")
    assert word_of(row) == "not claimed"
    checked = replace(row, facts=Facts(verdict=VerdictFacts(word="not checked")))
    (pair,) = pairs_of([checked], [Place(address="x", **PLACE)])
    assert (pair.word, pair.badge) == ("not checked", "not checked")
    assert summarise_pairs([pair]).endswith(": 1 × not checked.")


@pytest.mark.skipif(os.name != "posix", reason="files have no such permissions here")
def test_others_may_read_a_page_as_any_file_its_owner_makes(results, rows, tmp_path):
    before = os.umask(0o027)
    try:
        write_page(results, tmp_path / "report.html", rows, {})
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
    assert row_of(made, "results", "|2,000|")[-4] == "0.0125"


@pytest.mark.slow
def test_what_is_not_finite_is_told_in_words_and_can_be_drawn(sample, tmp_path):
    place, cell = sample.cells[0]
    lost = pages.with_arrays(
        cell,
        regret=np.array([1.5, np.nan, 2.0]),
        largest=np.array([0.5, np.inf, 0.1]),
        constraint=np.full_like(cell.arrays["constraint"], np.nan),
    )
    made = pages.made_page(sample, tmp_path / "p", [(place, lost)], drawings=None)
    row = row_of(made, "results", place.algorithm)
    assert row[6] == "not a number"
    assert row[5] == "infinite"
    assert read(made).all("figure")


@pytest.mark.parametrize("played", [False, True])
def test_an_experiment_of_which_nothing_is_there_yet_has_a_page(sample, tmp_path, played):
    plan = [] if not played else [sample.cells[0][0]]
    made = read(pages.made_page(sample, tmp_path / "p", [], plan=plan))
    said = "1 × not played yet" if played else "Nothing was planned"
    assert said in made.text
    assert "nothing was played to the end" in made.text


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


# --- what a specification cannot do --------------------------------------------------------------


@pytest.mark.slow
def test_texts_of_a_specification_are_text_wherever_they_stand(sample, tmp_path):
    page = read(pages.hostile_page(sample, tmp_path / "p"))
    assert page.all("img") == page.all("b") == []
    assert len(page.scripts) == 1
    assert sum(pages.HOSTILE in words for words in page.words) > 100
    assert page.words.count(pages.HOSTILE) > 10
    assert len(page.all("figure")) == 9


def test_control_characters_and_halves_of_characters_cannot_break_a_page(sample, tmp_path):
    name = "a\x00b\rc\ud800d"
    cells = [(dataclasses.replace(p, algorithm="x\x07\r\ny"), c) for p, c in sample.cells[:1]]
    file = tmp_path / "results.sqlite"
    sample.write(file, cells)
    with Results.open(file) as store:
        header = {**store.header(), "name": name}
        store.header = lambda: header
        made = write_page(store, tmp_path / "report.html", gather(store), {})
    raw = made.read_bytes()
    assert b"\x00" not in raw
    assert b"\r" not in raw
    assert "a\ufffdb\ufffdc?d" in raw.decode("utf-8")
