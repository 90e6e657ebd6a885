"""A Model: sources and operators of a stream-processing graph, with what they cost, as frozen values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.arguments import FLAG, TEXT, Rule, check_arguments, is_number, kind, many, number, or_none, whole
from penstock.errors import ApplicationError, Problem, did_you_mean
from penstock.simulate.events.draws import Draws

_ARRIVALS = Rule(
    "twin.poisson(...), twin.constant(...), twin.given(...) or twin.trace(...)",
    lambda value: (
        isinstance(value, Draws) and value.kind != "exponential" and not (value.kind == "constant" and value.value == 0)
    ),
)
_SERVICE = Rule(
    "twin.exponential(...), twin.constant(...) or twin.given(...)",
    lambda value: isinstance(value, Draws) and value.kind in ("exponential", "constant", "given"),
)
_INPUTS = Rule(
    "a name or a tuple of names",
    lambda value: (
        isinstance(value, str)
        or (isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(name, str) for name in value))
    ),
)
_WHEN_FULL = Rule("'block' or 'drop'", lambda value: value in ("block", "drop") if isinstance(value, str) else False)
MOST_PARTITIONS, _MOST = 1_000_000, 1_000_000_000
_LOCKS = Rule(
    "a table of seconds, at least 0, by the name of a lock",
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(key, str) and is_number(seconds) and seconds >= 0 for key, seconds in value.items())
    ),
)
_NAME = Rule("text", lambda value: isinstance(value, str) and bool(value))


@dataclass(frozen=True, slots=True)
class Source:
    """Blocks of `block_tuples` tuples come in at the rate of `arrivals`.

    >>> from penstock import twin
    >>> twin.Source("s", arrivals=twin.poisson(900)).block_tuples
    1
    """

    name: str
    arrivals: Draws
    block_tuples: int = 1
    bytes_per_tuple: float = 100.0

    def __post_init__(self) -> None:
        check_arguments(
            "twin.Source", name=(self.name, _NAME), arrivals=(self.arrivals, _ARRIVALS),
            block_tuples=(self.block_tuples, whole(1, _MOST)), bytes_per_tuple=(self.bytes_per_tuple, number(least=0)),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator; each block of each input is work of its own, and its results go to all who read it.

    `service`: seconds per tuple on a core of speed 1.  `partitions`: a block's work is split into so many equal parts
    that run in parallel; it is done when all are, plus `merge_s` x partitions.  Different blocks run at once on as many
    cores as are free; `serial`: one at a time.  `replicas`: copies by key with queues of their own.  `queue_blocks`: so
    many blocks may wait; further ones wait where they are (`when_full="block"`) or are lost ("drop").
    `operator_class`: which of a node's `speed_by_class` holds; else that of the operator's name, where there is one.
    `locks`: after its service a block holds each of these locks, one after the other, for so many seconds of a core of
    speed 1.  A lock has one holder; the cores of the others wait in the order of coming, and do nothing else.

    >>> from penstock import twin
    >>> twin.Operator("a", inputs=("s",), service=twin.exponential(1e-3), partitions=4).partitions
    4
    """

    name: str
    inputs: Sequence[str]
    service: Draws
    partitions: int = 1
    selectivity: float = 1.0
    replicas: int = 1
    serial: bool = False
    queue_blocks: int | None = None
    when_full: str = "block"
    merge_s: float = 0.0
    operator_class: str | None = None
    bytes_per_tuple: float | None = None
    locks: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_arguments(
            "twin.Operator", name=(self.name, _NAME), inputs=(self.inputs, _INPUTS), service=(self.service, _SERVICE),
            partitions=(self.partitions, whole(1, MOST_PARTITIONS)), selectivity=(self.selectivity, number(least=0)),
            replicas=(self.replicas, whole(1, MOST_PARTITIONS)), serial=(self.serial, FLAG),
            queue_blocks=(self.queue_blocks, or_none(whole(0, _MOST))), when_full=(self.when_full, _WHEN_FULL),
            merge_s=(self.merge_s, number(least=0)), operator_class=(self.operator_class, or_none(TEXT)),
            bytes_per_tuple=(self.bytes_per_tuple, or_none(number(least=0))), locks=(self.locks, _LOCKS),
        )  # fmt: skip
        inputs = (self.inputs,) if isinstance(self.inputs, str) else tuple(self.inputs)
        object.__setattr__(self, "inputs", inputs)


