"""The hash of the numeric sources: what is computed changes it, what is said does not."""

import ast

import pytest

from surefoot.experiments import sources
from surefoot.experiments.sources import files_hash, sources_hash

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
        "reports/page.py",
        "experiments/play_cell.py",
        "experiments/spec.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(TEXT)
    monkeypatch.setattr(sources, "_PACKAGE", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("games/scan.py", True),
        ("experiments/play_cell.py", True),
        ("sets/new.py", True),
        ("reports/page.py", False),
        ("experiments/spec.py", False),
    ],
)
def test_only_a_change_of_the_numeric_sources_changes_their_hash(package, name, matters):
    before = sources_hash.__wrapped__()
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_bytes(TEXT.replace(b"2 * x", b"3 * x"))
    assert (sources_hash.__wrapped__() != before) == matters


SAID = {
    "module": (b"A module.", b"A good module."),
    "constant": (b"What it is.", b"What it is for."),
    "function": (b"Twice.", b"Twice x.\n\n    At length.\n    "),
    "comment": (b"    # Exact: a power of two.\n", b""),
    "end of line": (b"0.5\n", b"0.5  # a half\n"),
    "layout": (b"2 * x", b"(2 *\n            x)"),
}
COMPUTED = {
    "value": (b"0.5", b"0.25"),
    "operator": (b"2 * x", b"2 + x"),
    "default": (b"double(x)", b"double(x=1)"),
    "result": (b"return 2 * x", b"return None"),
    "name": (b"RATE", b"rate"),
    "string": (b"return 2 * x", b"return '2 * x'"),
}


@pytest.mark.parametrize(("old", "new"), (SAID | COMPUTED).values(), ids=SAID | COMPUTED)
def test_what_is_computed_changes_the_hash_and_what_is_said_does_not(package, old, new):
    before, files = sources_hash.__wrapped__(), files_hash.__wrapped__()
    (package / "games/scan.py").write_bytes(TEXT.replace(old, new))
    assert (sources_hash.__wrapped__() != before) == ((old, new) in COMPUTED.values())
    assert files_hash.__wrapped__() != files


def test_line_endings_change_neither_hash(package):
    before = sources_hash.__wrapped__(), files_hash.__wrapped__()
    (package / "games/scan.py").write_bytes(TEXT.replace(b"\n", b"\r\n"))
    assert (sources_hash.__wrapped__(), files_hash.__wrapped__()) == before


def test_a_file_of_another_name_is_another_source(package):
    before = sources_hash.__wrapped__()
    (package / "games/scan.py").rename(package / "games/loop.py")
    assert sources_hash.__wrapped__() != before


def test_a_field_that_a_later_python_adds_empty_does_not_change_the_hash():
    tree = ast.parse(TEXT)
    before = "".join(sources._computed(tree))
    for node in ast.walk(tree):
        node._fields = (*node._fields, "type_params", "marks")
        node.type_params, node.marks = [], None
    assert "".join(sources._computed(tree)) == before


def test_the_hash_covers_the_modules_that_make_and_play_a_cell():
    here = {path.stem for path in sources._numeric() if path.parent.name == "experiments"}
    assert here == {"measures", "play_cell", "players", "problems", "seeds", "shared"}
    assert len(sources_hash()) == 64
