"""penstock explain: what an application is made of, before anything runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.app.graph import Graph
from penstock.app.operators import Aggregate
from penstock.arguments import is_number
from penstock.cli.application import load_application
from penstock.cli.costs import cost_explanation, show_costs
from penstock.cli.options.settings import changed, settings_of
from penstock.cli.screen import console, show_table
from penstock.errors import InputError
from penstock.model.costs.choosing.preferred import preferred_configuration
from penstock.model.costs.store import store_path
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import with_files_recorded
from penstock.plan.explain import Explanation, OperatorPlan, explain
from penstock.plan.state_size import GroupBytes
from penstock.watch.pictures.canvas import check_picture
from penstock.watch.terminal.terminal_graph import draw_graph


@dataclass(frozen=True, slots=True)
class CostQuestion:
    """What is to be predicted: at which rate, on which machines, from which profile, and whether fusions compare.

    `settings` are those of `penstock run --set`; `node` is one that the store or the profile knows, and neighbours use
    so many of its cores.
    """

    rate_tuples_s: float | None = None
    nodes: Path | None = None
    profile: Path | None = None
    fuse: bool = False
    settings: tuple[str, ...] = ()
    node: str | None = None
    neighbours_cores: float = 0.0

    def check(self) -> None:
        if self.rate_tuples_s is not None and not (is_number(self.rate_tuples_s) and self.rate_tuples_s >= 0):
            raise InputError(f"--rate is a number of at least 0, in tuples/s; got {self.rate_tuples_s}")
        where = self.nodes or self.node or self.neighbours_cores
        if self.rate_tuples_s is None and (where or self.profile or self.fuse):
            raise InputError(
                "--nodes, --node, --neighbours, --profile and --fuse need a rate; add --rate TUPLES_S"
                if self.node or self.neighbours_cores else
                "--nodes, --profile and --fuse need a rate; add --rate TUPLES_S"
            )  # fmt: skip
        if self.nodes and self.node:
            raise InputError("--nodes gives machines of a file, and --node names one of the store; give one of them")


NO_QUESTION = CostQuestion()


def explain_command(
    application: str, picture: Path | None, costs: CostQuestion = NO_QUESTION, *, as_json: bool
) -> None:
    """Explains as text or JSON, and as a picture where one is asked for."""
    check_picture(picture)
    costs.check()
    app = load_application(application)
    requested = _requested(app.graph, costs.settings)
    preferred = None if requested else preferred_configuration(app.graph)
    explanation = explain(app.graph, kernel_bytes(app.graph), requested or preferred)
    if preferred is not None:
        note = f"elements are those of the least predicted CPU, by what {store_path()} has learned of the operators"
        explanation = replace(explanation, notes=(*explanation.notes, note))
    predicted = None
    if costs.rate_tuples_s is not None:
        predicted = cost_explanation(
            app.graph, costs.rate_tuples_s, costs.nodes, costs.profile, requested, fuse_too=costs.fuse,
            node=costs.node, neighbours_cores=costs.neighbours_cores,
        )  # fmt: skip
    if as_json:
        body = {**explanation.as_json(), "warnings": app.warnings}
        print(json.dumps(body if predicted is None else {**body, "costs": predicted}, indent=1))
    else:
        _show(console(), explanation, tuple(app.warnings), is_set=requested is not None)
        if predicted is not None:
            show_costs(console(), predicted)
    if picture is not None:
        from penstock.watch.pictures.graph_picture import save_graph

        save_graph(explanation, picture)
        Console(stderr=as_json, highlight=False).print(f"wrote {picture}", markup=False, soft_wrap=True)


def _requested(graph: Graph, settings: tuple[str, ...]) -> Configuration | None:
    """The default Configuration with what `--set` asks for; None where it asks for nothing."""
    if not settings:
        return None
    recorded = with_files_recorded(graph)
    return changed(Configuration.of(recorded), settings_of(settings, recorded), recorded)


def _show(screen: Console, explanation: Explanation, warnings: tuple[str, ...], *, is_set: bool) -> None:
    screen.print(f"[bold]application {escape(explanation.application)}[/bold]\n")
    labels = {o.name: [o.name, o.kind, *o.windows] for o in explanation.operators}
    drawing = draw_graph(labels, [(start, end) for start, _, end in explanation.edges])
    screen.print(drawing, markup=False, no_wrap=True, crop=False, soft_wrap=True)
    screen.print()
    for operator in explanation.operators:
        _show_operator(screen, operator)
    show_table(screen, "elements, with --set" if is_set else _title(explanation), _elements(explanation))
    for note in (*explanation.notes, *(f"warning: {warning}" for warning in warnings)):
        screen.print(f"* {note}", markup=False, soft_wrap=True)


def _show_operator(screen: Console, operator: OperatorPlan) -> None:
    place = f" [dim]({escape(operator.place)})[/dim]" if operator.place else ""
    reads = f" reads {escape(', '.join(operator.inputs))}" if operator.inputs else ""
    screen.print(f"[bold]{escape(operator.name)}[/bold]: {operator.kind}{reads}{place}")
    for word, text in _facts(operator):
        screen.print(f"  {word:<9} {text}", markup=False, soft_wrap=True)


def _facts(operator: OperatorPlan) -> list[tuple[str, str]]:
    facts = [
        ("emits" if operator.kind != "sink" else "takes", ", ".join(f"{n} {w}" for n, w in operator.schema.items()))
    ]
    facts += [("window", window) for window in operator.windows]
    if operator.keys:
        facts.append(("keys", " = ".join(dict.fromkeys(", ".join(key) for key in operator.keys))))
    if operator.state.size_bytes != 0:
        facts.append(("state", f"{operator.state} ({operator.state.because})"))
    if operator.event_time is not None:
        facts.append(("time", operator.event_time))
    facts.append(("order", operator.order))
    facts.append(("replicas", f"{operator.parallelism}: {operator.parallelism.because}"))
    return facts


def _title(explanation: Explanation) -> str:
    if all(plan.element.partition is None for plan in explanation.elements):
        return "elements (the default fusion: none is requested)"
    return "elements, as requested"


def _elements(explanation: Explanation) -> Table:
    shown = Table("element", "operators", "host")
    shown.add_column("replicas", justify="right")
    shown.add_column("because")
    for plan in explanation.elements:
        element, parallelism = plan.element, plan.parallelism
        cells = (
            element.name,
            ", ".join(element.operators),
            element.host or "any",
            str(parallelism),
            parallelism.because,
        )
        shown.add_row(*map(escape, cells))
    return shown


def kernel_bytes(graph: Graph) -> dict[str, GroupBytes]:
    """Bytes per group of every aggregate that a count window's kernel serves alone."""
    aggregates = [o for o in graph.operators if isinstance(o, Aggregate) and o.window.measure == "count"]
    sizes = {operator.name: _bytes_per_group(graph, operator) for operator in aggregates}
    return {name: size for name, size in sizes.items() if size is not None}


def _bytes_per_group(graph: Graph, operator: Aggregate) -> GroupBytes | None:
    from penstock.block.dead_letters import DeadLetters
    from penstock.kernels.windows.count.chunks import FIRST, GRANULE
    from penstock.operators.windows.aggregate import AggregateRuntime

    aggregate = AggregateRuntime(operator, graph.producer(operator.inputs[0]).schema, DeadLetters())
    if aggregate.counts is None or aggregate.held is not None:
        return None
    counts = aggregate.counts
    if not counts.granule_bytes:
        return GroupBytes(counts.bytes_per_group)
    every = int(operator.window.every)
    return GroupBytes(counts.bytes_per_group, counts.row_bytes, counts.granule_bytes // GRANULE, every, FIRST)
