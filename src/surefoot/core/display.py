"""Show results: numbers with their spread, and tables as text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:  # NumPy, which the help of the command line does not load
    from surefoot.core.types import Array

# Okabe and Ito's palette keeps its hues apart for colour-blind readers.
BLUE, VERMILLION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE, BLACK, GREY = "#56B4E9", "#E69F00", "#000000", "#999999"

Style: TypeAlias = Literal["text", "markdown", "latex", "html"]


PROMISES = {
    "every round": "every g <= 0",
    "after t0": "g <= 0 from t0 on",
    "few violations": "few g > 0",
    "bounded": "each g bounded",
    "cumulative": "sum of g bounded",
    "sum_positive": "sum of [g]+ bounded",
    "sum_squared": "sum of [g]+^2 bounded",
    "none": "",
}
"""What each kind of guarantee promises about the constraint, in the words of tables."""

Word: TypeAlias = Literal[
    "failed", "stopped", "premise broken", "not checked", "not claimed", "held"
]
"""The words of a verdict, the gravest first. Held: every promise about the constraint was compared
and kept. Not checked: one could not be compared. Failed: one was broken though no premise was; a
bug, or no theorem."""

RESULT_HEAD = (
    "algorithm",
    "T",
    "regret",
    "regret / bound",
    "promised",
    "violations",
    "max g",
    "verdict",
)
RESULT_RIGHT = ("T", "regret", "regret / bound", "violations", "max g")


def mean_and_spread(values: Array) -> str:
    """Return the mean and, of several, the standard deviation.

    >>> mean_and_spread([1.0, 3.0]), mean_and_spread(2.0)
    ('2 ± 1', '2')
    """
    import numpy as np  # here, so that the help of the command line does not load it

    many = np.atleast_1d(np.asarray(values, dtype=np.float64))
    mean = f"{many.mean():.4g}"
    return f"{mean} ± {many.std():.2g}" if many.size > 1 else mean


def format_bracket(upper: Array, lower: Array) -> str:
    """Return numbers that are known from both sides: the upper, and how far it may be off.

    >>> format_bracket([1.0, 3.0], [1.0, 3.0]), format_bracket(2.0, 1.5)
    ('2 ± 1, exact', '2, known to 0.5')
    """
    import numpy as np

    gap = float(np.max(np.subtract(upper, lower)))
    return f"{mean_and_spread(upper)}, {'exact' if gap == 0 else f'known to {gap:.2g}'}"


def of_runs(values: Array) -> str:
    """Return how many runs a row of values is of; nothing for a single one.

    >>> of_runs([1.0, 3.0]), of_runs(2.0)
    (' of 2 runs', '')
    """
    import numpy as np

    return f" of {np.size(values):,} runs" if np.ndim(values) else ""


def after_rounds(rounds: Array) -> str:
    """Return when numbers that are kept for some rounds end, and for how many they are kept.

    >>> after_rounds([500, 1000]), after_rounds([7])
    (' after 1,000 rounds, 2 kept', ' after 7 rounds')
    """
    many = f", {len(rounds):,} kept" if len(rounds) > 1 else ""
    return f" after {int(rounds[-1]):,} rounds{many}"


class Table(NamedTuple):
    r"""A table of words: its ``str`` is aligned text, and a notebook shows it as HTML.

    Attributes:
        head: names of the columns.
        rows: their cells.
        right: names of the columns whose cells are set to the right.

    Example:
        >>> small = Table(("rule", "T"), [("a|b", "10"), ("c_d", "2000")], right=("T",))
        >>> print(small)
        rule     T
        a|b     10
        c_d   2000
        >>> print(small.as_("markdown"))
        | rule | T |
        |:--|--:|
        | a\|b | 10 |
        | c_d | 2000 |
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table as text."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        for row in (self.head, *self.rows):
            cells = zip(self.head, row, widths, strict=True)
            padded = (c.rjust(w) if name in self.right else c.ljust(w) for name, c, w in cells)
            yield "  ".join(padded).rstrip()

    def __repr__(self) -> str:
        return f"<Table of {len(self.rows)} rows: {', '.join(self.head)}; print it>"

    def as_(self, style: Style) -> str:
        """Return the table in a style: "text", "markdown", "latex" (booktabs) or "html"."""
        others = {"markdown": self._markdown, "latex": self._latex, "html": self._repr_html_}
        return str(self) if style == "text" else others[style]()

    def _markdown(self) -> str:
        marks = ["--:" if name in self.right else ":--" for name in self.head]
        rows = [[cell.replace("|", "\\|") for cell in row] for row in (self.head, *self.rows)]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([lines[0], f"|{'|'.join(marks)}|", *lines[1:]])

    def _latex(self) -> str:
        columns = "".join("r" if name in self.right else "l" for name in self.head)
        head, *rows = (" & ".join(map(_latex, row)) + r" \\" for row in (self.head, *self.rows))
        begin = r"\begin{tabular}{" + columns + r"}  % \usepackage{booktabs}"
        end = (r"\bottomrule", r"\end{tabular}")
        return "\n".join([begin, r"\toprule", head, r"\midrule", *rows, *end])

    def _repr_html_(self) -> str:
        def cells(row: Sequence[str], tag: str) -> str:
            sides = ("right" if name in self.right else "left" for name in self.head)
            return "".join(
                f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>'
                for cell, side in zip(row, sides, strict=True)
            )

        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in self.rows)
        return (
            f"<table><thead><tr>{cells(self.head, 'th')}</tr></thead><tbody>{body}</tbody></table>"
        )


_LATEX = {
    "\\": r"\textbackslash{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
}


def _latex(cell: str) -> str:
    pieces = cell.split("<=")
    return r"$\le$".join("".join(_LATEX.get(c, c) for c in piece) for piece in pieces)


def facts_html(title: str, facts: Mapping[str, object], *more: Table) -> str:
    """Return a heading and a table of names and values as HTML, all of it escaped, then tables.

    >>> facts_html("a < b", {"x": 1})
    '<div><b>a &lt; b</b><table><tbody><tr><th style="text-align:left">x</th><td ...>1</td></tr>...'
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    tables = "".join(table._repr_html_() for table in more)
    body = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    return f"<div><b>{html.escape(title)}</b>{body}{tables}</div>"
