"""Figures as a small table of HTML, for notebooks; everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def html_table(caption: str, rows: Iterable[tuple[str, object]]) -> str:
    """A row for each label and figure; rows without a figure (None) are left out.

    >>> html_table("<b>", [("rate", "5 tuples/s"), ("latency", None)])
    '<table><caption>&lt;b&gt;</caption><tr><th>rate</th><td>5 tuples/s</td></tr></table>'
    """
    body = "".join(
        f"<tr><th>{escape(label)}</th><td>{escape(str(figure))}</td></tr>"
        for label, figure in rows
        if figure is not None
    )
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"


def rounded(figure: float | None, unit: str) -> str | None:
    """A figure with its unit, to three digits at least; None stays None.

    >>> rounded(1234.5, "tuples/s"), rounded(0.01234, "s")
    ('1,234 tuples/s', '0.0123 s')
    """
    if figure is None:
        return None
    return f"{figure:,.0f} {unit}" if abs(figure) >= 1000 else f"{figure:.3g} {unit}"


def amount(count: int, noun: str) -> str:
    """
    >>> amount(1, "tuple"), amount(12_000, "tuple")
    ('1 tuple', '12,000 tuples')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
