"""The benchmark: learns every case, predicts what it has not seen, and measures that."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.model.biased import RecoveredOperator, recovered_operators
from benchmarks.model.case_run import FEW, LEARNED, PREDICTED, ROUNDS, CaseRun, Measurement
from benchmarks.model.cases import Case, Groups, cases, func1
from benchmarks.model.contention import Contention, run_contention
from benchmarks.model.dear_keys import run_dear_keys
from benchmarks.model.errors import ElementError, element_errors, rate_errors, summary
from benchmarks.model.learned_operators import LearnedOperator, learned_operators
from benchmarks.model.widths import Widths, run_widths
from benchmarks.report import Show
from penstock.errors import PenstockError
from penstock.model.costs.choosing.choice import rates_of
from penstock.model.costs.learning.calibration import calibrated
from penstock.model.costs.learning.learned_profile import Overhead, learned
from penstock.model.costs.learning.operator_facts import OperatorFacts, facts_of
from penstock.model.costs.learning.refinement import source_rates
from penstock.model.costs.profile import Profile
from penstock.runtime.profiling.calibration_application import COLUMNS
from penstock.spark.profiling.communication_run import VISIT_S, calibration_points
from penstock.spark.session.session import Session, close_session, spark_session

NamedPart = tuple[str, Callable[[], None]]
QUICK_COLUMNS = (1, 16)
QUICK_TRIES, TRIES = 2, 3  # visits near the highest rate


@dataclass(frozen=True, slots=True)
class Effort:
    """How long each fusion is measured at each rate."""

    quick: bool
    seconds: float
    only: tuple[str, ...] = ()
    minutes: float = 60.0  # no case begins after that
    rounds: int = ROUNDS


@dataclass(slots=True)
class Findings:
    """All that was found."""

    errors: list[ElementError] = field(default_factory=list)
    rate_errors: list[float] = field(default_factory=list)
    max_rates: list[tuple[str, float, float]] = field(default_factory=list)  # case, predicted, searched
    fusion_ratios: list[tuple[str, str, float]] = field(default_factory=list)  # case, chosen, CPU against the best
    overheads: list[float] = field(default_factory=list)
    overhead: Overhead | None = None
    dear_keys: tuple[float, float] | None = None  # imbalance before and after
    widths: Widths | None = None
    contention: Contention | None = None
    recovered: list[RecoveredOperator] = field(default_factory=list)  # by Algorithm 2, out of the biased estimate
    learned: list[LearnedOperator] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def run_model(effort: Effort, folder: Path, show: Show) -> Findings:
    """Every case, one after the other, in one session."""
    session, found, began_s = spark_session("local[2]"), Findings(), time.monotonic()
    try:
        show("communication")
        found.overhead = _overhead(session, effort, show)
        parts: list[NamedPart] = [
            (case.name, partial(_case, case, session, effort, found)) for case in cases(folder, quick=effort.quick)
        ]
        for name, part in (*parts, *_single_cases(session, effort, folder, found)):
            if effort.only and not any(name.startswith(begin) for begin in effort.only):
                continue
            if time.monotonic() - began_s > effort.minutes * 60:
                found.problems.append(f"{name}: left out, as {effort.minutes:g} minutes were over")
                continue
            show(name)
            tried(name, found, part)
    finally:
        close_session(session)
    return found


def tried(name: str, found: Findings, part: Callable[[], None]) -> None:
    """Does a part; one that fails or takes too long is reported, and the others go on."""
    try:
        part()
    except PenstockError as error:
        found.problems.append(f"{name}: {error}")


def _single_cases(session: Session, effort: Effort, folder: Path, found: Findings) -> tuple[NamedPart, ...]:
    """What is no prediction of a fusion."""

    def dear_keys() -> None:
        found.dear_keys = run_dear_keys(session, 40.0 if effort.quick else 120.0)

    def widths() -> None:
        assert found.overhead is not None
        found.widths = run_widths(session, effort.seconds, found.overhead, effort.rounds)

    def neighbours() -> None:
        found.contention = run_contention(func1(folder), session, effort.seconds, effort.rounds)

    return ("dear keys", dear_keys), ("width", widths), ("contention", neighbours)


def _overhead(session: Session, effort: Effort, show: Show) -> Overhead:
    columns, seconds = (QUICK_COLUMNS, 0.5) if effort.quick else (COLUMNS, VISIT_S)
    points = calibration_points(session, lambda text, share: show(f"{text} {share:.0%}"), columns, seconds)
    return calibrated(points)


def _case(case: Case, session: Session, effort: Effort, found: Findings) -> None:
    assert found.overhead is not None
    run, facts = CaseRun(case, session, effort.seconds, effort.rounds), facts_of(case.graph)
    judged_at = FEW if effort.quick else PREDICTED
    wanted = [(case.learned, share) for share in (*LEARNED, *judged_at)]
    seen = run.measured([*wanted, *((groups, share) for groups in case.predicted for share in judged_at)])
    learning, judged = _parted(case, run.highest, seen)
    profile = learned(facts, [(own.sample, own.elements) for own in learning], found.overhead)
    if case.lent is not None:
        profile = with_lent(profile, _lent_profile(case.lent, session, effort, found.overhead))
    errors = list(element_errors(case, profile, facts, run.highest, judged))
    found.errors += errors
    found.recovered += recovered_operators(case.name, learning)
    found.learned += learned_operators(case.name, profile, facts, learning, found.overhead)
    print(f"{case.name}: mean {summary(errors)[0]:.1%}, worst {summary(errors)[1]:.1%}", file=sys.stderr)
    found.rate_errors += rate_errors(profile, facts, judged)
    found.overheads += [own.sample.measuring_ratio for own in seen if own.sample.measuring_ratio is not None]
    rates = _as_run(facts, learning) or rates_of(profile, float(run.highest))
    predicted = profile.predict(rates, fusion=case.learned).max_rate_tuples_s
    tries = QUICK_TRIES if effort.quick else TRIES
    found.max_rates.append((case.name, predicted, run.searched_rate(case.learned, predicted, tries)))
    if case.chosen:
        found.fusion_ratios.append(_fusion_ratio(case, run, profile, rates, few=effort.quick))


def _as_run(facts: dict[str, OperatorFacts], learning: Sequence[Measurement]) -> dict[str, float]:
    """Rates of the sources at the highest rate, in the proportions that the application has by itself."""
    own = [each for each in learning if each.ratio == 1.0]
    return source_rates(max(own, key=lambda each: each.rate).sample, facts) if own else {}


def _lent_profile(case: Case, session: Session, effort: Effort, overhead: Overhead) -> Profile:
    seen = CaseRun(case, session, effort.seconds, effort.rounds).measured([(case.learned, share) for share in LEARNED])
    return learned(facts_of(case.graph), [(own.sample, own.elements) for own in seen], overhead)


def with_lent(profile: Profile, lent: Profile) -> Profile:
    """A profile whose operators are those of another where that has them; sources and sinks stay."""
    own = {operator.name: operator for operator in lent.operators if operator.inputs and operator.outputs}
    return replace(profile, operators=tuple(own.get(operator.name, operator) for operator in profile.operators))


def _parted(case: Case, highest: int, seen: Sequence[Measurement]) -> tuple[list[Measurement], list[Measurement]]:
    """What is learned from, and what is predicted; of a grid of two ports five points of nine are learned."""
    rates = {round(highest * share) for share in LEARNED}
    middle_rate = sorted(rates)[1]

    def is_learned(own: Measurement) -> bool:
        if own.groups != case.learned or own.rate not in rates:
            return False
        return len(case.ratios) == 1 or own.ratio == 1.0 or own.rate == middle_rate

    return [own for own in seen if is_learned(own)], [own for own in seen if not is_learned(own)]


def _fusion_ratio(
    case: Case, run: CaseRun, profile: Profile, rates: dict[str, float], *, few: bool
) -> tuple[str, str, float]:
    """CPU of the fusion that is chosen against the best of all fusions of a chain, measured in turns.

    `few`: of all in one element, and of each operator in its own, alone.
    """
    share = 0.75
    choice = profile.choose({name: rate * share for name, rate in rates.items()})
    fusions = list(chain_fusions([own.name for own in case.graph.operators]))
    fusions = [fusions[0], fusions[-1]] if few else fusions
    chosen = next((own for own in fusions if set(map(frozenset, own)) == set(map(frozenset, choice.elements))), None)
    if chosen is None:
        chosen = tuple(choice.elements)
        fusions.append(chosen)
    cpu: dict[Groups, list[float]] = {}
    for own in run.measured([(groups, share) for groups in fusions]):
        per_tuple = [sum(e.cpu_s for e in each.elements.values()) / each.tuples for each in own.rounds]
        cpu[own.groups] = per_tuple
    best = min(median(values) for values in cpu.values())
    text = " | ".join("+".join(group) for group in chosen)
    return case.name, text, median(cpu[chosen]) / best


def chain_fusions(names: Sequence[str]) -> list[Groups]:
    """Every way to cut a chain, the sink staying with what it reads."""
    *own, sink = names
    found = []
    for bits in range(1 << (len(own) - 1)):
        cuts = [0, *(place + 1 for place in range(len(own) - 1) if bits >> place & 1), len(own)]
        groups = [tuple(own[a:b]) for a, b in pairwise(cuts)]
        found.append((*groups[:-1], (*groups[-1], sink)))
    return found
