"""TOML that anybody may have written: its text, its lines, and values back as text."""

import math
import os
import pickle
import time
import tomllib

import pytest
from hypothesis import given, strategies as st

from surefoot.core.toml import (
    MOST_BYTES,
    TomlError,
    find_lines,
    line_of,
    parse_toml,
    path_text,
    read_toml_text,
    toml_text,
)


def test_lines_are_those_of_keys_and_tables_or_of_what_is_around_them():
    text = """\
a = 1 # c = 2
"quoted.key" = ['x',
  { y = "}" } ]
[[t]]
u . v = 1
[t.w]
x = 3
[[t.n]]
[[t.n]]
k = { a = 1 }
[[t]]
u = 1
"""
    tomllib.loads(text)
    expected = {
        ("a",): 1,
        ("quoted.key", 1, "y"): 3,
        ("t",): 4,
        ("t", 0, "u", "v"): 5,
        ("t", 0, "w"): 6,
        ("t", 0, "w", "x"): 7,
        ("t", 0, "n", 0, "nothing"): 8,
        ("t", 0, "n", 1, "k", "a"): 10,
        ("t", 1, "u"): 12,
        ("b",): None,
    }
    assert {path: line_of(path, find_lines(text)) for path in expected} == expected


def test_what_looks_like_a_table_in_a_text_or_a_comment_is_none():
    text = '''\
a = """
[no]
b = 1 \\""" still
""""
c = \'\'\'[no]
\'\'\' # [no]
d = [ # ]
  [1, "]", { e = [
    2] }], # ]
  1979-05-27 07:32:00,
]
[ yes . "\\u0041.b" ]
f = "\\"#"
'''
    parse_toml(text)
    lines = find_lines(text)
    assert {path for path in lines if len(path) == 1} == {("a",), ("c",), ("d",), ("yes",)}
    assert lines["d", 0, 2, "e", 0] == 9
    assert lines["d", 1] == 10
    assert lines["yes", "A.b", "f"] == 13


TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
KEYS = st.one_of(st.sampled_from(["a", "b-1", "c_2"]), TEXTS)
SCALARS = st.one_of(st.booleans(), st.integers(), st.floats(-1e9, 1e9), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def paths_of(value, path=()):
    """Yield the path of everything in a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from paths_of(part, (*path, key))


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_a_value_that_is_written_is_read_again_and_has_the_line_of_its_key(table):
    text = "".join(f"# a = [\n{toml_text({k: v})[2:-2]}\n" for k, v in table.items())
    assert parse_toml(text) == table
    order = {key: 2 * place for place, key in enumerate(table, start=1)}
    assert find_lines(text) == {path: order[path[0]] for path in paths_of(table)}


HOSTILE = {
    "brackets": "a = " + "[" * 400_000,
    "tables": "a = " + "{ a = " * 150_000,
    "dots": "a" + ".a" * 400_000 + " = 1",
    "quoted dots": '"a"' + ".'a'" * 200_000 + " = 1",
    "header": "[" + "a." * 400_000 + "a]",
    "word": "a" * 900_000,
    "quotes": '"' * 900_000,
    "escapes": '"' + "\\" * 900_000,
    "apostrophes": "a = " + "'" * 900_000,
    "spaces": "a =" + " " * 900_000,
    "lines": "\n" * 900_000 + "=",
    "digits": "a = " + "9" * 900_000,
    "hexadecimal": "a = 0x" + "f" * 900_000,
    "comment": "#" * 900_000 + "\n=",
    "null": "\0" * 900_000,
    "twice": "a = 1\n" * 150_000,
    "keys": "".join(f"a{i} = 1\n" for i in range(80_000)),
    "headers": "".join(f"[a{i}]\n" for i in range(80_000)),
    "lists": "[[a]]\n" * 150_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_ends_soon_in_one_sentence_or_in_a_table(text):
    assert len(text) <= MOST_BYTES
    began = time.process_time()
    try:
        parse_toml(text)
    except TomlError as error:
        sentence = str(error)
        assert "\n" not in sentence
        assert len(sentence) < 300
    else:
        find_lines(text)
    assert time.process_time() - began < 20.0


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("a = 1\nb", 2, "is not TOML: expected '=' after a key in a key/value pair at its end"),
        ("a = 1\n\nb == 2", 3, "is not TOML: invalid value (column 4)"),
        ("a = 1\na = 1", 2, "is not TOML: cannot overwrite a value at its end"),
        ("a = " + "[" * 9_000, None, "has tables or lists nested too deeply"),
        ("#\n" + "a." * 40 + "b = 1", 2, "has a key of more than 32 parts"),
        ("a = " + "9" * 5_000, 1, "is not TOML: exceeds the limit (4300 digits) for integer "),
    ],
)
def test_what_is_not_toml_is_one_sentence_with_its_line(text, line, sentence):
    with pytest.raises(TomlError) as caught:
        parse_toml(text)
    assert (caught.value.line, str(caught.value)[: len(sentence)]) == (line, sentence)
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.line, str(copied)) == (line, str(caught.value))


def test_numbers_beyond_floats_are_infinite_and_no_error():
    assert parse_toml("a = 1e400")["a"] == math.inf


def test_a_file_that_is_none_says_so(tmp_path):
    def sentence_of(path):
        with pytest.raises(TomlError) as caught:
            read_toml_text(path)
        return str(caught.value), caught.value.line

    large, odd, pipe = tmp_path / "large.toml", tmp_path / "odd.toml", tmp_path / "pipe.toml"
    large.write_bytes(b" " * (MOST_BYTES + 1))
    odd.write_bytes(b"a = 1\nb = '\xff'\n")
    assert sentence_of(tmp_path) == ("is not a file", None)
    assert sentence_of(tmp_path / "none.toml")[0] == "cannot be read: no such file or directory"
    assert sentence_of(large) == ("is larger than 1 MB", None)
    assert sentence_of(odd) == ("is not UTF-8 text", 2)
    assert sentence_of("null\0byte")[0].startswith("cannot be read: ")
    assert sentence_of("x" * 5_000)[0] == "cannot be read: file name too long"
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe)
        assert sentence_of(pipe) == ("is not a file", None)


def test_a_mark_in_front_of_a_text_is_no_part_of_it(tmp_path):
    path = tmp_path / "marked.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1")
    assert read_toml_text(path) == "a = 1"


def test_a_path_has_quotes_where_toml_needs_them():
    path = ("a", 1, "b c", 'é"', "\x1b[\x7f\u202e\U000e0001")
    assert path_text(path) == 'a[1]."b c"."é\\""."\\u001b[\\u007f\\u202e\\U000e0001"'
