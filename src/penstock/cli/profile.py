"""penstock profile: what the operators of an application cost, learned on local Spark or from a journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from penstock.app.graph import Graph
from penstock.arguments import is_number
from penstock.cli.application import load_application
from penstock.cli.costs import profile_for
from penstock.cli.evaluate import named_files
from penstock.cli.screen import console, show_table
from penstock.control.journal.journal import read_journal
from penstock.errors import InputError
from penstock.host.extras import require
from penstock.host.paths.local_path import local_path
from penstock.measure.html_table import amount
from penstock.model.costs.learning.journal_samples import measured_of
from penstock.model.costs.learning.learned_profile import learned
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.learning.refinement import refined
from penstock.model.costs.node_speed import is_normal
from penstock.model.costs.profile import Profile
from penstock.model.costs.profile_file import profile_to_json
from penstock.model.costs.resource_function import BAND_QUANTILE
from penstock.model.costs.store import CostStore, node_class
from penstock.plan.elements.pipeline import with_files_recorded

JOURNAL = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """The options as the user gave them."""

    application: str
    rates: str | None = None
    master: str = "local[2]"
    seconds: float = 10.0
    inputs: tuple[str, ...] = ()
    output: Path | None = None
    from_journal: Path | None = None
    show: bool = False
    as_json: bool = False
    node: str | None = None
    contention: bool = False


def profile_command(request: ProfileRequest) -> None:
    """Learns a profile, or shows the one that the store has."""
    if request.show and request.from_journal is not None:
        raise InputError("--show prints what the store has, and --from-journal learns; give one of them")
    rates = _rates(request.rates)
    app = load_application(request.application)
    graph = app.graph
    if request.show:
        found = profile_for(graph, None, request.node)
    elif request.from_journal is not None:
        found = from_journal(graph, request.from_journal, request.node)
    else:
        require("penstock profile", "spark")
        from penstock.spark.profiling.profile import profile

        with _bar() as tell:
            found = profile(
                app,
                rates,
                request.master,
                request.seconds,
                inputs=named_files(request.inputs),
                progress=tell,
                node=request.node,
                contention=request.contention,
            )
    if request.output is not None:
        found.save(request.output)
    if request.as_json:
        print(json.dumps(profile_to_json(found)))
    else:
        show_profile(console(), graph, found)


def from_journal(graph: Graph, path: Path, node_name: str | None = None) -> Profile:
    """What a recorded run says of its operators, on top of what is known of them; it goes into the store, too."""
    path = Path(local_path(path, "the journal"))
    run = read_journal(path / JOURNAL if path.is_dir() else path)
    store, node = CostStore(), node_name or node_class()
    overhead = store.overhead(node)
    if overhead is None:
        raise InputError(
            f"the cost of communication has not been measured on this machine (the store is {store.path}), "
            "which a journal does not say; profile any application once: penstock profile APP"
        )
    recorded = with_files_recorded(graph)
    measured = measured_of(recorded, ((line.observation, line.configuration) for line in run.lines))
    facts = facts_of(graph)
    known = store.profile(facts, node)
    is_new = known is None or not is_normal(known)  # another node's functions, shifted, are not refined
    found = learned(facts, measured, overhead) if is_new or known is None else refined(known, facts, measured)
    found = replace(found, node=node)
    store.keep(found, node)
    return found


def _rates(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        found = [float(own.replace("_", "")) for own in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(is_number(own) for own in found):
        raise InputError(f"--rates is a list of tuples/s, as in 10000,20000,40000; got '{text}'")
    return found


@contextmanager
def _bar() -> Iterator[Callable[[str, float], None]]:
    """A bar on stderr where that is a terminal, else a line for each thing that is done."""
    screen = Console(stderr=True, highlight=False)
    if not screen.is_terminal:
        reported: list[str] = []

        def line(text: str, share: float) -> None:
            if text not in reported[-1:]:
                screen.print(f"{share:4.0%} {text}", markup=False, soft_wrap=True)
                reported.append(text)

        yield line
        return
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("profile", total=1.0)
        yield lambda text, share: bar.update(task, description=escape(text), completed=share)


def show_profile(screen: Console, graph: Graph, found: Profile) -> None:
    """The functions as a table, and what runs around them."""
    table = Table("operator", "class", "CPU, cores at r tuples/s", "98 % band", "tuples/s out")
    for own in found.operators:
        outputs = ", ".join(f"{stream}: {function}" for stream, function in own.outputs.items())
        cells = own.name, own.operator_class or "", str(own.cpu), f"+- {BAND_QUANTILE * own.cpu.noise:.4f}", outputs
        table.add_row(*map(escape, cells))
    show_table(screen, f"what operators of {graph.name} cost", table)
    fixed, own_table = found.fixed, found.communication
    for line in (
        f"a micro-batch takes {fixed.micro_batch_cpu_s:.4f} s of CPU in the driver, a task {fixed.task_cpu_s:.4f} s, "
        f"an envelope {fixed.envelope_cpu_s * 1e3:.3f} ms",
        *(
            f"a tuple of {width:,.0f} bytes takes {own_table.send(1e6, width):.3f} us to send, "
            f"{own_table.receive(1e6, width):.3f} us to receive"
            for width in own_table.bytes_per_tuple
        ),
        *_node_lines(found),
        f"{amount(len(found.operators), 'function')} in {CostStore().path}, for {found.node or 'this machine'}",
    ):
        screen.print(line, markup=False, soft_wrap=True)


def _node_lines(found: Profile) -> list[str]:
    """Speeds of the node where functions are another node's, of other nodes, and what neighbours add."""
    lines = [f"on {name} operators run so many times as fast: {_speeds(own)}"
             for name, own in found.speeds_by_node.items()]  # fmt: skip
    if not is_normal(found):
        lines.append(f"functions are another node's; here operators run so many times as fast: {_speeds(found.speed)}")
    if found.contention:
        lines.append(f"each busy core of neighbours raises CPU by {found.contention:.1%}")
    return lines


def _speeds(own: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {speed:.2f}" for name, speed in own.items())
