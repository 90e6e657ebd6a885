"""Tuples eight times as wide: communication costs more, and every operator what it did."""

from __future__ import annotations

from dataclasses import dataclass

import penstock as ps
from benchmarks.model.case_run import LEARNED, CaseRun
from benchmarks.model.cases import Case
from penstock.connectors.source_kinds import tuples_by_function
from penstock.model.costs.learning.learned_profile import Overhead, learned
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.profile import Profile
from penstock.runtime.profiling.calibration_application import WideTuples
from penstock.spark.session.session import Session

NARROW, WIDE = 2, 16  # columns of eight bytes
OPERATORS = ("work", "first")


@dataclass(frozen=True, slots=True)
class OperatorWidth:
    """An operator's CPU at one rate, learned from narrow and from wide tuples (cores), and the band of the former."""

    name: str
    narrow: float
    wide: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        return self.wide / self.narrow if self.narrow else 1.0

    @property
    def is_within(self) -> bool:
        return self.low <= self.wide <= self.high


@dataclass(frozen=True, slots=True)
class Widths:
    """`communication`: what sending and receiving takes with wide tuples over what it takes with narrow ones."""

    operators: tuple[OperatorWidth, ...]
    communication: float


def width_case(columns: int) -> Case:
    """A costly operator and a functor that keeps one column, each in its own element."""
    app = ps.Application(f"{8 * columns} bytes")
    wide = app.source("wide", tuples_by_function(WideTuples(columns)))
    computed = wide.load(OPERATORS[0], flop_per_tuple=300).functor(OPERATORS[1], emit={"y": "x0 * 2 + 1"})
    computed.sink("out", ps.sinks.discard())
    return Case(f"width {columns}", app.graph, tuple((name,) for name in OPERATORS), ())


def run_widths(session: Session, seconds: float, overhead: Overhead, rounds: int) -> Widths:
    """Both learned in the same way, compared at the highest rate that wide tuples reach."""
    profiles, highest = [], 0
    for columns in (NARROW, WIDE):
        case = width_case(columns)
        run = CaseRun(case, session, seconds, rounds)
        seen = run.measured([(case.learned, share) for share in LEARNED])
        profiles.append(learned(facts_of(case.graph), [(own.sample, own.elements) for own in seen], overhead))
        highest = min(highest, run.highest) if highest else run.highest
    return compared_widths(profiles[0], profiles[1], float(highest))


def compared_widths(narrow: Profile, wide: Profile, rate: float) -> Widths:
    """The functions of all operators at a rate, and communication as both predict it."""
    found = []
    for name in OPERATORS:
        one, other = narrow.operator(name).cpu, wide.operator(name).cpu
        found.append(OperatorWidth(name, one.at([rate]), other.at([rate]), *one.band([rate])))
    sent = [_communication(own, rate) for own in (narrow, wide)]
    return Widths(tuple(found), sent[1] / sent[0] if sent[0] else 1.0)


def _communication(profile: Profile, rate: float) -> float:
    elements = profile.predict({"wide": rate}, fusion=[[name] for name in OPERATORS]).elements
    return sum(own.parts["send"] + own.parts["receive"] for own in elements.values())
