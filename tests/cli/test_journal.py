"""The command that shows a journal: to people, to programs and on a page."""

import csv
import html.parser

import numpy as np
import pytest

from surefoot import OGD, Ball, Controller
from surefoot.controller import Fleet, read_journal
from surefoot.rules import CertifiedPFS, LeaderFollower, SafetyFilter

ROW = np.array([0.6, 0.9])


def played(path, rounds=30, wrong=None):
    """Play a small system into a journal; in the round ``wrong`` its slope contradicts G_g."""
    player = CertifiedPFS(G_g=1.2, domain=Ball(1.5), rho=0.2)
    with Controller(player, [0.2, 0.2], journal=path, on_contradiction="record") as controller:
        for t in range(1, rounds + 1):
            x = controller.ask()
            controller.tell(
                cost_gradient=2 * (x - [0.9, 0.4 + 0.3 * np.sin(t)]),
                constraint_value=float(ROW @ x - 0.5),
                constraint_subgradient=ROW * (3 if t == wrong else 1),
            )
    return path


def test_the_summary_says_who_played_and_what_the_data_leave_of_the_promise(desk):
    played(desk.folder / "j.db", wrong=20)
    code, out, err = desk.do("journal j.db")
    assert (code, err) == (0, "")
    for words in (
        "CertifiedPFS.of(Descent(radius=1.5",
        "30, 29 with a certificate",
        "0 violations",
    ):
        assert words in out
    assert "contradicted: feasibility is not guaranteed" in out
    assert "round 20: |s| = 3.24" in out


def test_a_certified_rule_without_a_theorem_is_not_called_without_a_guarantee(desk):
    played(desk.folder / "j.db")
    lines = desk.do("journal j.db").out.splitlines()
    told = {line[:16].strip(): line[16:] for line in lines}
    name = "Theorem D (certified by CertifiedLength)"
    assert told["guarantee"] == f"{name} for any number of rounds (every round)"
    assert (told["feasibility"], told["observed"]) == (name, "Theorem D (3)")
    assert told["in advance"] == "none"
    assert "no subgradient of g is longer than G_g = 1.2" in told["needs"]
    assert desk.do("journal j.db --json").data["promises"] == {
        "feasibility": name,
        "observed": "Theorem D (3)",
        "in advance": "none",
    }
    assert f"{name} for any number" in page_of(desk)


def test_a_rule_that_certifies_nothing_has_no_guarantee(desk):
    with Controller(OGD(eta=0.1, domain=Ball(1.0)), [0.0], journal=desk.folder / "j.db") as live:
        live.ask()
        live.tell(cost_gradient=[1.0])
    out = desk.do("journal j.db").out
    assert "guarantee       nothing is promised: OGD certifies no action, and no theorem" in out
    assert "nothing was promised that data could contradict" in out


def page_of(desk):
    assert desk.do("journal j.db --page j.html").code == 0
    return (desk.folder / "j.html").read_text(encoding="utf-8")


def test_the_table_has_the_latest_rounds(desk):
    played(desk.folder / "j.db")
    lines = desk.do("journal j.db --last 2").out.splitlines()
    record = read_journal(desk.folder / "j.db", latest=2)
    assert [line.split()[:3] for line in lines[1:]] == [
        [str(r.round), f"{r.g:.4g}", f"{r.bound:.4g}"] for r in record.rounds
    ]


def test_one_decision_is_explained(desk):
    played(desk.folder / "j.db")
    code, out, _ = desk.do("journal j.db --round 7")
    assert code == 0
    assert "chosen by round 6: slack" in out
    assert "round 7 played [" in out
    assert "below the bound" in out
    code, out, err = desk.do("journal j.db --round 31")
    assert (code, out) == (2, "")
    assert err == "surefoot: --round must be at most 30, got 31 (its action is at hand)\n"


def test_json_has_the_same_facts_as_data(desk):
    played(desk.folder / "j.db", wrong=20)
    found = desk.do("journal j.db --json --last 2 --round 7").data
    record = read_journal(desk.folder / "j.db")
    assert (found["rounds"], found["largest"]) == (30, record.worst)
    assert [c["round"] for c in found["contradictions"]] == [20]
    assert [r["round"] for r in found["table"]] == [29, 30]
    assert found["round"]["certificate"]["bound"] == record.rounds[6].bound
    assert found["action"] == record.action.tolist()


