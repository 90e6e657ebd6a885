"""The command lines of `penstock watch`, `report`, `compare` and `journal`: runs looked at live and afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CheckpointArgument = Annotated[
    Path, typer.Argument(metavar="CHECKPOINT", help="The checkpoint of a run, or its journal.", show_default=False)
]


def watch(
    checkpoint: CheckpointArgument,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes any free port.")] = 0,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the token of the controls, instead of stderr.")
    ] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Show it in this terminal instead of a page.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of serving a page.")] = False,
    metrics: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Also serve Prometheus metrics there.")
    ] = None,
    with_pid: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve a page that shows a run, while it runs or afterwards.

    Examples:

    - `penstock watch out/checkpoint`

    - `penstock watch out/checkpoint --port 8080 --token-file out/token`

    - `penstock watch out/checkpoint --terminal`

    - `penstock watch out/checkpoint --metrics 9100`
    """
    from penstock.cli.watch.command import WatchRequest, watch_command

    watch_command(WatchRequest(checkpoint, host, port, token_file, terminal, json, metrics, with_pid))


def report(
    checkpoint: CheckpointArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.html")] = Path("report.html"),
) -> None:
    """Write one page of HTML that shows a run, and needs nothing else.

    Examples:

    - `penstock report out/checkpoint --output out/report.html`
    """
    from penstock.cli.watch.report import report_command

    report_command(checkpoint, output)


def compare(
    one: Annotated[Path, typer.Argument(metavar="A", help="The checkpoint of a run.", show_default=False)],
    other: Annotated[Path, typer.Argument(metavar="B", help="The checkpoint of another run.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Set two runs side by side: what arrived, how late results were, what it took.

    Examples:

    - `penstock compare out/mpc out/ds2`
    """
    from penstock.cli.watch.compare import compare_command

    compare_command(one, other, as_json=json)


def journal(
    path: CheckpointArgument,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE.svg|png", help="Also draw throughput, latency and replicas over time."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write it as Parquet files, with the unit of each column.")
    ] = None,
) -> None:
    """Show what was measured while an application ran: elements, operators, latency, time and CPU.

    Examples:

    - `penstock journal out/checkpoint`

    - `penstock journal out/checkpoint/journal.jsonl --json --picture out/run.svg`

    - `penstock journal out/checkpoint --export out/parquet`
    """
    from penstock.cli.journal.command import journal_command

    if export is not None:
        from penstock.cli.journal.export import export_command

        export_command(path, export)
        return
    journal_command(path, picture, as_json=json)
