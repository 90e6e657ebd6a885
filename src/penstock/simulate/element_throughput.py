"""How many blocks a second an element can do at a setting: every limit on it, and the lowest of them.

Operators that are reached without a queue in between are one piece, done by one thread as function calls. The source's
piece has the source's own thread, all others share the scheduler threads. Each limit is a station: `threads` that each
spend `cpu_s / speed + wait_s` on a block, where `speed` is the share of a core that a busy thread gets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from penstock.simulate.element_model import ElementModel, Integers, Numbers

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MachineCosts:
    """What a machine adds to the operators' own work. Times are seconds per block.

    `contention` is the part by which every further thread makes taking from a queue dearer, `handoff` the same for a
    lock that is held; `switching` is the work lost when twice as many threads are busy as there are cores.
    """

    call_s: float = 5e-7
    push_s: float = 2e-6
    pop_s: float = 3e-6
    scan_s: float = 5e-9
    lock_s: float = 3e-7
    contention: float = 0.01
    handoff: float = 0.15
    switching: float = 0.3


DEFAULT_COSTS = MachineCosts()


@dataclass(frozen=True, slots=True)
class QueueCosts:
    """What threads pay at a queue: taking from it and copying into it, and how long they hold its lock (s)."""

    pop_s: float
    push_s: float
    lock_s: float
    takers: int


def queue_costs(costs: MachineCosts, threads: int, queues: int, *, ordered: bool) -> QueueCosts:
    """With so many threads and queues: further threads make queues dearer, and hand locks over more slowly."""
    takers = min(threads, queues) if ordered else (threads if queues else 0)
    crowded = 1 + costs.contention * max(0, takers - 1)
    at_queue = min(takers, 1) if ordered else takers
    return QueueCosts(
        costs.pop_s * crowded + costs.scan_s * queues, costs.push_s * crowded,
        costs.lock_s * (1 + costs.handoff * at_queue), takers,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stations:
    """Every limit on an element at one setting, and the processor seconds that one block takes in all."""

    cpu_s: Numbers
    wait_s: Numbers
    threads: Numbers
    total_cpu_s: float

    def blocks_s(self, speed: float) -> float:
        """What the tightest limit lets through."""
        return float(_lowest(self.cpu_s, self.wait_s, self.threads, speed))

    def busy_threads(self, speed: float) -> float:
        """Threads that want a core at any moment."""
        return self.blocks_s(speed) * self.total_cpu_s / speed


def stations(model: ElementModel, costs: MachineCosts, threads: int, queued: Flags) -> Stations:
    """The limits of an element with so many scheduler threads and these queues."""
    a = model.arrays
    at_queue = queue_costs(costs, threads, int(queued.sum()), ordered=model.ordered)
    rates = (
        costs.call_s, at_queue.push_s, at_queue.pop_s, at_queue.lock_s, costs.lock_s, costs.handoff,
        float(at_queue.takers),
    )  # fmt: skip
    cpu_s, wait_s, width, total_s = _stations(
        a.cpu_s, a.wait_s, a.visits, a.locked, a.edge_begin, a.edge_target, a.edge_share,
        queued, threads, model.ordered, rates,
    )  # fmt: skip
    return Stations(cpu_s, wait_s, width, total_s)


def shared_speed(elements: list[Stations], cores: float, external: float, switching: float) -> float:
    """The share of a core that a busy thread gets where these elements and `external` other threads share the cores."""
    speed = 1.0
    for _ in range(200):
        busy = external + sum(element.busy_threads(speed) for element in elements)
        excess = max(0.0, busy / cores - 1.0)
        found = 1.0 / (1.0 + excess) / (1.0 + switching * excess)
        if abs(found - speed) < 1e-9:
            break
        speed = found
    return speed


@njit(cache=True, nogil=True)
def _lowest(cpu_s: Numbers, wait_s: Numbers, threads: Numbers, speed: float) -> float:
    lowest = np.inf
    for number in range(len(cpu_s)):
        spent_s = cpu_s[number] / speed + wait_s[number]
        if spent_s > 0:
            lowest = min(lowest, threads[number] / spent_s)
    return lowest


@njit(cache=True, nogil=True)
def _stations(
    cpu_s: Numbers,
    wait_s: Numbers,
    visits: Numbers,
    locked: Flags,
    begin: Integers,
    target: Integers,
    share: Numbers,
    queued: Flags,
    threads: int,
    ordered: bool,
    rates: tuple[float, ...],
) -> tuple[Numbers, Numbers, Numbers, float]:
    call_s, push_s, pop_s, queue_lock_s, lock_s, handoff, takers = rates
    operators = len(cpu_s)
    piece_cpu_s, piece_wait_s = _downstream(cpu_s + call_s, wait_s, begin, target, share, queued, push_s)
    most = 3 * operators + 2
    station_cpu_s, station_wait_s, width = np.zeros(most), np.zeros(most), np.ones(most)
    station_cpu_s[0], station_wait_s[0] = piece_cpu_s[0], piece_wait_s[0]
    pool, used = 1, 2
    width[pool] = max(threads, 1e-9)
    for number in range(1, operators):
        if queued[number]:
            one_cpu_s = visits[number] * (piece_cpu_s[number] + pop_s)
            one_wait_s = visits[number] * piece_wait_s[number]
            station_cpu_s[pool] += one_cpu_s
            station_wait_s[pool] += one_wait_s
            if ordered:
                station_cpu_s[used], station_wait_s[used] = one_cpu_s, one_wait_s
                used += 1
            station_cpu_s[used] = visits[number] * 2 * queue_lock_s
            used += 1
        if locked[number]:
            by_source, by_queue = _pieces_reaching(number, begin, target, queued)
            entering = by_source + (min(by_queue, takers) if ordered else takers if by_queue else 0)
            held_s = cpu_s[number] + call_s + lock_s * (1 + handoff * (entering - 1))
            station_cpu_s[used], station_wait_s[used] = visits[number] * held_s, visits[number] * wait_s[number]
            used += 1
    total_s = station_cpu_s[0] + station_cpu_s[pool]
    return station_cpu_s[:used], station_wait_s[:used], width[:used], total_s


@njit(cache=True, nogil=True)
def _downstream(
    cpu_s: Numbers,
    wait_s: Numbers,
    begin: Integers,
    target: Integers,
    share: Numbers,
    queued: Flags,
    push_s: float,
) -> tuple[Numbers, Numbers]:
    """Seconds of one thread for a block from an operator on, up to the next queues."""
    down_cpu_s, down_wait_s = cpu_s.copy(), wait_s.copy()
    for number in range(len(cpu_s) - 1, -1, -1):
        for edge in range(begin[number], begin[number + 1]):
            to = target[edge]
            if queued[to]:
                down_cpu_s[number] += share[edge] * push_s
            else:
                down_cpu_s[number] += share[edge] * down_cpu_s[to]
                down_wait_s[number] += share[edge] * down_wait_s[to]
    return down_cpu_s, down_wait_s


@njit(cache=True, nogil=True)
def _pieces_reaching(operator: int, begin: Integers, target: Integers, queued: Flags) -> tuple[int, int]:
    """Whether the source's piece has this operator in it, and how many pieces behind a queue have."""
    if queued[operator]:
        return 0, 1
    reaches = np.zeros(len(queued), np.bool_)
    reaches[operator] = True
    pieces = 0
    for number in range(operator - 1, -1, -1):
        for edge in range(begin[number], begin[number + 1]):
            if reaches[target[edge]] and not queued[target[edge]]:
                reaches[number] = True
        if reaches[number] and queued[number]:
            pieces += 1
    return int(reaches[0]), pieces
