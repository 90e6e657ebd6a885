"""A websocket as a source: what comes is read by batches that are the same again; a lost connection is made anew."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors.planned import client_options
from penstock.connectors.planned import websocket as websocket_module
from penstock.errors import InputError
from tests.unit.connectors.test_kafka_source import Read

pytest.importorskip("websockets")


class Server:
    """Sends some messages to whoever subscribes, then closes the connection."""

    def __init__(self) -> None:
        from websockets.sync.server import serve

        self.heard, self.headers = list[str](), list[str | None]()
        self._server = serve(self._talk, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _talk(self, connection: Any) -> None:
        self.headers.append(connection.request.headers.get("Authorization"))
        self.heard.append(connection.recv())
        for number in range(3):
            connection.send(json.dumps({"n": 10 * len(self.heard) + number, "word": "w"}))
        connection.send(b"poison")

    def stop(self) -> None:
        self._server.shutdown()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(websocket_module, "_PAUSE_S", 0.01)
    own = Server()
    yield own
    own.stop()
    monkeypatch.setattr(websocket_module, "_UNASKED_S", 0.0)
    for thread in [thread for thread in threading.enumerate() if thread.name == "penstock-websocket"]:
        thread.join(30)


def test_batches_are_the_same_again_and_a_lost_connection_is_made_anew(server: Server, tmp_path: Path) -> None:
    source = ps.sources.websocket(server.url, subscribe="hello", headers={"Authorization": "geheim"})
    client_options.keep(str(tmp_path / "source"), source.options)
    read, seen = Read(source, tmp_path), list[int]()
    deadline_s = time.monotonic() + 60
    while len(seen) < 6 and time.monotonic() < deadline_s:
        seen += [row["n"] for _, rows in read.batch(most=2) for row in rows]
    assert seen[:6] == [10, 11, 12, 20, 21, 22]
    assert server.heard[:2] == ["hello", "hello"]
    assert server.headers[0] == "geheim"
    assert read.letters[0][0].startswith("has a message that cannot be decoded: ")
    assert read.reading.moments[0].latency_from == "append"
    assert len(list((tmp_path / "source").iterdir())) <= 5  # older segments are gone
    assert read.source.backlog(read.offset, read.path) is not None


def test_it_is_stored_without_its_headers() -> None:
    source = ps.sources.websocket("ws://localhost:1", headers={"Authorization": "geheim"})
    app = ps.Application("reads")
    app.source("in", source, {"n": "int64"}).sink("out")
    assert "geheim" not in app.to_json() + repr(source)
    assert ps.Application.from_json(app.to_json()) == app


def test_wrong_settings_have_their_sentence() -> None:
    with pytest.raises(InputError, match=r"url of ps.sources.websocket begins with ws:// or wss://; got 'http://x'"):
        ps.sources.websocket("http://x")
    app = ps.Application("reads")
    app.source("in", ps.sources.websocket("ws://x", format="avro"), {"n": "int64"})
    app.source("raw", ps.sources.websocket("ws://x", format="raw"), {"n": "int64"})
    text = "\n".join(map(str, app.problems))
    assert "has the format 'avro'; there are: json, raw" in text
    assert "has the format 'raw', and no attribute 'value' in its schema" in text
