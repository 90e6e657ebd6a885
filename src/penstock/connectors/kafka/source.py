"""Topics of Kafka as a source behind the port."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.arguments import is_whole
from penstock.connectors.kafka.broker import Broker, check_same_topics, check_there, is_named
from penstock.connectors.kafka.consumers import OWN_SETTINGS
from penstock.connectors.kafka.gathered import TYPES, Gathered, gathered
from penstock.connectors.kafka.places import OffsetRange, Places, first_places, of_one_topic, ranges_between
from penstock.connectors.kafka.range_reader import RangeReader, expired
from penstock.connectors.planned.client_options import options_of
from penstock.connectors.planned.decoding import FORMATS, VALUE, decode
from penstock.connectors.planned.source_port import Planning, Reading, Split
from penstock.connectors.port import SourceSpec
from penstock.errors import InputError, did_you_mean

_SECRET = {"stored": False, "shapes_state": False}
INCLUDED = tuple(TYPES)
ON_EXPIRED = ("fail", "dead_letter")
_BY_MESSAGE = 1000  # tuples of an Arrow message, until one was seen
_SMALL_REST = 32  # part of a micro-batch of Arrow messages that it may have more, if nothing is left then
_ARROW_BITS, _ARROW_OFFSETS = 10, 1 << 29  # the first number of a message of many tuples is its offset x 2^10


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """Messages of topics; a stored application has no options, which may hold secrets."""

    servers: str
    topics: tuple[str, ...]
    format: str = "json"
    start: str = "earliest"  # or offsets by topic and partition, as JSON
    include: tuple[str, ...] = ()
    avro_schema: str | None = None
    on_expired: str = "fail"
    patience_s: float | None = 60.0
    options: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False, metadata=_SECRET)

    def __reduce__(self) -> tuple[object, ...]:
        return KafkaSource, (
            self.servers, self.topics, self.format, self.start, self.include, self.avro_schema, self.on_expired,
            self.patience_s,
        )  # fmt: skip

    @property
    def schema(self) -> pa.Schema | None:
        """That of the text and what is included of a message, for format raw; else the application gives it."""
        if self.format != "raw":
            return None
        return pa.schema([(VALUE, pa.string()), *((name, TYPES[name]) for name in self.include)])

    @property
    def reads_ahead(self) -> bool:
        """Consumers stay in their partitions and fetch what comes next there, for the tasks of their process."""
        return True

    @property
    def promise(self) -> str:
        return "Exactly once: the offsets of each micro-batch are in the checkpoint; only committed messages are read."

    def problems(self, source: SourceSpec) -> Sequence[str]:
        found = [
            f"includes {name!r}; there are: {', '.join(INCLUDED)}" + _hint(name)
            for name in self.include
            if name not in INCLUDED
        ]
        if self.format not in FORMATS:
            found.append(f"has the format {self.format!r}; there are: {', '.join(FORMATS)}")
        if self.on_expired not in ON_EXPIRED:
            found.append(f"has on_expired={self.on_expired!r}; there are: {', '.join(ON_EXPIRED)}")
        if self.start not in ("earliest", "latest") and not self.start.startswith("{"):
            found.append(
                f"starts at {self.start!r}; there are: 'earliest', 'latest', or offsets by topic and partition"
            )
        found += self._problems_of_json() + self._problems_of_clients()
        lacking = [name for name in self.include if name in INCLUDED and name not in source.schema.names]
        if lacking:
            found.append(f"includes {', '.join(lacking)}, which its schema does not have")
        if self.format == "raw" and VALUE not in source.schema.names:
            found.append(f"has the format 'raw', and no attribute '{VALUE}' in its schema")
        return found

    def _problems_of_clients(self) -> list[str]:
        """Patterns and options that a client cannot take, or must not."""
        found = []
        for pattern in (name for name in self.topics if name.startswith("^")):
            try:
                re.compile(pattern)
            except re.error as error:
                found.append(f"has the pattern {pattern!r}, which is no regular expression: {error}")
        own = sorted({"bootstrap.servers", *OWN_SETTINGS} & set(self.options))
        return [*found, *(f"has {name} among its options, which ps.sources.kafka sets itself" for name in own)]

    def _problems_of_json(self) -> list[str]:
        """What is wrong with settings that are JSON text."""
        if self.format == "avro" and self.avro_schema is None:
            return ["has the format 'avro' and no avro_schema"]
        found = []
        if self.format == "avro":
            found += self._problems_of_avro()
        if self.start.startswith("{"):
            own = of_one_topic(json.loads(self.start), self.topics)
            parts = [part for part in own.values() if isinstance(part, dict)]
            offsets = [offset for part in parts for number, offset in part.items() if number.isdigit()]
            wanted = sum(len(part) for part in parts)
            if len(parts) < len(own) or len(offsets) < wanted or not all(is_whole(offset, 0) for offset in offsets):
                found.append(
                    f"starts at {self.start}; offsets are whole numbers by partition, or by topic and partition"
                )
            elif others := [topic for topic in own if not is_named(topic, self.topics)]:
                found.append(f"starts in {', '.join(map(repr, others))}, and reads {', '.join(map(repr, self.topics))}")
        return found

    def _problems_of_avro(self) -> list[str]:
        import fastavro

        try:
            fastavro.parse_schema(json.loads(self.avro_schema or ""))
        except (ValueError, TypeError, LookupError, fastavro.schema.SchemaParseException) as error:
            return [f"has an avro_schema that cannot be used: {str(error) or type(error).__name__}"]
        return []

    def latest(self, start: Any, planning: Planning) -> Any:
        """At most the cap further on, up to the last stable offsets; `start` while no broker answers."""
        broker = _broker(self, str(planning.path))
        found = broker.patient(lambda: self._latest(broker, start, planning), self.patience_s)
        return start if found is None else found

    def _latest(self, broker: Broker, start: Any, planning: Planning) -> Any:
        before = Places.of(start)
        topics = broker.topics(newest=before is None)
        if before is None:
            check_there(self.topics, {topic for topic, _ in topics.partitions}, self.servers)
        if before is not None and broker.lacks(before.ids, topics):
            return start
        check_same_topics(None if before is None else before.ids, topics)
        begins, ends = broker.begins(topics.partitions), broker.ends(topics.partitions)
        if before is None:
            own = of_one_topic(json.loads(self.start), self.topics) if self.start.startswith("{") else self.start
            _check_starts(own, ends)
            known = Places().with_new(first_places(own, begins, ends), topics.ids)
        else:
            known = before.with_new(begins, topics.ids)
        self._check_expired(known, begins)
        if broker.is_shorter(known, ends):
            return start
        most = max(planning.most_tuples // self._tuples_by_message, 1)
        if self.format == "arrow":
            most = _with_small_rest(known.behind(ends), most)
        end = known.upto(ends, most)
        return start if end == before else end.to_offset()

    def _check_expired(self, known: Places, begins: Mapping[tuple[str, int], int]) -> None:
        """Raises where offsets that come next are gone, unless dead letters are to stand for them."""
        for place in known.places:
            first = begins.get(place.name, 0)
            if first > place.next and self.on_expired == "fail":
                raise expired(place.topic, place.partition, place.next, first)

    @property
    def _tuples_by_message(self) -> int:
        return _BY_MESSAGE if self.format == "arrow" else 1

    def splits(self, start: Any, end: Any, path: Path) -> Sequence[Split]:
        """A range of a partition each; those of messages with one tuple are cut so that more tasks share them."""
        after, is_arrow = Places.of(end), self.format == "arrow"
        assert after is not None
        found = []
        ranges = list(ranges_between(Places.of(start), after, in_pieces=not is_arrow))
        for own, following in itertools.zip_longest(ranges, ranges[1:]):
            first = own.begin << _ARROW_BITS if is_arrow and own.begin < _ARROW_OFFSETS else own.begin
            part = {**asdict(own), "at": str(path)}
            if following is not None and following.name != own.name:
                part["next"] = [*following.name, following.begin]
            found.append(Split(part, first, (own.end - own.begin) * self._tuples_by_message, own.place))
        return found

    def read(self, split: Split, reading: Reading) -> Iterator[pa.Table]:
        part = dict(split.part)
        at, following = part.pop("at"), part.pop("next", None)
        own = OffsetRange(**part)
        reader = RangeReader(self.servers, at, self.patience_s, self.on_expired == "dead_letter")
        if following is not None:  # most often of the same task
            reader.prepare(*following)
        for some in gathered(reader.read(own), self.include, own.end - own.begin):
            table = self._decoded(some, own, reading)
            some.tell_arrivals(reading)
            yield table
        for first, end in reader.missing:
            row = {"topic": own.topic, "partition": own.partition, "first_offset": first, "last_offset": end - 1}
            reading.reject("has lost messages whose offsets had expired", row)

    def _decoded(self, some: Gathered, own: OffsetRange, reading: Reading) -> pa.Table:
        schema = pa.schema([own for own in reading.source.schema if own.name not in self.include])

        def named(place: int) -> dict[str, Any]:
            return {"topic": own.topic, "partition": own.partition, "offset": some.offset(place)}

        table, places = decode(some.values, self.format, self.avro_schema, schema, reading, named)
        is_all = isinstance(places, range)
        for name, column in some.columns():
            table = table.append_column(name, column if is_all else column.take(pa.array(places, pa.int64())))
        return table

    def backlog(self, after: Any, path: Path) -> float | None:
        """Offsets up to the last stable ones that were not taken, in tuples."""
        places = Places.of(after)
        if places is None:
            return None
        broker = _broker(self, str(path))
        names = [place.name for place in places.places]
        ends = broker.patient(lambda: broker.ends(names), None)
        return None if ends is None else float(places.behind(ends) * self._tuples_by_message)

    def arrivals(self, splits: Sequence[Split], path: Path) -> Sequence[float | None]:
        """Every message has its own."""
        return [None] * len(splits)


def _with_small_rest(behind: int, most: int) -> int:
    """The messages that a micro-batch may take: all that are there, where few would be left for one of their own.

    How many tuples a message has is an estimate, so that the cap is none to the tuple.  A micro-batch of six messages
    takes a quarter of the time of one of 3,000.

    >>> _with_small_rest(3_006, 3_000), _with_small_rest(4_000, 3_000), _with_small_rest(5, 3_000)
    (3006, 3000, 3000)
    """
    return behind if most < behind <= most + most // _SMALL_REST else most


def _check_starts(start: str | Mapping[str, Any], ends: Mapping[tuple[str, int], int]) -> None:
    """InputError where offsets are given of a partition that its topic does not have, or behind its end."""
    for topic, parts in {} if isinstance(start, str) else start.items():
        count = sum(name == topic for name, _ in ends)
        for number, offset in parts.items():
            where = f"ps.sources.kafka starts in partition {number} of the topic '{topic}'"
            if (topic, int(number)) not in ends:
                raise InputError(f"{where}, which has {count}, counted from 0")
            if offset > ends[topic, int(number)]:
                raise InputError(f"{where} at offset {offset}, and it ends at {ends[topic, int(number)]}")


def _hint(name: str) -> str:
    hint = did_you_mean(name, INCLUDED)
    return f"; {hint}" if hint else ""


def _broker(source: KafkaSource, place: str) -> Broker:
    """The client of the driver, kept as long as the process; a start with other options gets another one."""
    return _shared_broker(source.servers, source.topics, tuple(sorted(options_of(place).items())), place)


@functools.lru_cache(maxsize=32)
def _shared_broker(servers: str, topics: tuple[str, ...], options: tuple[tuple[str, str], ...], place: str) -> Broker:
    return Broker(servers, topics, dict(options))
