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
from penstock.model.costs.composition import COMMUNICATION_CLASS
from penstock.model.costs.learning.learned_profile import Overhead
from penstock.model.costs.learning.node_performance import communication_speed, learned_speeds
from penstock.model.costs.learning.operator_facts import OperatorFacts, other_version_problem
from penstock.model.costs.learning.samples import ElementSample, OperatorSample, Sample
from penstock.model.costs.profile import FixedCosts, OperatorCost, Profile
from penstock.model.costs.profile_file import profile_from_json, profile_to_json

_TABLES = """
create table if not exists functions (key text, node text, body text, fixed text, learned_at real,
                                      primary key (key, node));
create table if not exists speeds (node text, base text, class text, speed real, learned_at real,
                                   primary key (node, base, class));
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
        """Functions of a profile; a newer one takes the place of an older, and speeds between nodes follow."""
        body = profile_to_json(profile)
        fixed = json.dumps({"fixed": body["fixed"], "sources": body.get("sources", {})})
        rows = [
            (own.key, node, json.dumps(body["operators"][own.name]), fixed, time.time())
            for own in profile.operators if own.key is not None
        ]  # fmt: skip
        with self._open() as database:
            database.executemany("insert or replace into functions values (?, ?, ?, ?, ?)", rows)
        self._learn_speeds(node)

    def profile(self, facts: Mapping[str, OperatorFacts], node: str) -> Profile | None:
        """The functions of an application's operators on a node, None where one was never learned.

        Where another node has all of them, and the speeds between the two are known, they are that node's, shifted.
        InputError for a function that an older (or newer) version of the code has learned.
        """
        overhead = self.overhead(node)
        own = self._functions(facts, node, overhead)
        if own is not None:
            return replace(own, speeds_by_node=self.speeds(node))
        for base in self._nodes(besides=node):
            speeds = self.speeds(base)
            if node in speeds and (other := self._functions(facts, base, self.overhead(base))) is not None:
                return _moved(replace(other, speeds_by_node=speeds), node, overhead)
        for fact in facts.values():
            self._check_version(fact, node)
        return None

    def _functions(self, facts: Mapping[str, OperatorFacts], node: str, overhead: Overhead | None) -> Profile | None:
        """What the node itself has learned."""
        found: list[OperatorCost] = []
        fixed: dict[str, Any] = {}
        for own in facts.values():
            row = self._row("select body, fixed from functions where key = ? and node = ?", own.key, node)
            if row is None:
                return None
            fixed = json.loads(row[1])
            cost = self._cost(own.name, row[0])
            outputs = dict(zip(own.outputs, cost.outputs.values(), strict=False))
            widths = dict(zip(own.outputs, cost.bytes_per_tuple.values(), strict=False))
            there = replace(cost, name=own.name, inputs=own.inputs, outputs=outputs, bytes_per_tuple=widths)
            found.append(replace(there, scope=own.scope, by=own.by))  # they depend on what else the graph has
        if overhead is None:
            return None
        classes = sorted({own.operator_class for own in facts.values()})
        return Profile(
            tuple(found), FixedCosts(**fixed["fixed"]), overhead.communication, dict.fromkeys(classes, 1.0), node,
            contention=overhead.contention, source_shares=fixed["sources"],
        )  # fmt: skip

    def _cost(self, name: str, body: str) -> OperatorCost:
        operators = {"version": 1, "operators": {name: json.loads(body)}}
        return profile_from_json(operators, str(self.path)).operators[0]

    def speeds(self, base: str) -> dict[str, dict[str, float]]:
        """By other node, how fast it runs operators of each class, relative to `base` (MODEL's NSD)."""
        found: dict[str, dict[str, float]] = {}
        for node, own, speed in self._rows("select node, class, speed from speeds where base = ?", base):
            found.setdefault(node, {})[own] = speed
        return found

    def _learn_speeds(self, node: str) -> None:
        """Speeds between a node and each other one, out of the functions that both have."""
        others = self._nodes(besides=node)
        own, overhead = self._costs(node) if others else [], self.overhead(node)
        rows: list[tuple[object, ...]] = []
        for other in others:
            costs, other_overhead = self._costs(other), self.overhead(other)
            for base, there, pair in ((other, node, (costs, own)), (node, other, (own, costs))):
                rows += [(there, base, name, speed, time.time()) for name, speed in learned_speeds(*pair).items()]
            if overhead is not None and other_overhead is not None:
                speed = communication_speed(other_overhead, overhead)
                rows += [(node, other, COMMUNICATION_CLASS, speed, time.time()),
                         (other, node, COMMUNICATION_CLASS, 1 / speed, time.time())]  # fmt: skip
        with self._open() as database:
            database.executemany("insert or replace into speeds values (?, ?, ?, ?, ?)", rows)

    def _costs(self, node: str) -> list[OperatorCost]:
        """All functions of a node that this version of the code has learned."""
        rows = self._rows("select key, body from functions where node = ?", node)
        return [self._cost(key, body) for key, body in rows if other_version_problem(key, key) is None]

    def _nodes(self, besides: str) -> list[str]:
        rows = self._rows("select distinct node from functions where node != ? order by node", besides)
        return [row[0] for row in rows]

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
        return Overhead(FixedCosts(**body["fixed"]), Communication(**table), body.get("contention", 0.0))

    def keep_overhead(self, node: str, overhead: Overhead) -> None:
        body = json.dumps(asdict(overhead))
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

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._open() as database:
            return list(database.execute(query, values))

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


def _moved(other: Profile, node: str, overhead: Overhead | None) -> Profile | None:
    """A profile of another node on this one: its functions, this node's speeds and overhead; None where one lacks."""
    speeds = other.speeds_by_node[node]
    costly = {own.operator_class for own in other.operators if any(term.coefficient for term in own.cpu.terms)}
    if overhead is None or not {name for name in costly if name} <= set(speeds):
        return None
    fixed = replace(other.fixed, task_cpu_s=overhead.fixed.task_cpu_s, envelope_cpu_s=overhead.fixed.envelope_cpu_s)
    base = {other.node: dict.fromkeys([*speeds, *other.speed], 1.0)} if other.node else {}
    return replace(
        other, fixed=fixed, communication=overhead.communication, speed=speeds, node=node,
        speeds_by_node={**other.speeds_by_node, **base}, contention=overhead.contention,
    )  # fmt: skip


def _sample(body: dict[str, Any]) -> Sample:
    elements = {}
    for name, own in body.pop("elements").items():
        operators = {key: OperatorSample(**each) for key, each in own.pop("operators").items()}
        elements[name] = ElementSample(**own, operators=operators)
    return Sample(**body, elements=elements)
