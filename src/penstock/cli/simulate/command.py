"""penstock simulate and penstock search: a model or an application on nodes, in simulated time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from penstock.cli.screen import console, show_table
from penstock.cli.simulate.progress import progress, table_of
from penstock.cli.simulate.subject import Costs, machines_of, model_or_application, subject_of
from penstock.errors import InputError
from penstock.plan.configuration import configuration_to_json
from penstock.simulate.calibration.fit import Fit
from penstock.simulate.events.results import Result
from penstock.simulate.plan_search import search
from penstock.simulate.simulation import runs_in_batches, simulate, simulate_fit


def simulate_command(
    what: str,
    nodes_file: Path | None,
    schedule: str,
    seconds: float,
    warm_up_s: float | None,
    seed: int,
    costs: Costs,
    *,
    mode: str | None,
    as_json: bool,
) -> None:
    """Simulates, and prints what came of it; a tenth of the time is warm-up where none is given."""
    if warm_up_s is None:
        warm_up_s = seconds / 10 if 0 < seconds < float("inf") else 0.0  # the sentence is about --seconds alone
    subject, machines = subject_of(what, costs), machines_of(nodes_file)
    with progress(seconds) as show:

        def show_progress(done: float) -> None:
            show(done, "")

        if isinstance(subject, Fit) and runs_in_batches(mode, is_model=False, schedule=_schedule(schedule)):
            result = simulate_fit(subject, machines, None, seconds, warm_up_s, seed, progress=show_progress)
        else:
            model = subject.model if isinstance(subject, Fit) else subject
            result = simulate(
                model, machines, None, mode, _schedule(schedule), seconds, warm_up_s, seed, progress=show_progress
            )  # fmt: skip
    report = subject.report if isinstance(subject, Fit) else None
    if as_json:
        fit = {} if report is None else {"fit": report.as_json()}
        print(json.dumps({**result.as_json(), **fit}, indent=1))
        return
    screen = console()
    for line in [] if report is None else report.lines():
        screen.print(line, markup=False, soft_wrap=True)
    _show(screen, result)


def search_command(
    what: str,
    nodes_file: Path | None,
    goal: str,
    simulations: int,
    method: str,
    start: list[str],
    seed: int,
    costs: Costs,
    *,
    as_json: bool,
) -> None:
    """Searches, and prints the best partitions."""
    model, machines = model_or_application(what), machines_of(nodes_file)
    begin = _start(start) or None
    with progress(simulations) as show:
        found = search(
            model, machines, goal, simulations, method, begin, seed,
            progress=lambda done, best_s: show(done, f"best {best_s:.4g} s"),
            from_journal=costs.from_journal, from_profile=costs.from_profile,
        )  # fmt: skip
    if as_json:
        body = {"partitions": dict(found.partitions), "objective_s": found.objective_s, "history": found.history}
        print(json.dumps({**body, "plan": configuration_to_json(found.plan)}, indent=1))
        return
    title = f"{goal} {found.objective_s:.6g} s after {found.simulations} simulations"
    rows = [[name, str(count)] for name, count in found.partitions.items()]
    show_table(console(), title, table_of(["operator", "partitions"], rows))


def _schedule(text: str) -> Any:
    """A name, or JSON as in {"pinned": {"n1": ["a"]}}."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"--schedule is a name or JSON; got '{text}': {error}") from None


def _start(texts: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        name, _, count = text.partition("=")
        if not name or not count.isdecimal():
            raise InputError(f"--start is OPERATOR=PARTITIONS; got '{text}'")
        found[name] = int(count)
    return found


def _show(screen: Console, result: Result) -> None:
    latency = result.latency
    screen.print(
        f"throughput {result.throughput_tuples_s:.6g} tuples/s, {result.in_system_mean:.4g} blocks in the system"
    )
    screen.print(
        f"latency mean {_seconds(latency.mean_s)}, p95 {_seconds(latency.p95_s)}, p99 {_seconds(latency.p99_s)}"
    )
    operators = [
        [name, f"{own.tuples_in_s:.6g}", _seconds(own.waiting_mean_s), f"{own.queue_mean:.4g}", str(own.dropped)]
        for name, own in result.by_operator.items()
    ]
    show_table(
        screen, "operators", table_of(["operator", "tuples/s in", "waiting mean", "queue mean", "dropped"], operators)
    )
    nodes_shown = [[name, str(own.cores), f"{own.busy_ratio:.1%}"] for name, own in list(result.by_node.items())[:50]]
    show_table(screen, "nodes", table_of(["node", "cores", "busy"], nodes_shown))
    screen.print(f"{result.events:,} events")


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g} s"
