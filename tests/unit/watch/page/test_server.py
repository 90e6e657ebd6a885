"""The dashboard's requests: what is answered, what is refused, and that texts stay texts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from penstock.errors import InputError
from penstock.watch.page.access import Access
from penstock.watch.page.live_events import MOST_QUEUED_BYTES, Client, event_text
from penstock.watch.page.server import STATIC, Dashboard
from penstock.watch.page.serving import Address, listening
from penstock.watch.recorded.run_reader import RunReader
from tests.reference.made_run import BEGIN_S, MARKUP, PERIOD_S, lease, write_run

TOKEN = "secret"
ADDRESS = "http://127.0.0.1:8765"
RIGHT = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}


def replayed(journal: Path, policy: str) -> Mapping[str, Any]:
    if policy == "none":
        raise InputError("there is no policy 'none'")
    return {"policy": policy, "steps": 3}


def served(path: Path) -> TestClient:
    reader = RunReader(path)
    reader.open()
    dashboard = Dashboard(reader, Access("127.0.0.1", 8765, TOKEN), replayed)  # type: ignore[arg-type]
    return TestClient(dashboard.application(), base_url=ADDRESS)


@pytest.fixture
def ended(tmp_path: Path) -> Iterator[TestClient]:
    with served(write_run(tmp_path)) as client:
        yield client


@pytest.fixture
def running(tmp_path: Path) -> Iterator[TestClient]:
    path = write_run(tmp_path, end=None)
    lease(tmp_path)
    with served(path) as client:
        yield client


def test_the_page_and_all_that_it_loads_come_from_here(ended: TestClient) -> None:
    page = ended.get("/")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    names = [part.split('"')[0] for mark in ('src="', 'href="') for part in page.text.split(mark)[1:]]
    assert all(name.startswith(("/static/", "#")) for name in names)
    for name in names:
        if name.startswith("/static/"):
            assert ended.get(name).status_code == 200
    assert "MIT" in (STATIC / "uplot-license.txt").read_text()


def test_every_route_of_data_answers(ended: TestClient) -> None:
    assert ended.get("/healthz").json() == {"status": "ok", "run": "stopped"}
    assert ended.get("/api/run").json()["application"] == "prices"
    series = ended.get("/api/series?points=7").json()
    assert 1 <= len(series["t"]) <= 7
    assert {"arrivals", "served", "backlog", "p95", "replicas:window", "wanted"} <= set(series["series"])
    rows = ended.get("/api/decisions").json()["decisions"]
    assert all(row["step"] > 20 for row in ended.get("/api/decisions?after=20").json()["decisions"])
    assert ended.get(f"/api/decisions/{rows[-1]['step']}").json()["policy"] == "mpc"
    assert ended.get("/api/decisions/999").status_code == 404
    assert ended.get("/api/dead-letters").json()["samples"][0]["operator"] == "trades"


@pytest.mark.parametrize("query", ["from=x", "points=nan", "to=inf"])
def test_a_stretch_that_is_none_is_refused(ended: TestClient, query: str) -> None:
    assert ended.get(f"/api/series?{query}").status_code == 400


def test_a_command_is_written_whole_for_this_user_alone(running: TestClient, tmp_path: Path) -> None:
    answer = running.post("/api/control", headers=RIGHT, json={"passive": True})
    assert answer.status_code == 200
    (path,) = (tmp_path / "commands").iterdir()
    assert path.stem == answer.json()["id"]
    assert json.loads(path.read_text())["command"] == {"passive": True}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("route", ["/api/control", "/api/replay"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"authorization": "Bearer wrong"}, 403),
        ({"authorization": f"Basic {TOKEN}"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"host": "evil.example:8765"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"content-type": "text/plain"}, 415),
    ],
)
def test_who_may_not_is_refused(running: TestClient, route: str, headers: dict[str, str], status: int) -> None:
    own = RIGHT | headers if headers else {"content-type": "application/json"}
    answer = running.post(route, headers=own, content=b"{}")
    assert answer.status_code == status
    assert answer.json()["error"]


def test_own_origins_may(running: TestClient) -> None:
    for origin in (ADDRESS, "http://localhost:8765"):
        headers = RIGHT | {"origin": origin, "host": origin.removeprefix("http://")}
        assert running.post("/api/control", headers=headers, json={"paused": True}).status_code == 200


def test_a_body_that_is_not_json_is_refused(running: TestClient) -> None:
    assert running.post("/api/control", headers=RIGHT, content=b"passive").status_code == 415
    assert running.post("/api/control", headers=RIGHT, content=b"[]").status_code == 400


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "a command says what to do"),
        ({"passiv": True}, "did you mean 'passive'"),
        ({"passive": 1}, "passive is true or false"),
        ({"goal": "soon"}, "goal is 'throughput'"),
        ({"limits": {"max_replicas": 0}}, "max_replicas of the limits is a whole number"),
        ({"limits": {"max_replica": 2}}, "did you mean 'max_replicas'"),
        ({"stop": False}, "stop is true"),
        ({"configuration": 3}, "configuration is an object"),
    ],
)
def test_a_command_that_is_none_is_refused_in_a_sentence(
    running: TestClient, body: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    answer = running.post("/api/control", headers=RIGHT, json=body)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]
    assert not (tmp_path / "commands").exists()


def test_nobody_commands_a_run_that_has_ended(ended: TestClient) -> None:
    assert ended.post("/api/control", headers=RIGHT, json={"passive": True}).status_code == 409


def test_another_policy_is_replayed_on_demand(ended: TestClient) -> None:
    assert ended.post("/api/replay", headers=RIGHT, json={"policy": "ds2"}).json() == {"policy": "ds2", "steps": 3}
    refused = ended.post("/api/replay", headers=RIGHT, json={"policy": "none"})
    assert (refused.status_code, refused.json()["error"]) == (400, "there is no policy 'none'")


def told_to(client: Client) -> list[tuple[str, str]]:
    """Kind and id of each event that waits for a client."""
    events = [event.decode().split("\n") for event in client._waiting]
    return [(lines[0].removeprefix("event: "), lines[1].removeprefix("id: ")) for lines in events]


def test_each_decision_is_told_though_a_request_has_read_it_first(tmp_path: Path) -> None:
    path, whole = write_run(tmp_path, 16, end=None), write_run(tmp_path / "whole", 26)
    reader = RunReader(path)
    reader.open()
    dashboard, client = Dashboard(reader, Access("127.0.0.1", 8765, TOKEN), replayed), Client()  # type: ignore[arg-type]
    with TestClient(dashboard.application(), base_url=ADDRESS) as requests:
        requests.get("/api/run")
        dashboard.clients.connected.add(client)
        with path.open("ab") as file:
            file.writelines(whole.read_bytes().splitlines(keepends=True)[len(path.read_bytes().splitlines()) :])
        requests.get("/api/run")
        told = told_to(client)
        decided = [number for kind, number in told if kind == "decision"]
        assert decided == ["17", "19", "25"]  # equal holds in a row are one
        assert {kind for kind, _ in told} == {"observation", "decision", "run"}


def test_a_stream_that_falls_silent_is_told_without_a_new_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, client = RunReader(write_run(tmp_path, 4, end=None)), Client()
    lease(tmp_path)
    dashboard = Dashboard(reader, Access("127.0.0.1", 8765, TOKEN), replayed)  # type: ignore[arg-type]
    dashboard.clients.connected.add(client)
    for after_s, events in ((3.0, 1), (3.5, 1), (12.0, 2), (17.0, 2), (23.0, 3)):
        monkeypatch.setattr("time.time", lambda after_s=after_s: BEGIN_S + 4 * PERIOD_S + after_s)
        dashboard.look()
        assert [kind for kind, _ in told_to(client)].count("run") == events, after_s


def test_a_client_that_never_reads_has_a_bounded_queue() -> None:
    client = Client()
    for number in range(2000):
        client.put(event_text("run", "x" * 5000, number))
    assert client.queued_bytes <= MOST_QUEUED_BYTES


def test_texts_of_the_data_are_only_ever_json(ended: TestClient) -> None:
    answer = ended.get("/api/dead-letters")
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert MARKUP in answer.json()["samples"][0]["reason"]
    scripts = "".join(path.read_text() for path in STATIC.glob("*.js") if path.name != "uplot.js")
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in scripts


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "127.0.0.1"])
def test_a_gate_on_loopback_answers_to_its_own_names(host: str) -> None:
    assert Access("127.0.0.1", 8765, TOKEN).refusal({"host": host}) is None


@pytest.mark.parametrize("host", ["", "example.org", "10.0.0.7:8765", "127.0.0.1:1", "[::1", "a:b:c"])
def test_and_to_no_others(host: str) -> None:
    assert Access("127.0.0.1", 8765, TOKEN).refusal({"host": host}) is not None


def test_a_gate_on_all_addresses_answers_to_addresses_and_not_to_foreign_names() -> None:
    access = Access("0.0.0.0", 8765, TOKEN)
    assert access.refusal({"host": "10.0.0.7:8765"}) is None
    assert access.refusal({"host": "evil.example:8765"}) is not None


def test_a_client_that_never_reads_has_at_most_a_megabyte_on_its_way(tmp_path: Path) -> None:
    reader = RunReader(write_run(tmp_path))
    reader.open()
    with listening(Address()) as own:
        dashboard = Dashboard(reader, Access("127.0.0.1", own.getsockname()[1], TOKEN), replayed)  # type: ignore[arg-type]
        server = uvicorn.Server(uvicorn.Config(dashboard.application(), log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[own])))
        thread.start()
        try:
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                client.settimeout(60)
                client.connect(own.getsockname())
                client.sendall(f"GET /api/events HTTP/1.1\r\nHost: {client.getpeername()[0]}\r\n\r\n".encode())
                told = b""
                while b"event: run" not in told:
                    told += client.recv(1 << 16)
                loop, is_told = server.servers[0].get_loop(), threading.Event()
                for number in range(2000):  # 20 MB
                    loop.call_soon_threadsafe(dashboard.clients.tell, event_text("run", "x" * 10_000, number))
                loop.call_soon_threadsafe(is_told.set)
                assert is_told.wait(60)
                client.settimeout(2.0)
                assert _rest(client) <= 1_000_000
        finally:
            server.should_exit = True
            thread.join(60)


def _rest(client: socket.socket) -> int:
    """Bytes that come until nothing comes."""
    total = 0
    with contextlib.suppress(TimeoutError):
        while data := client.recv(1 << 16):
            total += len(data)
    return total