@dataclass(frozen=True, slots=True)
class Model:
    """Sources and operators; all mistakes are reported at once.

    >>> from penstock import twin
    >>> source = twin.Source("s", arrivals=twin.poisson(900))
    >>> model = twin.Model(sources=[source], operators=[twin.Operator("a", ("s",), twin.exponential(1e-3))])
    >>> [operator.name for operator in model.operators]
    ['a']
    """

    sources: Sequence[Source]
    operators: Sequence[Operator]

    def __post_init__(self) -> None:
        check_arguments(
            "twin.Model", sources=(self.sources, many("a list of twin.Source", kind("", Source))),
            operators=(self.operators, many("a list of twin.Operator", kind("", Operator))),
        )  # fmt: skip
        object.__setattr__(self, "sources", tuple(self.sources))
        object.__setattr__(self, "operators", tuple(self.operators))
        problems = list(self._problems())
        if problems:
            raise ApplicationError(problems)

    def _problems(self) -> Iterator[Problem]:
        names = [*(source.name for source in self.sources), *(operator.name for operator in self.operators)]
        if not self.sources or not self.operators:
            yield Problem("a model", "has at least one source and one operator")
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield Problem("a model", f"has each name once; '{name}' comes twice")
        for operator in self.operators:
            for name in operator.inputs:
                if name not in names:
                    yield Problem(
                        f"operator '{operator.name}'",
                        f"reads '{name}', which there is not; there are: {', '.join(names)}",
                        did_you_mean(name, names),
                    )
        if cycle := _cycle(self.operators):
            yield Problem("a model", f"has no cycles; got {' -> '.join(cycle)}")

    @property
    def distances(self) -> dict[str, int]:
        """How many operators a block passes after each one, at most."""
        readers = self.readers
        found: dict[str, int] = {}
        for name in reversed(in_order(self.operators)):
            found[name] = max((1 + found[reader] for reader in readers[name]), default=0)
        return found

    @property
    def readers(self) -> dict[str, tuple[str, ...]]:
        """Who reads each source and operator, in the order of the model."""
        names = [*(source.name for source in self.sources), *(operator.name for operator in self.operators)]
        found: dict[str, list[str]] = {name: [] for name in names}
        for operator in self.operators:
            for own in operator.inputs:
                found[own].append(operator.name)
        return {name: tuple(own) for name, own in found.items()}

    @property
    def rate_by_operator(self) -> dict[str, float]:
        """Tuples per second that come to each operator, if it keeps up; of a trace its mean."""
        rates = {source.name: mean_rate(source.arrivals, source.block_tuples) for source in self.sources}
        by_name = {operator.name: operator for operator in self.operators}
        come: dict[str, float] = {}
        for name in in_order(self.operators):
            come[name] = sum(rates[own] for own in by_name[name].inputs)
            rates[name] = come[name] * by_name[name].selectivity
        return come


def mean_rate(arrivals: Draws, block_tuples: int) -> float:
    """Tuples per second."""
    if arrivals.kind in ("poisson", "constant"):
        return arrivals.value
    if arrivals.kind == "trace":
        return float(arrivals.values.sum() / (arrivals.edges_s[-1] - arrivals.edges_s[0]))
    from penstock.simulate.events.draws import arrival_moments

    moments = arrival_moments(arrivals)
    return len(moments) * block_tuples / max(float(moments[-1]), 1e-9)


def mean_service_s(service: Draws) -> float:
    return float(service.values.mean()) if service.kind == "given" else service.value


def in_order(operators: Sequence[Operator]) -> list[str]:
    """Operators after all that they read; fewer of them where there is a cycle."""
    names = {operator.name for operator in operators}
    waits = {operator.name: {own for own in operator.inputs if own in names} for operator in operators}
    done: list[str] = []
    while ready := [name for name, own in waits.items() if not own]:
        done += ready
        gone = set(ready)
        waits = {name: own - gone for name, own in waits.items() if name not in gone}
    return done


def _cycle(operators: Sequence[Operator]) -> list[str]:
    """Some operators of which each reads the one before, and the first the last."""
    done = set(in_order(operators))
    left = {operator.name: operator for operator in operators if operator.name not in done}
    if not left:
        return []
    path = [next(iter(left))]
    while True:
        before = next(name for name in left[path[-1]].inputs if name in left)
        if before in path:
            return [before, *reversed(path[path.index(before) :])]
        path.append(before)
