"""A journal in several files, one of which is missing, damaged or another: no round is lost unsaid.

Opening one must name the gap, and write nothing.
"""

import shutil

import pytest

from surefoot import Ball, CertifiedPFS, Controller
from surefoot.controller import StoreError

PLAYER = CertifiedPFS(G_g=1.0, domain=Ball(1.0), rho=0.5)
ROUND = {"cost_gradient": [-1.0], "constraint_value": -0.5, "constraint_subgradient": [1.0]}


def files(folder):
    """The files of a journal in the order of their rounds, without what is kept beside them."""
    found = (path for path in folder.iterdir() if "-" not in path.name)
    return sorted(found, key=lambda path: (len(path.name), path.name))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def tell(controller, folder, parts):
    """Tell rounds up to the third of the file of that number, and close."""
    with controller:
        more = 3
        while more:
            controller.ask()
            controller.tell(**ROUND)
            more -= len(files(folder)) >= parts
        return controller.round


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with a journal in four files, the round it has come to, and an older second file."""
    folder, aside = tmp_path_factory.mktemp("journal"), tmp_path_factory.mktemp("aside")
    path = folder / "run.jsonl"
    tell(Controller(PLAYER, [0.0], journal=path, rotate="60 kB"), folder, 2)
    older = shutil.copy(files(folder)[1], aside / "second")
    at = tell(Controller.open(path), folder, 4)
    assert len(files(folder)) == 4
    return folder, at, older


@pytest.fixture
def journal(written, tmp_path):
    folder, at, older = written
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy", at, older


def delete(parts, which, older):
    parts[which].unlink()


def empty(parts, which, older):
    parts[which].write_bytes(b"")


def flip(parts, which, older):
    """Change one bit in the middle of a file, of a byte that is not 0."""
    found = bytearray(parts[which].read_bytes())
    at = len(found) // 2
    while not found[at]:
        at += 1
    found[at] ^= 1
    parts[which].write_bytes(bytes(found))


def swap(parts, which, older):
    one, other = parts[which], parts[which - 1]
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def copy_the_one_before(parts, which, older):
    shutil.copy(parts[which - 1], parts[which])


def put_back_an_older_copy(parts, which, older):
    shutil.copy(older, parts[which])


ATTACKS = [
    pytest.param(delete, 1, id="the second deleted"),
    pytest.param(delete, 2, id="the third deleted"),
    pytest.param(delete, 3, id="the last deleted"),
    pytest.param(empty, 0, id="the first emptied"),
    pytest.param(empty, 1, id="the second emptied"),
    pytest.param(empty, 3, id="the last emptied"),
    pytest.param(flip, 0, id="a bit of the first flipped"),
    pytest.param(flip, 1, id="a bit of the second flipped"),
    pytest.param(flip, 3, id="a bit of the last flipped"),
    pytest.param(swap, 2, id="the second and third swapped"),
    pytest.param(swap, 3, id="the last two swapped"),
    pytest.param(copy_the_one_before, 1, id="the first as the second"),
    pytest.param(copy_the_one_before, 3, id="the third as the last"),
    pytest.param(put_back_an_older_copy, 1, id="an older second"),
    pytest.param(put_back_an_older_copy, 3, id="an older second as the last"),
]


def test_a_journal_in_several_files_goes_on_where_it_ended(journal):
    folder, at, _ = journal
    with Controller.open(files(folder)[0]) as controller:
        assert controller.round == at


@pytest.mark.parametrize(("attack", "which"), ATTACKS)
def test_a_file_that_is_not_what_was_written_is_named_and_nothing_changes(attack, which, journal):
    folder, _, older = journal
    path = files(folder)[0]
    attack(files(folder), which, older)
    before = contents(folder)
    with pytest.raises(StoreError) as error:
        Controller.open(path).close()
    assert "\n" not in str(error.value)
    assert contents(folder) == before
