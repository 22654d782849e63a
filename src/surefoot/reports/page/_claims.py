"""Published figures compared with what was measured: a table and a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.experiments.notes import (
    CLAIM_WORDS,
    NOT_REPRODUCED,
    OTHER_CONSTANTS,
    REPRODUCED,
    Claim,
)
from surefoot.reports.page._format import escape, number
from surefoot.reports.page._html import badge, joined
from surefoot.reports.page._verdicts import enumerated

__all__ = ["claims_sentence", "claims_table"]

_SIGNS = {REPRODUCED: "held", OTHER_CONSTANTS: "premise broken", NOT_REPRODUCED: "failed"}
"""The badge that a verdict on a figure looks like."""


def claims_table(claims: Sequence[Claim]) -> str:
    """Return a table of what was published beside what was measured."""
    lines = []
    for claim in claims:
        aside = f'<small class="aside">{escape(claim.settings)}</small>' if claim.settings else ""
        lines.append(
            f'<tr><th scope="row">{escape(claim.figure)}</th>'
            f"<td>{escape(claim.statement)}{aside}</td>"
            f"<td>{_values(claim)}</td>"
            f"<td>{badge(_SIGNS.get(claim.verdict, ''), claim.verdict)}"
            f'<small class="aside">{escape(claim.reason)}</small></td></tr>'
        )
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="Published and measured">'
        '<table id="claims"><caption>Published and measured</caption><thead><tr>'
        '<th scope="col">Figure</th><th scope="col">Statement and setting measured</th>'
        '<th scope="col">Numbers</th><th scope="col">Verdict</th></tr></thead>\n'
        f"<tbody>{joined(lines)}</tbody></table></div>"
    )


def _values(claim: Claim) -> str:
    keys = sorted({*claim.published, *claim.measured}, key=_by_horizon)
    if not keys:
        return "–"
    lines = "".join(
        f'<tr><th scope="row" class=n>{escape(_with_commas(T))}</th>'
        f"<td class=n>{escape(number(claim.published.get(T)))}</td>"
        f"<td class=n>{escape(number(claim.measured.get(T)))}</td></tr>"
        for T in keys
    )
    return (
        '<table class="inner"><thead><tr><th scope="col">T</th><th scope="col">published</th>'
        f'<th scope="col">measured</th></tr></thead><tbody>{lines}</tbody></table>'
    )


def _by_horizon(T: str) -> tuple[bool, int, str]:
    return not T.isdecimal(), int(T) if T.isdecimal() else 0, T


def _with_commas(T: str) -> str:
    return f"{int(T):,}" if T.isdecimal() else T


def claims_sentence(claims: Sequence[Claim]) -> str:
    """Return the verdict on each figure that was to be reproduced, in a sentence.

    >>> claims_sentence([Claim(figure="1a", statement="", verdict="reproduced")])
    'Figure 1a is reproduced.'
    """
    gravest: dict[str, str] = {}
    for claim in claims:
        known = gravest.setdefault(claim.figure, claim.verdict)
        gravest[claim.figure] = min(known, claim.verdict, key=_gravity)
    groups: dict[str, list[str]] = {}
    for figure, verdict in gravest.items():
        groups.setdefault(verdict, []).append(figure)
    # The best first: what holds, then what does not.
    parts = [
        f"Figure{'s' * (len(figures) > 1)} {enumerated(figures)} "
        f"{'are' if len(figures) > 1 else 'is'} {verdict}"
        for verdict, figures in sorted(groups.items(), key=lambda item: -_gravity(item[0]))
    ]
    return f"{enumerated(parts)}." if parts else ""


def _gravity(verdict: str) -> int:
    """Return 0 for the gravest; a word of another version is as good as any."""
    return CLAIM_WORDS.index(verdict) if verdict in CLAIM_WORDS else len(CLAIM_WORDS)
