"""The benchmarks of an element's level: `elastic-operator`, `external-load`, `multilevel`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from benchmarks.machine import this_machine
from benchmarks.report import finish, progress_shown, verdict, wide_console

Quick = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Fewer cases and seeds, shorter runs; a minute or two, some seconds with --no-real. Figures are rougher.",
    ),
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Also write the JSON object to this file.")]
Picture = Annotated[Path, typer.Option(help="Draw into this file (PNG, SVG, PDF).")]
Journal = Annotated[Path | None, typer.Option(help="Also write every decision with its reason into this file.")]
Real = Annotated[
    bool, typer.Option("--real/--no-real", help="Also measure real elements on this machine, which takes minutes.")
]
Sweep = Annotated[bool, typer.Option("--sweep", help="First sweep the two constants of the listing.")]
Item = TypeVar("Item")
_NOISE = 0.01
_ENGINE = 'ps.Engine(threads="elastic"), levels beside it ps.Engine(threads=n)'
_ELEMENT = "the policy alone on a ThreadedElement without order at its end, as many threads as twice the cores"


@dataclass(frozen=True, slots=True)
class Judged:
    """The figures of what the goals are for, which of these it misses, and how it was got."""

    figures: Mapping[str, Any]
    goals_missed: Sequence[str]
    by_policy: Mapping[str, Any] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, by_policy: Mapping[str, Mapping[str, Any]], judged: str,
        missed_goals: Callable[[Mapping[str, Any]], list[str]], made: Mapping[str, Any],
    ) -> Judged:  # fmt: skip
        """The figures of the policy that is judged, beside those of others."""
        return cls(by_policy[judged], missed_goals(by_policy[judged]), by_policy, made)

    def to_json(self) -> dict[str, Any]:
        goals = {"goals_missed": list(self.goals_missed)}
        return {**self.figures, **goals, "by_policy": dict(self.by_policy), **self.made}


def worse(one: Mapping[str, Any], other: Mapping[str, Any], more_is_better: Collection[str]) -> dict[str, Any]:
    """The worse figure of each name; one that only one of them has is that one's. None is for "never", the worst.

    >>> worse({"ratio": 0.9, "periods": 3, "own": 1}, {"ratio": 0.8, "periods": None}, {"ratio"})
    {'ratio': 0.8, 'periods': None, 'own': 1}
    """
    figures = {**other, **one}
    for name in one.keys() & other.keys():
        values = [one[name], other[name]]
        figures[name] = None if None in values else min(values) if name in more_is_better else max(values)
    return {name: figures[name] for name in {**one, **other}}


def body_of(bench: str, simulated: Judged, measured: Judged | None, more_is_better: Collection[str]) -> dict[str, Any]:
    """The JSON object; `measured` is null where nothing was."""
    kinds = [("simulated", simulated), *([] if measured is None else [("measured", measured)])]
    return {
        "bench": bench,
        **worse(simulated.figures, {} if measured is None else measured.figures, more_is_better),
        "goals_missed": [f"{kind}: {goal}" for kind, own in kinds for goal in own.goals_missed],
        "simulated": simulated.to_json(),
        "measured": None if measured is None else measured.to_json(),
    }


def register(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("elastic-operator")(elastic_operator)
    app.command("external-load")(external_load)
    app.command("multilevel")(multilevel)


def elastic_operator(
    quick: Quick = False, json_file: JsonFile = None, picture: Picture = Path("elastic_operator.png"),
    sweep: Sweep = False, real: Real = True,
) -> None:  # fmt: skip
    """The elastic operator beside every fixed thread level, simulated on 16 to 88 cores and on this machine."""
    from benchmarks.threads import elastic_operator as bench
    from benchmarks.threads.element_case import fixed_rates
    from benchmarks.threads.measured.real_rows import elastic_runs, side_by_side_runs
    from benchmarks.threads.pictures import draw_elastic
    from benchmarks.threads.report import print_elastic

    if sweep:
        from benchmarks.threads.elastic_sweep import print_sweep
        from benchmarks.threads.elastic_sweep import sweep as swept

        print_sweep(wide_console(150), swept())
    seeds, periods = (bench.SEEDS[:2], 120) if quick else (bench.SEEDS, 600)
    runs: list[bench.ElasticRun] = []
    for case in _shown(bench.plant_cases((16, 88) if quick else bench.CORES)):
        rates = fixed_rates(case)
        runs += [bench.measure(case, policy, seed, periods, rates) for policy in bench.POLICIES for seed in seeds]
    side_by_side = [
        bench.measure_side_by_side(policy, cores, seeds[0], periods, fair=fair)
        for cores in (16, 88) for fair in (False, True) for policy in bench.POLICIES
    ]  # fmt: skip
    measured = _measured(elastic_runs, quick) if real else []
    competing = _measured(side_by_side_runs, quick) if real else []
    print_elastic(wide_console(150), [*runs, *measured], side_by_side, competing)
    draw_elastic([*runs, *measured], picture)
    made = {"noise": _NOISE, "seeds": seeds, "periods": periods, "static_tuples_s": bench.statics(runs)}
    simulated = _judged(runs, bench, made)
    own = None
    if real:
        made = {"through": _ENGINE, "static_tuples_s": bench.statics(measured)}
        own = _judged(measured, bench, made)
    _finish("elastic-operator", simulated, own, bench.MORE_IS_BETTER, json_file, picture)


def external_load(
    quick: Quick = False, json_file: JsonFile = None, picture: Picture = Path("external_load.png"), real: Real = True
) -> None:
    """Throughput and level over time while cores are taken and given back, simulated and on this machine."""
    from benchmarks.threads import external_load as bench
    from benchmarks.threads.elastic_operator import POLICIES, SEEDS
    from benchmarks.threads.measured.real_rows import load_runs
    from benchmarks.threads.pictures import draw_load
    from benchmarks.threads.report import print_load

    seeds, periods = (SEEDS[:1], 60) if quick else (SEEDS, 120)
    runs: list[bench.LoadRun] = []
    for cores in _shown((16,) if quick else (16, 88)):
        phases = bench.schedule(cores, periods)
        case = bench.plant_load_case(cores, phases)
        fixed = bench.fixed_rates_tuples_s(case, phases, seeds[0])
        runs += [bench.measure(case, policy, phases, seed, fixed) for policy in POLICIES for seed in seeds]
    measured = _measured(load_runs, quick) if real else []
    print_load(wide_console(150), [*runs, *measured])
    draw_load([*runs, *measured], picture)
    made = {"noise": _NOISE, "seeds": seeds, "periods_of_a_phase": periods}
    simulated = _judged(runs, bench, made)
    own = _judged(measured, bench, {"through": _ENGINE}) if real else None
    _finish("external-load", simulated, own, bench.MORE_IS_BETTER, json_file, picture)


def multilevel(
    quick: Quick = False, json_file: JsonFile = None, picture: Picture = Path("multilevel.png"),
    journal: Journal = None, real: Real = True,
) -> None:  # fmt: skip
    """Queues and threads chosen together, beside none, all and the exhaustive best, simulated and on this machine."""
    from benchmarks.threads import multilevel as bench
    from benchmarks.threads import multilevel_cases as cases
    from benchmarks.threads.measured.real_rows import change_runs, exhaustive_runs, graph_runs
    from benchmarks.threads.pictures import draw_multilevel
    from benchmarks.threads.report import print_changes, print_graphs, print_settling

    large: list[bench.MultiLevelRun] = []
    small: list[bench.MultiLevelRun] = []
    settling: list[bench.SettlingRun] = []
    changes: list[bench.ChangeRun] = []
    seeds = tuple(cases.seeds(quick))
    for seed in seeds:
        large += [bench.measure(cell, case, seed) for cell, case in _shown(cases.large_cases(quick, seed))]
        small += [bench.measure_small(cell, case, seed) for cell, case in _shown(cases.small_cases(quick, seed))]
        settling += [
            bench.measure_settling(cell, case, seed, rules)
            for cell, case in _shown(cases.long_pipelines(quick, seed)) for rules in bench.RULES
        ]  # fmt: skip
        changes += [bench.measure_change(rules, seed) for rules in bench.RULES]
    by_rules = {rules: bench.summary(large, small, settling, changes, rules) for rules in bench.RULES}
    simulated = Judged.of(by_rules, bench.JUDGED, bench.missed_goals, {"noise": _NOISE, "seeds": seeds})
    own = None
    console = wide_console(260)
    print_graphs(console, large, "ratio to the better of no queues and all queues")
    print_graphs(console, small, "ratio to the exhaustive best, up to eight operators")
    print_settling(console, settling)
    print_changes(console, changes)
    if real:
        measured, tried_out = _measured(graph_runs, quick), _measured(exhaustive_runs, quick)
        changed = _measured(change_runs, quick)
        print_graphs(console, measured, "ratio to the better of no queues and all queues, on this machine", "measured")
        print_graphs(console, tried_out, "ratio to the exhaustive best, on this machine", "measured")
        print_changes(console, changed, "this machine")
        by_rules = {rules: bench.summary(measured, tried_out, [], changed, rules) for rules in bench.RULES}
        own = Judged.of(by_rules, bench.JUDGED, bench.missed_goals, {"through": _ELEMENT})
    draw_multilevel(large, changes, picture)
    if journal is not None:
        journal.write_text("".join(f"{run.cell}\n{_indented(run.found['pieces'].journal)}" for run in large))
    _finish("multilevel", simulated, own, bench.MORE_IS_BETTER, json_file, picture)


def _judged(runs: Sequence[Any], bench: Any, made: Mapping[str, Any]) -> Judged:
    """The figures of each policy by a bench's own summary; the goals are for one of them."""
    from benchmarks.threads.elastic_operator import JUDGED

    by_policy = {policy: bench.summary(runs, policy) for policy in dict.fromkeys(run.policy for run in runs)}
    return Judged.of(by_policy, JUDGED, bench.missed_goals, made)


def _indented(lines: Iterable[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)


def _finish(
    name: str, simulated: Judged, measured: Judged | None, more_is_better: Collection[str], json_file: Path | None,
    picture: Path,
) -> None:  # fmt: skip
    """Machine and goals for people, one JSON object for machines."""
    machine = this_machine()
    print(machine)
    print(f"drew {picture}")
    print(f"simulated: {verdict(simulated.goals_missed)}")
    if measured is not None:
        print(f"measured: {verdict(measured.goals_missed)}")
    finish(body_of(name, simulated, measured, more_is_better), machine, json_file)


def _measured(measure: Callable[..., list[Item]], quick: bool) -> list[Item]:
    """Rows of real elements on this machine, with progress on the standard error."""
    from benchmarks.threads.measured.real_rows import QUICK, RealEffort

    with progress_shown() as show:
        return measure(QUICK if quick else RealEffort(), this_machine().cores, show)


def _shown(items: Iterable[Item]) -> Iterator[Item]:
    """The items one by one, with progress on the standard error."""
    from rich.console import Console
    from rich.progress import track

    yield from track(list(items), description="", console=Console(stderr=True), transient=True)
