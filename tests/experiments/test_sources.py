"""The hash of the numeric sources: what is computed changes it, what is said does not."""

import ast
import io
import tokenize

import pytest

from surefoot.experiments import sources
from surefoot.experiments.sources import computed, sources_hash

TEXT = b'''"""A module."""

RATE = 0.5
"""What it is."""


def double(x):
    """Twice."""
    # Exact: a power of two.
    return 2 * x
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one source of each sort."""
    for name in (
        "games/scan.py",
        "experiments/page/write.py",
        "experiments/play_cell.py",
        "experiments/spec.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(TEXT)
    monkeypatch.setattr(sources, "_PACKAGE", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("games/scan.py", True),
        ("experiments/play_cell.py", True),
        ("sets/new.py", True),
        ("experiments/page/write.py", False),
        ("experiments/spec.py", False),
    ],
)
def test_only_a_change_of_the_numeric_sources_changes_their_hash(package, name, matters):
    before = sources_hash.__wrapped__()
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_bytes(TEXT.replace(b"2 * x", b"3 * x"))
    assert (sources_hash.__wrapped__() != before) == matters


@pytest.mark.parametrize(
    ("computed", "old", "new"),
    [
        (False, b"A module.", b"A good module."),
        (False, b"What it is.", b"What it is for."),
        (False, b"Twice.", b"Twice x.\n\n    At length.\n    "),
        (False, b"    # Exact: a power of two.\n", b""),
        (False, b"0.5\n", b"0.5  # a half\n"),
        (True, b"0.5", b"0.25"),
        (True, b"2 * x", b"2 + x"),
        (True, b"double(x)", b"double(x=1)"),
        (True, b"return 2 * x", b"return None"),
        (True, b"RATE", b"rate"),
        (True, b"return 2 * x", b"return '2 * x'"),
    ],
)
def test_what_is_computed_changes_the_hash_and_what_is_said_does_not(package, computed, old, new):
    before = sources_hash.__wrapped__()
    assert old in TEXT
    (package / "games/scan.py").write_bytes(TEXT.replace(old, new))
    assert (sources_hash.__wrapped__() != before) == computed


def test_line_endings_do_not_change_the_hash(package):
    before = sources_hash.__wrapped__()
    (package / "games/scan.py").write_bytes(TEXT.replace(b"\n", b"\r\n"))
    assert sources_hash.__wrapped__() == before


def test_a_file_of_another_name_is_another_source(package):
    before = sources_hash.__wrapped__()
    (package / "games/scan.py").rename(package / "games/loop.py")
    assert sources_hash.__wrapped__() != before


def words(source, *, docstrings):
    """The tokens of a module but for its comments and layout, by Python's own tokenizer."""
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    tokens = [
        token
        for token in tokenize.tokenize(io.BytesIO(source).readline)
        if token.type not in (*layout, tokenize.ENDMARKER)
    ]
    ends = [True, *(token.type == tokenize.NEWLINE for token in tokens), True]
    return [
        token.string
        for i, token in enumerate(tokens)
        if token.type != tokenize.NEWLINE
        and (docstrings or token.type != tokenize.STRING or not (ends[i] and ends[i + 2]))
    ]


@pytest.mark.slow
def test_nothing_but_what_is_said_is_left_out_of_any_source():
    paths = sources._numeric()
    assert len(paths) > 100
    for path in paths:
        text = path.read_bytes()
        assert words(computed(text), docstrings=True) == words(text, docstrings=False), path.name


@pytest.mark.parametrize(
    "code",
    [
        b"x = 'a # b'\n",
        b'x = "it\'s # b"\n',
        b"x = f'{y[\"#\"]} # b'\n",
        b'x = """\n# no comment\n\n"""\n',
        b"x = '''\n# it's \"\"\" no comment\n\n'''\n",
        b'x = "\\\\" + "# \\" b"\n',
        b'x = r"\\#"\n',
        b"x = (\n    'a'\n    '# b'\n)\n",
    ],
)
def test_strings_are_computed_with_whatever_is_in_them(code):
    ast.parse(code)
    assert computed(code + b"# said\n") == b"\n" + code


def test_the_hash_covers_the_modules_that_make_and_play_a_cell():
    here = {path.stem for path in sources._numeric() if path.parent.name == "experiments"}
    assert here == {"measures", "play_cell", "players", "problems", "seeds", "shared"}
    assert len(sources_hash()) == 64
