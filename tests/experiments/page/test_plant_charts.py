"""The charts of a plant: along the clock where it goes forward, with words for every mark."""

from types import SimpleNamespace

import numpy as np
import pytest

from surefoot.experiments.page.plant_charts import Track, draw_charts
from surefoot.problems.plant import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    RiseDescription,
)

C = PlantConstant


def plant(contexts=2):
    """Return a plant with so many contexts."""
    columns = tuple(ContextDescription(f"c{i}", "MW", 0.0, 9.0) for i in range(contexts))
    limit = LimitDescription(
        "heat",
        "$C$",
        27.0,
        "at_most",
        C(0.5),
        C(2.0),
        steepness={"fan": C(1.0)},
        rise={each.name: RiseDescription(per=C(1.0)) for each in columns},
    )
    fan = ActuatorDescription("fan", "%", 0.0, 10.0, start=10.0)
    return PlantDescription("hall", 1.0, (fan,), (limit,), columns)


def rows(times, values):
    """Return rounds with times and readings; a reading of None is none."""
    found = []
    for t, (time, value) in enumerate(zip(times, values, strict=True), start=1):
        heat = {} if value is None else {"heat": value}
        found.append(
            SimpleNamespace(
                round=t,
                time=time,
                readings=heat,
                bounds={"heat": 26.5},
                limits={"heat": 27.0},
                margins={"heat": 0.5},
                set_points={"fan": 10.0 - t % 5},
                wanted={"fan": 0.0},
                context={f"c{i}": float(i) for i in range(4)},
            )
        )
    return found


def clock(*minutes):
    return [f"2026-07-10T00:{minute:02d}:00.000000Z" for minute in minutes]


def svgs(track, contexts=2):
    charts = draw_charts(track, plant(contexts), "s")
    return {chart.title: (chart.wide.decode(), chart.narrow.decode()) for chart in charts}


def test_a_clock_that_goes_forward_is_the_axis():
    track = Track.of(rows(clock(1, 2, 2, 7), [20.0, None, 21.0, 22.0]), {"alarm": [3]})
    assert track.by_clock
    assert np.diff(track.at) * 1440 == pytest.approx([1.0, 0.0, 5.0])
    assert track.marks["alarm"].tolist() == [track.at[2]]
    wide, narrow = svgs(track)["heat: at most 27 $C$"]
    for drawn in (wide, narrow):
        assert ">clock, UTC<" in drawn
        for words in ("no reading", "the limit", "error of the meter", "alarm"):
            assert f">{words}<" in drawn, words


@pytest.mark.parametrize("times", [clock(1, 5, 3), [*clock(1, 2), "noon"], [*clock(1, 2), ""]])
def test_a_clock_that_goes_back_or_is_none_is_not(times):
    track = Track.of(rows(times, [20.0, 21.0, 22.0]), {"alarm": [2]})
    assert not track.by_clock
    assert track.at.tolist() == [1.0, 2.0, 3.0]
    assert track.marks["alarm"].tolist() == [2.0]
    assert ">round<" in svgs(track)["heat: at most 27 $C$"][0]


def test_no_two_drawings_share_the_name_of_a_part():
    track = Track.of(rows(clock(1, 2, 3), [20.0, None, 22.0]), {})
    several = [part for pair in svgs(track).values() for part in pair]
    names = [set(drawn.split(' id="')[1:]) for drawn in several]
    heads = [{name.partition('"')[0] for name in part} for part in names]
    assert all(heads)
    assert sum(map(len, heads)) == len(set().union(*heads))
    # What a part refers to is in the same drawing.
    for drawn, own in zip(several, heads, strict=True):
        used = {each.partition(")")[0] for each in drawn.split("url(#")[1:]}
        assert used <= own


@pytest.mark.parametrize(("contexts", "panels"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)])
def test_two_contexts_share_a_panel_and_more_have_one_each(contexts, panels):
    track = Track.of(rows(clock(1, 2, 3), [20.0, 21.0, 22.0]), {})
    found = svgs(track, contexts)
    assert ("Contexts" in found) == bool(contexts)
    labels = [f"c{i} [MW]" for i in range(contexts)]
    if contexts:
        assert sum(found["Contexts"][0].count(f">{label}<") for label in labels) == 2 * panels


def test_a_run_of_one_round_and_one_without_readings_are_drawn():
    for values in ([20.0], [None], [None, None]):
        track = Track.of(rows(clock(*range(1, len(values) + 1)), values), {"missing": [1]})
        assert len(svgs(track)) == 4


def test_many_rounds_take_no_more_room_than_a_page_resolves():
    count = 20_000
    start = np.datetime64("2026-01-01T00:00:00.000000")
    times = [f"{start + np.timedelta64(15 * t, 'm')}Z" for t in range(count)]
    values = [20.0 + np.sin(t / 50) + (t == 12_345) * 9.0 for t in range(count)]
    track = Track.of(rows(times, values), {"alarm": list(range(1, count, 7))})
    wide, narrow = svgs(track)["heat: at most 27 $C$"]
    assert len(wide) < 400_000
    assert len(narrow) < len(wide)
