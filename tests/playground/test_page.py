"""The playground in Chromium, from a file: no request, no complaint, by mouse, keys and touch."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

FOLDER = Path(__file__).parents[2] / "docs" / "playground"
DESKTOP = {"viewport": {"width": 1400, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def remeasurement(chromium):
    wrong, contexts = [], []

    def open_page(**how):
        # Reduced motion: nothing runs by itself, so that a test counts its own rounds.
        context = chromium.new_context(reduced_motion="reduce", **(how or DESKTOP))
        contexts.append(context)
        context.set_default_timeout(60_000)
        tab = context.new_page()
        tab.on("console", lambda message: wrong.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        tab.on("request", lambda request: look(request.url))
        tab.goto((FOLDER / "index.html").as_uri())
        return tab

    def look(url):
        if not url.startswith((FOLDER.as_uri() + "/", "data:")):
            wrong.append(f"request: {url}")

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def step(tab, rounds=1):
    tab.evaluate(
        "(n) => { for (let i = 0; i < n; i++) document.getElementById('step').click(); }", rounds
    )


def score(tab):
    """Rounds outside, by player."""
    rows = tab.locator("#score tr").all()
    cells = [[cell.inner_text().strip() for cell in row.locator("td").all()] for row in rows]
    return {row[0]: int(row[2]) for row in cells}


def outside_of_panels(tab):
    counts = tab.locator(".panel .outside").all()
    return {count.inner_text() for count in counts if count.is_visible()}


def outline(tab):
    return tab.locator("#stage .set").get_attribute("d")


def test_every_certified_player_stays_inside_and_says_why(remeasurement):
    tab = remeasurement()
    for shape, kinds in (("polygon", 5), ("ellipse", 6)):
        tab.locator(f"input[value={shape}]").check(force=True)
        step(tab, 120)
        assert tab.locator("#round").inner_text() == "120"
        assert tab.locator(".panel .region").count() == kinds
        assert outside_of_panels(tab) == {"0"}
        outside = score(tab)
        assert outside["Surefoot"] == outside["Projection"] == 0
        assert outside["Drift + penalty"] > 0
        assert tab.locator("#alarm").is_hidden()
        assert tab.locator("#why").inner_text().startswith("round 120: g = ")


def test_sensor_errors_within_their_bound_raise_no_alarm_and_a_lie_does(remeasurement):
    tab = remeasurement()
    tab.locator("#noise").fill("0.05")
    step(tab, 150)
    assert tab.locator("#alarm").is_hidden()
    assert outside_of_panels(tab) == {"0"}
    assert score(tab)["Surefoot"] == 0
    assert score(tab)["Plain PFS"] > 0
    tab.locator("#noise").fill("0")
    tab.locator("#lie").check()
    step(tab)
    assert "|s| = 1 exceeds Gg = 0.5" in tab.locator("#alarm").inner_text()
    assert tab.locator(".panel.alarmed").count() == 3
    step(tab, 100)
    assert int(tab.locator(".panel .outside").first.inner_text()) > 0
    tab.locator("#lie").uncheck()
    assert tab.locator("#alarm").is_hidden()


def test_who_does_not_know_the_slopes_learns_them_and_says_what_is_left(remeasurement):
    tab = remeasurement()
    tab.locator("input[value=ellipse]").check(force=True)
    tab.locator("#theta").fill("1.2")
    tab.get_by_role("button", name="unknown").click()
    step(tab, 120)
    said = tab.locator("#why").inner_text()
    assert "if Gg <= " in said
    assert "Gg unknown: " in said
    assert "outside so far, at most 2 more if Gg <= " in said
    assert tab.locator("#alarm").is_hidden()
    outside = tab.locator(".panel .outside").nth(4).inner_text()
    assert 0 < int(outside) <= 9  # log(G_g / proved by the start) / log(1.2), by Theorem U


def test_another_heat_is_certified_before_anything_is_read_in_it(remeasurement):
    tab = remeasurement()
    tab.get_by_role("button", name="Weather").click()
    step(tab, 60)
    region, before = tab.locator(".panel .region").last, outline(tab)
    cool = region.get_attribute("d")
    tab.locator("#heat").fill("0.1")
    assert outline(tab) != before
    assert region.get_attribute("d") != cool
    assert tab.locator("#round").inner_text() == "0"  # the others begin again
    assert "round 60: in the context 0.1 g is at most" in tab.locator("#why").inner_text()
    for heat in ("0.1", "0.02", "0.07", "0"):
        tab.locator("#heat").fill(heat)
        step(tab, 20)
    assert outside_of_panels(tab) == {"0"}
    assert tab.locator("#alarm").is_hidden()


def test_everything_can_be_done_by_keyboard(remeasurement):
    tab = remeasurement()
    before = outline(tab)
    tab.locator("#run").focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#run").inner_text() == "Pause"
    tab.wait_for_function("Number(document.getElementById('round').textContent) >= 3")
    tab.keyboard.press("Space")
    assert tab.locator("#run").inner_text() == "Run"
    names = []
    for _ in range(22):
        tab.keyboard.press("Tab")
        names.append(tab.evaluate("document.activeElement.id || document.activeElement.ariaLabel"))
    reached = " ".join(str(name) for name in names)
    sliders = ("slope", "bend", "rho", "noise", "theta", "heat")
    for wanted in ("step", "again", "lie", *sliders, "Corner 5", "Target"):
        assert wanted in reached
    tab.locator("[aria-label^='Corner 1']").focus()
    tab.keyboard.press("ArrowLeft")
    assert outline(tab) != before
    assert tab.locator("#round").inner_text() == "0"  # another limit is another game
    tab.locator("#rho").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#rho-out").inner_text() == "0.06"
    tab.get_by_role("button", name="One ball").focus()
    tab.keyboard.press("Enter")
    assert "by one ball" in tab.locator("#why-title").inner_text()


def test_a_corner_is_dragged_by_mouse_and_never_makes_a_set_without_room(remeasurement):
    tab = remeasurement()
    box = tab.locator("[aria-label^='Corner 4'] .seen").bounding_box()
    middle = tab.locator("#stage").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = outline(tab)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y - 30, steps=3)
    assert outline(tab) != before
    tab.mouse.move(middle["x"], middle["y"] + 5000, steps=5)
    tab.mouse.up()
    step(tab, 20)
    assert tab.locator("#round").inner_text() == "20"
    assert score(tab)["Surefoot"] == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways_and_takes_a_finger(remeasurement, scheme):
    tab = remeasurement(**PHONE, color_scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    target = tab.locator("[aria-label^='Target']")
    target.scroll_into_view_if_needed()
    before = target.get_attribute("transform")
    box = target.locator(".seen").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = tab.context.new_cdp_session(tab)
    for kind, points in (
        ("touchStart", [{"x": x, "y": y}]),
        ("touchMove", [{"x": x - 30, "y": y + 10}]),
        ("touchMove", [{"x": x - 80, "y": y + 40}]),
        ("touchEnd", []),
    ):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert target.get_attribute("transform") != before
    tab.locator("#step").tap()
    assert tab.locator("#round").inner_text() == "1"
    small = [b for b in tab.locator("button, input[type=range]").all() if b.bounding_box()]
    assert all(b.bounding_box()["height"] >= 24 for b in small)
