"""A running application as a notebook shows it: a small table, plain HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from penstock.measure.observation import Observation
from penstock.watch.gauges import gauges


def handle_html(application: str, observations: Sequence[Observation], url: str | None = None) -> str:
    """The main figures of a run, everything escaped.

    >>> handle_html("<b>", [])
    '<table><caption>&lt;b&gt;</caption><tr><td>waiting for the first micro-batch</td></tr></table>'
    """
    rows = [("newest micro-batch", f"{observations[-1].batch:,}")] if observations else []
    rows += [(gauge.label, gauge.figure) for gauge in gauges(observations, bins=0)]
    body = "".join(f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in rows)
    if url is not None:
        link = escape(url, quote=True)
        body += f'<tr><th>dashboard</th><td><a href="{link}" target="_blank" rel="noopener">{link}</a></td></tr>'
    waiting = "<tr><td>waiting for the first micro-batch</td></tr>" if not rows else ""
    return f"<table><caption>{escape(application)}</caption>{waiting}{body}</table>"
