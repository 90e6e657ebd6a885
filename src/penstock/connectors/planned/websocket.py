"""A websocket as a source, to start playing with: the driver listens, and what came until a batch is read by its tasks.

At most once: what is sent while nobody listens, before a start or while the connection is down, never comes.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.arguments import TEXT, check_arguments, checked_call, dict_of, many, or_none, secret
from penstock.connectors.planned.client_options import options_of
from penstock.connectors.planned.decoding import VALUE, decode
from penstock.connectors.planned.source_port import Planning, Reading, Split
from penstock.connectors.port import SourceSpec
from penstock.errors import InputError
from penstock.host.atomic_file import make_folder, write_whole
from penstock.host.extras import require

_log = logging.getLogger(__name__)
FORMATS = ("json", "raw")
_SECRET = {"stored": False, "shapes_state": False}
_MOST_WAITING = 1_000_000  # messages; older ones go
_PAUSE_S, _LOOK_UP_S = 1.0, 0.5
_UNASKED_S = 300.0
_RETAINED = 3  # segments behind the newest batch: that one may run again
_MESSAGES = pa.schema({"value": pa.binary(), "arrived_s": pa.float64()})


@dataclass(frozen=True, slots=True)
class WebSocketSource:
    """Messages of a websocket; a stored application has no headers, which may hold secrets."""

    url: str
    format: str = "json"
    subscribe: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False, metadata=_SECRET)
    in_one_partition = True

    def __reduce__(self) -> tuple[object, ...]:
        return WebSocketSource, (self.url, self.format, self.subscribe)

    @property
    def schema(self) -> pa.Schema | None:
        return pa.schema([(VALUE, pa.string())]) if self.format == "raw" else None

    @property
    def promise(self) -> str:
        return "At most once: what is sent while nobody listens never comes; a batch that runs again is the same."

    def problems(self, source: SourceSpec) -> Sequence[str]:
        found = [] if self.format in FORMATS else [f"has the format {self.format!r}; there are: {', '.join(FORMATS)}"]
        if self.format == "raw" and VALUE not in source.schema.names:
            found.append(f"has the format 'raw', and no attribute '{VALUE}' in its schema")
        return found

    def latest(self, start: Any, planning: Planning) -> Any:
        """Writes what has come as a segment in the checkpoint, at most the cap."""
        before = start or {"segments": 0, "messages": 0}
        messages = _listener(self, str(planning.path)).take(planning.most_tuples)
        _forget(planning.path, before["segments"] - _RETAINED)
        if not messages:
            return start
        _write(_segment(planning.path, before["segments"]), messages)
        return {"segments": before["segments"] + 1, "messages": before["messages"] + len(messages)}

    def splits(self, start: Any, end: Any, path: Path) -> Sequence[Split]:
        begin, first = (0, 0) if start is None else (start["segments"], start["messages"])
        parts = [str(_segment(path, number)) for number in range(begin, end["segments"])]
        return [Split({"path": own}, first, end["messages"] - first) for own in parts]  # a batch has one

    def read(self, split: Split, reading: Reading) -> Iterator[pa.Table]:
        with pa.memory_map(split.part["path"]) as file:
            table = pa.ipc.open_file(file).read_all()
        values = table["value"].to_pylist()
        decoded, places = decode(
            values, self.format, None, reading.source.schema, reading, lambda place: {"message": split.first + place}
        )
        reading.arrived(table["arrived_s"].to_numpy()[places], "append")
        yield decoded

    def backlog(self, after: Any, path: Path) -> float | None:
        return float(_listener(self, str(path)).waiting)

    def arrivals(self, splits: Sequence[Split], path: Path) -> Sequence[float | None]:
        """Every message has its own."""
        return [None] * len(splits)


class Listener:
    """A thread of the driver that listens, and connects again where the connection was lost.

    It ends when nobody asks for its messages any more, and begins anew when somebody does.
    """

    def __init__(self, url: str, subscribe: Sequence[str], headers: Mapping[str, str]) -> None:
        self._url, self._subscribe, self._headers = url, subscribe, headers
        self._messages: deque[tuple[bytes, float]] = deque(maxlen=_MOST_WAITING)
        self._is_full = False
        self._thread: threading.Thread | None = None
        self._asked_s = time.monotonic()

    @property
    def waiting(self) -> int:
        self._attend()
        return len(self._messages)

    def take(self, most: int) -> list[tuple[bytes, float]]:
        """The oldest messages, which nobody else gets."""
        self._attend()
        return [self._messages.popleft() for _ in range(min(most, len(self._messages)))]

    def _attend(self) -> None:
        self._asked_s = time.monotonic()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._listen, name="penstock-websocket", daemon=True)
            self._thread.start()

    def _is_asked(self) -> bool:
        return time.monotonic() - self._asked_s < _UNASKED_S

    def _listen(self) -> None:
        while self._is_asked():
            try:
                self._hear()
                reason = "it was closed"
            except Exception as error:  # whatever a network may say: it is tried again
                reason = str(error) or type(error).__name__
            if self._is_asked():
                _log.warning("the websocket %s is not connected: %s; what is sent meanwhile is lost", self._url, reason)
                time.sleep(_PAUSE_S)

    def _hear(self) -> None:
        """One connection, until it is closed."""
        from websockets.sync.client import connect

        with connect(self._url, additional_headers=dict(self._headers), max_size=None) as connection:
            for text in self._subscribe:
                connection.send(text)
            while self._is_asked():
                with contextlib.suppress(TimeoutError):
                    message = connection.recv(timeout=_LOOK_UP_S)
                    self._note(message if isinstance(message, bytes) else message.encode())

    def _note(self, message: bytes) -> None:
        if len(self._messages) == _MOST_WAITING and not self._is_full:
            self._is_full = True
            _log.warning("the websocket %s has more than %d messages waiting; the oldest are lost", self._url,
                         _MOST_WAITING)  # fmt: skip
        self._messages.append((message, time.time()))


@functools.lru_cache(maxsize=32)
def _shared(url: str, subscribe: tuple[str, ...], place: str) -> Listener:
    return Listener(url, subscribe, options_of(place))


def _listener(source: WebSocketSource, place: str) -> Listener:
    """One for each source of a checkpoint, for the life of the driver."""
    return _shared(source.url, source.subscribe, place)


def _segment(folder: Path, number: int) -> Path:
    return folder / f"{number:012d}.arrow"


def _write(path: Path, messages: Sequence[tuple[bytes, float]]) -> None:
    sink = pa.BufferOutputStream()
    columns = [pa.array([own[i] for own in messages], _MESSAGES.field(i).type) for i in range(2)]
    with pa.ipc.new_file(sink, _MESSAGES) as writer:
        writer.write_table(pa.Table.from_arrays(columns, schema=_MESSAGES))
    make_folder(str(path.parent), durable=True)
    write_whole("writing messages of a websocket", str(path), sink.getvalue().to_pybytes(), durable=True)


def _forget(folder: Path, below: int) -> None:
    """Removes segments that no batch can read again."""
    if below > 0:
        with contextlib.suppress(FileNotFoundError):
            _segment(folder, below - 1).unlink()


@checked_call("ps.sources.websocket")
def websocket(
    url: str,
    *,
    format: str = "json",
    subscribe: str | Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> WebSocketSource:
    """Messages of a websocket, at most once: for first experiments.  Needs the extra `websocket`.

    `format`: `json`, an object a message, or `raw`, text, as the attribute `value`.  `subscribe`: texts that are sent
    once the connection is open, each time.  `headers`: of the request; never stored, logged or shown.  The url and
    `subscribe` are stored: secrets belong in the headers.

    >>> websocket("ws://localhost:9001", subscribe='{"op": "subscribe"}')
    WebSocketSource(url='ws://localhost:9001', format='json', subscribe=('{"op": "subscribe"}',))
    """
    texts = (subscribe,) if isinstance(subscribe, str) else subscribe
    check_arguments(
        "ps.sources.websocket", url=(url, TEXT), format=(format, TEXT),
        subscribe=(texts, many("a text, or several", TEXT)),
        headers=(headers, secret(or_none(dict_of("a dict of texts", str)))),
    )  # fmt: skip
    if not url.startswith(("ws://", "wss://")):
        raise InputError(f"url of ps.sources.websocket begins with ws:// or wss://; got '{url}'")
    require("ps.sources.websocket", "websocket")
    return WebSocketSource(url, format, tuple(texts), dict(headers or {}))