def test_the_folder_of_a_file_is_made_and_a_folder_is_no_file(desk):
    played(desk.folder / "j.db")
    assert desk.do("journal j.db --csv tables/july/j.csv")[0] == 0
    assert (desk.folder / "tables" / "july" / "j.csv").is_file()
    ended = desk.do("journal j.db --csv tables")
    assert ended == (2, "", "surefoot: path must be that of a file, got the folder 'tables'\n")


@pytest.mark.slow
def test_files_hold_every_round_bit_for_bit(desk):
    played(desk.folder / "j.db")
    code, out, _ = desk.do("journal j.db --csv j.csv --parquet j.parquet")
    assert (code, out) == (0, "csv      j.csv\nparquet  j.parquet\n")
    record = read_journal(desk.folder / "j.db")
    with (desk.folder / "j.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(r["g"]) for r in rows] == [r.g for r in record.rounds]
    assert [float(r["action_1"]) for r in rows] == [r.action[1] for r in record.rounds]
    assert rows[0]["bound"] == ""
    from pyarrow import parquet

    table = parquet.read_table(desk.folder / "j.parquet")
    assert table["bound"].to_pylist() == [r.bound for r in record.rounds]
    assert table.column_names == list(rows[0])


class Elements(html.parser.HTMLParser):
    """The elements of a page and the addresses in them."""

    def __init__(self, text):
        super().__init__()
        self.names, self.addresses = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.addresses += [v for k, v in attrs if k in ("src", "href", "srcset", "action")]


@pytest.mark.slow
def test_the_page_draws_the_run_and_asks_for_nothing_outside(desk):
    played(desk.folder / "<b>j.db", rounds=520, wrong=400)
    assert desk.do("journal", "<b>j.db", "--page", "j.html").out == "page     j.html\n"
    text = (desk.folder / "j.html").read_text(encoding="utf-8")
    page = Elements(text)
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    assert "script" not in page.names
    assert "b" not in page.names
    assert page.names.count("svg") == 2
    assert "default-src 'none'" in text
    # A line for the contradiction, and what it means, on each chart.
    assert text.count(">contradiction</text>") == 2
    assert "nan" not in text


def test_a_page_of_a_journal_without_a_round_has_no_charts(desk):
    with Controller(CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5), [0.0], journal="j.db"):
        pass
    assert desk.do("journal j.db --page j.html").code == 0
    text = (desk.folder / "j.html").read_text(encoding="utf-8")
    assert "<svg" not in text
    assert "The run" in text
    assert desk.do("journal j.db").code == 0


@pytest.mark.parametrize(
    ("contents", "code", "said"),
    [
        (None, 2, "'j.db' is not a file: give the journal of a controller or a fleet"),
        (b"hello", 1, "is not a Surefoot journal: it does not begin as one"),
        (b"", 1, "is not a Surefoot journal: it is empty"),
    ],
)
def test_what_is_no_journal_is_refused_in_one_sentence(desk, contents, code, said):
    if contents is not None:
        (desk.folder / "j.db").write_bytes(contents)
    ended = desk.do("journal j.db")
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_damaged_and_a_newer_journal_are_refused_in_one_sentence(desk):
    path = played(desk.folder / "j.db")
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"round":5', b'"round":6', 1))
    assert "is damaged" in desk.do("journal j.db").err
    path.write_bytes(whole.replace(b'"format":2', b'"format":99', 1))
    code, _, err = desk.do("journal j.db")
    assert code == 1
    assert "was written by a newer Surefoot" in err


def test_a_run_in_several_files_is_one_run_with_the_notes_of_the_operator(desk):
    player = CertifiedPFS(G_g=1.2, domain=Ball(1.5), rho=0.2)
    with Controller(player, [0.2, 0.2], journal="j.db", rotate=20) as controller:
        for t in range(1, 51):
            if t == 33:
                controller.note("replaced <the> sensor")
            x = controller.ask()
            controller.tell(
                cost_gradient=x - 1.0,
                constraint_value=float(ROW @ x - 0.5),
                constraint_subgradient=ROW,
            )
    assert (desk.folder / "j.db.2").exists()
    found = desk.do("journal j.db --json --last 24").data
    assert (found["rounds"], found["violations"]) == (50, 0)
    assert [r["round"] for r in found["table"]] == list(range(27, 51))
    assert all(r["certificate"] is not None for r in found["table"])
    assert found["notes"] == [{"round": 33, "text": "replaced <the> sensor"}]
    assert "round 33: replaced <the> sensor" in desk.do("journal j.db").out
    desk.do("journal j.db --page j.html")
    text = (desk.folder / "j.html").read_text(encoding="utf-8")
    assert text.count(">note</text>") == 2
    assert "replaced &lt;the&gt; sensor" in text


