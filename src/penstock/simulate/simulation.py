"""`twin.simulate`: a model or an application on nodes, for so many seconds of simulated time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from penstock.app.application import Application
from penstock.arguments import FLAG, PATH, Rule, check_arguments, is_whole, kind, number, or_none, shown, whole
from penstock.errors import InputError, did_you_mean
from penstock.plan.configuration import Configuration
from penstock.plan.nodes import Nodes
from penstock.plan.nodes import nodes as read_nodes
from penstock.simulate.calibration.fit import Fit, fit_of
from penstock.simulate.events.machines import Schedule
from penstock.simulate.events.model import Model
from penstock.simulate.events.results import Result
from penstock.simulate.events.simulation import Plan, run_continuous, with_plan
from penstock.simulate.micro_batch.batch_element import elements_of
from penstock.simulate.micro_batch.batch_simulation import run_batches
from penstock.simulate.micro_batch.costs import MicroBatchCosts
from penstock.simulate.micro_batch.plant import Plant

CONTINUOUS, MICRO_BATCH = "continuous", "micro_batch"
MODES = (CONTINUOUS, MICRO_BATCH)
USUAL_SCHEDULE = "oldest_first"
_PARTITIONS = Rule(
    "a ps.Configuration or a dict of partitions by operator",
    lambda value: (
        isinstance(value, Configuration)
        or (isinstance(value, Mapping) and all(isinstance(k, str) and is_whole(v, 1) for k, v in value.items()))
    ),
)
NODES = kind("twin.nodes(...) or a path", Nodes, str, Path)
_SCHEDULE = kind("a name or a dict", str, Mapping)


def simulate(
    model: Model | Application,
    nodes: Nodes | str | Path,
    plan: Plan | None = None,
    mode: str | None = None,
    schedule: Schedule = "oldest_first",
    seconds: float = 600,
    warm_up_s: float = 60,
    seed: int = 1,
    record: bool = False,
    progress: Callable[[float], None] | None = None,
    *,
    costs: MicroBatchCosts | None = None,
    from_journal: str | Path | None = None,
    from_profile: str | Path | None = None,
    rate_tuples_s: float | None = None,
) -> Result:
    """Runs a model in simulated time, and gives throughput, latency, queues and how busy nodes were.

    `plan`: replicas of a Configuration, or partitions by operator, in place of the model's.  `mode`: "continuous" (the
    default of a model) or "micro_batch" (that of an application: stages of tasks with Spark's fixed costs, `costs`).
    `schedule`: of continuous mode, "oldest_first" (any core takes the oldest block of all operators), "fifo" (that has
    come first to its operator), "nearest_to_sink", `{"pinned": {node: [operators]}}`, or `{"placed": twin.pack(...)}`.
    An application needs `from_journal` (a checkpoint or journal of one of its runs) or `from_profile` (the JSON of
    `ps.Profile`), which say what its operators cost; `rate_tuples_s`: of all its sources, else as it was.
    `progress` is told the simulated seconds that are done.

    >>> from penstock import twin
    >>> model = twin.Model([twin.Source("s", twin.poisson(500))], [twin.Operator("a", ("s",), twin.exponential(0.001))])
    >>> machine = twin.Nodes((twin.Node("n1"),))
    >>> result = twin.simulate(model, machine, seconds=600, warm_up_s=60)
    >>> 0.0019 < result.latency.mean_s < 0.0021
    True
    """
    check_arguments(
        "twin.simulate", nodes=(nodes, NODES), plan=(plan, or_none(_PARTITIONS)),
        mode=(mode, or_none(kind("text", str))), schedule=(schedule, _SCHEDULE), seconds=(seconds, number(above=0)),
        warm_up_s=(warm_up_s, number(least=0)), seed=(seed, whole()), record=(record, FLAG),
        progress=(progress, or_none(Rule("a function", callable))),
        costs=(costs, or_none(kind("twin.MicroBatchCosts(...)", MicroBatchCosts))),
        from_journal=(from_journal, or_none(PATH)), from_profile=(from_profile, or_none(PATH)),
        rate_tuples_s=(rate_tuples_s, or_none(number(above=0))),
    )  # fmt: skip
    in_batches = runs_in_batches(mode, is_model=isinstance(model, Model), schedule=schedule)
    if costs is not None and not in_batches:
        raise InputError("costs of twin.simulate are those of mode='micro_batch'; got mode='continuous'")
    _check_warm_up(seconds, warm_up_s)
    machines = nodes if isinstance(nodes, Nodes) else read_nodes(nodes)
    if isinstance(model, Model):
        refuse_costs_of_runs(
            "twin.simulate", from_journal=from_journal, from_profile=from_profile, rate_tuples_s=rate_tuples_s
        )
    else:
        fitted = fitted_application(model, from_journal, from_profile)
        fitted = fitted if rate_tuples_s is None else fitted.at_rate(rate_tuples_s)
        if in_batches:
            return simulate_fit(
                fitted, machines, plan, seconds, warm_up_s, seed, costs=costs, record=record, progress=progress
            )  # fmt: skip
        model = fitted.model
    if in_batches:
        plant = batch_plant(model, machines, plan, seconds, seed, costs)
        return run_batches(plant, machines, seconds, warm_up_s, record=record, progress=progress)
    return run_continuous(model, machines, plan, schedule, seconds, warm_up_s, seed, record=record, progress=progress)


def simulate_fit(
    fitted: Fit,
    nodes: Nodes,
    plan: Plan | None,
    seconds: float,
    warm_up_s: float,
    seed: int,
    *,
    costs: MicroBatchCosts | None = None,
    record: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """An application in micro-batches, with the costs that were fitted."""
    _check_warm_up(seconds, warm_up_s)
    plant = batch_plant(fitted.model, nodes, plan, seconds, seed, costs, fitted)
    return run_batches(plant, nodes, seconds, warm_up_s, record=record, progress=progress)


def runs_in_batches(mode: str | None, *, is_model: bool, schedule: Schedule) -> bool:
    """Whether micro-batches are simulated; InputError for another mode, or for a schedule that they do not have."""
    if mode is not None and mode not in MODES:
        hint = did_you_mean(mode, MODES)
        raise InputError(f"mode is one of {', '.join(MODES)}; got '{mode}'" + (f"; {hint}" if hint else ""))
    in_batches = mode == MICRO_BATCH if is_model else mode != CONTINUOUS
    if in_batches and schedule != USUAL_SCHEDULE:
        raise InputError(
            f"a schedule other than '{USUAL_SCHEDULE}' is for mode 'continuous': in micro-batches a free core takes "
            f"the next task; got {shown(schedule)}"
        )
    return in_batches


def refuse_costs_of_runs(what: str, **given: object) -> None:
    """InputError where a model, which has its own rates and service times, is given those of an application's run."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name} of {what} goes with a ps.Application; a twin.Model has its own rates and service times; "
                f"got {shown(value)}"
            )


