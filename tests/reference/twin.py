"""The twin's simulator, slow and obvious: one list of events, one list of waiting parts, searched from end to end.

For given draws, constant nodes and no network.  `logged` gives rows of time, operator, partition, block and node.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from penstock.plan.nodes import Nodes
from penstock.simulate.events.model import Model, Operator

Row = tuple[float, str, int, int, str]


@dataclass(eq=False)
class Block:
    birth_s: float
    number: int
    operator: str | None = None  # None: at its source
    source: str = ""
    arrived_s: float = 0.0
    work_s: float = 0.0
    unstarted: int = 0
    left: int = 0
    began: bool = False
    merging: bool = False
    parked: bool = False
    core: Core | None = None
    next_reader: int = 0


@dataclass(eq=False)
class Core:
    number: int
    node: str
    speed: float
    operators: frozenset[str]
    free: bool = True
    freed: int = 0  # the one that became free last is taken first


@dataclass
class Plain:
    """`pins`: operators by node; nodes without any run all."""

    model: Model
    nodes: Nodes
    arrivals: dict[str, list[float]]
    services: dict[str, list[float]]
    pins: dict[str, list[str]] = field(default_factory=dict)

    def logged(self, until_s: float) -> list[Row]:
        self._prepare()
        while self.events and self.events[0][0] <= until_s:
            now, _, _, what = heapq.heappop(self.events)
            if isinstance(what, tuple):
                self._end_of_part(now, *what)
            else:
                self._deliver(now, what)
        return self.rows

    def _prepare(self) -> None:
        self.rows: list[Row] = []
        self.dropped = dict.fromkeys((o.name for o in self.model.operators), 0)
        self.operators = {o.name: o for o in self.model.operators}
        self.places = {o.name: n for n, o in enumerate(self.model.operators)}
        self.drawn = dict.fromkeys(self.operators, 0)
        self.waiting: list[Block] = []
        self.blocked: dict[str, list[Block]] = {name: [] for name in self.operators}
        self.backlog: dict[str, list[Block]] = {source.name: [] for source in self.model.sources}
        self.stuck = dict.fromkeys(self.backlog, False)
        self.parked = dict.fromkeys(self.operators, 0)
        self.running = dict.fromkeys(self.operators, 0)
        self.events: list[tuple[float, int, int, object]] = []
        self.cores = self._cores()
        self.clock = 0
        moments = [(t, n, s.name) for n, s in enumerate(self.model.sources) for t in self.arrivals[s.name]]
        for number, (moment, place, source) in enumerate(sorted(moments)):
            self._push(moment, len(self.cores) + place, Block(moment, number, source=source, arrived_s=moment))

    def _cores(self) -> list[Core]:
        pinned = {name for own in self.pins.values() for name in own}
        cores: list[Core] = []
        for group in self.nodes.groups:
            for node in group.names:
                own = self.pins.get(node)
                runs = frozenset(own) if own is not None else frozenset(self.operators) - pinned
                cores += [Core(0, node, group.speed, runs) for _ in range(group.cores)]
        for number, core in enumerate(cores):
            core.number, core.freed = number, -number
        return cores

    def _push(self, moment: float, rank: int, what: object) -> None:
        self.clock += 1
        heapq.heappush(self.events, (moment, rank, self.clock, what))

    # Blocks

    def _readers(self, block: Block) -> tuple[str, ...]:
        return self.model.readers[block.operator or block.source]

    def _deliver(self, now: float, block: Block, granted: str | None = None) -> None:
        if block.operator is None and self.stuck[block.source] and granted is None:
            self.backlog[block.source].append(block)
            return
        readers = self._readers(block)
        arrived = []
        while block.next_reader < len(readers):
            reader = self.operators[readers[block.next_reader]]
            if granted is None and not self._has_room(reader, block):
                if reader.when_full == "drop":
                    self.dropped[reader.name] += 1
                    block.next_reader += 1
                    continue
                self.blocked[reader.name].append(block)
                self._stand_still(now, block, reader)
                break
            granted = None
            block.next_reader += 1
            new = Block(block.birth_s, block.number, reader.name, arrived_s=now)
            new.unstarted = new.left = reader.partitions
            arrived.append(new)
        gone = block.next_reader == len(readers)
        for new in arrived:
            self.waiting.append(new)
            self._start_all(now)
        if gone:
            self._has_gone(now, block)
        self._start_all(now)

    def _has_room(self, reader: Operator, block: Block) -> bool:
        if reader.queue_blocks is None:
            return True
        if self.blocked[reader.name]:
            return False
        return self._count(reader.name) < reader.queue_blocks

    def _count(self, name: str) -> int:
        return sum(1 for own in self.waiting if own.operator == name and not own.began)

    def _stand_still(self, now: float, block: Block, reader: Operator) -> None:
        if block.operator is None:
            self.stuck[block.source] = True
        elif block.core is not None and reader.name in block.core.operators:
            core, block.core, block.parked = block.core, None, True
            self.parked[block.operator] += 1
            self._release(now, core)

    def _release(self, now: float, core: Core) -> None:
        """A core takes the oldest part that it may run, or is free."""
        self.clock += 1
        core.free, core.freed = True, self.clock
        found = [entry for entry in self._startable() if entry[-1].operator in core.operators]
        if found:
            self._start(now, min(found)[-1], core)

    def _has_gone(self, now: float, block: Block) -> None:
        if block.operator is None:
            if self.stuck[block.source]:
                self.stuck[block.source] = False
                if self.backlog[block.source]:
                    following = self.backlog[block.source].pop(0)
                    self._deliver(now, following)
                    if following.next_reader < len(self._readers(following)):
                        self.stuck[block.source] = True
                    elif self.backlog[block.source]:
                        self.stuck[block.source] = True
                        self._has_gone(now, following)
            return
        self.running[block.operator] -= 1
        if block.parked:
            self.parked[block.operator] -= 1
        if block.core is not None:
            self._release(now, block.core)

    # Cores

    def _start_all(self, now: float) -> None:
        """The oldest part that may start goes to the fastest free core that it may run on, again and again."""
        while True:
            found = [entry for entry in self._startable() if self._core_for(entry[-1]) is not None]
            if not found:
                return
            block = min(found)[-1]
            self._start(now, block, self._core_for(block))

    def _startable(self) -> list[tuple[float, int, bool, int, Block]]:
        return [
            (block.birth_s, self.places[str(block.operator)], not block.began, n, block)
            for n, block in enumerate(self.waiting)
            if self._may_start(block)
        ]

    def _may_start(self, block: Block) -> bool:
        operator = self.operators[str(block.operator)]
        if block.began:
            return True
        return self.parked[operator.name] == 0 and not (operator.serial and self.running[operator.name])

    def _core_for(self, block: Block) -> Core | None:
        free = [core for core in self.cores if core.free and block.operator in core.operators]
        return max(free, key=lambda core: (core.speed, core.freed), default=None)

    def _start(self, now: float, block: Block, core: Core | None) -> None:
        operator = self.operators[str(block.operator)]
        assert core is not None
        first = not block.began
        if first:
            block.began = True
            self.running[operator.name] += 1
            services = self.services[operator.name]
            block.work_s = services[self.drawn[operator.name] % len(services)] / operator.partitions
            self.drawn[operator.name] += 1
        part = operator.partitions - block.unstarted
        block.unstarted -= 1
        if block.unstarted == 0:
            self.waiting.remove(block)
        core.free = False
        self._push(now + block.work_s / core.speed, core.number, (block, core, part))
        while first and self.blocked[operator.name] and self._count(operator.name) < (operator.queue_blocks or 0):
            self._deliver(now, self.blocked[operator.name].pop(0), granted=operator.name)

    def _end_of_part(self, now: float, block: Block, core: Core, part: int) -> None:
        operator = self.operators[str(block.operator)]
        if not block.merging:
            block.left -= 1
            if block.left == 0 and operator.merge_s > 0:
                block.merging = True
                self._push(now + operator.merge_s * operator.partitions / core.speed, core.number, (block, core, part))
                return
        self.rows.append((now, operator.name, part, block.number, core.node))
        if block.left > 0:
            self._release(now, core)
            self._start_all(now)
            return
        block.core = core
        self._deliver(now, block)
