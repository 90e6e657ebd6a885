"""Applications on Spark: `start` gives a handle on a running query, `run` waits for its end."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

from pyspark.sql import SparkSession

from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.arguments import FLAG, NAMES, PATH, TEXT, check_arguments, dict_of, kind, number, or_none, whole
from penstock.control.goals.goal import Goal, Price
from penstock.control.goals.limits import Limits
from penstock.control.loop.control_request import DEFAULT_POLICY, ControlRequest, control_request
from penstock.control.policy import Policy
from penstock.control.setting import DEFAULT_CAP_TUPLES
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.runtime.driver.finished import is_finished
from penstock.runtime.driver.first_configuration import first_configuration
from penstock.runtime.driver.sink_folders import claim_sinks, sweep_sinks
from penstock.runtime.slots.state_slots import check_fits, check_same_slots, check_slot_functions
from penstock.spark.driver.capacity import capacity_of, check_capacity, local_task_slots, with_cap, within_limits
from penstock.spark.driver.handle import Handle, RunResult
from penstock.spark.executors.executor_watch import wait_for_executors
from penstock.spark.session.pickling import dumps_for_workers
from penstock.spark.session.session import master_of, spark_session
from penstock.spark.session.user_code import use_current_code
from penstock.spark.sources.source_frames import check_goal, check_sources, prepared, session_of
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.lease import Lease
from penstock.state.slots.slot_functions import SlotFunction

_SLOT_FUNCTIONS = dict_of("a dict of ps.slots.HashSlots, RangeSlots or GridSlots by operator", *get_args(SlotFunction))


def start(
    app: Application,
    *,
    master: str = "local[*]",
    checkpoint: str | Path | None = None,
    configuration: Configuration | None = None,
    slots: int | None = None,
    durable: bool = False,
    slot_functions: Mapping[str, SlotFunction] | None = None,
    reset_state: str | Collection[str] = (),
    dead_letters: str | Path | None = None,
    on_error: str = "dead_letter",
    session: SparkSession | None = None,
    goal: Goal | None = None,
    price: Price | None = None,
    willingness: str | float | None = None,
    limits: Limits | None = None,
    policy: str | Policy = DEFAULT_POLICY,
    passive: bool = False,
) -> Handle:
    """Starts an application on Spark and gives a handle on it.

    State by key is cut into `slots` (512 where not given) by hash, or as `slot_functions` say for the operators they
    name; that stays so for the life of the checkpoint.  A checkpoint goes on with the `configuration` it had where none
    is given; where no `checkpoint` is given, there is one until the end.  Tuples that cannot be used are written to the
    directory `dead_letters`, if there is one; with `on_error='fail'` the first of them stops the application.
    Operators named by `reset_state` start empty, whatever the checkpoint has of them; they may have changed.

    With a `goal`, a policy (a name, with settings if need be, or an object) keeps the application at it within
    `limits`, at the least `price`; `willingness`: how readily it changes something, 'calm', 'balanced' or 'eager', or
    the seconds within which a change has to pay; `passive`: it says what it would do, and does nothing.

    >>> import penstock as ps
    >>> app = ps.Application("cheap")
    >>> trades = app.source("trades", ps.sources.trace(rate_tuples_s=1000))
    >>> trades.functor("cheap", where="price < 20").sink("out", ps.sinks.memory())
    >>> handle = ps.start(app, master="local[2]", goal=ps.throughput())  # doctest: +SKIP
    >>> handle.wait(timeout_s=5)  # doctest: +SKIP
    False
    >>> handle.stop().tables["out"].column_names  # doctest: +SKIP
    ['seq', 'ticker', 'ttype', 'price', 'volume']
    """
    check_arguments(
        "ps.start", master=(master, TEXT), checkpoint=(checkpoint, or_none(PATH)), slots=(slots, or_none(whole(1))),
        configuration=(configuration, or_none(kind("a ps.Configuration", Configuration))), durable=(durable, FLAG),
        reset_state=(reset_state, NAMES),
        slot_functions=(slot_functions, or_none(_SLOT_FUNCTIONS)), dead_letters=(dead_letters, or_none(PATH)),
        session=(session, or_none(kind("a SparkSession", SparkSession))),
    )  # fmt: skip
    master_of(master, None, 1)
    control = control_request(goal, price=price, limits=limits, policy=policy, passive=passive, willingness=willingness)
    graph = graph_of(app, "ps.start")
    check_sources(graph)
    check_goal(graph, goal)
    letters = LetterBox(dead_letters, on_error=on_error)
    directory = Checkpoint(checkpoint or tempfile.mkdtemp(prefix="penstock-"))
    check_slot_functions(graph, slot_functions or {})
    return launch(
        graph, directory, letters, is_scratch=checkpoint is None, configuration=configuration, slots=slots,
        durable=durable, slot_functions=slot_functions, reset_state=_names(reset_state), control=control,
        session=lambda: session or session_of(graph) or spark_session(master, local_task_slots(limits)),
    )  # fmt: skip


def launch(
    graph: Graph,
    directory: Checkpoint,
    letters: LetterBox,
    *,
    is_scratch: bool = False,
    session: Callable[[], SparkSession],
    configuration: Configuration | None = None,
    block_rows: int | None = None,
    slots: int | None = None,
    durable: bool = False,
    slot_functions: Mapping[str, SlotFunction] | None = None,
    reset_state: Collection[str] = (),
    control: ControlRequest | None = None,
) -> Handle:
    """Starts a graph whose sources were checked; the session is opened once nothing else can be wrong."""
    lease = Lease(str(directory.directory))
    try:
        directory.sweep()
        fixed = directory.fix(
            graph, slots=slots, now_s=time.time(), dumps=dumps_for_workers, durable=durable,
            slot_functions=slot_functions, reset=reset_state,
            prepare=lambda graph: prepared(graph, directory.directory, letters),
        )  # fmt: skip
        before = directory.newest_configuration()
        if configuration is not None:
            check_fits(fixed, configuration)
            if before is not None:
                check_same_slots(fixed, before, configuration)
        else:
            configuration = before
        own_cap = configuration.micro_batch_tuples if configuration is not None else DEFAULT_CAP_TUPLES
        if control is not None:
            control = with_cap(control, own_cap)
        claim_sinks(fixed)
        sweep_sinks(fixed.graph, lease.epoch)
        spark = session()
        wait_for_executors(spark)
        use_current_code(spark)
        chosen = configuration or first_configuration(fixed, spark.sparkContext.defaultParallelism, block_rows)
        chosen = replace(chosen, frequency_ghz=None)  # cores are as the machine has them: nobody has set them yet
        if control is not None:
            capacity = capacity_of(spark)
            check_capacity(control.limits, capacity)
            if not control.passive:
                chosen = within_limits(chosen, pipeline_of(fixed.graph, chosen.unfused), control.limits, capacity)
        return Handle(
            spark, directory, lease, fixed, chosen, graph, letters, is_scratch=is_scratch, control=control,
            own_cap_tuples=None if control is None or control.passive else own_cap,
        )  # fmt: skip
    except BaseException:
        lease.release()
        raise


def run(
    app: Application,
    *,
    master: str = "local[*]",
    checkpoint: str | Path | None = None,
    duration_s: float | None = None,
    configuration: Configuration | None = None,
    durable: bool = False,
    reset_state: str | Collection[str] = (),
    dead_letters: str | Path | None = None,
    on_error: str = "dead_letter",
    session: SparkSession | None = None,
    goal: Goal | None = None,
    price: Price | None = None,
    willingness: str | float | None = None,
    limits: Limits | None = None,
    policy: str | Policy = DEFAULT_POLICY,
    passive: bool = False,
) -> RunResult:
    """Runs an application on Spark until its sources are exhausted or the time is over; arguments as with `start`.

    A checkpoint that is finished ends at once, before Spark starts.

    >>> import penstock as ps
    >>> app = ps.Application("cheap")
    >>> trades = app.source("trades", ps.sources.trace("unbounded", total=1000))
    >>> trades.functor("cheap", where="price < 20").sink("out", ps.sinks.memory())
    >>> ps.run(app, master="local[2]").tables["out"].column_names  # doctest: +SKIP
    ['seq', 'ticker', 'ttype', 'price', 'volume']
    """
    check_arguments(
        "ps.run", checkpoint=(checkpoint, or_none(PATH)), duration_s=(duration_s, or_none(number(least=0))),
        reset_state=(reset_state, NAMES),
    )  # fmt: skip
    if checkpoint is not None and is_finished(graph_of(app, "ps.run"), Checkpoint(checkpoint), _names(reset_state)):
        return RunResult()
    handle = start(
        app, master=master, checkpoint=checkpoint, configuration=configuration, durable=durable,
        reset_state=reset_state, dead_letters=dead_letters, on_error=on_error, session=session, goal=goal, price=price,
        willingness=willingness, limits=limits, policy=policy, passive=passive,
    )  # fmt: skip
    try:
        handle.wait(duration_s)
    finally:
        result = handle.stop()
    return result


def _names(given: str | Collection[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
