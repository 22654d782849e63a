"""Records of long runs: their digest, what is rejected, and the table that is made of them."""

import dataclasses
import hashlib
import json
import shutil
import subprocess
from argparse import Namespace
from pathlib import Path

import pytest
from benchmarks import evidence, soak_kernel
from benchmarks.evidence import Counts, EvidenceError, Record, Row, Stamp, digest, find_faults

ROOT = Path(__file__).parents[1]
COMMIT = "0123456789" * 4
ROW = Row("LeaderFollower", 750, 0, -9.25e-14)
PAGE = "# Page\n\n<!-- measured: evidence -->\n\n<!-- end: evidence -->\n"


def record(name, covers, root, **changes):
    """A record of what the covered files are now."""
    fields = {
        "name": name,
        "claim": "safety.kernel",
        "command": f"soak {name}",
        "commit": COMMIT,
        "date": "2026-11-18",
        "covers": (covers,),
        "digest": digest([covers], root),
        "machine": "2 processors",
        "seconds": 1234.5,
        "rows": (ROW, Row("CertifiedPFS", 250, 0, -1e-3)),
    }
    return Record(**fields | changes)


@pytest.fixture
def tree(tmp_path):
    """A folder with two files, a record of each, and a page without a table."""
    (tmp_path / "a.txt").write_bytes(b"x\n")
    (tmp_path / "b.txt").write_bytes(b"y\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/promises.md").write_text(PAGE)
    (tmp_path / "evidence").mkdir()
    for name in "ab":
        made = record(name, f"{name}.txt", tmp_path)
        (tmp_path / made.path).write_text(made.to_json())
    return tmp_path


def git(root, *words):
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def git_head(root):
    """The file that has the commit of the branch."""
    return (root / ".git/HEAD").read_text().removeprefix("ref: ").strip()


@pytest.fixture
def checkout(tree):
    """The same folder as a git checkout without changes."""
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "all of it")
    return tree


# --- digest and currency -------------------------------------------------------------------------


def test_a_digest_is_that_of_paths_and_bytes_in_order(tree):
    assert digest(["a.txt"], tree) == hashlib.sha256(b"a.txt\0x\n\0").hexdigest()
    both = hashlib.sha256(b"a.txt\0x\n\0b.txt\0y\n\0").hexdigest()
    assert digest(["b.txt", "*.txt"], tree) == both


def test_a_record_is_of_an_earlier_text_once_a_covered_byte_changes(tree):
    a, b = evidence.read_records(tree)
    assert (a.state(tree), b.state(tree)) == ("current", "current")
    (tree / "a.txt").write_bytes(b"X\n")
    assert (a.state(tree), b.state(tree)) == ("of an earlier text", "current")
    states = [line.split(" | ")[-1] for line in evidence.render([a, b], tree)[-4:]]
    assert states == 2 * ["of an earlier text |"] + 2 * ["current |"]  # both are in the table
    (tree / "b.txt").unlink()
    assert b.state(tree) == "of an earlier text"


def test_the_table_has_the_share_of_every_rule(tree):
    lines = evidence.render(evidence.read_records(tree), tree)
    assert lines[2] == "| a | safety.kernel | `soak a` | 1,234 | 2 processors | 0 |"
    head = (
        "run | rule | rounds | share of this run | violations | nearest g | commit | date | state"
    )
    assert f"| {head} |" in lines
    stamp = "01234567 | 2026-11-18 | current |"
    assert f"| a | LeaderFollower | 750 | 75.0% | 0 | -9.2e-14 | {stamp}" in lines
    assert f"| a | CertifiedPFS | 250 | 25.0% | 0 | -1.0e-03 | {stamp}" in lines


def test_attacked_actions_are_shown_beside_rounds_and_make_the_share(tree):
    rows = (Row("hull", 10, 0, -0.5, actions=160, unit="slack"), Row("balls", 40, 0, -0.5, 40))
    line = evidence.render([record("a", "a.txt", tree, rows=rows)], tree)[-2]
    assert "| hull | 10, 160 attacked actions | 80.0% | 0 | -5.0e-01 of the slack |" in line


