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
def remeasurement(chromium):
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


@pytest.fixture(scope="module")
def path(sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return pages.made_page(
        sample, folder, notes={"claims": pages.CLAIMS}, specification="seed = 7", drawings=None
    )


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


def no_wider_than_the_screen(tab):
    return tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_tables_sort_both_ways_by_mouse_and_by_keyboard(tab):
    button = tab.locator("#results thead button", has_text="Regret").first
    head = tab.locator("#results thead th", has_text="Regret").first

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


def test_rows_of_a_long_table_can_be_searched_for(tab):
    field = tab.locator("#results-section input")
    field.fill("sparse CERTIF")
    assert column(tab, "results", "Algorithm") == ["Certified"] * 3
    assert tab.locator("#results-section output").inner_text() == "3 of 36 rows"
    field.fill("")
    assert len(column(tab, "results", "Algorithm")) == 36
    assert tab.locator("#rates-section input").count() == 0  # it fits a screen


def test_figures_are_drawn_with_their_words_in_the_right_size(tab):
    sizes = tab.evaluate(
        """() => [...document.querySelectorAll("figure svg text")].map(
            (e) => parseFloat(getComputedStyle(e.querySelector("tspan") ?? e).fontSize))"""
    )
    assert len(sizes) > 100
    assert 4 < min(sizes) <= max(sizes) < 9
    # Nothing of a figure is outside of it.
    lost = tab.evaluate(
        """() => [...document.querySelectorAll("figure")].filter((figure) => {
            const frame = figure.getBoundingClientRect();
            return [...figure.querySelectorAll("text")].some((word) => {
                const box = word.getBoundingClientRect();
                return box.left < frame.left - 1 || box.right > frame.right + 1;
            });
        }).length"""
    )
    assert lost == 0


def test_a_phone_shows_the_page_without_scrolling_sideways(remeasurement, path):
    tab = remeasurement(path, **PHONE)
    assert no_wider_than_the_screen(tab)
    for details in tab.locator("details").all():
        details.evaluate("(d) => { d.open = true; }")
    assert no_wider_than_the_screen(tab)
    figure = tab.locator("#front figure svg").bounding_box()
    assert 280 < figure["width"] <= 360
    # Who it was and what became of it are on the screen; the rest of a table scrolls in its frame.
    assert tab.locator("#verdicts .badge").first.bounding_box()["x"] < 300


def test_the_keyboard_reaches_everything_in_order_and_can_see_where_it_is(remeasurement, path):
    tab = remeasurement(path)
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
    assert {"A", "BUTTON", "INPUT", "SUMMARY", "DIV", "PRE"} <= set(order)


def lightness(tab):
    """Of the ground, the text and the paper of a figure, from 0 to 255."""
    return tab.evaluate(
        """() => {
            const style = (e) => getComputedStyle(document.querySelector(e));
            return [style("body").backgroundColor, style("body").color,
                style("figure").backgroundColor].map((colour) =>
                colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + part / 3, 0));
        }"""
    )


def test_the_page_follows_the_scheme_and_paper_is_light_with_nothing_folded(remeasurement, path):
    tab = remeasurement(path, **DESKTOP, color_scheme="dark")
    ground, ink, figure = lightness(tab)
    assert ground < 40
    assert ink > 200
    assert figure == 255
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    ground, ink, _ = lightness(tab)
    assert ground == 255
    assert ink < 60
    assert tab.locator("details:not([open])").count() == 0
    assert not tab.locator("nav").is_visible()
    tab.emulate_media(media="screen", color_scheme="light")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details:not([open])").count() > 0
    assert lightness(tab)[0] == 255


def test_texts_of_a_specification_are_shown_and_never_run(remeasurement, sample, tmp_path):
    tab = remeasurement(pages.hostile_page(sample, tmp_path / "p"))
    shown = pages.HOSTILE.replace("\u2028", "")
    assert tab.locator("h1").inner_text().replace("\u2028", "") == shown
    assert tab.title().startswith("<img src=x onerror=alert(1)></script><b>%{x}")
    assert tab.evaluate("document.querySelectorAll('img, main b').length") == 0
    legend = tab.locator("#front figure text").all_text_contents()
    assert any(text.startswith("<img src=x onerror=alert(1)>") for text in legend)


def test_a_script_that_got_in_would_not_run_and_could_not_call_out(remeasurement, path):
    tab = remeasurement(path)
    tab.evaluate(
        """() => { const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script); }"""
    )
    assert tab.evaluate("window.ran") is None
    failed = "() => fetch('https://example.org').then(() => 'fetched', () => 'refused')"
    assert tab.evaluate(failed) == "refused"
    told = [what for what in remeasurement.wrong if "Content Security Policy" in what]
    assert len(told) == len(remeasurement.wrong) >= 2
    remeasurement.wrong.clear()


def test_a_page_with_a_thousand_rows_opens_and_sorts(remeasurement, sample, tmp_path):
    made = pages.made_page(sample, tmp_path / "p", list(pages.large_cells(1_000)))
    tab = remeasurement(made)
    assert len(column(tab, "results", "T")) == 1_000
    tab.locator("#results thead button", has_text="Regret").first.click()
    first, last = (column(tab, "results", "Regret")[k] for k in (0, -1))
    assert float(first.split()[0]) < float(last.split()[0])
