"""A log in a file: columns by the header or by name, and each mistake with its line and column."""

import numpy as np
import pytest

from surefoot.problems.calibration import from_log, read_log


@pytest.fixture
def written(tmp_path):
    """Write a file and return its path."""

    def write(data, name="log.csv"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


def test_columns_are_found_by_the_header_and_said(written):
    log = read_log(written("time,X_2,x_1,s_1,g,S_2,c,note\n1,2,3,4,5,6,7,a\n0,0,0,0,-1,0,0,b\n"))
    assert log.x[0].tolist() == [2.0, 3.0]
    assert log.s[0].tolist() == [6.0, 4.0]  # in the order of the actions, by what they end in
    assert (log.g.tolist(), log.context[0].tolist()) == ([5.0, -1.0], [7.0])
    assert log.columns == ("actions X_2, x_1; g g; slopes S_2, s_1; context c; not used time, note")


def test_columns_can_be_named_and_divided_by_semicolons(written):
    text = "\ufeffpump;level;x;warm\n0.1;-1;9;20\n0.2;-0.8;9;21\n\n"
    log = read_log(written(text), actions=["pump"], g="level", context=["warm"])
    np.testing.assert_array_equal(log.x, [[0.1], [0.2]])
    assert log.s is None
    assert log.columns.endswith("context warm; not used x")


@pytest.mark.parametrize(
    ("head", "actions", "slopes"),
    [
        ("x2 [kW],x1 [kW],g [K],s1 [K/kW],s2 [K/kW]", "x2 [kW], x1 [kW]", "s2 [K/kW], s1 [K/kW]"),
        ("u[0] (%),u[1] (%),g (1/s),s[1],s[0]", "u[0] (%), u[1] (%)", "s[0], s[1]"),
        ("x_a,x (kW),x(2),g,s(2),s", "x (kW), x(2)", "s, s(2)"),
    ],
)
def test_a_header_may_have_units(written, head, actions, slopes):
    line = "0.5," * head.count(",") + "0.5\n"
    log = read_log(written(f"{head}\n{line}{line}"))
    assert log.columns.startswith(f"actions {actions}; g g")
    assert f"; slopes {slopes}; context none" in log.columns


def test_with_semicolons_a_number_may_have_a_decimal_comma(written):
    log = read_log(written("x;g;when\n0,25;-1,5e-1;1,5 h\n-0,5;-0.75;2,5 h\n"))
    assert (log.x[:, 0].tolist(), log.g.tolist()) == ([0.25, -0.5], [-0.15, -0.75])


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (("-0.571", "0.25"), 0.0005),
        (("-1", "-0.9"), 0.05),  # -1.0 without its zero
        (("-12.5", "0.125", "-13.8", "0.0251", "14"), 0.05),  # three digits each
        (("2.5e-3", "1e-3"), 0.00005),
        (("100", "0"), 0.0),  # whole numbers
        (("0.3333333333333333", "0.5"), 0.0),  # as a computer writes them
    ],
)
def test_the_last_digit_says_what_numbers_are_rounded_by(written, values, error):
    rows = "".join(f"{t},{value},{value}\n" for t, value in enumerate(values))
    log = read_log(written(f"x,g,s\n{rows}"))
    assert log.errors == pytest.approx({"rounding": error, "slope_error": error})


@pytest.mark.parametrize("digits", [2, 3, 6])
def test_bounds_from_numbers_that_a_file_rounds_are_below_the_truth(written, digits):
    # Pairs of actions 0.001 apart: without it beta, 1.6 in truth, would be at least 2 or more.
    x = np.random.default_rng(1).uniform(0, 1, (600, 2)).round(3)
    g, s = 0.8 * x[:, 0] ** 2 + 0.5 * x[:, 1] ** 2 - 0.4, x * [1.6, 1.0]
    rows = [",".join(f"{v:.{digits}f}" for v in row) for row in np.column_stack([g, s])]
    text = "\n".join(f"{a},{b},{row}" for (a, b), row in zip(x, rows, strict=True))
    log = read_log(written(f"x1,x2,g,s1,s2\n{text}\n"))
    found = from_log(log.x, log.g, log.s, **log.errors)
    assert 1.5 < found.G_g < 1.887
    assert 1.5 < found.beta <= 1.6
    assert (found.disagreement, found.not_convex) == (None, None)
    assert f"slope_error  {log.errors['slope_error']:.3g} is allowed for" in str(found)


@pytest.mark.parametrize(
    ("data", "named", "sentence"),
    [
        ("x,g\n1,2\n3,4\n", {"g": "level"}, "has no column 'level': it has x, g"),
        ("x,g\n1,2\n3,n/a\n", {}, ", line 3, column g: it must be a finite number, got 'n/a'"),
        ("x,g\n1,2\nnan,4\n", {}, ", line 3, column x: it must be a finite number, got 'nan'"),
        ("x,g\n1,2\n3,\n", {}, ", line 3, column g: it must be a finite number, got ''"),
        ("x,g\n1,2\n3,4,5\n", {}, ", line 3: it must have 2 columns, got 3"),
        ("x,g\n1,2\n\n3,4\n", {}, ", line 3: it must have 2 columns, got 0"),
        ('x,g\n1,2\n"3\n",4\n5,6\n', {}, ", line 3: a cell must be in one line"),
        ("x,g\n1,2\n", {}, "must have a header and at least 2 rounds, got 2 lines"),
        ("", {}, "must have a header and at least 2 rounds, got 0 lines"),
        (b"x,g\n1,2\n\xff,4\n", {}, ", line 3: it must be UTF-8 text"),
        ("1,2\n3,4\n5,6\n", {}, ", line 1: it must name each column, got '1,2'"),
        ("x,x\n1,2\n3,4\n", {}, ", line 1: it must name each column, got 'x,x'"),
        ("pump,g\n1,2\n3,4\n", {}, "name the column of the action; the file has pump, g"),
        ("x,level\n1,2\n3,4\n", {}, "name the column of g; the file has x, level"),
        ("x,g1,g2\n1,2,3\n3,4,5\n", {}, "name the column of g; the file has x, g1, g2"),
        ("x,g\n1,2\n3,4\n", {"actions": ["g"], "g": "g"}, "must be named once, got 'g' twice"),
        ('x,g\n"1,5",2\n3,4\n', {}, ", line 2, column x: it must be a finite number, got '1,5'"),
        ("x;g\n1,234,5;2\n3;4\n", {}, "column x: it must be a finite number, got '1,234,5'"),
        ("x1,x2,s1,g\n1,2,3,4\n3,4,5,6\n", {}, "a slope per action in its order, got s1 for"),
        ("x1,x2,s1,s3,g\n1,2,3,4,5\n3,4,5,6,7\n", {}, "got s1, s3 for x1, x2"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(written, data, named, sentence):
    with pytest.raises(ValueError, match=r".") as error:
        read_log(written(data), **named)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
