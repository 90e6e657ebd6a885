"""An ElementModel as operators that really work: loads, dealing out of blocks, and a sink that counts under a lock."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence

import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.block import Block, empty_block
from penstock.block.position import Frontier
from penstock.errors import InputError
from penstock.kernels.flops import burn
from penstock.operators.protocol import Stateless
from penstock.simulate.element_model import ElementModel, OperatorModel
from penstock.simulate.element_shapes import FLOP_S

SCHEMA = pa.schema([("x", pa.float64())])
_DEALER = "dealt"  # deals out the blocks of a source that has several readers, on the feeding thread


class Work(Stateless):
    """An operator of a model at work: computes and waits, then gives its block to one reader, or to all."""

    def __init__(self, model: OperatorModel, ports: int) -> None:
        self.flop = round(model.cpu_s / FLOP_S)
        self.wait_s = model.wait_s
        self.ports, self._turns = ports, itertools.count()
        self._none = empty_block(SCHEMA)
        self._lock = threading.Lock() if model.locked else None
        self.tuples = 0  # counted under the lock where there is one
        self.sum = 0.0

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block = next(block for block in inputs if block.rows)
        if self._lock is None:
            self._work(block.rows)
        else:
            with self._lock:
                self._work(block.rows)
                self.tuples += block.rows
        if self.ports == 1:
            return (block,)
        chosen = next(self._turns) % self.ports
        return tuple([block if port == chosen else self._none for port in range(self.ports)])

    def _work(self, rows: int) -> None:
        if self.flop:
            self.sum += burn(rows, self.flop)
        if self.wait_s:
            time.sleep(self.wait_s * rows)


def graph_of(model: ElementModel) -> tuple[Graph, dict[str, Work]]:
    """The graph of a model, and the operators at work by name."""
    read: dict[str, list[str]] = {operator.name: [] for operator in model.operators}
    operators: list[ops.Operator] = []
    works: dict[str, Work] = {}
    for each in model.operators:
        targets = [name for name, _ in each.outputs]
        deals = len(targets) > 1 and each.outputs[0][1] < 1
        work = Work(each, len(targets) if deals else 1)
        if each is model.operators[0]:
            operators.append(ops.Source(each.name, (), SCHEMA))
            if deals:
                operators.append(_split(_DEALER, (each.name,), len(targets)))
                works[_DEALER] = work
        else:
            operators.append(_operator(each, tuple(read[each.name]), len(targets) if deals else 1))
            works[each.name] = work
        for port, target in enumerate(targets):
            read[target].append(f"{operators[-1].name}.{port}" if deals else each.name)
    return Graph(model.name, tuple(operators)), works


def _operator(model: OperatorModel, inputs: tuple[str, ...], ports: int) -> ops.Operator:
    if ports > 1 and len(inputs) > 1:
        raise InputError(f"operator '{model.name}' of a model either merges or deals out; got one that does both")
    if ports > 1:
        return _split(model.name, inputs, ports)
    if len(inputs) > 1:
        return ops.Union(model.name, inputs, SCHEMA)
    return ops.Load(model.name, inputs, SCHEMA)


def _split(name: str, inputs: tuple[str, ...], ports: int) -> ops.Split:
    return ops.Split(name, inputs, SCHEMA, tuple(ops.Branch(str(port), None) for port in range(ports)))
