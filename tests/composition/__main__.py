"""Play every combination, or a share of them: ``python -m tests.composition --share 0.01``."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.composition.cases import Case, all_cases
from tests.composition.live import Outcome, play

SHOWN = 20
"""How many findings are printed in full."""


def play_one(case: Case) -> Outcome:
    """Return what becomes of a case, whose journal is written to a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return play(case, Path(folder))


class Tally:
    """What became of the cases so far."""

    def __init__(self) -> None:
        self.played = self.unsupported = self.rounds = self.proved = 0
        self.sentences: set[str] = set()
        self.found: Counter[str] = Counter()

    def add(self, outcome: Outcome) -> None:
        """Count a case; print what was found in it."""
        if outcome.unsupported:
            self.unsupported += 1
            self.sentences.add(outcome.unsupported.partition(", got")[0])
        else:
            self.played += 1
        self.rounds += outcome.rounds
        self.proved += outcome.proved
        for finding in outcome.findings:
            if self.found.total() < SHOWN:
                print(f"\n{finding}")
            self.found[finding.kind] += 1

    def __str__(self) -> str:
        return (
            f"{self.played + self.unsupported:,} combinations: {self.played:,} played "
            f"{self.rounds:,} rounds, {self.proved:,} of them called proved; {self.unsupported:,} "
            f"unsupported, for {len(self.sentences)} reasons; found: "
            f"{dict(self.found) or 'nothing'}"
        )


def main() -> int:
    """Play, and print what became of all."""
    parser = argparse.ArgumentParser(prog="python -m tests.composition", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of all combinations [1]")
    parser.add_argument("--seed", type=int, default=0, help="which of them, and in which order [0]")
    parser.add_argument("--processes", type=int, default=None, help="one per core unless given")
    given = parser.parse_args()
    if not 0 < given.share <= 1:
        parser.error(f"--share must be above 0 and at most 1, got {given.share}")
    cases = list(all_cases())
    random.Random(given.seed).shuffle(cases)
    cases = cases[: max(1, round(given.share * len(cases)))]
    tally, began, said = Tally(), time.monotonic(), 0.0
    with ProcessPoolExecutor(given.processes) as pool:
        for count, outcome in enumerate(pool.map(play_one, cases, chunksize=64), start=1):
            tally.add(outcome)
            if (now := time.monotonic()) - said > 5 and sys.stderr.isatty():
                said = now
                print(f"\r{count / len(cases):.1%}  {tally}", end="", file=sys.stderr)
    print(f"\n{tally}; {time.monotonic() - began:.0f} s")
    return 1 if tally.found else 0


if __name__ == "__main__":
    sys.exit(main())
