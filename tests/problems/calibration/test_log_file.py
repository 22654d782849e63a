"""A log in a file: columns by the header or by name, and each mistake with its line and column."""

import numpy as np
import pytest

from surefoot.problems.calibration import read_log


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
    ("data", "named", "sentence"),
    [
        ("x,g\n1,2\n3,4\n", {"g": "level"}, "has no column 'level': it has x, g"),
        ("x,g\n1,2\n3,n/a\n", {}, ", line 3, column g: it must be a finite number, got 'n/a'"),
        ("x,g\n1,2\nnan,4\n", {}, ", line 3, column x: it must be a finite number, got 'nan'"),
        ("x,g\n1,2\n3,\n", {}, ", line 3, column g: it must be a finite number, got ''"),
        ("x,g\n1,2\n3,4,5\n", {}, ", line 3: it must have 2 columns, got 3"),
        ("x,g\n1,2\n\n3,4\n", {}, ", line 3: it must have 2 columns, got 0"),
        ("x,g\n1,2\n", {}, "must have a header and at least 2 rounds, got 2 lines"),
        ("", {}, "must have a header and at least 2 rounds, got 0 lines"),
        (b"x,g\n1,2\n\xff,4\n", {}, ", line 3: it must be UTF-8 text"),
        ("1,2\n3,4\n5,6\n", {}, ", line 1: it must name each column, got '1,2'"),
        ("x,x\n1,2\n3,4\n", {}, ", line 1: it must name each column, got 'x,x'"),
        ("pump,g\n1,2\n3,4\n", {}, "name the column of the action; the file has pump, g"),
        ("x,level\n1,2\n3,4\n", {}, "name the column of g; the file has x, level"),
        ("x,g1,g2\n1,2,3\n3,4,5\n", {}, "name the column of g; the file has x, g1, g2"),
        ("x1,x2,s1,g\n1,2,3,4\n3,4,5,6\n", {}, "a slope per action in its order, got s1 for"),
        ("x1,x2,s1,s3,g\n1,2,3,4,5\n3,4,5,6,7\n", {}, "got s1, s3 for x1, x2"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(written, data, named, sentence):
    with pytest.raises(ValueError, match=r".") as error:
        read_log(written(data), **named)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
