"""Compile and run ``soak_kernel.c``: ``python -m benchmarks.soak_kernel --rounds 1e8 --stamp``."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from benchmarks import evidence
from benchmarks.evidence import Row

SOURCE = "benchmarks/soak_kernel.c"
PROGRAM = "build/soak_kernel"
COVERS = ("src/surefoot/kernel/c/*.h", SOURCE, "benchmarks/soak_kernel.py")
FLAGS = ("-O2", "-std=c99", "-ffp-contract=off", "-Isrc/surefoot/kernel/c")
LINE = re.compile(r"(.+): (\d+) rounds \(.*\), (\d+) violations, nearest g = (\S+)")


def compiler() -> list[str]:
    """Return the C compiler as words: CC of the environment, else cc."""
    return shlex.split(os.environ.get("CC", "cc"))


def compile_soak(root: Path = evidence.ROOT, program: str = PROGRAM) -> str:
    """Compile the attack and return the first line of what the compiler says of itself."""
    (root / program).parent.mkdir(exist_ok=True)
    subprocess.run([*compiler(), *FLAGS, SOURCE, "-o", program, "-lm"], cwd=root, check=True)
    said = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


def read_rows(output: str) -> list[Row]:
    """Return the rows that the program printed; a rule without a round has none."""
    found = [match.groups() for match in map(LINE.fullmatch, output.splitlines()) if match]
    rows = [(rule, int(rounds), int(lost), float(g)) for rule, rounds, lost, g in found]
    return [Row(*row) for row in rows if row[1]]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", default="1e8", help="at least so many in all")
    evidence.add_option(parser)
    options = parser.parse_args()
    name = compile_soak()
    stamp = None
    if options.stamp:
        machine = evidence.describe_machine(name)
        stamp = evidence.Stamp("kernel soak", "safety.kernel", COVERS, machine=machine)
    words = [PROGRAM, options.rounds]
    done = subprocess.run(words, cwd=evidence.ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="")
    rows = read_rows(done.stdout)
    if stamp is not None:
        print(stamp.write(shlex.join(words), rows, done.returncode))
    return done.returncode


if __name__ == "__main__":
    sys.exit(evidence.run(main))
