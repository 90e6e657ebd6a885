"""Machines as values: nodes of different speed, what else runs on them, when they fail, the network between them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.arguments import FLAG, PATH, Rule, check_arguments, is_number, kind, many, number, or_none, shown, whole
from penstock.errors import InputError, did_you_mean

_SPEEDS = Rule(
    "a table of numbers above 0 by operator class",
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(key, str) and is_number(speed) and speed > 0 for key, speed in value.items())
    ),
)
_MOST = 1_000_000
_NAME = Rule("text", lambda value: isinstance(value, str) and bool(value))


@dataclass(frozen=True, slots=True)
class Load:
    """Other programs use so many cores of each node of a group for a while.

    >>> Load(from_s=10.0, to_s=20.0, cores=0.5).cores
    0.5
    """

    from_s: float
    to_s: float
    cores: float


@dataclass(frozen=True, slots=True)
class Outage:
    """The nodes of a group are down for a while; blocks that ran there start again elsewhere, or here afterwards.

    >>> Outage(from_s=10.0, to_s=20.0).to_s
    20.0
    """

    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True)
class Network:
    """What a block needs to get to another node: `latency_s` + its bytes / `bytes_s`; None: bytes take no time.

    >>> Network(bytes_s=1e9, latency_s=0.001).latency_s
    0.001
    """

    bytes_s: float | None = None
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        _raise(_problems("[network]", _NETWORK, {"bytes_s": self.bytes_s, "latency_s": self.latency_s}))


@dataclass(frozen=True, slots=True)
class Node:
    """`count` equal nodes; an operator of class k runs `speed_by_class[k]` times as fast as at speed 1, else `speed`.

    The nodes of a group of several are called NAME-1, NAME-2, ...  `gives_speed` is False where a file says nothing of
    the speed: the twin takes 1 then, and costs take what was measured on a node of that name.
    """

    name: str
    count: int = 1
    cores: int = 1
    speed: float = 1.0
    speed_by_class: Mapping[str, float] = field(default_factory=dict)
    memory_mb: float | None = None
    price_core_hour: float | None = None
    loads: tuple[Load, ...] = ()
    outages: tuple[Outage, ...] = ()
    gives_speed: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        rules = {**_NODE, "gives_speed": FLAG}
        body = {name: getattr(self, name) for name in rules}
        where = f"node {shown(self.name)}"
        _raise([*_problems(where, rules, body), *_interval_problems(where, self.cores, self.loads, self.outages)])

    def speed_of(self, operator_class: str | None) -> float:
        """How fast its cores run operators of a class."""
        return self.speed if operator_class is None else self.speed_by_class.get(operator_class, self.speed)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each of its nodes."""
        return (self.name,) if self.count == 1 else tuple(f"{self.name}-{i + 1}" for i in range(self.count))


@dataclass(frozen=True, slots=True)
class Nodes:
    """All groups of nodes, and the network between them.

    >>> machines = Nodes((Node("big", count=2, cores=4, speed=2.4), Node("small")))
    >>> machines.cores, machines.names
    (9, ('big-1', 'big-2', 'small'))
    """

    groups: tuple[Node, ...]
    network: Network = field(default_factory=Network)

    def __post_init__(self) -> None:
        check_arguments(
            "nodes", groups=(self.groups, many("a tuple of nodes", kind("a node", Node))),
            network=(self.network, kind("a network", Network)),
        )  # fmt: skip
        _raise([] if self.groups else ["there is at least one node; got none"])
        _raise(_group_problems([group.name for group in self.groups]))

    @property
    def cores(self) -> int:
        return sum(group.count * group.cores for group in self.groups)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group.names)


_NODE: dict[str, Rule] = {
    "name": _NAME, "count": whole(1, _MOST), "cores": whole(1, _MOST), "speed": number(above=0),
    "speed_by_class": _SPEEDS, "memory_mb": or_none(number(above=0)), "price_core_hour": or_none(number(least=0)),
}  # fmt: skip
_LOAD = {"from_s": number(least=0), "to_s": number(above=0), "cores": number(above=0)}
_OUTAGE = {"from_s": number(least=0), "to_s": number(above=0)}
_NETWORK = {"bytes_s": or_none(number(above=0)), "latency_s": number(least=0)}
_TABLES = ("node", "network")


