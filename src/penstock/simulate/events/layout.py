"""A model on machines, laid out in the arrays of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.errors import InputError
from penstock.plan.nodes import Network
from penstock.simulate.events import state as places
from penstock.simulate.events.draws import Draws, arrival_moments
from penstock.simulate.events.kernel.arriving import first_events
from penstock.simulate.events.kernel.memory import table_of
from penstock.simulate.events.kernel.random_draws import stream_seed
from penstock.simulate.events.machines import Machines
from penstock.simulate.events.model import Model, Operator, Source
from penstock.simulate.events.state import State, link_free

_FIRST_TASKS = 1024
_LOG_ROWS = 65_536
_KINDS = {"constant": places.CONSTANT, "exponential": places.EXPONENTIAL, "poisson": places.EXPONENTIAL,
          "given": places.GIVEN}  # fmt: skip


def new_state(
    model: Model,
    machines: Machines,
    network: Network,
    seed: int,
    *,
    record: bool = False,
    shares: Mapping[str, Sequence[float]] | None = None,
) -> State:
    """A simulation at its beginning; `shares`: of the blocks of an operator, that each of its replicas gets."""
    class_by_operator = _classes(model, machines)
    classes = list(dict.fromkeys(class_by_operator.values()))
    given = _Given()
    cores, lanes, lane_pools, serves = _cores(machines)
    pools, lane_order = _pools(machines, classes)
    ops, stations, queues, station_shares = _operators(model, machines, class_by_operator, seed, given, shares or {})
    sources = _sources(model, seed, given)
    consumers = _consumers(model, ops, sources)
    _order_of_queues(pools, queues)
    changes = _changes(machines)
    reserve = _reserve(model, len(cores))
    tasks = np.zeros(max(_FIRST_TASKS, 2 * reserve), places.TASK)
    link_free(tasks, 0, -1)
    control = np.zeros(places.CONTROLS, np.int64)
    control[places.FREE_COUNT], control[places.RESERVE], control[places.RECORD] = len(tasks), reserve, record
    control[places.ZERO] = any(operator.queue_blocks == 0 for operator in model.operators)
    control[places.LOCKED] = any(operator.locks for operator in model.operators)
    control[places.NEXT_CHANGE] = sum(change["time_s"] <= 0.0 for change in changes)
    clock = np.zeros(places.CLOCKS)
    clock[places.FIFO] = machines.order == "fifo"
    clock[places.NET_LATENCY] = network.latency_s if _has_network(network) else -1.0
    clock[places.NET_S_PER_BYTE] = 0.0 if network.bytes_s is None else 1.0 / network.bytes_s
    state = State(
        tasks, cores, ops, stations, queues, pools, lanes, sources,
        _no_events(len(cores) + len(sources) + len(ops) + 1), np.zeros(len(queues) + 1, np.int32),
        control, clock, _speeds(machines, classes), lane_order, lane_pools, serves, consumers, station_shares,
        given.values(), *given.traces(), changes[control[places.NEXT_CHANGE] :], np.zeros(places.BUCKETS),
        np.zeros(_LOG_ROWS if record else 1, places.LOG), np.zeros(len(machines.names)),
        np.zeros((8 * (len(queues) + len(cores)) + 64, 2), np.int32), np.zeros((len(ops) + len(sources), places.AHEAD)),
        *_locks(model, len(cores), changes),
    )  # fmt: skip
    control[places.NEXT_CHANGE] = 0
    table = table_of(state)
    first_events(table.ctypes.data)
    return state


def _no_events(most: int) -> Any:
    """Room for so many events; places without one are never, with those of four children behind the last."""
    events = np.zeros(most + 4, places.EVENT)
    events["time_s"] = np.inf
    return events


class _Given:
    """Given draws and traces of all sources and operators, one behind the other."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._edges_s: list[Any] = []
        self._counts: list[Any] = []

    def add(self, values: Any) -> int:
        begin = sum(map(len, self._values))
        self._values.append(values)
        return begin

    def add_trace(self, draws: Draws) -> int:
        begin = sum(map(len, self._edges_s))
        self._edges_s.append(draws.edges_s)
        self._counts.append(np.concatenate([[0.0], np.cumsum(draws.values)]))
        return begin

    def values(self) -> Any:
        return np.concatenate([*self._values, np.zeros(1)])

    def traces(self) -> tuple[Any, Any]:
        return np.concatenate([*self._edges_s, np.zeros(1)]), np.concatenate([*self._counts, np.zeros(1)])