def test_attacks_add_up_by_rule():
    counts = Counts("slack")
    counts.add("a", 5, 0, -0.5)
    counts.add("b", 1, 1, 0.25)
    counts.add("a", 2, 0, -0.25)
    counts.add("c", 0, 0, float("-inf"))  # rejected at the start
    assert list(counts.rows.values()) == [
        Row("a", 7, 0, -0.25, unit="slack"),
        Row("b", 1, 1, 0.25, unit="slack"),
    ]
    assert (counts.rounds, counts.violations) == (8, 1)


# --- what is rejected ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"rule": ""},
        {"rule": "two\nlines"},
        {"rule": "<script>"},
        {"rounds": 0},
        {"rounds": 1.5},
        {"rounds": True},
        {"violations": -1},
        {"violations": None},
        {"nearest": float("nan")},
        {"nearest": float("-inf")},
        {"nearest": 10**400},
        {"nearest": "-1"},
        {"actions": -1},
        {"unit": 3},
    ],
)
def test_a_row_without_its_numbers_is_rejected(change):
    with pytest.raises(EvidenceError, match="a row must have a rule, rounds > 0, violations and"):
        dataclasses.replace(ROW, **change)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": 2}, "schema must be 1, got 2"),
        ({"schema": None}, "schema must be 1, got None"),
        ({"rows": []}, "rows must have at least one row, got none in 'a'"),
        ({"rows": {}}, "rows must be a list, got {}"),
        ({"rows": [{"rule": "r", "rounds": 1}]}, "a row must have nearest, .* got no 'nearest'"),
        ({"rows": [7]}, "a row must be a mapping, got 7"),
        ({"commit": "main"}, "commit must be 40 hexadecimal digits, got 'main'"),
        ({"digest": COMMIT}, "digest must be 64 hexadecimal digits, got '0123"),
        ({"date": "2026-02-30"}, "date must be a day like 2026-11-18, got '2026-02-30'"),
        ({"seconds": -1}, "seconds must be a number of at least 0, got -1"),
        ({"covers": []}, r"covers must be patterns of files in this repository, got \(\)"),
        ({"covers": ["/etc/*"]}, "covers must be patterns of files in this repository"),
        ({"covers": ["src/../../*"]}, "covers must be patterns of files in this repository"),
        ({"command": "a `b`"}, "command must be one line of text"),
        ({"more": 1}, "got the unknown key 'more'"),
        ({"name": "another"}, "name must be that of the file, got 'another'"),
    ],
)
def test_a_record_that_is_none_is_named_with_its_file(tree, change, sentence):
    path = tree / "evidence/a.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(EvidenceError, match=f"^evidence/a.json: .*{sentence}"):
        evidence.read_records(tree)
    assert len(find_faults(tree)) == 1


@pytest.mark.parametrize("text", ["", "[1, 2", "[" * 100_000, "7", b"\xff\xfe"])
def test_a_file_that_is_no_record_is_named(tree, text):
    (tree / "evidence/a.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(EvidenceError, match=r"^evidence/a.json: "):
        evidence.read_records(tree)


def test_a_record_is_read_as_it_was_written(tree):
    rows = (Row("hull", 10, 0, -0.1, actions=160, unit="slack"), ROW)
    made = record("a", "a.txt", tree, rows=rows)
    assert Record.from_json(made.to_json()) == made


# --- stamping ------------------------------------------------------------------------------------


def test_a_stamp_writes_a_current_record_of_the_commit(checkout):
    said = Stamp("Long soak", "safety.kernel", ["a.txt"], root=checkout).write("soak", [ROW])
    assert said.startswith("evidence/long-soak.json is written")
    made = evidence.read_records(checkout)[-1]
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True
    )
    assert made.commit == head.stdout.strip()
    assert made.state(checkout) == "current"
    # A second run may follow at once: what the first has written is no change.
    Stamp("other", "safety.kernel", ["b.txt"], root=checkout).write("soak", [ROW])


