"""The page in Chromium, from a file, with every way to the network closed and watched."""

import pytest

from . import _pages as pages

pytestmark = pytest.mark.browser

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


class Visits:
    """Opens pages, and remembers what no page may do: fetch, complain, ask."""

    def __init__(self, browser):
        self.browser, self.wrong, self.contexts = browser, [], []

    def __call__(self, path, **how):
        wrong, own = self.wrong, path.as_uri()
        context = self.browser.new_context(**(how or DESKTOP))
        self.contexts.append(context)
        # Generous: the machine may be busy with other tests.
        context.set_default_timeout(60_000)
        context.route("http*://**", lambda route: route.abort())
        tab = context.new_page()
        tab.on("console", lambda message: wrong.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        tab.on("dialog", lambda asked: (wrong.append(f"dialog: {asked.message}"), asked.dismiss()))
        tab.on("request", lambda request: self._look(request.url, own))
        tab.goto(own)
        tab.locator("html[data-ready]").wait_for(state="attached")
        return tab

    def _look(self, url, own):
        if url != own and not url.startswith(("data:", "blob:")):
            self.wrong.append(f"request: {url}")

    def close(self):
        for context in self.contexts:
            context.close()
        assert self.wrong == []


@pytest.fixture
def visit(chromium):
    visits = Visits(chromium)
    yield visits
    visits.close()


@pytest.fixture(scope="module")
def shared(chromium, path):
    """One desktop tab for the tests that leave the page as it was: opening it is the longest."""
    visits = Visits(chromium)
    yield visits, visits(path)
    visits.close()


@pytest.fixture
def tab(shared):
    visits, tab = shared
    yield tab
    assert visits.wrong == []
    tab.get_by_label("Problem", exact=True).select_option("paper toy")
    tab.get_by_role("button", name="As at first").click()


@pytest.fixture(scope="module")
def path(sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return pages.made_page(sample, folder, notes={"claims": pages.CLAIMS}, specification="seed = 7")


def column(tab, table, title):
    """The cells of a column, by the title of its header, those of hidden rows left out."""
    return tab.evaluate(
        """([table, title]) => {
            const t = document.getElementById(table);
            const k = [...t.tHead.rows[0].cells].findIndex((c) => c.innerText.trim() === title);
            return [...t.tBodies[0].rows].filter((r) => !r.hidden).map((r) => r.cells[k].innerText);
        }""",
        [table, title],
    )


def traces(tab, figure):
    """Name and visibility of what a figure draws."""
    return tab.evaluate(
        "(id) => document.getElementById(id).data.map((t) => [t.name, t.visible ?? true])",
        f"plot-{figure}",
    )


def no_wider_than_the_screen(tab):
    return tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_tables_sort_both_ways_by_mouse_and_by_keyboard(tab):
    button = tab.locator("#results thead button", has_text="Regret")
    head = tab.locator("#results thead th", has_text="Regret")

    def regrets():
        return [
            float(text.split(" ±")[0]) for text in column(tab, "results", "Regret") if text != "–"
        ]

    as_planned = regrets()
    assert head.get_attribute("aria-sort") == "none"
    button.click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert regrets() == sorted(as_planned) != as_planned
    button.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert regrets() == sorted(as_planned, reverse=True)
    # What was never played has no number and stands last, both ways.
    assert column(tab, "results", "Regret")[-6:] == ["–"] * 6
    by_name = tab.locator("#results thead button", has_text="Algorithm")
    by_name.press("Space")
    assert head.get_attribute("aria-sort") == "none"
    assert column(tab, "results", "Algorithm")[0] == "Certified"


def test_rows_can_be_searched_for_and_verdicts_chosen(tab):
    tab.get_by_label("Only rows with").first.fill("sparse CERTIF")
    assert column(tab, "verdicts", "Algorithm") == ["Certified"]
    assert tab.locator("output").first.inner_text() == "1 of 12 rows"
    chip = tab.locator(".chips button", has_text="premise broken")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    assert column(tab, "verdicts", "Algorithm") == ["PFS as plotted"] * 2
    chip.press("Enter")
    assert len(column(tab, "verdicts", "Algorithm")) == 12


def test_the_list_of_algorithms_hides_and_shows_curves_in_every_figure(tab):
    button = tab.locator("#legend button", has_text="DPP")
    assert ["DPP", True] in traces(tab, "regret")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    for figure in ("regret", "violation", "path", "plane", "along", "rates"):
        assert ["DPP", "legendonly"] in traces(tab, figure)
        assert ["OGD", True] in traces(tab, figure)
    button.press("Enter")
    assert ["DPP", True] in traces(tab, "plane")
    tab.get_by_role("button", name="None", exact=True).click()
    assert {v for n, v in traces(tab, "path")} == {"legendonly"}
    assert tab.locator("#legend-box summary").inner_text() == "Algorithms (0 of 5 shown)"


def test_a_point_tells_its_numbers(tab):
    point = tab.locator("#plot-regret .scatterlayer .trace").first.locator(".point").last
    point.hover(force=True)
    label = tab.locator("#plot-regret .hoverlayer .hovertext")
    label.wait_for()
    said = label.text_content()
    assert said.startswith("PFS, Corollary 1")
    assert "T = 20,000: 252.8 ± " in said
    assert "5 trials" in said


def test_the_problem_the_measure_and_the_scale_can_be_chosen(tab):
    before = tab.evaluate("document.getElementById('plot-regret').data[0].y")
    assert tab.locator("#plot-plane").is_visible()
    tab.get_by_label("Problem", exact=True).select_option("sparse budget")
    assert tab.evaluate("document.getElementById('plot-regret').data[0].y") != before
    assert not tab.locator("#plot-plane").is_visible()
    assert "set recording.actions" in tab.locator("#figure-plane figcaption").inner_text()
    tab.get_by_label("measure", exact=True).select_option("worst")
    axis = "document.getElementById('plot-violation').layout.yaxis"
    assert tab.evaluate(f"{axis}.title.text") == "max g"
    assert "worst round" in tab.locator("#figure-violation figcaption").inner_text()
    frame = "document.getElementById('plot-regret').layout.yaxis"
    narrow = tab.evaluate(f"{frame}.range")
    tab.locator("#figure-regret").get_by_label("bounds").check()
    scale = tab.locator("#figure-regret").get_by_label("log scale")
    scale.uncheck()
    assert tab.evaluate(f"{frame}.range")[1] > 4 * narrow[1]
    scale.check()
    assert tab.evaluate(f"{frame}.type") == "log"


def test_no_figure_offers_to_send_itself_anywhere_and_each_can_be_saved(tab):
    buttons = tab.locator("#plot-regret .modebar-btn")
    titles = [b.get_attribute("data-title") for b in buttons.all()]
    assert titles == ["Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes", "Save as a picture"]
    tab.locator("#plot-regret").hover()
    with tab.expect_download() as download:
        buttons.last.click()
    saved = download.value.path().read_text(encoding="utf-8")
    assert saved.startswith("<svg")
    assert "Regret against the horizon: paper toy" in saved
    assert "PFS as plotted" in saved  # the legend, which the page has beside the figures


def test_a_phone_shows_the_page_without_scrolling_sideways(visit, path):
    tab = visit(path, **PHONE)
    assert no_wider_than_the_screen(tab)
    for details in tab.locator("details").all():
        details.evaluate("(d) => { d.open = true; }")
    assert no_wider_than_the_screen(tab)
    # A row is a card there, each line with the title of its column.
    card = tab.locator("#results tbody tr").first
    assert card.bounding_box()["width"] < 360
    assert card.bounding_box()["height"] > 120
    title = "(e) => getComputedStyle(e, '::before').content"
    assert tab.locator("#results tbody td").first.evaluate(title) == '"Problem: "'
    assert tab.locator("#plot-regret .main-svg").first.bounding_box()["width"] > 280


def test_the_keyboard_reaches_everything_in_order_and_can_see_where_it_is(visit, path):
    tab = visit(path)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    assert tab.locator(".skip").bounding_box()["x"] >= 0
    seen = tab.evaluate(
        """() => {
            const shown = (e) => e.checkVisibility({ visibilityProperty: true });
            const can = [...document.querySelectorAll(
                "a[href], button, input, select, summary, [tabindex='0']")].filter(shown);
            return can.length;
        }"""
    )
    order = ["skip"]
    for _ in range(seen + 3):
        tab.keyboard.press("Tab")
        where = tab.evaluate(
            """() => { const e = document.activeElement;
                e.seen = (e.seen ?? 0) + 1;
                return [e.tagName, getComputedStyle(e).outlineStyle !== "none", e.seen]; }"""
        )
        if where[0] == "BODY":
            break
        assert where[1], where  # what has the focus is drawn with an outline
        assert where[2] == 1, where  # no trap
        order.append(where[0])
    assert len(order) == seen
    assert {"A", "BUTTON", "INPUT", "SELECT", "SUMMARY", "DIV", "PRE"} <= set(order)


def lightness(tab):
    """Of the ground, the text and the text of a figure, from 0 to 255."""
    return tab.evaluate(
        """() => {
            const style = (e) => getComputedStyle(document.querySelector(e));
            return [style("body").backgroundColor, style("body").color,
                style("#plot-regret .xtick text").fill].map((colour) =>
                colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + part / 3, 0));
        }"""
    )


def test_page_and_figures_follow_the_scheme_and_paper_is_light_with_nothing_folded(visit, path):
    tab = visit(path, **DESKTOP, color_scheme="dark")
    ground, ink, axis = lightness(tab)
    assert ground < 40
    assert min(ink, axis) > 200
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    ground, ink, axis = lightness(tab)
    assert ground == 255
    assert max(ink, axis) < 60
    assert tab.locator("details:not([open])").count() == 0
    assert not tab.locator("nav").is_visible()
    tab.emulate_media(media="screen", color_scheme="dark")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details:not([open])").count() > 0
    assert min(lightness(tab)[1:]) > 200
    tab.emulate_media(color_scheme="light")
    # The figures follow in an event of its own; waiting inside the page would need eval.
    for _ in range(300):
        if lightness(tab)[2] < 60:
            break
        tab.wait_for_timeout(100)
    ground, ink, axis = lightness(tab)
    assert ground == 255
    assert max(ink, axis) < 60


def test_texts_of_a_specification_are_shown_and_never_run(visit, sample, tmp_path):
    tab = visit(pages.hostile_page(sample, tmp_path / "p"))
    shown = pages.HOSTILE.replace("\u2028", "")
    assert tab.locator("h1").inner_text().replace("\u2028", "") == shown
    assert tab.title().startswith("<img src=x onerror=alert(1)></script><b>%{x}")
    assert tab.evaluate("document.querySelectorAll('img, main b').length") == 0
    legend = tab.locator("#legend button span").first.inner_text().replace("\u2028", "")
    assert legend == shown + "PFS, Corollary 1"
    # Plotly reads a little HTML and templates of its own in what it is told to write.
    tab.locator("#plot-regret .scatterlayer .trace").first.locator(".point").last.hover(force=True)
    label = tab.locator("#plot-regret .hoverlayer .hovertext")
    label.wait_for()
    assert label.text_content().startswith("<img src=x onerror=alert(1)></script><b>%{x}")
    tab.locator("#plot-regret").hover()
    with tab.expect_download() as download:
        tab.locator("#plot-regret .modebar-btn").last.click()
    assert "<img" not in download.value.path().read_text(encoding="utf-8")


def test_a_script_that_got_in_would_not_run_and_could_not_call_out(visit, path):
    tab = visit(path)
    tab.evaluate(
        """() => { const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script); }"""
    )
    assert tab.evaluate("window.ran") is None
    failed = "() => fetch('https://example.org').then(() => 'fetched', () => 'refused')"
    assert tab.evaluate(failed) == "refused"
    told = [what for what in visit.wrong if "Content Security Policy" in what]
    assert len(told) == len(visit.wrong) >= 2
    visit.wrong.clear()


def test_a_page_with_a_thousand_rows_opens_and_sorts(visit, sample, tmp_path):
    made = pages.made_page(sample, tmp_path / "p", list(pages.large_cells(1_000)))
    tab = visit(made)
    tab.locator("#plot-rates .main-svg").first.wait_for()
    assert len(column(tab, "results", "T")) == 1_000
    shown = [visible for name, visible in traces(tab, "regret") if "bound" not in name]
    assert shown.count(True) == 8
    assert shown.count("legendonly") == 17
    tab.locator("#results thead button", has_text="Regret").click()
    first, last = (column(tab, "results", "Regret")[k] for k in (0, -1))
    assert float(first.split()[0]) < float(last.split()[0])
