"""A model on nodes in continuous mode, for so many seconds of simulated time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.errors import InputError, did_you_mean
from penstock.plan.configuration import Configuration
from penstock.plan.nodes import Nodes
from penstock.simulate.events import state as places
from penstock.simulate.events.kernel.line import advance_line
from penstock.simulate.events.kernel.loop import advance
from penstock.simulate.events.kernel.memory import table_of
from penstock.simulate.events.layout import new_state
from penstock.simulate.events.lines import Line, line_of
from penstock.simulate.events.machines import Machines, Schedule, machines_of
from penstock.simulate.events.model import Model
from penstock.simulate.events.results import Result, result_of, set_back
from penstock.simulate.events.state import State, with_more_tasks

Plan = Configuration | Mapping[str, int]


def run_continuous(
    model: Model,
    nodes: Nodes,
    plan: Plan | None,
    schedule: Schedule,
    seconds: float,
    warm_up_s: float,
    seed: int,
    *,
    record: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """A model whose blocks go from operator to operator as soon as each is done."""
    planned, shares = with_plan(model, plan)
    own = machines_of(planned, nodes, schedule)
    state = new_state(planned, own, nodes.network, seed, record=record, shares=shares)
    return run(planned, own, state, seconds, warm_up_s, progress)


def with_plan(model: Model, plan: Plan | None) -> tuple[Model, dict[str, list[float]]]:
    """The model with other partitions or replicas, and the share of slots that each replica has."""
    if plan is None:
        return model, {}
    names = [operator.name for operator in model.operators]
    if isinstance(plan, Configuration):
        own = {element.name: element for element in plan.elements}
        _check_names(own, names)
        operators = tuple(replace(o, replicas=own[o.name].replicas) if o.name in own else o for o in model.operators)
        shares = {
            name: np.bincount(element.route, minlength=element.replicas).astype(float).tolist()
            for name, element in own.items()
            if element.route
        }
        return Model(model.sources, operators), shares
    _check_names(plan, names)
    return Model(
        model.sources, tuple(replace(o, partitions=plan.get(o.name, o.partitions)) for o in model.operators)
    ), {}


def _check_names(named: Mapping[str, Any], names: list[str]) -> None:
    for name in named:
        if name not in names:
            hint = did_you_mean(name, names)
            raise InputError(f"plan names operator '{name}', which there is not" + (f"; {hint}" if hint else ""))


def run(
    model: Model,
    machines: Machines,
    state: State,
    seconds: float,
    warm_up_s: float,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """A laid-out simulation from its beginning to its end."""
    rows: list[Any] = []
    line = line_of(state)
    steps = np.linspace(0.0, seconds, 101)[1:-1].tolist() if progress is not None else []
    for moment in sorted({warm_up_s, *steps, seconds}):
        if moment > 0:
            state = run_until(state, moment, rows, line)
        if moment == warm_up_s:
            set_back(state)
        if progress is not None:
            progress(moment)
    log = log_of(model, machines, state, rows) if state.control[places.RECORD] else None
    return result_of(model, machines, state, log)


def run_until(state: State, moment: float, rows: list[Any], line: Line | None = None) -> State:
    """Runs on to a moment, with more tasks and log rows whenever they are used up; a line of stations far quicker."""
    table = table_of(state)
    while True:
        if line is None:
            ended = advance(table.ctypes.data, moment)
        else:
            ended = advance_line(table.ctypes.data, moment, line.stations, line.speeds)
        if ended == places.REACHED:
            return state
        if ended == places.TASKS_FULL:
            state = with_more_tasks(state)
            table = table_of(state)
        else:
            rows.append(state.log[: state.control[places.LOGGED]].copy())
            state.control[places.LOGGED] = 0


class Log(np.recarray[Any, Any]):
    """Rows with names; arrays have a method `partition`, in whose place the column is."""

    @property
    def partition(self) -> Any:
        return self["partition"]


def log_of(model: Model, machines: Machines, state: State, rows: list[Any]) -> Any:
    """All rows as one array of records with names in place of numbers."""
    found = np.concatenate([*rows, state.log[: state.control[places.LOGGED]]])
    operators, nodes = np.array([operator.name for operator in model.operators]), np.array(machines.names)
    return log_rows(found["time_s"], operators[found["op"]], found["partition"], found["block"], nodes[found["node"]])


def log_rows(times_s: Any, operators: Any, partitions: Any, blocks: Any, nodes: Any) -> Any:
    """Columns as one array of records."""
    columns = [times_s, operators, partitions, blocks, nodes]
    names = ("time_s", "operator", "partition", "block", "node")
    rows_with_names = np.empty(len(times_s), [(name, own.dtype) for name, own in zip(names, columns, strict=True)])
    for name, own in zip(names, columns, strict=True):
        rows_with_names[name] = own
    return rows_with_names.view(np.dtype((np.record, rows_with_names.dtype))).view(Log)