@pytest.mark.parametrize("name", ["a.txt", "new.txt"])
def test_a_result_of_a_changed_tree_cannot_be_stamped(checkout, name):
    (checkout / name).write_text("changed")
    sentence = rf"a result of a changed tree cannot be stamped: commit first \(.*{name}\)"
    with pytest.raises(EvidenceError, match=sentence):
        Stamp("soak", "safety.kernel", ["a.txt"], root=checkout)


def test_a_tree_that_changes_in_the_middle_of_a_run_cannot_be_stamped(checkout):
    stamp = Stamp("soak", "safety.kernel", ["a.txt"], root=checkout)
    (checkout / "a.txt").write_text("changed")
    git(checkout, "commit", "-q", "-a", "-m", "another text")
    with pytest.raises(EvidenceError, match="the tree changed while the run was going on"):
        stamp.write("soak", [ROW])
    assert not (checkout / "evidence/soak.json").exists()


def test_covers_that_match_no_file_are_rejected(checkout):
    with pytest.raises(EvidenceError, match=r"covers must match a file, got '\*.c'"):
        Stamp("soak", "safety.kernel", ["a.txt", "*.c"], root=checkout)


def test_outside_of_a_checkout_nothing_is_stamped(tree):
    if subprocess.run(["git", "rev-parse"], cwd=tree, capture_output=True).returncode == 0:
        pytest.skip("the folder for temporary files is in a checkout")
    with pytest.raises(EvidenceError, match="a result can be stamped in a git checkout only"):
        Stamp("soak", "safety.kernel", ["a.txt"], root=tree)


def test_a_run_that_failed_is_stamped_only_with_its_violations(checkout):
    stamp = Stamp("soak", "safety.kernel", ["a.txt"], root=checkout)
    with pytest.raises(EvidenceError, match="a run that failed without a violation cannot be"):
        stamp.write("soak", [ROW], status=1)
    with pytest.raises(EvidenceError, match="rows must have at least one row"):
        stamp.write("soak", [])
    assert not (checkout / "evidence/soak.json").exists()
    stamp.write("soak", [dataclasses.replace(ROW, violations=2)], status=1)
    assert evidence.read_records(checkout)[-1].violations == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"factor": 3.0}, "a run with --factor cannot be stamped: it is to find violations"),
        ({"state": Path("sums")}, "a run with --state cannot be stamped: its first part may be"),
        ({"kinds": ["log"]}, "a run with --kinds cannot be stamped: it has no 'hull'"),
    ],
)
def test_controls_continued_runs_and_parts_cannot_be_stamped(options, sentence):
    kinds = ("hull", "log")
    with pytest.raises(EvidenceError, match=sentence):
        evidence.begin(Namespace(stamp=True, **options), "soak", "safety.kernel", ["*.md"], kinds)
    assert evidence.begin(Namespace(stamp=False, **options), "soak", "", ["*.md"]) is None


def test_what_is_rejected_is_one_sentence_and_status_2(capsys):
    def fail():
        raise EvidenceError("a sentence")

    assert evidence.run(fail) == 2
    assert capsys.readouterr().err == "a sentence\n"


# --- the page ------------------------------------------------------------------------------------


def test_the_page_must_have_the_table_and_writing_it_is_enough(tree):
    assert find_faults(tree) == [
        "docs/promises.md must have the table of evidence/: run it with --write"
    ]
    evidence.write_table(tree)
    assert find_faults(tree) == []
    text = (tree / "docs/promises.md").read_text()
    (tree / "docs/promises.md").write_text(text.replace("| 750 |", "| 225,000,000 |"))
    assert len(find_faults(tree)) == 1


def test_only_a_release_fails_on_a_stale_record_a_violation_or_a_missing_claim(tree):
    lost = record("b", "b.txt", tree, rows=(dataclasses.replace(ROW, violations=3),))
    (tree / lost.path).write_text(lost.to_json())
    (tree / "a.txt").write_bytes(b"X\n")
    evidence.write_table(tree)
    assert find_faults(tree) == []
    assert find_faults(tree, release=True) == [
        "evidence/a.json is of an earlier text: run soak a --stamp",
        "evidence/b.json counts 3 violations",
        "evidence/ must have a record of safety.kernel with 100,000,000 actions, 1,000,000 of each "
        "rule: make evidence",
        "evidence/ must have a record of safety.knowledge with 1,000,000 actions, 100,000 of each "
        "rule: make evidence",
    ]