def test_a_filter_shows_its_proposals_and_what_was_really_played(desk):
    safe = SafetyFilter(G_g=1.2, domain=Ball(1.5), rho=0.2)
    made = Controller(safe, [0.2, 0.2], journal="j.db", on_contradiction="record")
    with made as controller:
        for t in range(1, 6):
            x = controller.ask()
            played = x - np.array([0.0, 0.01]) if t == 3 else x
            controller.tell(
                proposal=[1.0, 1.0],
                constraint_value=float(ROW @ played - 0.5),
                constraint_subgradient=ROW,
                action=played if t == 3 else None,
            )
    assert "but [" in desk.do("journal j.db --round 3").out
    desk.do("journal j.db --csv j.csv")
    with (desk.folder / "j.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {r["proposal_0"] for r in rows} == {"1.0"}
    assert [bool(r["played_1"]) for r in rows] == [False, False, True, False, False]


# --- a fleet -------------------------------------------------------------------------------------


def played_together(path, names=("north", "south", "<west>"), rounds=30):
    """Play a fleet into a journal: the first member is halted, the second contradicts G_g."""
    player = LeaderFollower(G_g=1.2, domain=Ball(1.5))
    with Fleet(player, dict.fromkeys(names, (0.2, 0.2)), journal=path) as fleet:
        for t in range(1, rounds + 1):
            if t == 20:
                fleet.hold("maintenance", [names[0]])
                fleet.note("a <storm>")
            x = fleet.ask()
            slopes = np.tile(ROW, (len(names), 1))
            slopes[1] *= 3 if t == 25 else 1
            fleet.tell(
                cost_gradient=2 * (x - [0.9, 0.4 + 0.3 * np.sin(t)]),
                constraint_value=x @ ROW - 0.5,
                constraint_subgradient=slopes,
            )
    return path


def test_the_summary_of_a_fleet_has_its_members(desk):
    record = read_journal(played_together(desk.folder / "f.db"))
    code, out, err = desk.do("journal f.db")
    assert (code, err) == (0, "")
    assert out == f"{record}\n".replace(str(desk.folder / "f.db"), str(record.path))
    for words in ("halted: maintenance", "members         3", "contradictions  1: south"):
        assert words in out
    found = desk.do("journal f.db --json").data
    assert (found["rounds"], found["largest"]) == (90, record.worst)
    assert found["largest_of"] == record.worst_member.member
    assert found["contradicted"] == ["south"]
    assert found["halted"]["north"] == "maintenance"
    assert [m["member"] for m in found["members"]] == ["north", "south", "<west>"]
    assert found["members"][0]["largest"] == record.members["north"].worst
    assert found["members"][1]["contradictions"][0]["round"] == 25
    assert [n["text"] for n in found["notes"]] == ["a <storm>"]


def test_one_member_of_a_fleet_is_shown_as_a_controller(desk):
    played_together(desk.folder / "f.db")
    record = read_journal(desk.folder / "f.db", member="north")
    assert desk.do("journal f.db --member north").out == f"{record}\n"
    lines = desk.do("journal f.db --member north --last 2").out.splitlines()
    assert [line.split()[0] for line in lines] == ["round", "29", "30"]
    out = desk.do("journal f.db --member north --round 7").out
    assert out == "\n".join(record.rounds[6].sentences()) + "\n"
    found = desk.do("journal f.db --member north --round 7 --json").data
    assert (found["member"], found["halted"], found["round"]["round"]) == (
        "north",
        "maintenance",
        7,
    )
    desk.do("journal f.db --member north --csv n.csv --page n.html")
    with (desk.folder / "n.csv").open(newline="", encoding="utf-8") as file:
        assert [row["g"] for row in csv.DictReader(file)] == [repr(g) for g in record.g.tolist()]
    assert "<h1>f.db, north</h1>" in (desk.folder / "n.html").read_text(encoding="utf-8")


def test_what_needs_a_member_says_so_and_what_has_none_too(desk):
    played_together(desk.folder / "f.db")
    played(desk.folder / "j.db")
    words = "surefoot: --round must come with --member NAME for the journal of a fleet\n"
    assert desk.do("journal f.db --round 7") == (2, "", words)
    assert "did you mean 'north'?" in desk.refusal("journal f.db --member nort")
    assert "left out for the journal of one" in desk.refusal("journal j.db --member north")
    assert "at most 30, got 31" in desk.refusal("journal f.db --member north --round 31")


def test_the_table_of_a_fleet_has_the_latest_rounds_of_each_member(desk):
    played_together(desk.folder / "f.db")
    lines = [line.split()[:2] for line in desk.do("journal f.db --last 2").out.splitlines()]
    assert lines[0] == ["member", "round"]
    assert lines[1:] == [[n, t] for n in ("north", "south", "<west>") for t in ("29", "30")]
    found = desk.do("journal f.db --last 1 --json").data["table"]
    assert [(row["member"], row["round"]) for row in found] == [
        ("north", 30),
        ("south", 30),
        ("<west>", 30),
    ]


@pytest.mark.slow
def test_files_of_a_fleet_hold_every_round_of_every_member(desk):
    played_together(desk.folder / "f.db")
    assert desk.do("journal f.db --csv f.csv --parquet f.parquet").code == 0
    record = read_journal(desk.folder / "f.db")
    with (desk.folder / "f.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:4] == ["member", "run", "round", "g"]
    g = [value for each in record.runs for value in each.g.tolist()]
    assert [float(row["g"]) for row in rows] == g
    from pyarrow import parquet

    table = parquet.read_table(desk.folder / "f.parquet")
    assert table["g"].to_pylist() == g
    assert table["member"].to_pylist() == [row["member"] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 30])
def test_the_page_of_a_fleet_draws_all_and_asks_for_nothing_outside(desk, count):
    names = ("north", "south", "<west>", *map(str, range(count - 3)))
    played_together(desk.folder / "f.db", names, rounds=60)
    assert desk.do("journal f.db --page f.html").out == "page     f.html\n"
    text = (desk.folder / "f.html").read_text(encoding="utf-8")
    page = Elements(text)
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    assert "west" not in page.names
    assert page.names.count("svg") == 2
    assert page.names.count("script") == 1
    assert f"{count} members, {60 * count:,} rounds, no violations" in text
    for words in (
        "a &lt;storm&gt;",
        "&lt;west&gt;",
        "maintenance",
        "|s| = 3.245 exceeds G_g = 1.2",
    ):
        assert words in text, words
    assert text.count("<th scope=row") == count
    assert ("largest of all members" in text) == (count > 8)
    assert ">nan" not in text


def test_a_page_of_a_fleet_without_a_round_has_no_charts(desk):
    with Fleet(LeaderFollower(G_g=1.0, domain=Ball(1.0)), np.zeros((2, 1)), journal="f.db"):
        pass
    assert desk.do("journal f.db --page f.html").code == 0
    text = (desk.folder / "f.html").read_text(encoding="utf-8")
    assert "<svg" not in text
    assert "no g was reported" in text
    assert "rounds          0, 0 with a certificate" in desk.do("journal f.db").out


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_of_a_fleet_fits_a_screen(desk, chromium, width):
    played_together(desk.folder / "f.db", tuple(f"charger {i}" for i in range(40)))
    desk.do("journal f.db --page f.html")
    context = chromium.new_context(viewport={"width": width, "height": 800})
    tab, asked, said = context.new_page(), [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    tab.goto((desk.folder / "f.html").as_uri())
    assert len(asked) == 1
    assert said == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.locator("input[type=search]").fill("charger 17")
    assert "1 of 40 rows" in tab.locator("output").inner_text()
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_fits_a_screen_and_fetches_nothing(desk, chromium, width):
    played(desk.folder / "j.db", rounds=60, wrong=40)
    desk.do("journal j.db --page j.html")
    context = chromium.new_context(viewport={"width": width, "height": 800})
    tab, asked, said = context.new_page(), [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    tab.goto((desk.folder / "j.html").as_uri())
    assert len(asked) == 1
    assert said == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # The words of a chart can be read, however narrow the screen is: it scrolls in its frame.
    assert tab.locator("svg text").first.bounding_box()["height"] > 7
    assert tab.locator("svg").first.bounding_box()["width"] > width / 2
    context.close()
