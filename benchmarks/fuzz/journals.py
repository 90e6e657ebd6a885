"""Journals cut, reordered, with foreign lines and huge strings, read by all that reads journals."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from benchmarks.fuzz.kind import Body, WrongResult
from benchmarks.fuzz.mutations import HUGE, mutated_bytes, mutated_json
from benchmarks.measuring.driver_measuring import driver_cost
from penstock import policies
from penstock.cli import main
from penstock.control.journal.journal import Journal, newest_batch, read_journal
from penstock.control.journal.plain_values import to_plain
from penstock.control.journal.recorded_decision import RecordedDecision, StepFigures
from penstock.control.journal.run_start import UNKNOWN_START
from penstock.control.setting import Setting
from penstock.errors import PenstockError
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.watch.recorded.decision_facts import decision_body, decision_row
from penstock.watch.recorded.facts import run_body
from penstock.watch.recorded.plain_json import json_text
from penstock.watch.recorded.run_reader import RunReader
from penstock.watch.recorded.series import columns

_BATCHES = 90  # nine seconds of micro-batches, so that replay has control steps
_WAYS = ("journal", "journal", "json", "picture", "replay", "replay", "append", "page", "page", "page")
_PICTURE_SHARE = 0.2  # of those that would be drawn: a picture takes a second


class Journals:
    """Mutations of a run's journal with a decision on every tenth line."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        driver_cost(folder, _BATCHES)
        lines = (folder / "journal.jsonl").read_text().splitlines()
        self._lines = _shortened(lines)
        self._decisions = [json.dumps({"batch": n, "decision": to_plain(_decision(n))}) for n in range(10, 90, 10)]

    def make(self, rng: random.Random) -> Body:
        lines = list(self._lines)
        for decision in self._decisions:
            lines.insert(rng.randrange(1, len(lines) + 1), decision)
        for _ in range(rng.choice((1, 1, 2, 4))):
            _mutate(rng, lines)
        text = "\n".join(lines) + rng.choice(("\n", "\n", "\n", ""))
        data = text.encode("utf-8", "surrogatepass")
        data = mutated_bytes(rng, data, data) if rng.random() < 0.2 else data
        way = rng.choice(_WAYS)
        if way == "picture" and rng.random() > _PICTURE_SHARE:
            way = "journal"
        before = rng.random() < 0.15  # as the part before the newest
        policy = rng.choice(policies.names())
        return {"way": way, "data": data.decode("latin-1"), "before": before, "policy": policy}

    def weight(self, body: Body) -> int:
        return 1

    def attempt(self, body: Body, folder: Path) -> None:
        path = folder / "journal.jsonl"
        (path.with_name(f"{path.name}.before") if body["before"] else path).write_bytes(body["data"].encode("latin-1"))
        if body["before"]:
            path.write_text("\n".join(self._lines[:3]) + "\n")
        way = body["way"]
        if way == "append":
            _append(path)
        elif way == "page":
            _show(path)
        elif way == "replay":
            main(["replay", str(path), "--policy", body["policy"], "--json"])
        else:
            picture = ["--picture", str(folder / "run.svg")] if way == "picture" else []
            main(["journal", str(path), *picture, *(["--json"] if way == "json" else [])])


def _decision(batch: int) -> RecordedDecision:
    seen = StepFigures(1000.0, 900.0, 50.0, 0.5, 0.2, 0.4)
    return RecordedDecision(batch, "mpc", Setting(2), Setting(3), Setting(3), "demand rises", seen, requested=True)


def _shortened(lines: list[str]) -> list[str]:
    """The lines without most of what is packed in them, so that a mutation meets every field."""
    return [line for line in lines if len(line) < 100_000]


def _show(path: Path) -> None:
    """All that the page of the dashboard asks for, as JSON that a browser reads."""
    reader = RunReader(path)
    reader.open()
    state = reader.state
    bodies = [run_body(reader), columns(state.series.between(None, None, 600)[1])]
    bodies += [decision_row(own) for own in state.decisions]
    bodies += [decision_body(state, own.decision.step) or {} for own in state.decisions]
    for body in bodies:
        json.loads(json_text(body), parse_constant=_refused)


def _refused(constant: str) -> None:
    raise WrongResult(f"the page would get {constant}, which no browser reads")


def _append(path: Path) -> None:
    """A start that goes on with the journal, as the observer does."""
    newest_batch(path)
    try:
        before = read_journal(path).observations
    except PenstockError:
        before = ()
    journal = Journal(path, "vwap")
    journal.begin(UNKNOWN_START)
    if not before:
        return
    journal.write(before[-1], Configuration((ElementConfiguration("trades", 2),)))
    after = read_journal(path).observations
    if len(after) != len(before):
        raise WrongResult(f"{len(before)} micro-batches became {len(after)} by one that was there already")


def _mutate(rng: random.Random, lines: list[str]) -> None:
    if not lines:
        lines.append("")
    place = rng.randrange(len(lines))
    action = rng.randrange(9)
    if action == 0:
        lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
    elif action == 1:
        rng.shuffle(lines)
    elif action == 2:
        lines[place] = rng.choice(("", "{}", "[]", "null", "1", '"x"', "#", '{"start": {}}', '{"decision": 1}', "\x00"))
    elif action == 3:
        lines.insert(place, _foreign(rng))
    elif action == 4:
        del lines[place:]
    elif action == 5:
        del lines[place : place + rng.randint(1, 10)]
    else:
        lines[place] = _with_other_values(rng, lines[place])


def _foreign(rng: random.Random) -> str:
    """A line of something else, or a huge one."""
    texts = ("2024-01-01 INFO started", '{"level": "info"}', '{"batch": "x", "decision": {}}', '{"observation": 5}')
    return rng.choice((*texts, '{"application": "' + "x" * HUGE + '"}', "[" * 5_000, '{"observation":' * 2_000))


def _with_other_values(rng: random.Random, line: str) -> str:
    try:
        body: Any = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return json.dumps(mutated_json(rng, body))
