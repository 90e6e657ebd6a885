"""The command lines of `penstock simulate` and `search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_ModelArgument = Annotated[
    str, typer.Argument(metavar="APP|model.json", help="A model (docs/twin.md), or an application.", show_default=False)
]


_NodesOption = Annotated[
    Path | None, typer.Option("--nodes", metavar="FILE.toml", help="The machines. Default: one core of speed 1.")
]


_FromJournalOption = Annotated[
    Path | None,
    typer.Option("--from-journal", metavar="RUN", help="Learn an application's costs from a checkpoint or journal."),
]


_FromProfileOption = Annotated[
    Path | None, typer.Option("--from-profile", metavar="FILE.json", help="Take its costs from a profile.")
]


_SCHEDULE, _SECONDS = "oldest_first", 600.0
_SimulationSeedOption = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same result.")]


def simulate(
    model: _ModelArgument,
    nodes: _NodesOption = None,
    schedule: Annotated[
        str,
        typer.Option(
            metavar="oldest_first|fifo|nearest_to_sink|JSON",
            help='Which block a core takes next; JSON pins operators to nodes: {"pinned": {"n1": ["a"]}}.',
        ),
    ] = _SCHEDULE,
    seconds: Annotated[float, typer.Option(metavar="S", help="Simulated time.")] = _SECONDS,
    warm_up: Annotated[
        float | None,
        typer.Option(metavar="S", help="Simulated warm-up, which does not count. Default: a tenth of --seconds."),
    ] = None,
    seed: _SimulationSeedOption = 1,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="continuous|micro_batch",
            help="How blocks are processed. Default: continuous for a model, micro_batch for an application.",
        ),
    ] = None,
    from_journal: _FromJournalOption = None,
    from_profile: _FromProfileOption = None,
    rate: Annotated[
        float | None, typer.Option(metavar="TUPLES/S", help="Rate of all sources together. Default: as in the run.")
    ] = None,
    what_if: Annotated[
        str | None,
        typer.Option(metavar="'rate x F'", help="Print cores, executors, latency and cost at another rate, by nodes."),
    ] = None,
    price: Annotated[
        list[str] | None, typer.Option(metavar="NAME=X", help="Price of resources for --what-if: core_hour=X.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg|png", help="Also draw the result of --what-if.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Simulate a graph of operators on machines: throughput, latency, queues, utilization.

    Examples:

    - `penstock simulate model.json --nodes nodes.toml --seconds 600`

    - `penstock simulate model.json --nodes nodes.toml --schedule nearest_to_sink --json`

    - `penstock simulate app.py --from-journal out/checkpoint --nodes nodes.toml --rate 50000`

    - `penstock simulate app.py --from-journal out/checkpoint --nodes nodes.toml --what-if "rate x 10" --price
    core_hour=0.05`
    """
    from penstock.cli.simulate.command import simulate_command
    from penstock.cli.simulate.subject import Costs
    from penstock.cli.simulate.what_if import check_options, what_if_command

    check_options(
        what_if is not None,
        with_it={"--price": price, "--picture": picture},
        without_it={
            "--schedule": schedule != _SCHEDULE, "--seconds": seconds != _SECONDS, "--warm-up": warm_up is not None,
            "--mode": mode,
        },
    )  # fmt: skip
    costs = Costs(from_journal, from_profile, rate)
    if what_if is not None:
        what_if_command(model, nodes, what_if, price or [], picture, seed, costs, as_json=json)
    else:
        simulate_command(model, nodes, schedule, seconds, warm_up, seed, costs, mode=mode, as_json=json)


def search(
    model: _ModelArgument,
    nodes: _NodesOption = None,
    goal: Annotated[str, typer.Option(metavar="latency_mean|latency_p95", help="What to minimise.")] = "latency_mean",
    simulations: Annotated[int, typer.Option(metavar="N", help="The most candidates to simulate.")] = 1000,
    method: Annotated[str, typer.Option(metavar="genetic|random", help="How to find candidates.")] = "genetic",
    start: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERATOR=PARTITIONS", help="Begin from these; repeatable."),
    ] = None,
    seed: _SimulationSeedOption = 1,
    from_journal: _FromJournalOption = None,
    from_profile: _FromProfileOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Search for the number of partitions of each operator with the lowest latency.

    Examples:

    - `penstock search model.json --nodes nodes.toml --simulations 1000`

    - `penstock search model.json --nodes nodes.toml --start window=4 --goal latency_p95 --json`
    """
    from penstock.cli.simulate.command import search_command
    from penstock.cli.simulate.subject import Costs

    costs = Costs(from_journal, from_profile)
    search_command(model, nodes, goal, simulations, method, start or [], seed, costs, as_json=json)