def _classes(model: Model, machines: Machines) -> dict[str, str | None]:
    """The class of each operator; its name, where it says none and a node has a speed of that name."""
    named = {name for lane in machines.lanes for name in lane.group.speed_by_class}
    return {
        own.name: own.name if own.operator_class is None and own.name in named else own.operator_class
        for own in model.operators
    }


def _has_network(network: Network) -> bool:
    return network.bytes_s is not None or network.latency_s > 0


def _reserve(model: Model, cores: int) -> int:
    """More tasks than one event can make."""
    readers = max(len(own) for own in model.readers.values())
    parts = max(operator.partitions for operator in model.operators)
    return 64 + 2 * cores + 4 * readers * (1 + parts) * (1 + len(model.operators) + len(model.sources))


def _cores(machines: Machines) -> tuple[Any, Any, Any, Any]:
    cores = np.zeros(sum(len(lane.nodes) for lane in machines.lanes), places.CORE)
    lanes = np.zeros(len(machines.lanes), places.LANE)
    serves = np.zeros((len(lanes), machines.pools), np.bool_)
    pools: list[int] = []
    begin = 0
    for number, lane in enumerate(machines.lanes):
        end = begin + len(lane.nodes)
        own = cores[begin:end]
        own["lane"], own["node"], own["task"] = number, lane.nodes, -1
        own["next"] = np.append(np.arange(begin + 1, end), -1)
        lanes[number] = (lane.timeline[0][1], begin, begin, end - begin, len(pools), len(lane.pools))
        serves[number, list(lane.pools)] = True
        pools += lane.pools
        begin = end
    return cores, lanes, np.array([*pools, -1], np.int32), serves


def _speeds(machines: Machines, classes: Sequence[str | None]) -> Any:
    """Of each class on each lane; of a core that is off, what it has when it comes back."""
    shares = [lane.timeline[0][1] or 1.0 for lane in machines.lanes]
    lanes = list(zip(machines.lanes, shares, strict=True))
    return np.array([[lane.group.speed_of(cls) * share for lane, share in lanes] for cls in classes])


def _pools(machines: Machines, classes: Sequence[str | None]) -> tuple[Any, Any]:
    pools = np.zeros(machines.pools, places.POOL)
    speeds = _speeds(machines, classes)
    orders: list[list[int]] = [[] for _ in classes]
    for number in range(machines.pools):
        own = [lane for lane, body in enumerate(machines.lanes) if number in body.pools]
        nodes = {node for lane in own for node in machines.lanes[lane].nodes}
        pools[number] = (0, 0, len(orders[0]), len(own), nodes.pop() if len(nodes) == 1 else -1)
        for cls in range(len(classes)):
            there = [lane for lane in own if machines.lanes[lane].timeline[0][1] > 0]
            off = [lane for lane in own if lane not in there]
            orders[cls] += [*sorted(there, key=lambda lane, cls=cls: (-speeds[cls, lane], lane)), *off]  # type: ignore[misc]
    return pools, np.array(orders, np.int32)


def _operators(
    model: Model,
    machines: Machines,
    class_by_operator: Mapping[str, str | None],
    seed: int,
    given: _Given,
    shares: Mapping[str, Sequence[float]],
) -> tuple[Any, Any, Any, Any]:
    ops = np.zeros(len(model.operators), places.OPERATOR)
    stations: list[tuple[Any, ...]] = []
    queues: list[tuple[Any, ...]] = []
    station_shares: list[float] = []
    distances, bytes_per_tuple = model.distances, _bytes_per_tuple(model)
    classes = list(dict.fromkeys(class_by_operator.values()))
    by_sink = machines.order == "nearest_to_sink"
    for number, operator in enumerate(model.operators):
        own, pools = ops[number], machines.pools_by_operator[operator.name]
        _fill(own, operator, seed, given)
        own["bytes_per_tuple"] = bytes_per_tuple[operator.name]
        own["cls"] = classes.index(class_by_operator[operator.name])
        own["station"], own["placed"] = len(stations), len(pools) > 1
        own["rank"] = distances[operator.name] if by_sink else 0.0
        own["transit"] = own["transit_last"] = -1
        limit = -1 if operator.queue_blocks is None else operator.queue_blocks
        for _ in range(operator.replicas):
            queues_here = [(0.0, own["rank"], -1, -1, -1, pool, len(stations), number) for pool in pools]
            stations.append((number, len(queues), len(queues_here), limit, 0, 0, -1, -1, 0))
            queues += queues_here
        part = shares.get(operator.name) or [1.0 / operator.replicas] * operator.replicas
        station_shares += list(np.cumsum(part) / sum(part))
    return ops, np.array(stations, places.STATION), np.array(queues, places.QUEUE), np.array(station_shares)


