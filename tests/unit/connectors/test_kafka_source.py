"""Kafka as a source, against librdkafka's mock brokers: what is read, in which order, and what is said where not."""

from __future__ import annotations

import io
import json
import pickle
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.app.serialise import graph_to_json
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.kafka import broker as broker_module
from penstock.connectors.kafka import source as source_module
from penstock.connectors.kafka.broker import Broker, Topics, check_same_topics
from penstock.connectors.kafka.places import OffsetRange, Places, first_places, of_one_topic, ranges_between
from penstock.connectors.kafka.range_reader import RangeReader
from penstock.connectors.kafka.source import INCLUDED, KafkaSource
from penstock.connectors.planned import client_options
from penstock.connectors.planned.source_port import Planning, Reading, planned_source
from penstock.errors import InputError, OperatorError

confluent_kafka = pytest.importorskip("confluent_kafka")
SCHEMA = {"n": "int64", "word": "symbol"}


class Mock:
    """A broker in this process; its topics have four partitions."""

    def __init__(self) -> None:
        self.producer = confluent_kafka.Producer(
            {"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0}
        )
        brokers = self.producer.list_topics(timeout=30).brokers.values()
        self.servers = ",".join(f"{own.host}:{own.port}" for own in brokers)

    def send(self, topic: str, values: Sequence[bytes | None], partition: int = 0, **message: Any) -> None:
        for value in values:
            self.producer.produce(topic, value, partition=partition, **message)
        assert self.producer.flush(30) == 0


@pytest.fixture(scope="module")
def mock() -> Mock:
    return Mock()


@pytest.fixture(autouse=True)
def _mock_brokers_tell_no_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "_FRESH_S", 0.0)
    monkeypatch.setattr(Broker, "_ids", lambda self, names: {name: f"id-of-{name}" for name in names})


@pytest.fixture
def topic() -> str:
    return f"t-{uuid.uuid4().hex[:8]}"


def objects(*numbers: int) -> list[bytes]:
    return [json.dumps({"n": n, "word": f"w{n}"}).encode() for n in numbers]


class Read:
    """What a source gives for a schema, batch after batch."""

    def __init__(self, source: KafkaSource, folder: Path, schema: Any = SCHEMA) -> None:
        self.source, self.path, self.offset = source, folder / "source", None
        app = ps.Application("reads")
        app.source("in", source, schema).sink("out")
        self.reading = Reading(app.graph.sources[0], DeadLetters())

    def batch(self, most: int = 1_000_000) -> list[tuple[int, list[dict[str, Any]]]]:
        """By partition, the tuples of the next batch; it is read twice and is the same."""
        start, end = self.offset, self.source.latest(self.offset, Planning(self.path, most, 0.0))
        if end == start:
            return []
        self.offset = json.loads(json.dumps(end))
        found = [self._read(start) for _ in range(2)]
        assert found[0] == found[1]
        return found[0]

    def _read(self, start: Any) -> list[tuple[int, list[dict[str, Any]]]]:
        splits = self.source.splits(start, self.offset, self.path)
        return [
            (split.partition, [row for table in self.source.read(split, self.reading) for row in table.to_pylist()])
            for split in splits
        ]

    @property
    def letters(self) -> list[tuple[str, Any]]:
        rows = self.reading.letters.table().to_pylist()
        return [(row["reason"], json.loads(row["row"]) if isinstance(row["row"], str) else row["row"]) for row in rows]


def numbers(batch: list[tuple[int, list[dict[str, Any]]]]) -> list[int]:
    return [row["n"] for _, rows in batch for row in rows]


def test_batches_take_all_messages_once_in_the_order_of_their_partitions(
    mock: Mock, topic: str, tmp_path: Path
) -> None:
    for partition in range(3):
        mock.send(topic, objects(*range(100 * partition, 100 * partition + 40)), partition)
    read = Read(ps.sources.kafka(mock.servers, topic), tmp_path)
    seen: dict[int, list[int]] = {}
    while batch := read.batch(most=17):
        for partition, rows in batch:
            seen.setdefault(partition, []).extend(row["n"] for row in rows)
    assert seen == {p: list(range(100 * p, 100 * p + 40)) for p in range(3)}
    assert read.source.backlog(read.offset, read.path) == 0.0
    mock.send(topic, objects(7, 8), 3)
    assert read.source.backlog(read.offset, read.path) == 2.0
    assert read.batch() == [(3, [{"n": 7, "word": "w7"}, {"n": 8, "word": "w8"}])]
    assert read.letters == []