def nodes(path: str | Path) -> Nodes:
    """The machines that a TOML file describes; one sentence for each mistake in it, all at once.

    A file has `[[node]]` tables with `name`, `count`, `cores`, `speed`, `speed_by_class`, `memory_mb` and
    `price_core_hour`, `[[node.load]]` (`from_s`, `to_s`, `cores`) and `[[node.outage]]` (`from_s`, `to_s`) below
    them, and one `[network]` with `bytes_s` and `latency_s`.
    """
    check_arguments("twin.nodes", path=(path, PATH))
    body = _read(Path(path))
    problems = [*_file_problems(body)]
    if problems:
        raise InputError("\n".join(f"{path}: {problem}" for problem in problems))
    groups = tuple(_node(table) for table in body["node"])
    return Nodes(groups, Network(**body.get("network", {})))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {' '.join(str(error).split())}") from None


def _node(table: Mapping[str, Any]) -> Node:
    loads = tuple(Load(**load) for load in table.get("load", ()))
    outages = tuple(Outage(**outage) for outage in table.get("outage", ()))
    given = {key: table[key] for key in _NODE if key in table}
    return Node(**given, loads=loads, outages=outages, gives_speed="speed" in table)


def _file_problems(body: Mapping[str, Any]) -> Iterator[str]:
    yield from _unknown("the file", body, _TABLES)
    tables = body.get("node", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        yield f"there is at least one [[node]]; got {shown(tables)}"
        return
    for place, table in enumerate(tables, 1):
        yield from _node_problems(f"node {shown(table['name'])}" if "name" in table else f"[[node]] {place}", table)
    yield from _group_problems([table.get("name") for table in tables])
    network = body.get("network", {})
    if isinstance(network, dict):
        yield from [*_unknown("[network]", network, _NETWORK), *_problems("[network]", _NETWORK, network)]
    else:
        yield f"[network] is a table; got {shown(network)}"


def _node_problems(where: str, table: Mapping[str, Any]) -> Iterator[str]:
    if "name" not in table:
        yield f"{where} needs a name"
    yield from _unknown(where, table, (*_NODE, "load", "outage"))
    yield from _problems(where, _NODE, table)
    found: dict[str, list[Any]] = {"load": [], "outage": []}
    for key, rules, make in (("load", _LOAD, Load), ("outage", _OUTAGE, Outage)):
        given = table.get(key, [])
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            yield f"{where}: [[node.{key}]] is a table with {', '.join(rules)}; got {shown(given)}"
            continue
        for one in given:
            mistakes = [*_unknown(f"{where}, {key}", one, rules), *_problems(f"{where}, {key}", rules, one)]
            mistakes += [f"{where}, {key} needs {name}" for name in rules if name not in one]
            yield from mistakes
            if not mistakes:
                found[key].append(make(**one))
    cores = table.get("cores", 1)
    if whole(1).fits(cores):
        yield from _interval_problems(where, cores, found["load"], found["outage"])


def _interval_problems(where: str, cores: int, loads: Sequence[Load], outages: Sequence[Outage]) -> Iterator[str]:
    for what, given, form in (("loads", loads, Load), ("outages", outages, Outage)):
        if not many("", kind("", form)).fits(given):
            yield f"{what} of {where} is a tuple of {what}; got {shown(given)}"
            continue
        for one in given:
            rules = _LOAD if form is Load else _OUTAGE
            wrong = _problems(f"{where}, {what[:-1]}", rules, {key: getattr(one, key) for key in rules})
            yield from wrong
            if not wrong and one.to_s <= one.from_s:
                yield f"{where}: a{'n' if form is Outage else ''} {what[:-1]} ends after it begins; " \
                      f"got from_s {one.from_s:g}, to_s {one.to_s:g}"  # fmt: skip
            elif not wrong and isinstance(one, Load) and whole(1).fits(cores) and one.cores > cores:
                yield f"{where}: a load takes at most the node's {cores} cores; got {one.cores:g}"


def _problems(where: str, rules: Mapping[str, Rule], body: Mapping[str, Any]) -> list[str]:
    found = (rule.problem(f"{name} of {where}", body[name]) for name, rule in rules.items() if name in body)
    return [problem for problem in found if problem is not None]


def _unknown(where: str, table: Mapping[str, Any], known: Sequence[str] | Mapping[str, Rule]) -> Iterator[str]:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known)
            yield f"{where} has the unknown key '{key}'; known are: {', '.join(known)}" + (f"; {hint}" if hint else "")


def _group_problems(names: Sequence[object]) -> list[str]:
    twice = sorted({str(name) for name in names if name is not None and names.count(name) > 1})
    return [f"nodes have names of their own; '{name}' comes twice" for name in twice]


def _raise(problems: Sequence[str]) -> None:
    if problems:
        raise InputError("\n".join(problems))