def test_a_release_needs_a_long_run_of_every_claim(tree):
    rows = (Row("a", 99_000_000, 0, -1.0), Row("b", 1_000_000, 0, -1.0))
    knowledge = (Row("hull", 60_000, 0, -1.0, actions=960_000), Row("log", 10**5, 0, -1.0))
    for path in (tree / "evidence").iterdir():
        path.unlink()
    for name, claim, some in (("a", "kernel", rows), ("b", "knowledge", knowledge)):
        made = record(name, f"{name}.txt", tree, claim=f"safety.{claim}", rows=some)
        (tree / made.path).write_text(made.to_json())
    evidence.write_table(tree)
    assert find_faults(tree, release=True) == []
    shorter = (rows[0], dataclasses.replace(rows[1], rounds=999_999))
    made = record("a", "a.txt", tree, rows=(*shorter, Row("c", 10**7, 0, -1.0)))
    (tree / made.path).write_text(made.to_json())
    evidence.write_table(tree)
    assert len(find_faults(tree, release=True)) == 1


def test_the_records_of_this_repository_are_sound_and_in_its_page():
    assert find_faults(ROOT) == []


def test_every_run_covers_files_that_exist():
    from benchmarks import hostile, soak, soak_aimed, soak_errors, soak_knowledge, soak_regions

    runs = (hostile, soak, soak_aimed, soak_errors, soak_kernel, soak_knowledge, soak_regions)
    for module in runs:
        name = module.__name__.removeprefix("benchmarks.")
        assert any(f"benchmarks/{name}." in pattern for pattern in module.COVERS)
        assert len(digest(module.COVERS)) == 64


# --- the kernel's soak ---------------------------------------------------------------------------

has_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The compiled attack."""
    path = tmp_path_factory.mktemp("soak") / "soak_kernel"
    soak_kernel.compile_soak(program=str(path))
    return path


@has_compiler
@pytest.mark.slow
def test_the_kernel_violates_in_no_round_and_every_rule_has_its_share(program):
    done = subprocess.run([program, "3e5"], capture_output=True, text=True)
    rows = soak_kernel.read_rows(done.stdout)
    assert done.returncode == 0
    assert len(rows) == 11
    assert sum(row.violations for row in rows) == 0
    assert sum(row.rounds for row in rows) >= 300_000
    assert min(row.rounds for row in rows) >= 300_000 / 11 - 300  # rounds of one limit
    assert min(row.nearest for row in rows) > -1e-9  # it came near the limit


@has_compiler
@pytest.mark.slow
@pytest.mark.parametrize("share", ["0.9", "0.99"])
def test_with_a_share_of_the_constants_every_rule_of_the_kernel_violates(program, share):
    done = subprocess.run([program, "3e5", share], capture_output=True, text=True)
    assert done.returncode == 0
    assert all(row.violations > 0 for row in soak_kernel.read_rows(done.stdout))


@has_compiler
@pytest.mark.slow
@pytest.mark.parametrize("words", [["0"], ["many"], ["1e5", "2"]])
def test_the_kernels_soak_rejects_a_wrong_number(program, words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "rounds must be at least 1, and the share in (0, 1]\n"


def test_the_lines_of_the_kernels_soak_become_rows():
    said = (
        "VIOLATED: g = 0.5 in round 3 of A, B, d = 2\n"
        "A, B: 91058 rounds (9.1 %), 1 violations, nearest g = 0.5\n"
        "C: 0 rounds (0.0 %), 0 violations, nearest g = -inf\n"
        "91058 rounds in 5 s, 1 violations; 13 limits ended early: start rejected\n"
    )
    assert soak_kernel.read_rows(said) == [Row("A, B", 91058, 1, 0.5)]
