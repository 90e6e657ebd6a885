"""What the driver asks of Kafka: which partitions there are, and how far they reach."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.places import Partition, Places
from penstock.errors import InputError, OperatorError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient

_log = logging.getLogger(__name__)
_ASK_S = 5.0
_LOOK_EVERY_S = 5.0  # for new partitions
_GONE_S = 15.0  # a topic that is missing for so long was deleted
_FRESH_S = 0.02  # Spark asks a hundred times a second while nothing comes
_IDS_S, _IDS_TIMES = 2.0, 3
_Answer = tuple[float, dict[Partition, int]]  # when it was given, and the offsets


@dataclass(frozen=True, slots=True)
class Topics:
    """The partitions of the topics of a source, and the topics' ids as far as the brokers tell them."""

    partitions: tuple[Partition, ...]
    ids: Mapping[str, str]


class Broker:
    """A client of the driver; `topics` are names, and patterns that begin with ^."""

    def __init__(self, servers: str, topics: Sequence[str], options: Mapping[str, str]) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        own: dict[str, Any] = {"bootstrap.servers": servers, "log_level": 0, "error_cb": self._note}
        settings = {**own, **options}
        try:
            self._client: AdminClient = AdminClient(settings)
        except KafkaException as error:
            raise InputError(f"an option of ps.sources.kafka cannot be used: {error.args[0].str()}") from None
        self._servers, self._names = servers, tuple(topics)
        self._refusal: str | None = None  # what brokers say who do not take the client's name or password
        self._has_answered = False
        self._topics: Topics | None = None
        self._looked_s = float("-inf")
        self._silent_since_s: float | None = None
        self._missing_since_s: float | None = None
        self._shorter_since_s: float | None = None
        self._times_without_ids = 0
        self._ends: _Answer | None = None
        self._begins: _Answer | None = None

    def topics(self, *, newest: bool = False) -> Topics:
        """As they are now, or were some seconds ago; topics that are not there are left out."""
        now_s = time.monotonic()
        if self._topics is None or newest or now_s - self._looked_s >= _LOOK_EVERY_S:
            self._topics, self._looked_s = self._described(), now_s
        return self._topics

    def lacks(self, known: Mapping[str, str] | None, now: Topics) -> bool:
        """Whether a topic is missing that was there, and not yet for so long that it must be gone.

        A broker that has just started knows no topics for a moment.
        """
        missing, now_s = set(known or ()) - {topic for topic, _ in now.partitions}, time.monotonic()
        if not missing:
            self._missing_since_s = None
            return False
        self._missing_since_s = now_s if self._missing_since_s is None else self._missing_since_s
        return now_s - self._missing_since_s < _GONE_S

    def is_shorter(self, known: Places, ends: Mapping[Partition, int]) -> bool:
        """Whether a partition ends before what was taken of it; OperatorError where that lasts.

        A broker that has just taken over may not know yet how far others had come.
        """
        taken = [place for place in known.places if place.next > place.first]
        cut = [place for place in taken if ends.get(place.name, place.next) < place.next]
        if not cut:
            self._shorter_since_s = None
            return False
        now_s = time.monotonic()
        self._shorter_since_s = now_s if self._shorter_since_s is None else self._shorter_since_s
        if now_s - self._shorter_since_s >= _GONE_S:
            raise was_cut(cut[0].topic, cut[0].partition, cut[0].next, ends[cut[0].name])
        return True

    def ends(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The last stable offset of each: everything before it is committed or aborted."""
        from confluent_kafka import admin

        if self._ends is None or not _is_fresh(self._ends, partitions, _FRESH_S):
            self._ends = time.monotonic(), self._offsets(partitions, admin.OffsetSpec.latest())  # type: ignore
        return self._ends[1]

    def begins(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The first offset of each that retention has left, now or some seconds ago: who reads says so, too."""
        from confluent_kafka import admin

        if self._begins is None or not _is_fresh(self._begins, partitions, _LOOK_EVERY_S):
            self._begins = time.monotonic(), self._offsets(partitions, admin.OffsetSpec.earliest())  # type: ignore
        return self._begins[1]

    def _note(self, error: KafkaError) -> None:
        """The reason of a refusal, which calls do not tell: they end by their time limit."""
        from confluent_kafka import KafkaError

        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            self._refusal = error.str()

    def patient(self, ask: Callable[[], Any], patience_s: float | None) -> Any | None:
        """The answer, or None while the brokers do not give one; OperatorError when that takes too long.

        Brokers that refuse a client from the beginning are not waited for: its settings are wrong.
        """
        from confluent_kafka import KafkaException

        try:
            answer = ask()
        except (KafkaException, TimeoutError) as error:
            now_s = time.monotonic()
            self._client.poll(0)  # has the client tell why
            sentence = error.args[0].str() if isinstance(error, KafkaException) else "no answer"
            if isinstance(error, KafkaException) and error.args[0].code() in _not_allowed():
                raise refused(self._servers, sentence) from error
            if self._refusal is not None and not self._has_answered:
                raise refused(self._servers, self._refusal) from error
            sentence = self._refusal or sentence
            if self._silent_since_s is None:
                self._silent_since_s = now_s
                _log.warning("Kafka at %s does not answer: %s; waiting for it", self._servers, sentence)
            if patience_s is not None and now_s - self._silent_since_s >= patience_s:
                self._silent_since_s = None  # another start in this process waits anew
                raise away(self._servers, patience_s, sentence) from error
            return None
        self._silent_since_s, self._refusal, self._has_answered = None, None, True
        return answer

    def _described(self) -> Topics:
        there = self._client.list_topics(timeout=_ASK_S).topics
        matching = sorted(name for name in there if name not in self._names and is_named(name, self._names))
        names = [name for name in (*self._names, *matching) if name in there and there[name].error is None]
        partitions = tuple((name, number) for name in names for number in sorted(there[name].partitions))
        return Topics(partitions, self._ids(names) if names and self._times_without_ids < _IDS_TIMES else {})

    def _ids(self, names: Sequence[str]) -> dict[str, str]:
        """The ids of topics; brokers older than 3.1 have none, and are asked some times alone."""
        from confluent_kafka import KafkaException, TopicCollection

        asked = self._client.describe_topics(TopicCollection(list(names)), request_timeout=_IDS_S)
        try:
            found = {name: str(own.result(2 * _IDS_S).topic_id) for name, own in asked.items()}
            self._times_without_ids = 0
            return found
        except (KafkaException, TimeoutError) as error:
            self._times_without_ids += 1
            if self._times_without_ids < _IDS_TIMES:  # a broker that has just started may be late
                return {}
            _log.warning("Kafka at %s does not give the ids of topics (%s); a topic that is deleted and made again "
                         "will not be noticed", self._servers, error or "no answer")  # fmt: skip
            return {}

    def _offsets(self, partitions: Sequence[Partition], spec: Any) -> dict[Partition, int]:
        from confluent_kafka import IsolationLevel, TopicPartition

        if not partitions:
            return {}
        asked = {TopicPartition(*name): spec for name in partitions}
        answers = self._client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_ASK_S
        )
        return {(own.topic, own.partition): int(answer.result(2 * _ASK_S).offset) for own, answer in answers.items()}


