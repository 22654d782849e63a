"""The command that shows a journal, for plants: an audit record as text, files and a page."""

import csv
import html.parser
import re
from dataclasses import replace

import pytest
from tests.controller.plants import C, context_at, drive_hall, hall, pressure_at, pumps

from surefoot.controller import Plant, PlantFleet, read_journal
from surefoot.problems.plant import PolicyDescription


def played_hall(path, rounds=40):
    """Play a hall with gaps, an unknown context, somebody's set points, notes and an amendment."""

    def report(t, points):
        if 12 <= t <= 14:
            return {"missing": True, "readings": None}
        if t == 20:
            return {"context": {"outside": 99.0, "load": 0.9}}
        return {"played": points | {"fan1": 100.0}} if t == 25 else None

    with Plant.of(hall(), journal=path) as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 9, report=report)
        plant.note("replaced the <filters>")
        drive_hall(plant, rounds - 14, report=report)
        limit = replace(hall().limits[0], steepness={"fan1": C(0.15), "fan2": C(0.15)})
        amended = replace(hall(), limits=(limit, hall().limits[1]))
        plant.amend(amended, by="E. Meier", reason="a new log")
        drive_hall(plant, 5, report=report)
    return path


def played_pumps(path, *, steepness=0.12, policy="retreat", rounds=12):
    """Play the pumps, with a steepness that may be wrong."""
    limit = replace(pumps().limits[0], steepness={"speed": C(steepness, "estimated", "a log")})
    policy = PolicyDescription(policy, 2)
    with Plant.of(replace(pumps(policy=policy), limits=(limit,)), journal=path) as plant:
        for _ in range(rounds):
            speed = plant.ask()["speed"]
            plant.tell(readings={"pressure": pressure_at(speed)}, wanted={"speed": 25.0})
    return path


def played_fleet(path, names=("p1", "p2", "p3"), rounds=6):
    with PlantFleet.of(replace(pumps(), members=dict.fromkeys(names, pumps())), journal=path) as f:
        for _ in range(rounds):
            points = f.ask()
            f.tell(
                {
                    name: {
                        "readings": {"pressure": pressure_at(points[name]["speed"])},
                        "wanted": {"speed": 25.0},
                    }
                    for name in names
                }
            )
    return path


class Page(html.parser.HTMLParser):
    """The words of a page, its elements, and the addresses and names in it."""

    def __init__(self, path):
        super().__init__()
        self.text, self.names, self.addresses, self.ids = "", [], [], []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        given = dict(attrs)
        self.addresses += [given[k] for k in ("src", "href", "xlink:href") if k in given]
        self.ids += [given["id"]] if "id" in given else []

    def handle_data(self, data):
        self.text += f" {data}"

    @property
    def words(self):
        return " ".join(self.text.split())


def page_of(desk, file="j.jsonl", *words):
    assert desk.do("journal", file, *words, "--page", "j.html").code == 0
    return Page(desk.folder / "j.html")


# --- text ----------------------------------------------------------------------------------------


def test_the_summary_has_limits_in_their_units_and_never_no_guarantee(desk):
    played_hall(desk.folder / "j.jsonl")
    out = desk.do("journal j.jsonl").out
    told = {line[:16].strip(): line[16:] for line in out.splitlines()}
    assert told["plant"].startswith("hall 3: 2 actuators, 2 contexts, 2 limits")
    assert told["guarantee"].startswith("hot_spot is at most 27 degC in every round")
    assert told["amendments"].startswith("round 36: by E. Meier: ")
    assert "limit.hot_spot.steepness.fan1 0.12 -> 0.15" in told["amendments"]
    assert told["recoveries"] == "none, 0 left"
    assert told["notes"] == "round 10: replaced the <filters>"
    assert "RegionFilter" not in out


def test_data_have_the_limits_the_estimates_and_what_happened(desk):
    played_hall(desk.folder / "j.jsonl")
    found = desk.do("journal j.jsonl --json").data
    assert (found["plant"], found["estimates"], found["outside"]) == ("hall 3", 0, {})
    assert [event["kind"] for event in found["events"]][:3] == ["note", "missing", "missing"]
    assert found["promises"]["feasibility"] == "Theorem X1 with N, proved"


