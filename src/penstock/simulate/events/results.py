"""What a simulation gives: throughput, latency, and how operators and nodes fared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from penstock.simulate.events import state as places
from penstock.simulate.events.kernel.compiled import compiled
from penstock.simulate.events.kernel.memory import busy_s_of, clock_of, cores_of, ops_of, table_of, tasks_of
from penstock.simulate.events.machines import Machines
from penstock.simulate.events.model import Model
from penstock.simulate.events.state import State


@dataclass(frozen=True, slots=True)
class Latency:
    """From the arrival of a block at its source to the end of its last operator, by tuples; None: no results."""

    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None


@dataclass(frozen=True, slots=True)
class OperatorResult:
    """`queue_mean`: blocks that wait, on average over time; `waiting_mean_s`: how long a block waits to begin."""

    waiting_mean_s: float | None
    queue_mean: float
    dropped: int
    blocks: int
    tuples_in_s: float
    tuples_out_s: float
    in_operator_mean: float


@dataclass(frozen=True, slots=True)
class NodeResult:
    """`busy_ratio`: the share of its cores' time that was work; seconds of cores."""

    busy_ratio: float
    busy_s: float
    cores: int


@dataclass(frozen=True, slots=True)
class Result:
    """All figures are of the time after the warm-up; `events` and `log` of the whole run.

    `in_system_mean`: blocks that wait, are worked on, travel or stand still, on average over time.  `log`: one row for
    each part that was finished, with `time_s`, `operator`, `partition`, `block`, `node`; None where none was recorded.

    >>> from penstock import twin
    >>> source = twin.Source("s", twin.constant(100))
    >>> model = twin.Model([source], [twin.Operator("a", ("s",), twin.constant(0.001))])
    >>> result = twin.simulate(model, twin.Nodes((twin.Node("n1"),)), seconds=20, warm_up_s=2)
    >>> round(result.throughput_tuples_s)
    100
    """

    throughput_tuples_s: float
    latency: Latency
    by_operator: Mapping[str, OperatorResult]
    in_system_mean: float
    by_node: Mapping[str, NodeResult]
    events: int
    seconds: float
    log: Any = None

    def __eq__(self, other: object) -> bool:
        """Whether all figures are equal, and the logs row by row."""
        if not isinstance(other, Result):
            return NotImplemented
        return self.as_json() == other.as_json() and np.array_equal(self.log, other.log)

    __hash__ = None  # type: ignore[assignment]  # as its mappings

    def as_json(self) -> dict[str, Any]:
        """Plain values, without the log."""
        return {
            "throughput_tuples_s": self.throughput_tuples_s, "latency": asdict(self.latency),
            "in_system_mean": self.in_system_mean, "events": self.events, "seconds": self.seconds,
            "by_operator": {name: asdict(own) for name, own in self.by_operator.items()},
            "by_node": {name: asdict(own) for name, own in self.by_node.items()},
        }  # fmt: skip


def result_of(model: Model, machines: Machines, state: State, log: Any = None) -> Result:
    """Sums as figures, over the time since the statistics were last set back."""
    time_s = float(state.clock[places.NOW] - state.clock[places.WARM])
    table = table_of(state)
    area, wait_area, busy_s = _unfinished(table.ctypes.data)
    areas, waits = state.ops["area"] + area[:-1], state.ops["wait_area"] + wait_area
    in_source = float(state.clock[places.SOURCE_AREA] + area[-1])
    by_operator = {
        operator.name: _operator(state, number, float(areas[number]), float(waits[number]), time_s)
        for number, operator in enumerate(model.operators)
    }
    return Result(
        float(state.clock[places.RESULTS]) / time_s, latency_of(state), by_operator,
        (float(areas.sum()) + in_source) / time_s, _nodes(machines, state.busy_s + busy_s, time_s),
        int(state.control[places.EVENTS]), time_s, log,
    )  # fmt: skip


def set_back(state: State) -> None:
    """Statistics begin anew with this moment."""
    for name in ("tuples_in", "tuples_out", "area", "wait_s", "wait_area", "service_s", "blocks", "started"):
        state.ops[name] = 0
    state.stations["dropped"] = 0
    state.histogram[:] = 0.0
    state.busy_s[:] = 0.0
    for place in (places.SOURCE_AREA, places.LATENCY, places.RESULTS, places.RESULT_BLOCKS):
        state.clock[place] = 0.0
    state.clock[places.WARM] = state.clock[places.NOW]


def latency_of(state: State) -> Latency:
    tuples = float(state.clock[places.RESULTS])
    if tuples <= 0:
        return Latency(None, None, None, None)
    mean_s = float(state.clock[places.LATENCY]) / tuples
    return Latency(mean_s, *(_percentile(state.histogram, share) for share in (0.5, 0.95, 0.99)))


def _percentile(histogram: Any, share: float) -> float:
    """Within a bucket as if its values were spread evenly."""
    reached = np.cumsum(histogram)
    wanted = share * reached[-1]
    bucket = int(np.searchsorted(reached, wanted))
    low = 2.0 ** (places.LEAST_EXPONENT + bucket // 256) * (1 + bucket % 256 / 256)
    width = 2.0 ** (places.LEAST_EXPONENT + bucket // 256) / 256
    before = float(reached[bucket - 1]) if bucket else 0.0
    return float(low + width * (wanted - before) / max(float(histogram[bucket]), 1e-300))


def _operator(state: State, number: int, area: float, wait_area: float, time_s: float) -> OperatorResult:
    own = state.ops[number]
    stations = state.stations[own["station"] : own["station"] + own["replicas"]]
    waiting_s = float(own["wait_s"] / own["started"]) if own["started"] else None
    return OperatorResult(
        waiting_s, wait_area / time_s, int(stations["dropped"].sum()), int(own["blocks"]),
        float(own["tuples_in"]) / time_s, float(own["tuples_out"]) / time_s, area / time_s,
    )  # fmt: skip


def _nodes(machines: Machines, busy_s: Any, time_s: float) -> dict[str, NodeResult]:
    cores = np.zeros(len(machines.names), np.int64)
    for lane in machines.lanes:
        np.add.at(cores, list(lane.nodes), 1)
    return {
        name: NodeResult(float(busy_s[n]) / (int(cores[n]) * time_s), float(busy_s[n]), int(cores[n]))
        for n, name in enumerate(machines.names)
    }


@compiled
def _unfinished(s: int) -> Any:
    """What blocks that are still there have waited and stayed so far, and cores have worked."""
    tasks, cores, clock = tasks_of(s), cores_of(s), clock_of(s)
    now, warm, ops = clock[places.NOW], clock[places.WARM], len(ops_of(s))
    area, wait_area, busy_s = np.zeros(ops + 1), np.zeros(ops), np.zeros(len(busy_s_of(s)))
    for number in range(len(tasks)):
        task = tasks[number]
        if task.op == -2 or task.whole != number:
            continue
        stayed_s = now - max(task.arrived_s, warm)
        area[task.op] += stayed_s  # a source's blocks have -1, the last place
        if task.op >= 0 and not task.began:
            wait_area[task.op] += stayed_s
    for number in range(len(cores)):
        core = cores[number]
        if core.task >= 0:
            busy_s[core.node] += now - max(core.since_s, warm)
    return area, wait_area, busy_s