def test_a_start_at_the_latest_offsets_takes_what_comes_then(mock: Mock, topic: str, tmp_path: Path) -> None:
    mock.send(topic, objects(1, 2))
    read = Read(ps.sources.kafka(mock.servers, topic, start="latest"), tmp_path)
    assert read.batch() == []  # and it is noted where it begins
    assert read.offset is not None
    mock.send(topic, objects(3))
    assert numbers(read.batch()) == [3]


def test_a_start_at_given_offsets(mock: Mock, topic: str, tmp_path: Path) -> None:
    mock.send(topic, objects(1, 2, 3))
    mock.send(topic, objects(4, 5), 1)
    read = Read(ps.sources.kafka(mock.servers, topic, start={0: 2}), tmp_path)
    assert numbers(read.batch()) == [3, 4, 5]


def test_a_start_in_a_partition_that_is_not_there_is_refused(mock: Mock, topic: str, tmp_path: Path) -> None:
    mock.send(topic, objects(1))
    read = Read(ps.sources.kafka(mock.servers, topic, start={topic: {"0": 0, "9": 5}}), tmp_path)
    sentence = rf"ps\.sources\.kafka starts in partition 9 of the topic '{topic}', which has 4, counted from 0"
    with pytest.raises(InputError, match=sentence):
        read.batch()
    late = Read(ps.sources.kafka(mock.servers, topic, start={0: 2}), tmp_path / "late")
    with pytest.raises(InputError, match=f"partition 0 of the topic '{topic}' at offset 2, and it ends at 1"):
        late.batch()


def test_several_topics_and_a_pattern(mock: Mock, topic: str, tmp_path: Path) -> None:
    for place in range(3):
        mock.send(f"{topic}-{place}", objects(place))
    both = Read(ps.sources.kafka(mock.servers, [f"{topic}-2", f"{topic}-0"]), tmp_path / "both")
    assert sorted(numbers(both.batch())) == [0, 2]
    matching = Read(ps.sources.kafka(mock.servers, f"^{topic}-[12]$"), tmp_path / "matching")
    assert sorted(numbers(matching.batch())) == [1, 2]
    mixed = Read(ps.sources.kafka(mock.servers, [f"{topic}-0", f"^{topic}-2$"]), tmp_path / "mixed")
    assert sorted(numbers(mixed.batch())) == [0, 2]


def test_an_option_that_clients_do_not_know_has_its_sentence(mock: Mock, topic: str, tmp_path: Path) -> None:
    read = Read(ps.sources.kafka(mock.servers, topic), tmp_path)
    client_options.keep(str(read.path), {"sasl.pasword": "geheim"})
    with pytest.raises(InputError, match=r"an option of ps\.sources\.kafka cannot be used: .*sasl\.pasword") as caught:
        read.batch()
    client_options.keep(str(read.path), {})
    assert "geheim" not in str(caught.value)


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(InputError, match="needs a topic; got an empty name"):
        ps.sources.kafka("localhost:1", "")
    with pytest.raises(InputError, match=r"servers of ps\.sources\.kafka is a text such as 'localhost:9092'; got"):
        ps.sources.kafka("", "t")


def test_what_is_included_of_a_message(mock: Mock, topic: str, tmp_path: Path) -> None:
    mock.send(topic, objects(1), 2, key=b"k", headers=[("h", b"v")], timestamp=1_500_000_000_123)
    schema = {**SCHEMA, "key": "string", "partition": "int32", "offset": "int64", "timestamp": "timestamp",
              "headers": "string", "topic": "string"}  # fmt: skip
    source = ps.sources.kafka(mock.servers, topic, include=INCLUDED)
    ((_, (row,)),) = Read(source, tmp_path, schema).batch()
    assert row.pop("timestamp").timestamp() == pytest.approx(1_500_000_000.123)
    assert row == {
        "n": 1,
        "word": "w1",
        "key": "k",
        "partition": 2,
        "offset": 0,
        "headers": '{"h": "v"}',
        "topic": topic,
    }


