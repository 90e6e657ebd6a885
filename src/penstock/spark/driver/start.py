"""Applications on Spark: `start` gives a handle on a running query, `run` waits for its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

from pyspark.sql import SparkSession

from penstock.app.absolute_paths import with_absolute_paths, with_folders_of
from penstock.app.application import Application, graph_of
from penstock.app.checks.path_checks import check_paths
from penstock.app.graph import Graph
from penstock.arguments import (
    FLAG,
    NAMES,
    PATH,
    TEXT,
    check_arguments,
    checked_call,
    dict_of,
    kind,
    number,
    or_none,
    whole,
)
from penstock.connectors.planned.client_options import keep
from penstock.control.goals.goal import Goal, Price
from penstock.control.goals.limits import Limits
from penstock.control.goals.payback import payback_or_old_name
from penstock.control.journal.history import DEFAULT_JOURNAL, JournalSettings
from penstock.control.loop.control_request import DEFAULT_POLICY, ControlRequest, control_request
from penstock.control.policy import Policy
from penstock.control.setting import DEFAULT_CAP_TUPLES
from penstock.element.engine import AtEnd, check_at_end
from penstock.host.directories import scratch_folder, sweep_scratch
from penstock.host.extras import require
from penstock.host.owned_folder import OwnedFolder
from penstock.host.phases import Phases
from penstock.plan.configuration import SLOTS_MAX, Configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.plan.elements.source_partitions import check_partitions
from penstock.runtime.delivery.sink_folders import claim_folders, run_of, sweep_sinks
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.runtime.driver.finished import is_finished
from penstock.runtime.driver.first_configuration import first_configuration
from penstock.runtime.driver.input_end import check_at_end_fires
from penstock.runtime.driver.recovery import recover
from penstock.runtime.planning.source_planner import join_offsets, path_of
from penstock.runtime.slots.state_slots import check_fits, check_same_slots, check_slot_functions
from penstock.spark.driver.capacity import capacity_of, check_capacity, local_task_slots, with_cap, within_limits
from penstock.spark.driver.control_setup import start_rehearsal
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.warm_up import is_worthwhile, start_workers, warm_up
from penstock.spark.executors.executor_watch import wait_for_executors
from penstock.spark.session.pickling import dumps_for_workers
from penstock.spark.session.session import master_of, spark_session
from penstock.spark.session.user_code import use_current_code
from penstock.spark.sources.source_frames import check_sources, prepared, session_of
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.lease import Lease
from penstock.state.checkpoint.place import check_is_own
from penstock.state.memory.host_directory import HostState, check_state_directory, sweep_state
from penstock.state.slots.slot_functions import SlotFunction
from penstock.watch.run_result import RunResult

_log = logging.getLogger(__name__)

_SLOT_FUNCTIONS = dict_of("a dict of ps.slots.HashSlots, RangeSlots or GridSlots by operator", *get_args(SlotFunction))


@checked_call("ps.start")
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
    state_directory: str | Path | None = None,
    dead_letters: str | Path | None = None,
    on_error: str = "dead_letter",
    at_end: AtEnd = "hold",
    session: SparkSession | None = None,
    goal: Goal | None = None,
    price: Price | None = None,
    payback: str | float | None = None,
    limits: Limits | None = None,
    policy: str | Policy = DEFAULT_POLICY,
    passive: bool = False,
    willingness: str | float | None = None,
    dashboard: bool = False,
    journal: JournalSettings | None = None,
) -> Handle:
    """Starts an application on Spark and gives a handle on it.

    `checkpoint`: the directory from which the application goes on after a stop or a crash; without it a temporary one
    is removed at the end.  `durable` syncs it to disk, so that it survives a power failure.  `configuration`: replicas,
    routes, threads and sizes; by default those stored in the checkpoint.  `reset_state` names operators whose stored
    state is dropped, for example because they have changed.

    Keyed state is divided into `slots` (512 by default), by hash or by the `slot_functions` of the operators that they
    name; a checkpoint keeps its slots for its life.  State is stored in `state_directory` on each host; the default is
    $PENSTOCK_STATE_DIRECTORY, then /dev/shm, on a cluster the executor's local directory.  If space runs out there,
    state moves to the directory for temporary files and a warning is logged.  A session that `start` opens stores its
    shuffle files there, too.

    `dead_letters`: the directory for tuples that cannot be used; with `on_error="fail"` the first one stops the
    application.  With `at_end="fire"` windows with a watermark fire what they hold when the input has ended: a trace
    at its total, a directory once all its files are read.

    With a `goal`, a policy (a name such as `"ds2:headroom=1.2"`, or an object) meets it within `limits` at the lowest
    `price`.  `payback`: the seconds within which a change must pay for itself, or 'calm', 'balanced', 'eager'.
    `passive` logs decisions and changes nothing.  `willingness` is the old name of `payback`, and warns.

    `dashboard` starts a process that serves a page about the run, and prints its link.  `journal` bounds the journal's
    disk space and says whether it has samples of dead letters.

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
        "ps.start", master=(master, TEXT), checkpoint=(checkpoint, or_none(PATH)),
        slots=(slots, or_none(whole(1, SLOTS_MAX))),
        configuration=(configuration, or_none(kind("a ps.Configuration", Configuration))), durable=(durable, FLAG),
        reset_state=(reset_state, NAMES), state_directory=(state_directory, or_none(PATH)),
        slot_functions=(slot_functions, or_none(_SLOT_FUNCTIONS)), dead_letters=(dead_letters, or_none(PATH)),
        session=(session, or_none(kind("a SparkSession", SparkSession))), dashboard=(dashboard, FLAG),
        journal=(journal, or_none(kind("a ps.JournalSettings", JournalSettings))),
    )  # fmt: skip
    if dashboard:
        require("the dashboard", "dashboard")
    check_at_end(at_end)
    master_of(master, None, 1)
    payback = payback_or_old_name(payback, willingness)
    control = control_request(goal, price=price, limits=limits, policy=policy, passive=passive, payback=payback)
    graph = graph_of(app, "ps.start")
    check_sources(graph)
    if at_end == "fire":
        check_at_end_fires(graph)
    letters = LetterBox(dead_letters, on_error=on_error)
    check_slot_functions(graph, slot_functions or {})
    state = check_state_directory(None if state_directory is None else str(state_directory))
    if checkpoint is not None:
        check_is_own(Checkpoint(checkpoint).directory)
    scratch = scratch_folder() if checkpoint is None else None
    try:
        handle = launch(
            graph, Checkpoint(scratch.path if scratch is not None else checkpoint), letters,  # type: ignore[arg-type]
            scratch=scratch, configuration=configuration, slots=slots, state_directory=state,
            durable=durable, slot_functions=slot_functions, reset_state=_names(reset_state), control=control,
            fires_at_end=at_end == "fire", warms_up=True, journal=journal or DEFAULT_JOURNAL,
            session=lambda: session or session_of(graph) or spark_session(
                master, local_task_slots(limits), state_directory=state
            ),
        )  # fmt: skip
    except BaseException:
        if scratch is not None:
            scratch.remove()
        raise
    if dashboard:
        try:
            handle.dashboard()
        except BaseException:
            handle.stop()
            raise
    return handle


