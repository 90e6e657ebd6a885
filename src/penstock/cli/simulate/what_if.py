"""`penstock simulate --what-if`: cores, executors, latency and the bill at another rate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from penstock.cli.options.control_options import price_of
from penstock.cli.screen import console, show_table
from penstock.cli.simulate.capacity_picture import draw_capacity
from penstock.cli.simulate.progress import progress, table_of
from penstock.cli.simulate.subject import Costs, machines_of, rate_of, subject_of
from penstock.errors import InputError
from penstock.simulate.calibration.fit import Fit
from penstock.simulate.capacity import plan_capacity, rows_of, what_if_rate
from penstock.watch.pictures.canvas import check_picture


def check_options(asks: bool, *, with_it: Mapping[str, object], without_it: Mapping[str, object]) -> None:
    """InputError for an option that would have no effect, with --what-if or without."""
    for name, given in (without_it if asks else with_it).items():
        if given:
            raise InputError(
                f"{name} has no effect with --what-if, which chooses mode, schedule and simulated time; leave it out"
                if asks else f"{name} goes with --what-if; it has no effect without"
            )  # fmt: skip


def what_if_command(
    what: str,
    nodes_file: Path | None,
    question: str,
    prices: list[str],
    picture: Path | None,
    seed: int,
    costs: Costs,
    *,
    as_json: bool,
) -> None:
    """Cores, executors, latency and the bill at another rate."""
    check_picture(picture)
    price = price_of(prices)
    if price is not None and (problems := price.problems()):
        raise InputError("\n".join(f"--price: {problem}" for problem in problems))
    subject, machines = subject_of(what, costs), machines_of(nodes_file)
    now = rate_of(subject)
    rate = what_if_rate(question, now)
    with progress(1.0) as show:
        core_hour = None if price is None else price.core_hour
        found = plan_capacity(
            subject, machines, rate, core_hour, seed, lambda done, of: show(done / of, f"{done} of {of}")
        )
    if picture is not None:
        draw_capacity(found, f"{rate:,.0f} tuples/s", picture)
    if as_json:
        fit = {"fit": subject.report.as_json()} if isinstance(subject, Fit) else {}
        print(json.dumps({"rate_tuples_s": rate, "rate_now_tuples_s": now, **found.as_json(), **fit}, indent=1))
        return
    screen = console()
    names = ["cores", "executors", "replicas", "tuples/s", "latency mean", "p95", "busy", "bill/h", "keeps up"]
    title = f"{rate:,.0f} tuples/s ({question}; now {now:,.0f})"
    show_table(screen, title, table_of(names, [list(row) for row in rows_of(found)]))
    best = found.best
    screen.print(
        f"none of these keeps up with {rate:,.0f} tuples/s" if best is None else
        f"{best.cores:,} cores on {best.executors:,} executors are enough"
        + ("" if best.bill_hour is None else f", {best.bill_hour:.2f} an hour"),
        soft_wrap=True,
    )  # fmt: skip