def test_arrivals_are_the_timestamps_of_messages(mock: Mock, topic: str, tmp_path: Path) -> None:
    for second in range(3):
        mock.send(topic, objects(second), timestamp=1_500_000_000_000 + 1000 * second)
    read = Read(ps.sources.kafka(mock.servers, topic), tmp_path)
    read.batch()
    (arrived,) = read.reading.moments
    assert arrived.latency_from == "create"
    assert np.asarray(arrived.moments_s).tolist() == [1_500_000_000.0, 1_500_000_001.0, 1_500_000_002.0]


def test_poison_messages_are_dead_letters_one_by_one(mock: Mock, topic: str, tmp_path: Path) -> None:
    bad = [b"{", b"", None, b"[1]", b'{"n": "x"}', b'{"n": 1}{"n": 2}', b"\xff\xfe"]
    mock.send(topic, [*objects(*range(50)), *bad, b'{"n":\n 60, "more": {"a": [1]}}', *objects(70)])
    read = Read(ps.sources.kafka(mock.servers, topic), tmp_path)
    assert numbers(read.batch()) == [*range(50), 60, 70]
    letters = read.letters[: len(bad)]  # each batch is read twice here
    assert [row["offset"] for _, row in letters] == list(range(50, 50 + len(bad)))
    assert all(reason.startswith("has a message that cannot be decoded: ") for reason, _ in letters)
    assert letters[0][1] == {"topic": topic, "partition": 0, "offset": 50, "value": "{"}


@pytest.mark.parametrize(
    "bad",
    [
        (b'{"n": 1}{"n": 2}', b" "),
        (b" \n ", b'{"n": 1} {"n": 2}'),
        (b'{"n": 1', b', "word": "a"} {"n": 2}'),
        (b'{"word": "a', b'b"}{"n": 1}'),
        (b'{"n": 1} {"n": 2, "word":', b'"a"}'),
    ],
)
def test_bad_messages_that_are_as_many_objects_together_are_dead_letters(
    mock: Mock, topic: str, tmp_path: Path, bad: tuple[bytes, bytes]
) -> None:
    mock.send(topic, [*objects(1), *bad, b' {"n": 2}\n'])
    read = Read(ps.sources.kafka(mock.servers, topic), tmp_path)
    assert numbers(read.batch()) == [1, 2]
    assert [row["offset"] for _, row in read.letters] == [1, 2] * 2  # read twice


def arrow(*numbers: int) -> bytes:
    table = pa.table({"n": list(numbers), "word": [f"w{n}" for n in numbers], "other": [0.5] * len(numbers)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_arrow_messages_have_many_tuples(mock: Mock, topic: str, tmp_path: Path) -> None:
    mock.send(topic, [arrow(1, 2, 3), b"none", arrow(4), arrow(), arrow(5, 6)])
    source = ps.sources.kafka(mock.servers, topic, format="arrow", include=["offset"])
    read = Read(source, tmp_path, {**SCHEMA, "offset": "int64"})
    ((_, rows),) = read.batch()
    assert [(row["n"], row["offset"]) for row in rows] == [(1, 0), (2, 0), (3, 0), (4, 2), (5, 4), (6, 4)]
    assert read.letters[0][1]["offset"] == 1


def test_a_small_rest_of_arrow_messages_is_no_batch_of_its_own(mock: Mock, topic: str, tmp_path: Path) -> None:
    mock.send(topic, [arrow(n) for n in range(99)])
    read = Read(ps.sources.kafka(mock.servers, topic, format="arrow"), tmp_path)
    assert [len(numbers(read.batch(most=49_000))) for _ in range(3)] == [49, 50, 0]  # at 1,000 tuples a message
    mock.send(topic, [arrow(n) for n in range(51)])
    assert [len(numbers(read.batch(most=49_000))) for _ in range(2)] == [49, 2]


@pytest.mark.parametrize("prefix", [b"", b"\0\0\0\0\7"], ids=["bare", "registry"])
def test_avro(mock: Mock, topic: str, tmp_path: Path, prefix: bytes) -> None:
    fastavro = pytest.importorskip("fastavro")
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "n", "type": "long"}, {"name": "word", "type": "string"}],
    }

    def encoded(n: int) -> bytes:
        body = io.BytesIO()
        fastavro.schemaless_writer(body, fastavro.parse_schema(schema), {"n": n, "word": f"w{n}"})
        return prefix + body.getvalue()

    mock.send(topic, [encoded(200), b"\1", encoded(300)])
    read = Read(ps.sources.kafka(mock.servers, topic, format="avro", avro_schema=schema), tmp_path)
    assert numbers(read.batch()) == [200, 300]
    assert read.letters[0][1]["offset"] == 1