def launch(
    graph: Graph,
    directory: Checkpoint,
    letters: LetterBox,
    *,
    scratch: OwnedFolder | None = None,
    session: Callable[[], SparkSession],
    configuration: Configuration | None = None,
    block_rows: int | None = None,
    slots: int | None = None,
    durable: bool = False,
    slot_functions: Mapping[str, SlotFunction] | None = None,
    reset_state: Collection[str] = (),
    state_directory: str | None = None,
    control: ControlRequest | None = None,
    fires_at_end: bool = False,
    warms_up: bool = False,
    journal: JournalSettings = DEFAULT_JOURNAL,
    measures_all: bool = False,
) -> Handle:
    """Starts a graph whose sources were checked; the session is opened once nothing else can be wrong.

    A `scratch` folder with the checkpoint is removed at the end.  `warms_up`: no batch of a stream whose tuples come by
    themselves runs cold.  `measures_all`: every micro-batch is measured whole, as for a profile.
    """
    check_paths(graph, letters.folder)

    def prepare(located: Graph, checkpoint_id: str) -> Graph:
        claim_folders(located, letters.folder, run_of(directory, checkpoint_id, is_new=True))
        return prepared(located, directory.directory, letters, durable=durable)

    lease, state = Lease(str(directory.directory), directory.highest_epoch), None
    try:
        directory.sweep()
        letters.sweep()
        for sentence in recover(directory):
            _log.warning(sentence)
        fixed = directory.fix(
            graph, slots=slots, now_s=time.time(), dumps=dumps_for_workers, durable=durable,
            slot_functions=slot_functions, reset=reset_state, state_directory=state_directory, prepare=prepare,
            fence=lease.check,
        )  # fmt: skip
        join_offsets(fixed.graph, Path(directory.spark))
        keep_options(graph, directory)
        state = HostState(fixed.checkpoint_id, state_directory)
        sweep_host(state_directory)
        before = directory.newest_configuration()
        if configuration is not None:
            check_fits(fixed, configuration)
            if before is not None:
                check_same_slots(fixed, before, configuration)
        else:
            configuration = before
        own_cap = configuration.micro_batch_tuples if configuration is not None else DEFAULT_CAP_TUPLES
        rehearsal = None
        if control is not None:
            control = with_cap(control, own_cap)
            rehearsal = start_rehearsal(control)
        own = with_folders_of(with_absolute_paths(graph), fixed.graph)  # with what is never stored
        claim_folders(own, letters.folder, run_of(directory, fixed.checkpoint_id, is_new=False))
        sweep_sinks(fixed.graph, directory, lease.epoch, letters.folder)
        phases = Phases()
        with phases.phase("Spark"):
            spark = session()
            wait_for_executors(spark)
        check_partitions(fixed.graph, spark.sparkContext.defaultParallelism)
        use_current_code(spark)
        if warms_up:
            start_workers(spark)
        chosen = configuration or first_configuration(
            fixed, spark.sparkContext.defaultParallelism, block_rows, chooses=control is None
        )
        chosen = replace(chosen, frequency_ghz=None)  # cores are as the machine has them: nobody has set them yet
        if control is not None:
            capacity = capacity_of(spark)
            check_capacity(control.limits, capacity)
            if not control.passive:
                chosen = within_limits(chosen, pipeline_of(fixed.graph, chosen.fused), control.limits, capacity)
        if warms_up and is_worthwhile(fixed.graph):
            with phases.phase("warm-up"):
                warm_up(spark, directory, fixed, chosen)
                if rehearsal is not None:
                    rehearsal.join()
        return Handle(
            spark, directory, lease, fixed, chosen, own, letters,
            state, scratch=scratch,
            control=control, own_cap_tuples=None if control is None else own_cap, fires_at_end=fires_at_end,
            journal=journal, phases=phases, measures_all=measures_all,
        )  # fmt: skip
    except BaseException:
        lease.release()
        if state is not None:
            state.release()
        raise