def test_the_latest_rounds_and_one_round_are_in_units(desk):
    played_hall(desk.folder / "j.jsonl")
    found = desk.do("journal j.jsonl --json --last 2 --round 3").data
    assert [row["round"] for row in found["table"]] == [39, 40]
    assert found["round"]["set_points"].keys() == {"fan1", "fan2"}
    assert found["round"]["how"] == "step"
    assert found["round"]["explanation"].startswith("round 3: fan1 ")
    lines = desk.do("journal j.jsonl --last 3").out.splitlines()
    assert len(lines) == 4
    assert "fan1 [%]" in lines[0]
    assert "wanted fan2 [%]" in lines[0]
    out = desk.do("journal j.jsonl --round 3").out
    assert re.search(r"round 3: fan1 [\d.]+ %, fan2 [\d.]+ % \(step\)", out)
    assert "certified before: hot_spot " in out
    assert "by round 2" in out


# --- files ---------------------------------------------------------------------------------------


def test_the_csv_has_every_round_with_what_the_checker_finds(desk):
    played_pumps(desk.folder / "j.jsonl")
    assert desk.do("journal j.jsonl --csv j.csv") == (0, "csv      j.csv\n", "")
    with (desk.folder / "j.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    record = read_journal(desk.folder / "j.jsonl")
    described = list(record.plant.describe(record.rounds))
    assert [row["certified"] for row in rows] == ["start", *["yes"] * 11]
    for row, expected in zip(rows, described, strict=True):
        assert float(row["speed [Hz]"]) == expected.set_points["speed"]
        assert float(row["bound pressure [bar]"]) == expected.bounds["pressure"]
        assert row["pressure limit [bar]"] == "2.5"
        assert row["time_utc"] == expected.time


def test_a_fleet_has_one_table_with_its_members(desk):
    played_fleet(desk.folder / "j.jsonl")
    desk.do("journal j.jsonl --csv j.csv")
    with (desk.folder / "j.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["member"] for row in rows] == ["p1"] * 6 + ["p2"] * 6 + ["p3"] * 6
    desk.do("journal j.jsonl --member p2 --csv one.csv")
    with (desk.folder / "one.csv").open(newline="", encoding="utf-8") as file:
        assert {row["member"] for row in csv.DictReader(file)} == {"p2"}


@pytest.mark.slow
def test_parquet_has_the_same_columns(desk):
    from pyarrow import parquet

    played_hall(desk.folder / "j.jsonl")
    desk.do("journal j.jsonl --csv j.csv --parquet j.parquet")
    table = parquet.read_table(desk.folder / "j.parquet")
    with (desk.folder / "j.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert table.column_names == list(rows[0])
    read = [row["flow [m3/s]"] for row in rows]
    assert [v if v is None else repr(v) for v in table["flow [m3/s]"].to_pylist()] == [
        text or None for text in read
    ]


# --- the page ------------------------------------------------------------------------------------


def test_the_page_says_what_was_certified_given_what(desk):
    played_pumps(desk.folder / "j.jsonl")
    page = page_of(desk)
    for words in (
        "certified given 1 estimate",
        "Certified before they were used: 11 of 12 set points; at the declared start: 1.",
        "No reading of pressure was below 2.5 bar",
        "0 missing rounds, 0 amendments, 0 recoveries and 0 alarms.",
        "pressure is at least 2.5 bar in every round",
        "By Theorem E with N, certified given 1 estimate.",
        "steepness.speed",
        "bar per Hz",
        "estimated",
        "a log",
        "at most 1 measured round is outside by more than twice the meter error (0.04 bar of",
        "Not promised: cost;",
        "Nothing happened but rounds.",
        "exit code 0",
        "[limit.pressure]",
    ):
        assert words in page.words, words
    assert read_journal(desk.folder / "j.jsonl").digest in page.words


def test_the_page_of_a_plant_that_recovered_says_when_and_why(desk):
    played_pumps(desk.folder / "j.jsonl", steepness=0.05, policy="recover")
    page = page_of(desk)
    for words in (
        "1 reading of pressure was below 2.5 bar by more than the meter's error of 0.02 bar",
        "1 recovery",
        "alarm: contradiction",
        "recovery 1 of 2: constants that are not proved are multiplied by",
        "steepness.speed 0.05 bar per Hz is too small (its term was 0.58 of 0.58 bar)",
        "What was promised",
        "From round 3 on; what was known before is in the plant below.",
        "By Theorem E with N. Assumed:",
        "What was read in round 2 is impossible if the constants in use then were right.",
        "the rest as before",
    ):
        assert words in page.words, words


def test_nothing_that_a_reading_refuted_is_called_proved(desk):
    limit = replace(pumps().limits[0], steepness={"speed": C(0.05)})
    with Plant.of(replace(pumps(), limits=(limit,)), journal=desk.folder / "j.jsonl") as plant:
        for _ in range(6):
            speed = plant.ask()["speed"]
            plant.tell(readings={"pressure": pressure_at(speed)}, wanted={"speed": 25.0})
    page = page_of(desk)
    assert "certified given the constants of each piece" in page.words
    assert ">What was promised<" in page.source
    assert "proved." not in page.words
    assert ">Proved<" not in page.source
    with Plant.of(pumps(), journal=desk.folder / "k.jsonl") as plant:
        plant.tell(readings={"pressure": 3.1}, wanted=plant.ask())
    page = page_of(desk, "k.jsonl")
    assert ">Proved<" in page.source
    assert "By Theorem E with N, proved." in page.words


def test_nothing_that_was_not_certified_or_checked_is_called_proved(desk):
    limit = replace(pumps().limits[0], steepness={"speed": C(0.05)})
    record = replace(pumps(policy=PolicyDescription("record")), limits=(limit,))
    unknown = replace(pumps().limits[0], steepness=None, violations=3)
    for name, plant, words in (
        ("j.jsonl", record, "not certified"),
        ("k.jsonl", replace(pumps(), limits=(unknown,)), "not checked"),
    ):
        with Plant.of(plant, journal=desk.folder / name) as loop:
            for _ in range(6):
                speed = loop.ask()["speed"]
                loop.tell(readings={"pressure": pressure_at(speed)}, wanted={"speed": 25.0})
        page = page_of(desk, name)
        assert re.search(
            rf'<span class="badge [a-z-]+">{words}</span> <span class="by"', page.source
        )
        assert ">What was promised<" in page.source
        assert "proved." not in page.words


def test_readings_are_counted_by_the_limit_of_their_round(desk):
    # Below 2.5 bar in round 2; from round 6 on 1.5 bar is enough.
    limit = replace(pumps().limits[0], steepness={"speed": C(0.05)})
    low = replace(pumps(policy=PolicyDescription("record")), limits=(limit,))
    with Plant.of(low, journal=desk.folder / "j.jsonl") as plant:
        for t in range(1, 9):
            if t == 6:
                why = C(1.5, why="a lower limit")
                less = replace(limit, bound=1.5, start_margin=why)
                plant.amend(replace(low, limits=(less,)), by="E. Meier", reason="new pipes")
            speed = plant.ask()["speed"]
            value = 2.4 if t in (2, 3) else pressure_at(speed)
            plant.tell(readings={"pressure": value}, wanted={"speed": 49.0})
    page = page_of(desk)
    words = (
        "2 readings of pressure were below 2.5 bar, 1.5 bar from round 6 on, by more than the "
        "meter's error of 0.02 bar."
    )
    assert words in page.words
    assert "pressure: at least 2.5, then 1.5 bar" in page.words
    summary = desk.do("journal j.jsonl").out
    assert "at least 2.5 bar, 1.5 bar from round 6 on; the least reading is" in summary


def test_a_context_that_is_unknown_for_long_is_one_alarm_and_one_gap(desk):
    unknown = {"context": {"outside": None, "load": None}}
    with Plant.of(hall(), journal=desk.folder / "j.jsonl") as plant:
        plant.announce(context_at(1))
        drive_hall(plant, 20, report=lambda t, points: unknown if 5 <= t <= 12 else None)
    page = page_of(desk)
    events = page.source.partition(">Events<")[2].partition(">The latest rounds<")[0]
    assert events.count("<tr>") == 1 + 2
    assert events.count(">6 to 13<") == 2


def test_what_the_checker_has_not_judged_is_not_called_certified(desk):
    with Plant.of(pumps(), journal=desk.folder / "j.jsonl") as plant:
        for t in range(8):
            speed = plant.ask()["speed"]
            report = {"readings": {"pressure": pressure_at(speed)}, "wanted": {"speed": 25.0}}
            plant.tell(**report, **({"played": {"speed": 49.0}} if t == 3 else {}))
    rows = list(
        read_journal(desk.folder / "j.jsonl").plant.describe(
            read_journal(desk.folder / "j.jsonl").rounds
        )
    )
    cells = re.findall(
        r"<tr>(<th.*?)</tr>", page_of(desk).source.partition("latest rounds</h2>")[2]
    )
    by_round = {int(re.search(r">(\d+)<", c)[1]): c for c in cells if "scope=row" in c}
    unchecked = [t for t, cell in by_round.items() if ">not checked<" in cell]
    assert 4 in unchecked
    for row in rows:
        bound = f">{row.bounds['pressure']:.5g}<"
        assert (bound in by_round[row.round]) is (row.round not in unchecked)


def test_a_long_name_leaves_room_for_its_unit_beside_an_axis(desk):
    limit = replace(pumps().limits[0], name="pressure_behind_the_last_valve")
    with Plant.of(replace(pumps(), limits=(limit,)), journal=desk.folder / "j.jsonl") as plant:
        plant.tell(readings={limit.name: 3.1}, wanted=plant.ask())
    page = page_of(desk)
    assert page.source.count(">pressure_behin... [bar]<") == 4  # of two charts, wide and narrow
    assert "pressure_behind_the_last_valve: at least 2.5 bar" in page.words


def test_one_context_has_one_axis(desk):
    one = replace(
        hall(),
        contexts=hall().contexts[:1],
        limits=tuple(
            replace(limit, rise={"outside": limit.rise["outside"]}) for limit in hall().limits
        ),
    )
    with Plant.of(one, journal=desk.folder / "j.jsonl") as plant:
        for t in range(3):
            plant.announce({"outside": 20.0 + t})
            plant.tell(missing=True, wanted=plant.ask())
    page = page_of(desk)
    chart = page.source.partition(">Contexts<")[2].partition("</figure>")[0]
    assert ">outside [degC]<" in chart
    assert ">0.2<" not in chart  # of an axis on which nothing is


def test_the_page_fetches_nothing_runs_no_text_and_has_each_name_once(desk):
    played_hall(desk.folder / "j.jsonl")
    page = page_of(desk)
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert "default-src 'none'" in page.source
    assert "replaced the &lt;filters&gt;" in page.source
    assert "filters" not in page.names
    # Charts of hot_spot, flow, set points, contexts and margins, each wide and narrow.
    assert page.names.count("svg") == 10
    assert len(page.ids) == len(set(page.ids))
    assert "nan" not in page.source
    for words in ("no reading", "missing", "alarm", "amendment", "the limit", "wanted"):
        assert f">{words}<" in page.source, words
    assert "12 to 14" in page.words  # what was missing for one reason is one event


def test_every_figure_says_what_it_shows(desk):
    played_hall(desk.folder / "j.jsonl")
    page = page_of(desk)
    captions = re.findall(r'role="img" aria-label="([^"]+)"', page.source)
    assert len(captions) == 5
    assert re.search(r"Readings are between 1\d[\d.]+ and 2\d[\d.]+ degC", captions[0])


def test_a_page_without_a_round_has_no_charts(desk):
    with Plant.of(pumps(), journal=desk.folder / "j.jsonl"):
        pass
    page = page_of(desk)
    assert "svg" not in page.names
    assert "no round was reported; rounds of 1 min" in page.words


def test_a_damaged_journal_is_not_called_certified(desk):
    path = played_pumps(desk.folder / "j.jsonl")
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"round":7', b'"round":8', 1))
    assert desk.do("journal j.jsonl --page j.html").code == 1
    assert not (desk.folder / "j.html").exists()


def test_the_page_of_a_fleet_begins_with_its_members(desk):
    played_fleet(desk.folder / "j.jsonl", rounds=3)
    page = page_of(desk)
    assert page.names.count("h1") == 1
    assert page.words.count("By Theorem E with N, proved.") == 3
    head = page.source[page.source.index('id="members"') :]
    titles = re.findall(r'<button type="button">([^<]+)</button>', head)[:7]
    assert titles == ["Member", "Verdict", "Rounds", "Certified", "Outside", "Missing", "Alarms"]
    assert len(page.ids) == len(set(page.ids))
    assert "<h1>pumps</h1>" in page.source
    one = page_of(desk, "j.jsonl", "--member", "p2")
    assert "<h1>pumps, p2</h1>" in one.source
    assert one.words.count("By Theorem E with N, proved.") == 1


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_fits_a_screen_and_fetches_nothing(desk, chromium, width):
    played_hall(desk.folder / "j.jsonl")
    page_of(desk)
    context = chromium.new_context(viewport={"width": width, "height": 800})
    tab, asked, said = context.new_page(), [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: said.append(message.text))
    tab.goto((desk.folder / "j.html").as_uri())
    assert len(asked) == 1
    assert said == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # One of two drawings is shown, as wide as its frame, and its words can be read.
    shown = [svg.bounding_box() for svg in tab.locator("svg").all() if svg.is_visible()]
    assert len(shown) == 5
    assert all(box["width"] > 0.6 * min(width, 1024) for box in shown)
    words = [word for word in tab.locator("svg text").all() if word.is_visible()]
    assert min(word.bounding_box()["height"] for word in words) > 7
    head = tab.locator("#sa-rounds thead")
    assert (
        width == 390 or head.bounding_box()["width"] <= tab.locator("#main").bounding_box()["width"]
    )
    context.close()


@pytest.mark.browser
def test_rounds_that_are_too_wide_for_paper_say_so(desk, chromium):
    actuator, limit = pumps().actuators[0], pumps().limits[0]
    names = [f"pump_with_a_long_name_{i}" for i in range(14)]
    wide = replace(
        pumps(),
        actuators=tuple(replace(actuator, name=name) for name in names),
        limits=(replace(limit, steepness={name: C(0.12) for name in names}),),
    )
    with Plant.of(wide, journal=desk.folder / "j.jsonl") as plant:
        plant.tell(readings={"pressure": 3.1}, wanted=plant.ask())
    page_of(desk)
    tab = chromium.new_context(viewport={"width": 700, "height": 900}).new_page()
    tab.goto((desk.folder / "j.html").as_uri())
    assert not tab.locator(".on-paper").is_visible()
    tab.emulate_media(media="print")
    assert "--csv" in tab.locator(".on-paper").inner_text()
    assert not tab.locator(".rounds .scroll").is_visible()
    tab.context.close()


def buttons(tab):
    return tab.locator("thead button").all()


@pytest.mark.browser
def test_on_paper_the_wide_charts_are_drawn_and_nothing_is_cut(desk, chromium):
    played_hall(desk.folder / "j.jsonl")
    page_of(desk)
    context = chromium.new_context(viewport={"width": 700, "height": 900})
    tab = context.new_page()
    tab.goto((desk.folder / "j.html").as_uri())
    tab.emulate_media(media="print")
    assert all(each.is_visible() for each in tab.locator(".on-wide").all())
    assert not any(each.is_visible() for each in tab.locator(".on-narrow").all())
    cut = "(e) => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1"
    assert not any(frame.evaluate(cut) for frame in tab.locator(".scroll, pre").all())
    # A button in a head is not drawn again on the next sheets of paper.
    heads = [button.evaluate("(e) => getComputedStyle(e).display") for button in buttons(tab)]
    assert set(heads) == {"contents"}
    context.close()
