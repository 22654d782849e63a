import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import surefoot
from surefoot.cli import app

FULL = Path("/dev/full")
COMMANDS = tuple(name.rstrip("_").replace("_", "-") for name in app.COMMANDS)


def test_the_help_names_every_command_and_every_exit_code(desk):
    code, out, err = desk.do("--help")
    assert (code, err) == (0, "")
    for command in COMMANDS:
        assert re.search(rf"^  {command}  +\w", out, re.MULTILINE)
    for exit_code in ("0", "1", "2", "3", "130"):
        assert re.search(rf"\b{exit_code}\b", out.split("Exit codes:")[1])


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_teaches_with_an_example(desk, command):
    code, out, _ = desk.do(command, "--help")
    assert code == 0
    paragraphs = out.split("\n\n")
    assert len(" ".join(paragraphs[2].split())) > 100
    assert re.search(rf"^  Examples?:\n    surefoot {command}\b", out, re.MULTILINE)


@pytest.mark.parametrize("command", ["run", "report", "journal", "export-c"])
def test_a_command_that_needs_something_says_what_when_it_gets_nothing(desk, command):
    assert f"Usage: surefoot {command}" in desk.do(command).out + desk.do(command).err


def test_no_command_is_a_question_for_help(desk):
    found = desk.do("")
    assert "Usage: surefoot" in found.out + found.err


def test_the_version_is_the_package_s(desk):
    line = f"surefoot {surefoot.__version__}: {surefoot.kernel.sentence()}\n"
    assert desk.do("--version") == (0, line, "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rum limits.toml", "rum"),
        ("run limits.toml --worker 2", "--workers"),
        ("run limits.toml --workers two", "--workers"),
        ("run limits.toml --workers -1", "--workers"),
        ("report out --export xls", "xls"),
        ("calibrate paper_toy --horizon 0", "--horizon"),
    ],
)
def test_a_mistake_in_the_command_is_named_and_ends_with_2(desk, line, said):
    code, out, err = desk.do(line)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def child(*words, **options):
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, **options
    )


def test_help_loads_nothing_heavy_and_takes_a_blink():
    code = (
        "import resource, sys\n"
        "from surefoot.cli import main\n"
        "sys.argv = ['surefoot', '--help']\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'numpy', 'rich', 'pydantic', 'jax', 'matplotlib', 'scipy', 'dask'}\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(*sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    # The processor's time, which a busy machine does not stretch; the best of three.
    ends = [child("-c", code) for _ in range(3)]
    loaded, *_ = zip(*(end.stderr.splitlines() for end in ends), strict=True)
    assert set(loaded) == {""}
    assert min(float(end.stderr.splitlines()[1]) for end in ends) < 0.3


def test_the_package_runs_as_a_module():
    end = child("-m", "surefoot", "--version")
    assert (end.returncode, end.stderr) == (0, "")
    assert end.stdout == f"surefoot {surefoot.__version__}: {surefoot.kernel.sentence()}\n"


def test_a_missing_typer_is_one_sentence(tmp_path):
    code = "import sys; sys.modules['typer'] = None; from surefoot.cli import main; main()"
    end = child("-c", code)
    assert end.returncode == 1
    assert end.stderr == (
        "surefoot: the command line needs typer, which is not installed: "
        "pip install 'surefoot[cli]'\n"
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a shell with pipes")
def test_a_reader_who_leaves_early_is_no_error():
    program = f"{sys.executable} -c 'from surefoot.cli import main; main()'"
    line = f"set -o pipefail; {program} list | head -n 1"
    end = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (end.returncode, end.stderr) == (0, "")
    assert end.stdout.startswith("algorithm")


def test_a_terminal_without_the_characters_gets_question_marks():
    code = (
        "import sys; from surefoot.cli import main; from surefoot.cli._output import say;"
        "sys.argv = ['surefoot', '--version']\n"
        "try:\n    main()\nexcept SystemExit:\n    say('1 ± 2')"
    )
    end = child("-c", code, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert end.stdout.splitlines()[-1] == "1 ? 2"


@pytest.mark.skipif(not FULL.exists(), reason="a disk that is always full")
@pytest.mark.parametrize("word", ["--help", "--version"])
def test_an_output_that_cannot_be_written_is_one_sentence(word):
    program = (sys.executable, "-c", "from surefoot.cli import main; main()", word)
    with FULL.open("w") as full:
        end = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (end.returncode, end.stderr) == (
        1,
        "surefoot: standard output: No space left on device\n",
    )


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes a file")
def test_a_closed_output_is_no_error():
    line = f"{sys.executable} -c 'from surefoot.cli import main; main()' --version >&-"
    end = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (end.returncode, end.stderr) == (0, "")