def keep_options(graph: Graph, checkpoint: Checkpoint) -> None:
    """Keeps settings of sources that are never stored where their readers find them."""
    for source in graph.sources:
        keep(str(path_of(checkpoint.directory, source.name)), getattr(source.connector, "options", {}))


def sweep_host(state_directory: str | None) -> None:
    """Removes what Penstock processes of this user left on this host when they were killed."""
    swept = [*sweep_state(state_directory), *sweep_scratch()]
    if swept:
        _log.info("removed files that killed processes had left: %s", ", ".join(swept))


@checked_call("ps.run")
def run(
    app: Application,
    *,
    master: str = "local[*]",
    checkpoint: str | Path | None = None,
    duration_s: float | None = None,
    configuration: Configuration | None = None,
    durable: bool = False,
    reset_state: str | Collection[str] = (),
    state_directory: str | Path | None = None,
    dead_letters: str | Path | None = None,
    on_error: str = "dead_letter",
    at_end: AtEnd = "hold",
    session: SparkSession | None = None,
    goal: Goal | None = None,
    price: Price | None = None,
    payback: str | float | None = None,
    limits: Limits | None = None,
    policy: str | Policy = DEFAULT_POLICY,
    passive: bool = False,
    willingness: str | float | None = None,
    dashboard: bool = False,
    journal: JournalSettings | None = None,
) -> RunResult:
    """Runs an application on Spark until its sources end, or for `duration_s`; other arguments as for `start`.

    With the checkpoint of a run that has ended it returns at once, without starting Spark.

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
    check_at_end(at_end)
    if checkpoint is not None and is_finished(
        graph_of(app, "ps.run"), Checkpoint(checkpoint), _names(reset_state), fires_at_end=at_end == "fire"
    ):
        return RunResult()
    handle = start(
        app, master=master, checkpoint=checkpoint, configuration=configuration, durable=durable,
        reset_state=reset_state, state_directory=state_directory, dead_letters=dead_letters, on_error=on_error,
        at_end=at_end, session=session, goal=goal, price=price, payback=payback_or_old_name(payback, willingness),
        limits=limits, policy=policy, passive=passive, dashboard=dashboard, journal=journal,
    )  # fmt: skip
    try:
        handle.wait(duration_s)
    finally:
        result = handle.stop()
    return result


def _names(given: str | Collection[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