def test_raw_text_has_a_schema_of_its_own(mock: Mock, topic: str, tmp_path: Path) -> None:
    mock.send(topic, ["größer".encode(), b"\xff"], key=b"k")
    read = Read(ps.sources.kafka(mock.servers, topic, format="raw", include=["key"]), tmp_path, None)
    ((_, rows),) = read.batch()
    assert rows == [{"value": "größer", "key": "k"}]
    assert len(read.letters) == 2  # read twice


def test_a_topic_that_is_not_there_and_one_that_went_or_was_made_again(mock: Mock, topic: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"has no topic '{topic}\.none'; create it first"):
        _without_auto_creation(mock, f"{topic}.none", tmp_path)
    there = Topics((("t", 0),), {"t": "a"})
    check_same_topics({"t": "a"}, there)
    check_same_topics(None, there)
    with pytest.raises(InputError, match="the topic 't' was deleted and made again: its id was b and is a, so that"):
        check_same_topics({"t": "b"}, there)
    with pytest.raises(InputError, match=r"the topic 'u' is not there any more; .*start with a new checkpoint"):
        check_same_topics({"t": "a", "u": "c"}, there)


def _without_auto_creation(mock: Mock, topic: str, folder: Path) -> None:
    Read(ps.sources.kafka(mock.servers, [topic]), folder).batch()


