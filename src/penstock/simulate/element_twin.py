"""An element with threads and queues as a model of the event simulator; `ElementPlant` is its fluid limit.

A piece is an operator with a queue (or the source) and what is called from it as functions.  The source's piece has a
thread of its own, all others share the scheduler threads.  A block that goes through a queue is copied into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.control.threads.element_setting import ElementSetting
from penstock.errors import InputError
from penstock.plan.nodes import Node, Nodes
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_throughput import MachineCosts
from penstock.simulate.events.draws import constant
from penstock.simulate.events.model import Model, Operator, Source
from penstock.simulate.events.simulation import run_continuous

_INPUT = "@input"
_PLACES = 16  # of a queue, in blocks
_TOO_FAST = 4.0  # times what a thread could take: the source always has a block


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
    """An element whose operators send every block on, with at most as many threads as there are cores.

    Locks, contention and the search among queues are not simulated: their cost is in `ElementPlant` alone.
    """
    if setting.threads + 1 > cores:
        raise InputError(f"the twin of an element has a core for each thread, {cores} with the source's; "
                         f"got {setting.threads} threads")  # fmt: skip
    if any(share != 1.0 for operator in model.operators for _, share in operator.outputs):
        raise InputError(f"the twin of an element sends every block to all that read it; '{model.name}' deals them out")
    queued = setting.queued if setting.threads else frozenset[str]()
    source = model.operators[0].name
    pieces = [source, *(operator.name for operator in model.operators[1:] if operator.name in queued)]
    inputs: dict[str, list[str]] = {name: [] for name in pieces}
    services = {}
    for name in pieces:
        services[name] = _piece_s(model, name, queued, costs, inputs, name) + (costs.pop_s if name != source else 0.0)
    operators = [
        Operator(
            name, (_INPUT,) if name == source else tuple(inputs[name]), constant(services[name]),
            serial=model.ordered or name == source, queue_blocks=_PLACES,
        )
        for name in pieces
    ]  # fmt: skip
    nodes = [Node("source"), *([Node("threads", cores=setting.threads)] if len(pieces) > 1 else [])]
    pins = {"source": [source], **({"threads": pieces[1:]} if len(pieces) > 1 else {})}
    fast = constant(_TOO_FAST * max(1, setting.threads) / max(min(services.values()), 1e-12))
    own = Model([Source(_INPUT, fast)], operators)
    ends = tuple(operator.name for operator in operators if not own.readers[operator.name])
    return ElementTwin(own, Nodes(tuple(nodes)), {"pinned": pins}, ends, model.block_tuples)


def _piece_s(
    model: ElementModel,
    name: str,
    queued: frozenset[str],
    costs: MachineCosts,
    inputs: dict[str, list[str]],
    piece: str,
) -> float:
    """Seconds of a thread for a block from an operator on, up to the next queues, which learn who feeds them."""
    operator: Any = next(own for own in model.operators if own.name == name)
    total: float = (operator.cpu_s + operator.wait_s) * model.block_tuples + costs.call_s
    for target, _ in operator.outputs:
        if target in queued:
            inputs[target].append(piece)
            total += costs.push_s
        else:
            total += _piece_s(model, target, queued, costs, inputs, piece)
    return total
