"""`penstock report`: a run as one page of HTML that needs nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from penstock.cli.screen import console
from penstock.host.atomic_file import write_whole
from penstock.watch.recorded.decision_facts import decision_body, decision_row
from penstock.watch.recorded.facts import run_body
from penstock.watch.recorded.plain_json import json_text
from penstock.watch.recorded.run_reader import RunReader, journal_of
from penstock.watch.recorded.series import columns

STATIC = Path(__file__).parents[2] / "watch" / "page" / "static"
_MOST_DECISIONS = 500


def report_command(checkpoint: Path, output: Path) -> None:
    """Writes the report and says where."""
    reader = RunReader(journal_of(checkpoint))
    reader.open()
    write_whole("writing the report", str(output.absolute()), report_html(reader).encode())
    console().print(f"wrote {output}", markup=False, soft_wrap=True)


def report_html(reader: RunReader) -> str:
    """The page of the dashboard with its files and the run's data inside."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    page = re.sub(r'<link rel="icon"[^>]*>\n', "", page)
    page = re.sub(r'<img src="/static/icon.svg"[^>]*>', lambda found: _read("icon.svg"), page)
    page = re.sub(
        r'<link rel="stylesheet" href="/static/([\w.]+)">', lambda found: f"<style>{_read(found[1])}</style>", page
    )
    scripts = "\n".join(_read(name) for name in re.findall(r'<script src="/static/([\w.]+)" defer>', page))
    page = re.sub(r'<script src="/static/[\w.]+" defer></script>\n', "", page)
    data = json_text(_data(reader)).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    scripts = scripts.replace("</script", "<\\/script")
    tail = f'<script type="application/json" id="recorded">{data}</script>\n<script>{scripts}</script>\n</body>'
    return page.replace("</body>", tail)


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _data(reader: RunReader) -> dict[str, Any]:
    state = reader.state
    rows = list(state.decisions)[-_MOST_DECISIONS:]
    total = state.series.total()
    level, points = state.series.between(None, None, 1000)
    return {
        "/api/run": run_body(reader),
        "/api/series": {"level": level, **columns(points)},
        "/api/decisions": {
            "decisions": [decision_row(own) for own in rows], "left_out": len(state.decisions) - len(rows)
        },
        "/api/dead-letters": {
            "count": 0 if total is None else total.dead_letters, "samples": [dict(own) for own in state.letters]
        },
        "opened": {str(own.decision.step): decision_body(state, own.decision.step) for own in rows},
    }  # fmt: skip