def _fill(own: Any, operator: Operator, seed: int, given: _Given) -> None:
    own["kind"], own["service"] = _KINDS[operator.service.kind], operator.service.value
    if operator.service.kind == "given":
        own["given"], own["given_count"] = given.add(operator.service.values), len(operator.service.values)
    if operator.service.kind == "exponential":
        own["drawn"] = places.AHEAD
    own["merge_s"], own["selectivity"] = operator.merge_s, operator.selectivity
    own["partitions"], own["replicas"], own["serial"] = operator.partitions, operator.replicas, operator.serial
    own["drops"] = operator.when_full == "drop"
    own["random"] = stream_seed(seed, operator.name, "service")
    own["random_selectivity"] = stream_seed(seed, operator.name, "selectivity")
    own["random_replica"] = stream_seed(seed, operator.name, "replica")


def _locks(model: Model, cores: int, changes: Any) -> tuple[Any, Any, Any, Any]:
    """What blocks hold, operator by operator, how far cores are with that, and all locks."""
    names = list(dict.fromkeys(name for operator in model.operators for name in operator.locks))
    hold = [(seconds, names.index(name)) for operator in model.operators for name, seconds in operator.locks.items()]
    counts = [len(operator.locks) for operator in model.operators]
    holds = list(zip(np.cumsum([0, *counts[:-1]]), counts, strict=True))
    if names and len(changes):
        raise InputError(f"locks ({', '.join(names)}) are simulated on nodes without loads and outages")
    return (
        np.array([*hold, (0.0, -1)], places.HOLD), np.array(holds, places.HOLDS),
        np.array([(0, -1)] * cores, places.HOLDING), np.array([(-1, -1, -1)] * (len(names) + 1), places.LOCK),
    )  # fmt: skip


def _bytes_per_tuple(model: Model) -> dict[str, float]:
    """Of what each operator emits: its own, or that of its first input."""
    found = {source.name: float(source.bytes_per_tuple) for source in model.sources}
    by_name = {operator.name: operator for operator in model.operators}
    distances = model.distances
    for name in sorted(by_name, key=lambda name: -distances[name]):
        own = by_name[name].bytes_per_tuple
        found[name] = found[by_name[name].inputs[0]] if own is None else float(own)
    return found


def _sources(model: Model, seed: int, given: _Given) -> Any:
    sources = np.zeros(len(model.sources), places.SOURCE)
    for own, source in zip(sources, model.sources, strict=True):
        own["tuples"], own["bytes_per_tuple"] = source.block_tuples, source.bytes_per_tuple
        own["random"] = stream_seed(seed, source.name, "arrivals")
        own["backlog"] = own["backlog_last"] = -1
        _fill_arrivals(own, source, given)
    return sources


def _fill_arrivals(own: Any, source: Source, given: _Given) -> None:
    arrivals = source.arrivals
    if arrivals.kind == "trace":
        own["kind"] = places.TRACE_RANDOM if arrivals.value else places.TRACE_EVEN
        own["given"], own["given_count"] = given.add_trace(arrivals), len(arrivals.values)
        return
    own["kind"], own["rate"] = _KINDS[arrivals.kind], arrivals.value / source.block_tuples
    if own["kind"] == places.EXPONENTIAL:
        own["drawn"] = places.AHEAD
    if arrivals.kind == "given":
        moments = arrival_moments(arrivals)
        own["given"], own["given_count"] = given.add(moments), len(moments)


def _consumers(model: Model, ops: Any, sources: Any) -> Any:
    readers = model.readers
    numbers = {operator.name: number for number, operator in enumerate(model.operators)}
    found: list[int] = []
    names = [*(source.name for source in model.sources), *numbers]
    for row, name in zip([*sources, *ops], names, strict=True):
        row["first_consumer"], row["consumers"] = len(found), len(readers[name])
        found += [numbers[reader] for reader in readers[name]]
    return np.array([*found, -1], np.int32)


def _order_of_queues(pools: Any, queues: Any) -> None:
    begin = 0
    for number in range(len(pools)):
        pools[number]["begin"] = begin
        begin += int((queues["pool"] == number).sum())


def _changes(machines: Machines) -> Any:
    found = [
        (time_s, share, number, failed)
        for number, lane in enumerate(machines.lanes)
        for time_s, share, failed in lane.timeline[1:]
    ]
    return np.array(sorted(found), places.CHANGE)
