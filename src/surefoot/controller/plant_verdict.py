"""The verdict on the journal of a plant: what the independent checker finds, and given what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from surefoot.controller.check import Judgement, Report, check
from surefoot.controller.journal_record import JournalRecord

__all__ = ["PlantVerdict", "Verdict", "judge_plants"]

Verdict: TypeAlias = Literal["certified", "not checked", "not certified"]


@dataclass(frozen=True, slots=True)
class PlantVerdict:
    """What the independent checker finds of one plant.

    Attributes:
        word: the verdict, without what it is given.
        estimates: how many estimates it rests on, in any of the versions of the plant.
        rounds: how many there are.
        certified: how many of them were certified before they were used.
        starts: how many were not, at a declared start.
        refuted: how many refuted the constants that they were certified by.
        unchecked: how many were not judged.
        sentence: what the checker says of a journal that it does not certify; else empty.
        code: the exit code of the checker, for the whole file.
        trusted: what it did not check of any journal.
        judgement: by round; None where the checker read nothing of the plant.
    """

    word: Verdict
    estimates: int
    rounds: int
    certified: int
    starts: int
    refuted: int
    unchecked: int
    sentence: str
    code: int
    trusted: str
    judgement: Judgement | None

    @property
    def words(self) -> str:
        """The verdict in words: "proved" is said by nobody who counts on an estimate.

        >>> PlantVerdict("certified", 2, 3, 2, 1, 0, 0, "", 0, "", None).words
        'certified given 2 estimates'
        """
        if self.word == "not certified" or (self.word == "not checked" and not self.certified):
            return self.word
        n, words = self.estimates, "certified" if self.word == "certified" else "certified in part"
        given = f"{n} estimate{'s'[: n != 1]}" if n else ""
        if self.refuted:
            words += " given the constants of each piece" + (f", with {given}" if given else "")
        elif given:
            words += f" given {given}"
        return words if self.word == "certified" else f"{words}; the rest is not checked"

    def word_of(self, t: int) -> str:
        """Return what is found of a round: "yes", "no", "start" or "not checked"."""
        return "not checked" if self.judgement is None else self.judgement.word(t)

    @classmethod
    def of(cls, record: JournalRecord, judgement: Judgement | None, report: Report) -> PlantVerdict:
        """Return the verdict on one plant of a journal.

        Args:
            record: what the journal says.
            judgement: what was found of its rounds.
            report: what was found of the whole file.
        """
        n = record.round_count
        words = [judgement.word(t) if judgement else "not checked" for t in range(1, n + 1)]
        is_wrong = not report.is_right and (judgement is None or judgement.wrong is not None)
        unchecked = words.count("not checked")
        word: Verdict = "not checked" if unchecked else "certified"
        return cls(
            word="not certified" if is_wrong else word,
            estimates=_count_estimates(record),
            rounds=n,
            certified=words.count("yes"),
            starts=words.count("start"),
            refuted=0 if judgement is None else len(judgement.refuted),
            unchecked=unchecked,
            sentence=report.said[0] if is_wrong else "",
            code=report.code,
            trusted=report.trusted,
            judgement=judgement,
        )


def judge_plants(records: Sequence[JournalRecord]) -> tuple[PlantVerdict, ...]:
    """Return the verdict on each plant of one journal, by checking the file once.

    Args:
        records: of one journal, which is of plants.
    """
    if not records:
        return ()
    report = check(str(records[0].path))
    found: dict[tuple[str | None, int], Judgement] = {}
    runs: dict[str | None, int] = {}
    for judgement in report.members:
        runs[judgement.member] = runs.get(judgement.member, 0) + 1
        found[judgement.member, runs[judgement.member]] = judgement
    return tuple(
        PlantVerdict.of(record, found.get((record.member, record.run)), report)
        for record in records
    )


def _count_estimates(record: JournalRecord) -> int:
    """Return on how many estimates certificates rest: the most of any version of the plant."""
    versions = () if record.plant is None else record.plant.versions
    return max((len(version.description.estimates) for version in versions), default=0)
