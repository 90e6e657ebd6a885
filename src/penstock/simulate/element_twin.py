"""An element with threads and queues as a model of the event simulator; `ElementPlant` is its fluid limit.

A piece is an operator with a queue (or the source) and what is called from it as functions.  The source's piece has a
thread of its own, all others share the scheduler threads.  A block that goes through a queue is copied into it, under
the lock of the queue; a locked operator has one thread at a time, and the others wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from penstock.control.threads.element_setting import ElementSetting
from penstock.errors import InputError
from penstock.plan.nodes import Node, Nodes
from penstock.simulate.element_model import ElementModel, OperatorModel
from penstock.simulate.element_throughput import MachineCosts, QueueCosts, queue_costs
from penstock.simulate.events.draws import constant
from penstock.simulate.events.model import Model, Operator, Source
from penstock.simulate.events.simulation import run_continuous

_INPUT = "@input"
_PLACES = 16  # of a queue, in blocks
_TOO_FAST = 1.5  # times what its thread could take: the source always has a block


@dataclass(frozen=True, slots=True)
class ElementTwin:
    """What the event simulator runs: blocks of `block_tuples` tuples, which the model counts as one each."""

    model: Model
    nodes: Nodes
    schedule: dict[str, dict[str, list[str]]]
    ends: tuple[str, ...]
    block_tuples: int

    def throughput_tuples_s(self, blocks: int = 5_000, seed: int = 1) -> float:
        """Of the source, whose blocks are all worked on; as long as one thread would take for so many."""
        seconds = blocks * sum(operator.service.value for operator in self.model.operators)
        found = run_continuous(self.model, self.nodes, None, self.schedule, seconds, seconds / 5, seed)
        return found.by_operator[self.model.operators[0].name].tuples_out_s * self.block_tuples


def element_twin(model: ElementModel, setting: ElementSetting, costs: MachineCosts, cores: int) -> ElementTwin:
    """An element whose operators send every block on, with at most as many threads as there are cores."""
    if setting.threads + 1 > cores:
        raise InputError(f"the twin of an element has a core for each thread, {cores} with the source's; "
                         f"got {setting.threads} threads")  # fmt: skip
    if any(share != 1.0 for operator in model.operators for _, share in operator.outputs):
        raise InputError(f"the twin of an element sends every block to all that read it; '{model.name}' deals them out")
    queued = setting.queued if setting.threads else frozenset[str]()
    pieces = _pieces(model, queued, costs, queue_costs(costs, setting.threads, len(queued), ordered=model.ordered))
    operators = [
        Operator(
            name, tuple(own.inputs) or (_INPUT,), constant(own.alone_s), serial=model.ordered or not own.inputs,
            queue_blocks=_PLACES, locks=own.locks,
        )
        for name, own in pieces.items()
    ]  # fmt: skip
    names = list(pieces)
    nodes = [Node("source"), *([Node("threads", cores=setting.threads)] if len(names) > 1 else [])]
    pins = {"source": names[:1], **({"threads": names[1:]} if len(names) > 1 else {})}
    fast = constant(_TOO_FAST / max(pieces[names[0]].s, 1e-12))
    own = Model([Source(_INPUT, fast)], operators)
    ends = tuple(operator.name for operator in operators if not own.readers[operator.name])
    return ElementTwin(own, Nodes(tuple(nodes)), {"pinned": pins}, ends, model.block_tuples)


@dataclass(slots=True)
class _Piece:
    """Seconds of a thread for a block, up to the next queues: without a lock, and by lock; the pieces that feed it."""

    alone_s: float = 0.0
    locks: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    inputs: list[str] = field(default_factory=list)

    @property
    def s(self) -> float:
        return self.alone_s + sum(self.locks.values())


def _pieces(
    model: ElementModel, queued: frozenset[str], costs: MachineCosts, at_queue: QueueCosts
) -> dict[str, _Piece]:
    """By the operator that each begins with, that of the source first."""
    by_name = {operator.name: operator for operator in model.operators}
    names = [name for n, name in enumerate(by_name) if n == 0 or name in queued]
    reached = {name: _reached(by_name, name, queued) for name in names}
    pieces = {name: _Piece() for name in names}
    for name, piece in pieces.items():
        if name in queued:
            _at_queue(piece, name, at_queue.pop_s, at_queue.lock_s)
        for number in reached[name]:
            operator = by_name[number]
            entering = _entering(number, reached, names[0], at_queue.takers, ordered=model.ordered)
            _called(piece, operator, model.block_tuples, costs, entering)
            for target, _ in operator.outputs:
                if target in queued:
                    pieces[target].inputs.append(name)
                    _at_queue(piece, target, at_queue.push_s, at_queue.lock_s)
    return pieces


def _reached(by_name: dict[str, OperatorModel], name: str, queued: frozenset[str]) -> list[str]:
    """The operators that are called from one on, each as often as it is called."""
    found = [name]
    for target, _ in by_name[name].outputs:
        if target not in queued:
            found += _reached(by_name, target, queued)
    return found


def _entering(operator: str, reached: dict[str, list[str]], source: str, takers: int, *, ordered: bool) -> int:
    """How many threads may want an operator at once."""
    behind = sum(operator in own for name, own in reached.items() if name != source)
    return int(operator in reached[source]) + (min(behind, takers) if ordered else takers if behind else 0)


def _called(piece: _Piece, operator: OperatorModel, block_tuples: int, costs: MachineCosts, entering: int) -> None:
    own_s = (operator.cpu_s + operator.wait_s) * block_tuples + costs.call_s
    if operator.locked:
        piece.locks[f"operator {operator.name}"] += own_s + costs.lock_s * (1 + costs.handoff * (entering - 1))
    else:
        piece.alone_s += own_s


def _at_queue(piece: _Piece, queue: str, seconds: float, lock_s: float) -> None:
    """Taking from a queue, or copying into it: a part of the time under its lock."""
    piece.alone_s += max(seconds - lock_s, 0.0)
    if lock_s > 0:
        piece.locks[f"queue {queue}"] += lock_s