def test_offsets_that_expired_stop_the_application_or_become_a_dead_letter(
    mock: Mock, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock.send(topic, objects(1, 2, 3))
    failing = Read(ps.sources.kafka(mock.servers, topic), tmp_path / "failing")
    failing.batch(most=1)
    monkeypatch.setattr(Broker, "begins", lambda self, partitions: dict.fromkeys(partitions, 2))
    sentence = (
        f"offsets 1 to 1 of partition 0 of the topic '{topic}' have expired before they were read; give the topic"
    )
    with pytest.raises(OperatorError, match=sentence):
        failing.batch()
    source = ps.sources.kafka(mock.servers, topic, on_expired="dead_letter", start={0: 0})
    going_on = Read(source, tmp_path / "going_on")
    assert numbers(going_on.batch()) == [1, 2, 3]  # they are still there


def test_a_log_that_was_cut_stops_the_application(mock: Mock, topic: str, tmp_path: Path) -> None:
    mock.send(topic, objects(1, 2, 3))
    reader = RangeReader(mock.servers, str(tmp_path), 60.0, may_expire=True)
    with pytest.raises(OperatorError, match=f"partition 0 of the topic '{topic}' ends at offset 3, and had offsets up"):
        list(reader.read(OffsetRange(topic, 0, 0, 10, 12)))
    with pytest.raises(OperatorError, match="its log was cut; start with a new checkpoint"):
        list(reader.read(OffsetRange(topic, 0, 0, 1, 12)))


def test_a_log_that_is_shorter_than_what_was_taken_is_waited_for_and_then_stops_the_application(
    mock: Mock, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock.send(topic, objects(1, 2, 3))
    read = Read(ps.sources.kafka(mock.servers, topic), tmp_path)
    assert numbers(read.batch()) == [1, 2, 3]
    with monkeypatch.context() as patched:
        patched.setattr(Broker, "ends", lambda self, partitions: dict.fromkeys(partitions, 2))
        assert read.batch() == []  # a broker that has just taken over
    mock.send(topic, objects(4))
    assert numbers(read.batch()) == [4]
    monkeypatch.setattr(Broker, "ends", lambda self, partitions: dict.fromkeys(partitions, 2))
    assert read.batch() == []
    monkeypatch.setattr(broker_module, "_GONE_S", 0.0)
    with pytest.raises(OperatorError, match=f"partition 0 of the topic '{topic}' ends at offset 2, and had offsets up"):
        read.batch()


def test_brokers_that_are_away_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "_ASK_S", 0.05)
    patient = Read(ps.sources.kafka("127.0.0.1:1", "t", patience_s=None), tmp_path / "patient")
    assert patient.batch() == []
    assert patient.offset is None
    hasty = Read(ps.sources.kafka("127.0.0.1:1", "t", patience_s=0), tmp_path / "hasty")
    with pytest.raises(OperatorError, match=r"Kafka at 127\.0\.0\.1:1 has not answered for 0 s: .*more patience_s"):
        hasty.batch()


def test_an_answer_that_is_late_is_waited_for_as_one_that_does_not_come(mock: Mock) -> None:
    def late() -> None:
        raise TimeoutError

    broker = Broker(mock.servers, ("t",), {})
    assert broker.patient(late, 60.0) is None
    with pytest.raises(OperatorError, match="has not answered for 0 s: no answer; start again when it is back"):
        broker.patient(late, 0)
    assert broker.patient(lambda: 7, 60.0) == 7


def test_secrets_are_in_nothing_that_is_stored_or_shown(tmp_path: Path) -> None:
    source = ps.sources.kafka("localhost:1", "t", options={"sasl.password": "geheim"})
    app = ps.Application("secret")
    app.source("in", source, SCHEMA).sink("out")
    texts = [repr(source), str(app.graph), graph_to_json(app.graph), repr(pickle.dumps(app.graph))]
    assert not any("geheim" in text for text in texts)
    client_options.keep(str(tmp_path), source.options)
    text = client_options.to_property()
    client_options.keep(str(tmp_path), {})
    client_options.take_property(text)
    assert client_options.options_of(str(tmp_path)) == {"sasl.password": "geheim"}
    client_options.keep(str(tmp_path), {})
    assert "secret" in client_options.PROPERTY  # by which Spark redacts it
    assert ps.Application.from_json(app.to_json()) == app


def problems(**settings: Any) -> Iterator[str]:
    port = planned_source(ps.sources.kafka(**{"servers": "localhost:1", "topic": "t", **settings}))
    assert port is not None
    app = ps.Application("wrong")
    app.source("in", port, SCHEMA)
    return (str(problem) for problem in app.problems)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"format": "jsn"}, "has the format 'jsn'; there are: json, avro, arrow, raw"),
        ({"format": "avro"}, "has the format 'avro' and no avro_schema"),
        ({"format": "raw"}, "has the format 'raw', and no attribute 'value' in its schema"),
        ({"start": "newest"}, "starts at 'newest'; there are: 'earliest', 'latest', or offsets by topic and partition"),
        (
            {"start": {"0": -1}},
            'starts at {"0": -1}; offsets are whole numbers by partition, or by topic and partition',
        ),
        ({"start": {"u": {"0": 1}}}, "starts in 'u', and reads 't'"),
        ({"include": ["ofset"]}, "includes 'ofset'; there are: key, partition, offset, timestamp, headers, topic"),
        ({"include": ["key"]}, "includes key, which its schema does not have"),
        ({"topic": ["t", "^("]}, "has the pattern '^(', which is no regular expression: missing ), unterminated"),
        ({"options": {"isolation.level": "read_uncommitted"}}, "has isolation.level among its options, which ps.sour"),
        ({"format": "avro", "avro_schema": "{no json"}, "has an avro_schema that cannot be used: Expecting property"),
        ({"format": "avro", "avro_schema": {"type": "r"}}, "has an avro_schema that cannot be used: "),
        ({"on_expired": "skip"}, "has on_expired='skip'; there are: fail, dead_letter"),
    ],
)
def test_wrong_settings_have_their_sentence(settings: dict[str, Any], sentence: str) -> None:
    assert any(sentence in problem for problem in problems(**settings))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 90)), min_size=1, max_size=6), st.integers(1, 60))
