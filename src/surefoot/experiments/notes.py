"""Documents stored beside the cells of a reproduction: claims with verdicts, and a layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from surefoot.core.errors import DamagedError, InvalidValueError
from surefoot.experiments.typed import from_plain

if TYPE_CHECKING:
    from surefoot.experiments.store import Results

REPRODUCED = "reproduced"
OTHER_CONSTANTS = "reproduced only with other constants than stated"
NOT_REPRODUCED = "not reproduced"
CLAIM_WORDS = (NOT_REPRODUCED, OTHER_CONSTANTS, REPRODUCED)
"""The verdicts on a published figure, the gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
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
class Panels:
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
class Story:
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
    return list(_read(results, "claims", tuple[Claim, ...]) or ())


def panels_of(results: Results) -> Panels | None:
    """Return the layout of a reproduction's figures; None for any other experiment.

    Raises:
        DamagedError: the note is there and is not a layout.
    """
    return _read(results, "panels", Panels)


def story_of(results: Results) -> Story | None:
    """Return what a reproduction is about; None for any other experiment.

    Raises:
        DamagedError: the note is there and is not a story.
    """
    return _read(results, "story", Story)


def _read(results: Results, key: str, kind: type[R]) -> R | None:
    data = results.notes().get(key)
    try:
        return None if data is None else from_plain(kind, data, key)
    except InvalidValueError as error:
        told = f"the note '{key}' of results '{results.path}' is damaged: {error}"
        raise DamagedError(told) from error
