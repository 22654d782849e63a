"""The log of a plant in a file: columns by header or word, units, times and gaps."""

import numpy as np
import pytest

from surefoot.problems.calibration.plant_log import read_plant_log

HEAD = "when,fan 1 [%],IT load (MW),hot spot [degC],note\n"


@pytest.fixture
def write(tmp_path):
    def write(text, name="year.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def read(path, **options):
    words = {"limit": "hot spot", "actuators": ["fan_1"], "contexts": ["IT load (MW)"]}
    return read_plant_log(path, **words | options)


def test_columns_have_names_and_units_and_rows_their_lines(write):
    log = read(write(HEAD + "0,70,0.5,20,a\n1,80,0.6,21.5,b\n"))
    assert [(c.name, c.unit) for c in (*log.actuators, *log.contexts, log.limit)] == [
        ("fan_1", "%"),
        ("it_load", "MW"),
        ("hot_spot", "degC"),
    ]
    assert (log.x.tolist(), log.c.tolist()) == ([[70.0], [80.0]], [[0.5], [0.6]])
    assert log.limit.values.tolist() == [20.0, 21.5]
    assert (log.lines.tolist(), log.has_times, log.interval) == ([2, 3], False, None)
    assert read(write(HEAD + "0,70,0.5,20,a\n1,80,0.6,21.5,b\n"), contexts=()).c.shape == (2, 0)


@pytest.mark.parametrize(
    ("head", "cells", "minutes"),
    [
        ("when", ["2026-03-01 14:00", "2026-03-01T14:15:30", "2026-03-02 14:00"], [0, 15.5, 1440]),
        ("when", ["2026-03-01 14:00+01:00", "2026-03-01 13:30+00:00"], [0, 30]),
        ("when", ["08:00", "08:15"], [0, 15]),
        ("when [s]", ["0", "90"], [0, 1.5]),
        ("when [h]", ["1", "1.25"], [0, 15]),
    ],
)
def test_times_are_read_in_minutes(write, head, cells, minutes):
    rows = "".join(f"{cell},{t},0,{t}\n" for t, cell in enumerate(cells))
    log = read(write(f"{head},fan 1 [%],IT load (MW),hot spot\n{rows}"), time=head)
    assert (log.minutes - log.minutes[0]).tolist() == minutes
    assert log.has_times


def test_rows_with_gaps_are_left_out_and_counted_if_asked(write):
    text = HEAD + "0,70,0.5,20,\n1,,0.5,20,\n2,71,nan,20,\n3,72,0.5,20,\n4,72,0.5,n/a,\nx,72,1,1,\n"
    log = read(write(text), gaps="skip")
    assert (log.lines.tolist(), log.gaps, log.longest_gap) == ([2, 5, 7], 3, 2)
    timed = text.replace("when", "when [s]")
    assert read(write(timed), gaps="skip", time="when").lines.tolist() == [2, 5]
    with pytest.raises(ValueError, match=r"line 3, column fan 1 \[%\]: it must be a finite") as e:
        read(write(text))
    assert "got '' (--gaps skip leaves such rows out)" in str(e.value)


def test_numbers_are_no_times_of_day(write):
    # Read as 20:00 o'clock, and 24 minutes, the first and the third would be in one column.
    rows = "".join(f"{t},7{i},0,1,\n" for i, t in enumerate(["20", "22", "24"]))
    with pytest.raises(ValueError, match=r"line 2, column when: .* whose unit the header has"):
        read(write(HEAD + rows), time="when")
    assert read(write(HEAD.replace("when", "when [min]") + rows), time="when").interval == 2.0


def test_the_last_cell_of_the_last_row_may_be_a_gap(write):
    path = write((HEAD + "0,70,0.5,20,a\n1,71,0.5,20,b\n2,72,0.6,,").replace(",", "\t"))
    assert read(path, gaps="skip").lines.tolist() == [2, 3]


def test_a_clock_that_is_set_back_is_said(write):
    rows = "".join(f"{t},7{i},0,1,\n" for i, t in enumerate(["01:00", "02:00", "02:00", "03:00"]))
    log = read(write(HEAD + rows), time="when")
    assert (log.backward, log.interval) == (4, 60.0)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (HEAD, {"limit": None}, 'say which column the limit is: --limit, one of "when", "hot spot'),
        (HEAD, {"actuators": []}, 'say which columns are set points: --actuators, some of "when"'),
        (HEAD, {"limit": "hotspot"}, "has no column 'hotspot'; did you mean 'hot spot [degC]'?"),
        (HEAD, {"contexts": ["hot spot"]}, "must be named once, got 'hot spot [degC]' twice"),
        (
            "fan 1,fan-1,it load,hot spot\n",
            {"contexts": ["fan 1"], "actuators": ["fan-1"]},
            "fan_1",
        ),
        ("fan 1 [%],fan 1 [Hz],it load,hot spot\n", {}, "fan 1 [%] and fan 1 [Hz] are two of that"),
        (
            "when,fan 1,it load,hot spot\n",
            {"time": "when"},
            "line 2, column when: it must be a time such as 2026-03-01 14:00, or a number",
        ),
        (
            "when,fan 1,it load,hot spot\n",
            {"time": "when", "gaps": "skip"},
            "line 2, column when: it must be a time such as",
        ),
        ("風,fan 1,it load,hot spot\n", {"contexts": ["風"]}, "a letter of a to z, got '風'"),
    ],
)
def test_a_mistake_is_one_sentence(write, text, options, words):
    rows = "".join(",".join(["1"] * (text.count(",") + 1)) + "\n" for _ in range(3))
    words_of = {"contexts": ["IT load"]} | options
    with pytest.raises(ValueError, match=r".") as error:
        read(write(text + rows), **words_of)
    assert words in str(error.value)


def test_numbers_of_any_size_are_no_readings(write):
    path = write(HEAD + "0,70,0.5,20,\n1,71,1e16,20,\n")
    with pytest.raises(
        ValueError, match=r"line 3, column IT load \(MW\): it must be a number of a"
    ):
        read(path)


def test_arrays_are_finite(write):
    log = read(write(HEAD + "0,70,0.5,inf,\n1,71,0.5,20,\n2,72,0.6,21,\n"), gaps="skip")
    assert np.isfinite(log.limit.values).all()