def test_the_cap_is_kept_and_all_that_fits_is_taken(parts: list[tuple[int, int]], most: int) -> None:
    before = Places().with_new({("t", i): begin for i, (begin, _) in enumerate(parts)}, {"t": "a"})
    ends = {("t", i): begin + more for i, (begin, more) in enumerate(parts)}
    after = Places.of(before.upto(ends, most).to_offset())
    assert after is not None
    taken = [new.next - old.next for new, old in zip(after.places, before.places, strict=True)]
    assert sum(taken) == min(most, sum(more for _, more in parts))
    assert all(0 <= own <= more for own, (_, more) in zip(taken, parts, strict=True))
    assert after.behind(ends) == sum(more for _, more in parts) - sum(taken)
    ranges = list(ranges_between(before, after, in_pieces=True))
    assert sum(own.end - own.begin for own in ranges) == sum(taken)


def test_long_ranges_are_cut_for_several_tasks_and_new_partitions_keep_the_places_of_others() -> None:
    before = Places().with_new({("b", 0): 0}, {"b": "x"})
    after = before.with_new({("a", 0): 5, ("b", 0): 0, ("b", 1): 7}, {"a": "y", "b": "x"})
    assert [place.name for place in after.places] == [("b", 0), ("a", 0), ("b", 1)]
    end = after.upto({("b", 0): 100_000, ("a", 0): 9, ("b", 1): 7}, 1 << 40)
    ranges = list(ranges_between(before, end, in_pieces=True))
    assert [(own.place, own.begin, own.end) for own in ranges] == [
        (0, 0, 33_333), (0, 33_333, 66_666), (0, 66_666, 100_000), (1, 5, 9)
    ]  # fmt: skip
    assert len(list(ranges_between(before, end, in_pieces=False))) == 2
    assert of_one_topic({"0": 5}, ["t"]) == {"t": {"0": 5}}
    assert first_places("latest", {("t", 0): 1}, {("t", 0): 9}) == {("t", 0): 9}


def test_a_topic_that_is_missing_for_a_moment_is_waited_for(mock: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    broker, there, none = Broker(mock.servers, ("t",), {}), Topics((("t", 0),), {}), Topics((), {})
    assert not broker.lacks({"t": "a"}, there)
    assert broker.lacks({"t": "a"}, none)
    monkeypatch.setattr(broker_module, "_GONE_S", 0.0)
    assert not broker.lacks({"t": "a"}, none)
    assert not broker.lacks(None, none)


def test_another_start_in_this_process_waits_anew() -> None:
    broker = Broker("127.0.0.1:1", ["t"], {})

    def ask() -> None:
        raise TimeoutError

    with pytest.raises(OperatorError, match="has not answered for 0 s: no answer"):
        broker.patient(ask, 0.0)
    time.sleep(0.06)
    assert broker.patient(ask, 0.05) is None


def test_a_start_with_other_options_has_another_client(mock: Mock, topic: str, tmp_path: Path) -> None:
    read = Read(ps.sources.kafka(mock.servers, topic), tmp_path)
    client_options.keep(str(read.path), {"client.id": "a"})
    first = source_module._broker(read.source, str(read.path))
    client_options.keep(str(read.path), {"client.id": "b"})
    assert source_module._broker(read.source, str(read.path)) is not first


def test_who_may_not_see_a_topic_is_told_at_once() -> None:
    broker = Broker("127.0.0.1:1", ["t"], {})

    def ask() -> None:
        raise confluent_kafka.KafkaException(
            confluent_kafka.KafkaError(confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
        )

    with pytest.raises(OperatorError, match="does not let this application in"):
        broker.patient(ask, 60.0)
