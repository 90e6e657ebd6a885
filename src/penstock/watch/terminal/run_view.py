"""A run in a terminal, read from its journal: the facts of the dashboard, plain lines without a terminal, or JSON."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.watch.figures import clock_text, count_text, size_text, time_text
from penstock.watch.recorded.decision_facts import decision_row
from penstock.watch.recorded.facts import run_body
from penstock.watch.recorded.plain_json import json_text
from penstock.watch.recorded.run_reader import RunReader

LOOK_S = 1.0
_PLAIN_EVERY_S = 5.0
_DECISIONS_SHOWN = 12
_WIDEST_CHANGE = 56  # two settings with their caps
KEYS = "q ends, h shows or hides holds, g shows or hides the operators"


def watch_in_terminal(reader: RunReader, *, as_json: bool, metrics: str | None = None) -> None:
    """Shows the run until it has ended, q or Ctrl-C."""
    if as_json:
        _lines(reader)
        return
    screen = Console(highlight=False)
    if metrics is not None:
        screen.print(f"metrics: {metrics}", markup=False)
    if screen.is_terminal:
        _live(reader, screen)
    else:
        _plain(reader, screen)


def _lines(reader: RunReader) -> None:
    """One JSON object whenever something is new, the last one when the run has ended."""
    while True:
        body = run_body(reader)
        body["decision"] = decision_row(reader.state.decisions[-1]) if reader.state.decisions else None
        print(json_text(body), flush=True)
        if body["status"] != "running":
            return
        while not reader.poll() and reader.status == "running":
            time.sleep(LOOK_S)


def _plain(reader: RunReader, screen: Console) -> None:
    while True:
        screen.print(plain_text(run_body(reader)), markup=False, soft_wrap=True)
        if reader.status != "running":
            return
        time.sleep(_PLAIN_EVERY_S)
        reader.poll()


def plain_text(body: dict[str, Any]) -> str:
    """One line: the sentence on top, and the four figures."""
    figures = [f"{name.lower()} {_figure(name, value)}" for name, value in body["figures"].items()]
    return f"{body['summary']} Micro-batch {body['batch']}: {', '.join(figures)}"


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.0f} ms" if name == "p95 latency" else count_text(value)


def _live(reader: RunReader, screen: Console) -> None:
    with_holds, with_operators = True, True
    with _keys() as pressed, Live(console=screen, auto_refresh=False, screen=False) as live:
        while True:
            live.update(view(reader, with_holds=with_holds, with_operators=with_operators), refresh=True)
            if reader.status != "running":
                return
            for key in pressed():
                if key == "q":
                    return
                with_holds ^= key == "h"
                with_operators ^= key == "g"
            reader.poll()


def view(reader: RunReader, *, with_holds: bool = True, with_operators: bool = True) -> Group:
    """What a terminal shows now."""
    body = run_body(reader)
    begin_s = body["begin_s"] or 0.0
    parts: list[Any] = [
        Text(f"{body['application']}  {body['status']}", style="bold"), Text(body["summary"]), _figures(body),
        _elements(body, with_operators), _decisions(reader, begin_s, with_holds), Text(so_far(body)),
        Text(f"{body['dead_letters']:,} dead letters; {len(body['failures'])} failures and recoveries; {KEYS}",
             style="dim"),
    ]  # fmt: skip
    return Group(*parts)


def so_far(body: dict[str, Any]) -> str:
    """What the run has been like: changes, broken steps, what it cost, what it keeps."""
    saso, cost, size = body["saso"], body["cost"], body["checkpoint_bytes"]
    parts = []
    if body["goal"]:
        parts += [f"{saso['changes']} changes, settled within {time_text(saso['settling_s'])}"]
        parts += [f"goal broken in {saso['violations']} of {saso['steps']} steps"]
    if cost is not None:
        static = cost["static_core_hours"]
        provisioned = "" if static is None else f" ({static:.3g} statically provisioned)"
        parts += [f"{cost['core_hours']:.3g} core-hours{provisioned}"]
    if size is not None:
        parts += [f"checkpoint {size_text(size)}"]
    return "; ".join(parts)


def _figures(body: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in body["figures"]:
        table.add_column(name, justify="right")
    table.add_row(*(_figure(name, value) for name, value in body["figures"].items()))
    return table


def _elements(body: dict[str, Any], with_operators: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("element", "replicas", "tuples/s", "busy"):
        table.add_column(name, justify="left" if name == "element" else "right")
    for element in body["graph"]["elements"]:
        busy = "" if element["busy_ratio"] is None else f"{element['busy_ratio']:.0%}"
        rate = "" if element["in_tuples_s"] is None else count_text(element["in_tuples_s"])
        table.add_row(Text(element["name"], style="bold"), str(element["replicas"] or ""), rate, busy)
        for own in body["graph"]["operators"] if with_operators else ():
            if own["element"] == element["name"]:
                rate = own["out_tuples_s"] if own["in_tuples_s"] is None else own["in_tuples_s"]
                came = "" if rate is None else count_text(rate)
                table.add_row(Text(f"· {own['name']}", style="dim"), "", came, "")
    return table


def _decisions(reader: RunReader, begin_s: float, with_holds: bool) -> Table:
    table = Table(box=None, pad_edge=False, expand=True)
    for name in ("step", "at"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("what", overflow="ellipsis", no_wrap=True, max_width=_WIDEST_CHANGE)
    table.add_column("why", overflow="ellipsis", no_wrap=True, ratio=1)  # what is left, so that no other one shrinks
    rows = [decision_row(own) for own in reader.state.decisions]
    shown = [row for row in rows if with_holds or row["kind"] != "hold"][-_DECISIONS_SHOWN:]
    for row in shown:
        what = f"hold {row['from']}" if row["kind"] == "hold" else f"{row['from']} -> {row['to']}"
        at = clock_text(max(row["at_s"] - begin_s, 0.0))
        table.add_row(str(row["step"]), at, Text(what), Text(row["because"]))
    return table


@contextlib.contextmanager
def _keys() -> Iterator[Any]:
    """Keys as they are pressed, where there is a keyboard; waits for one for as long as a look takes."""
    try:
        number = sys.stdin.fileno()
        before = termios.tcgetattr(number)
    except (OSError, ValueError, termios.error):
        yield _no_key
        return

    def pressed() -> str:
        ready, _, _ = select.select([number], [], [], LOOK_S)
        return os.read(number, 16).decode(errors="replace") if ready else ""

    tty.setcbreak(number)
    try:
        yield pressed
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _no_key() -> str:
    time.sleep(LOOK_S)
    return ""