def _check_warm_up(seconds: float, warm_up_s: float) -> None:
    if warm_up_s >= seconds:
        raise InputError(f"warm_up_s is less than seconds, which is {seconds:g}; got {warm_up_s:g}")


def batch_plant(
    model: Model,
    nodes: Nodes,
    plan: Plan | None,
    end_s: float,
    seed: int,
    costs: MicroBatchCosts | None = None,
    fitted: Fit | None = None,
) -> Plant:
    """Micro-batches of a model, or of what was fitted to an application, under a plan."""
    planned = with_plan(model, plan)[0]
    configuration = plan if isinstance(plan, Configuration) else None
    if fitted is None:
        return Plant(planned, nodes, configuration, end_s=end_s, seed=seed, costs=costs)
    replicas = {own.name: own for own in elements_of(planned)}
    elements = tuple(replace(own, is_single=replicas[own.name].is_single) for own in fitted.elements)
    if configuration is None and plan is None:
        configuration = fitted.configuration
    return Plant(
        planned, nodes, configuration, end_s=end_s, seed=seed, costs=costs or fitted.costs, elements=elements
    )  # fmt: skip


def checked_model(model: object, what: str = "twin.simulate") -> Model:
    """The model; InputError for what is none."""
    if isinstance(model, Application):
        raise InputError(
            f"application '{model.name}' does not say what its operators cost; give {what} a twin.Model, "
            "or from_journal= with a run of it, or from_profile="
        )
    if not isinstance(model, Model):
        raise InputError(f"{what} needs a twin.Model or a ps.Application; got {shown(model)}")
    return model


def fitted_application(
    model: object, from_journal: str | Path | None, from_profile: str | Path | None, what: str = "twin.simulate"
) -> Fit:
    """What an application costs, by one of its runs or by a profile."""
    if not isinstance(model, Application) or (from_journal is None and from_profile is None):
        checked_model(model, what)
        raise AssertionError(model)
    if from_journal is not None and from_profile is not None:
        raise InputError(f"{what} takes from_journal or from_profile; got both")
    return fit_of(model, from_journal, from_profile)