def _is_fresh(answer: _Answer, partitions: Sequence[Partition], within_s: float) -> bool:
    return time.monotonic() - answer[0] < within_s and set(partitions) == set(answer[1])


def is_named(topic: str, names: Sequence[str]) -> bool:
    """Whether a topic is among names, and patterns that begin with ^."""
    return any(re.match(name, topic) if name.startswith("^") else name == topic for name in names)


def away(servers: str, patience_s: float, sentence: str) -> OperatorError:
    return OperatorError(
        f"Kafka at {servers} has not answered for {patience_s:g} s: {sentence}; start again when it is back, or give "
        "ps.sources.kafka more patience_s"
    )


def _not_allowed() -> tuple[int, ...]:
    """Codes by which a broker says that a client may not see or read something."""
    from confluent_kafka import KafkaError

    return (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    )


def refused(servers: str, sentence: str) -> OperatorError:
    return OperatorError(
        f"Kafka at {servers} does not let this application in: {sentence}; correct the options of ps.sources.kafka"
    )


def was_cut(topic: str, partition: int, known: int, end: int) -> OperatorError:
    return OperatorError(
        f"partition {partition} of the topic '{topic}' ends at offset {end}, and had offsets up to {known} "
        "when they were planned: its log was cut; start with a new checkpoint"
    )


def gone(topic: str) -> InputError:
    return InputError(f"the topic '{topic}' is not there any more; a run that reads it goes on with the same topic "
                      "alone: start with a new checkpoint")  # fmt: skip


def check_there(wanted: Sequence[str], there: set[str], servers: str) -> None:
    missing = [name for name in wanted if not name.startswith("^") and name not in there]
    if missing:
        raise InputError(
            f"Kafka at {servers} has no topic {', '.join(repr(name) for name in missing)}; create it first"
        )


def check_same_topics(before: Mapping[str, str] | None, now: Topics) -> None:
    """InputError where a topic was deleted, or made again: its offsets mean other messages then."""
    there = {topic for topic, _ in now.partitions}
    for topic, known in (before or {}).items():
        if topic not in there:
            raise gone(topic)
        if now.ids.get(topic, known) != known:
            raise InputError(
                f"the topic '{topic}' was deleted and made again: its id was {known} and is {now.ids[topic]}, so that "
                "the offsets in the checkpoint mean other messages; start with a new checkpoint"
            )
