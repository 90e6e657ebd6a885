"""The store of costs: functions of operators, overheads of nodes, and samples of profiles under way, in SQLite."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.host.directories import cache_directory
from penstock.model.costs.communication import Communication
from penstock.model.costs.learning.learned_profile import Overhead
from penstock.model.costs.learning.operator_facts import OperatorFacts, other_version_problem
from penstock.model.costs.learning.samples import ElementSample, OperatorSample, Sample
from penstock.model.costs.profile import FixedCosts, OperatorCost, Profile
from penstock.model.costs.profile_file import profile_from_json, profile_to_json

_TABLES = """
create table if not exists functions (key text, node text, body text, fixed text, learned_at real,
                                      primary key (key, node));
create table if not exists overheads (node text primary key, body text, learned_at real);
create table if not exists samples (application text, node text, ratio real, rate integer, body text,
                                    primary key (application, node, ratio, rate));
create table if not exists profiles (application text, node text, rates text, primary key (application, node));
"""


def store_path() -> Path:
    """$PENSTOCK_COSTS, else a file in the user's cache directory."""
    chosen = os.environ.get("PENSTOCK_COSTS")
    return Path(chosen) if chosen else cache_directory() / "costs.sqlite"


def node_class() -> str:
    """What machines of equal speed share: the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


class CostStore:
    """Opens the file for each call, so that several processes may use it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = store_path() if path is None else path

    def keep(self, profile: Profile, node: str) -> None:
        """Functions of a profile; a newer one takes the place of an older."""
        body = profile_to_json(profile)
        fixed = json.dumps({"fixed": body["fixed"], "sources": body.get("sources", {})})
        rows = [
            (own.key, node, json.dumps(body["operators"][own.name]), fixed, time.time())
            for own in profile.operators if own.key is not None
        ]  # fmt: skip
        with self._open() as database:
            database.executemany("insert or replace into functions values (?, ?, ?, ?, ?)", rows)

    def profile(self, facts: Mapping[str, OperatorFacts], node: str) -> Profile | None:
        """The functions of an application's operators on a node, None where one was never learned.

        InputError for a function that an older (or newer) version of the code has learned.
        """
        overhead = self.overhead(node)
        found: list[OperatorCost] = []
        fixed: dict[str, Any] = {}
        for own in facts.values():
            row = self._row("select body, fixed from functions where key = ? and node = ?", own.key, node)
            if row is None:
                self._check_version(own, node)
                return None
            fixed = json.loads(row[1])
            body = {"version": 1, "operators": {own.name: json.loads(row[0])}}
            cost = profile_from_json(body, str(self.path)).operators[0]
            outputs = dict(zip(own.outputs, cost.outputs.values(), strict=False))
            widths = dict(zip(own.outputs, cost.bytes_per_tuple.values(), strict=False))
            found.append(replace(cost, name=own.name, inputs=own.inputs, outputs=outputs, bytes_per_tuple=widths))
        if overhead is None:
            return None
        classes = sorted({own.operator_class for own in facts.values()})
        return Profile(
            tuple(found), FixedCosts(**fixed["fixed"]), overhead.communication, dict.fromkeys(classes, 1.0), node,
            source_shares=fixed["sources"],
        )  # fmt: skip

    def _check_version(self, own: OperatorFacts, node: str) -> None:
        stem = own.key.rpartition("-v")[0]
        row = self._row("select key from functions where key like ? and node = ?", f"{stem}-v%", node)
        if row is not None and (problem := other_version_problem(own.name, row[0])):
            raise InputError(problem)

    def overhead(self, node: str) -> Overhead | None:
        row = self._row("select body from overheads where node = ?", node)
        if row is None:
            return None
        body = json.loads(row[0])
        table = {name: tuple(values) for name, values in body["communication"].items()}
        return Overhead(FixedCosts(**body["fixed"]), Communication(**table))

    def keep_overhead(self, node: str, overhead: Overhead) -> None:
        body = json.dumps({"fixed": asdict(overhead.fixed), "communication": asdict(overhead.communication)})
        with self._open() as database:
            database.execute("insert or replace into overheads values (?, ?, ?)", (node, body, time.time()))

    def samples(self, application: str, node: str, ratio: float, rate: int) -> list[Sample]:
        """What a profile that was cut short has measured at a rate, one sample for each visit."""
        query = "select body from samples where application = ? and node = ? and ratio = ? and rate = ?"
        row = self._row(query, application, node, ratio, rate)
        return [] if row is None else [_sample(own) for own in json.loads(row[0])]

    def keep_samples(self, application: str, node: str, ratio: float, rate: int, samples: Sequence[Sample]) -> None:
        with self._open() as database:
            row = (application, node, ratio, rate, json.dumps([asdict(own) for own in samples]))
            database.execute("insert or replace into samples values (?, ?, ?, ?, ?)", row)

    def rates(self, application: str, node: str) -> tuple[int, ...] | None:
        """The rates of a profile that was cut short."""
        row = self._row("select rates from profiles where application = ? and node = ?", application, node)
        return None if row is None else tuple(json.loads(row[0]))

    def keep_rates(self, application: str, node: str, rates: Sequence[int]) -> None:
        with self._open() as database:
            row = (application, node, json.dumps(list(rates)))
            database.execute("insert or replace into profiles values (?, ?, ?)", row)

    def forget_samples(self, application: str, node: str) -> None:
        """For a profile that is done."""
        with self._open() as database:
            for table in ("samples", "profiles"):
                database.execute(f"delete from {table} where application = ? and node = ?", (application, node))

    def _row(self, query: str, *values: object) -> tuple[Any, ...] | None:
        with self._open() as database:
            found: tuple[Any, ...] | None = database.execute(query, values).fetchone()
            return found

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=30)) as database:
                database.executescript(_TABLES)
                with database:
                    yield database
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the store of costs {self.path} cannot be used: {error}; name another in PENSTOCK_COSTS"
            ) from None


def _sample(body: dict[str, Any]) -> Sample:
    elements = {}
    for name, own in body.pop("elements").items():
        operators = {key: OperatorSample(**each) for key, each in own.pop("operators").items()}
        elements[name] = ElementSample(**own, operators=operators)
    return Sample(**body, elements=elements)
