"""Documents stored beside the cells of a reproduction: claims with verdicts, and a layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from surefoot.core.errors import InvalidValueError
from surefoot.experiments.store import DamagedError
from surefoot.experiments.typed import from_plain, to_plain

if TYPE_CHECKING:
    from surefoot.experiments.store import Results

__all__ = [
    "CLAIM_WORDS",
    "NOT_REPRODUCED",
    "OTHER_CONSTANTS",
    "REPRODUCED",
    "Claim",
    "PanelSetting",
    "Panels",
    "Shown",
    "Story",
    "claims_of",
    "panels_of",
    "story_of",
]

REPRODUCED = "reproduced"
OTHER_CONSTANTS = "reproduced only with other constants than stated"
NOT_REPRODUCED = "not reproduced"
CLAIM_WORDS = (NOT_REPRODUCED, OTHER_CONSTANTS, REPRODUCED)
"""The verdicts on a published figure, the gravest first."""


class _Document:
    """A record that is stored as it is."""

    __slots__ = ()

    def to_plain(self) -> dict[str, Any]:
        """Return the record as the file has it."""
        return to_plain(self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(_Document):
    """A claim of a publication, with what was measured.

    Attributes:
        figure: which figure of the publication.
        statement: what it shows.
        settings: the label of the row that was compared.
        published: values by horizon.
        measured: values by horizon; None for one that is not finite.
        verdict: one of :data:`CLAIM_WORDS`.
        reason: the numbers behind the verdict.
    """

    figure: str
    statement: str
    settings: str = ""
    published: dict[str, float | None] = field(default_factory=dict)
    measured: dict[str, float | None] = field(default_factory=dict)
    verdict: str = ""
    reason: str = ""


class Shown(NamedTuple):
    """A row by its label, and the name that a figure shows for it."""

    label: str
    name: str


class PanelSetting(NamedTuple):
    """The rows that stand for a publication's curves in one setting of the constants."""

    name: str
    rows: tuple[Shown, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels(_Document):
    """Which rows are which curves of a published figure.

    Attributes:
        problem: label of the problem of the regret.
        violation_problem: label of the problem of the violations.
        settings: for each setting its name, and labels with the names to show for them.
        published: values by measure, shown name and horizon.
        every: which rounds a figure of actions shows.
    """

    problem: str
    violation_problem: str
    settings: tuple[PanelSetting, ...] = ()
    published: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    every: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(_Document):
    """What a reproduction is about, for the first screen of its page.

    Attributes:
        paper: authors, title, venue and year.
        question: what the experiment asks.
        settings: name and meaning of each setting of the constants.
        link: where the paper is.
    """

    paper: str
    question: str
    settings: tuple[tuple[str, str], ...] = ()
    link: str = ""


R = TypeVar("R")


def claims_of(results: Results) -> list[Claim]:
    """Return the claims of a reproduction; of any other experiment there are none.

    Raises:
        DamagedError: the note is there and is not a list of claims.
    """
    data = results.notes().get("claims") or []
    if not isinstance(data, list):
        raise _damaged(results, "claims", f"claims must be a list, got {data!r}")
    return [_read(results, "claims", Claim, claim, f"claims[{i}]") for i, claim in enumerate(data)]


def panels_of(results: Results) -> Panels | None:
    """Return the layout of a reproduction's figures; None for any other experiment.

    Raises:
        DamagedError: the note is there and is not a layout.
    """
    data = results.notes().get("panels")
    return None if data is None else _read(results, "panels", Panels, data, "panels")


def story_of(results: Results) -> Story | None:
    """Return what a reproduction is about; None for any other experiment.

    Raises:
        DamagedError: the note is there and is not a story.
    """
    data = results.notes().get("story")
    return None if data is None else _read(results, "story", Story, data, "story")


def _read(results: Results, key: str, kind: type[R], data: Any, name: str) -> R:
    try:
        return from_plain(kind, data, name)
    except InvalidValueError as error:
        raise _damaged(results, key, str(error)) from error


def _damaged(results: Results, key: str, why: str) -> DamagedError:
    return DamagedError(f"the note '{key}' of results '{results.path}' is damaged: {why}")
