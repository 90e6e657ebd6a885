"""The server of the dashboard: the page, its data, its events, and the two requests that need the token."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.errors import PenstockError
from penstock.watch.page.access import HEADERS, Access
from penstock.watch.page.live_events import Client, Clients, event_text
from penstock.watch.recorded.commands import command_problem, write_command
from penstock.watch.recorded.decision_facts import decision_body, decision_row
from penstock.watch.recorded.facts import run_body
from penstock.watch.recorded.plain_json import json_text
from penstock.watch.recorded.run_reader import RunReader
from penstock.watch.recorded.run_sentence import sentence_of
from penstock.watch.recorded.run_state import SeenDecision
from penstock.watch.recorded.series import columns

STATIC = Path(__file__).parent / "static"
POLL_S, IDLE_POLL_S = 0.5, 2.0
_MOST_BODY_BYTES = 256 << 10
_MOST_ROWS = 500
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
Replay = Callable[[Path, str], dict[str, Any]]


@dataclass(slots=True)
class Dashboard:
    """One run and everybody who looks at it; `replay` says what another policy would have done."""

    reader: RunReader
    access: Access
    replay: Replay
    clients: Clients = field(default_factory=Clients)
    _status: str = ""
    _sentence: str = ""
    _decided: int = -1  # the micro-batch of the newest decision that was told

    def application(self) -> ASGIApp:
        names = sorted(path.name for path in STATIC.iterdir() if path.suffix in _TYPES and path.name != "index.html")
        routes = [
            Route("/", self._page),
            Route("/healthz", self._health),
            Route("/api/run", self._run),
            Route("/api/series", self._series),
            Route("/api/decisions", self._decisions),
            Route("/api/decisions/{step:int}", self._decision),
            Route("/api/dead-letters", self._letters),
            Route("/api/events", self._events),
            Route("/api/control", self._control, methods=["POST"]),
            Route("/api/replay", self._replay, methods=["POST"]),
            *(Route(f"/static/{name}", _static(name)) for name in names),
        ]
        return _Guarded(Starlette(routes=routes, lifespan=self._lifespan), self.access)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._follow())
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def _follow(self) -> None:
        """Looks for new lines, and tells all clients; what is wrong with one look does not end the next."""
        while True:
            with contextlib.suppress(OSError):
                self.look()
            await asyncio.sleep(POLL_S if self.clients.connected else IDLE_POLL_S)

    def look(self) -> None:
        """Takes what is new, and tells it to all clients: each decision, and the newest of all else."""
        kinds, status = set(self.reader.poll()), self.reader.status
        state = self.reader.state
        decided = self._new_decisions()
        if not self.clients.connected:
            return
        batch = None if state.newest is None else state.newest.batch
        for own in decided:
            self.clients.tell(event_text("decision", json_text(decision_row(own)), own.batch))
        sentence = sentence_of(state, status, time.time()).text  # counts on while no micro-batch comes
        if kinds or (status, sentence) != (self._status, self._sentence):
            if "observation" in kinds:
                self.clients.tell(event_text("observation", self._observation_text(), batch))
            self.clients.tell(event_text("run", json_text(run_body(self.reader)), batch))
        self._status, self._sentence = status, sentence

    def _new_decisions(self) -> list[SeenDecision]:
        """Those since the last look, the oldest first."""
        newest = takewhile(lambda own: own.batch > self._decided, reversed(self.reader.state.decisions))
        found = list(islice(newest, _MOST_ROWS))[::-1]
        self._decided = found[-1].batch if found else self._decided
        return found

    def _observation_text(self) -> str:
        """The newest seconds as columns: what a page adds to its charts."""
        state = self.reader.state
        assert state.newest is not None
        end_s = state.series.end_s
        _, points = state.series.between(end_s - 5.0, end_s, 20)
        return json_text({"batch": state.newest.batch, "columns": columns(points)})

    async def _page(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html", media_type=_TYPES[".html"])

    async def _health(self, request: Request) -> Response:
        return _json({"status": "ok", "run": self.reader.status})

    async def _run(self, request: Request) -> Response:
        self.look()
        return _json(run_body(self.reader))

    async def _series(self, request: Request) -> Response:
        given = {}
        for name in ("from", "to", "points"):
            text = request.query_params.get(name)
            if text:
                try:
                    given[name] = float(text)
                except ValueError:
                    return _problem(400, f"{name} is a number; got '{text[:40]}'")
                if not math.isfinite(given[name]):
                    return _problem(400, f"{name} is a finite number; got '{text[:40]}'")
        self.look()
        points = min(max(given.get("points", 600), 1), 2000)
        level, rows = self.reader.state.series.between(given.get("from"), given.get("to"), int(points))
        return _json({"level": level, **columns(rows)})

    async def _decisions(self, request: Request) -> Response:
        try:
            after = int(request.query_params.get("after") or -1)
        except ValueError:
            return _problem(400, "after is the number of a control step")
        self.look()
        rows = [decision_row(own) for own in self.reader.state.decisions if own.decision.step > after]
        return _json({"decisions": rows[-_MOST_ROWS:], "left_out": max(len(rows) - _MOST_ROWS, 0)})

    async def _decision(self, request: Request) -> Response:
        self.look()
        body = decision_body(self.reader.state, request.path_params["step"])
        return _problem(404, "there is no decision of that step") if body is None else _json(body)

    async def _letters(self, request: Request) -> Response:
        self.look()
        state = self.reader.state
        total = state.series.total()
        samples = [dict(letter) for letter in state.letters]
        return _json({"count": 0 if total is None else total.dead_letters, "samples": samples})

    async def _events(self, request: Request) -> Response:
        client = Client()
        self.look()
        state = self.reader.state
        batch = None if state.newest is None else state.newest.batch
        client.put(event_text("run", json_text(run_body(self.reader)), batch))
        if state.newest is not None:
            client.put(event_text("observation", self._observation_text(), batch))
        if state.decisions:
            client.put(event_text("decision", json_text(decision_row(state.decisions[-1])), batch))

        async def events() -> AsyncIterator[bytes]:
            self.clients.connected.add(client)
            try:
                async for event in client.events():
                    yield event
            finally:
                self.clients.connected.discard(client)

        return StreamingResponse(events(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def _control(self, request: Request) -> Response:
        body, problem = await self._asked(request)
        if problem is not None:
            return problem
        self.look()
        if self.reader.status != "running":
            return _problem(409, "the run has ended; nobody takes commands any more")
        sentence = command_problem(body)
        if sentence is not None:
            return _problem(400, sentence)
        try:
            number = write_command(self.reader.journal.parent, body)
        except OSError as error:
            return _problem(500, f"the command cannot be written: {(error.strerror or 'an error').lower()}")
        return _json({"id": number, "command": body})

    async def _replay(self, request: Request) -> Response:
        body, problem = await self._asked(request)
        if problem is not None:
            return problem
        policy = body.get("policy", "thresholds")
        if not isinstance(policy, str) or len(policy) > 200:
            return _problem(400, "policy is the name of a policy, such as 'ds2' or 'thresholds:high=0.7,low=0.5'")
        try:
            return _json(await asyncio.to_thread(self.replay, self.reader.journal, policy))
        except PenstockError as error:
            return _problem(400, str(error))

    async def _asked(self, request: Request) -> tuple[dict[str, Any], Response | None]:
        """The body of a request that needs the token, or why it is refused."""
        if not self.access.has_token(dict(request.headers)):
            return {}, _problem(403, "this needs the token, which the command has printed: Authorization: Bearer TOKEN")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return {}, _problem(415, "the body is JSON, with Content-Type: application/json")
        data = b""
        async for chunk in request.stream():
            data += chunk
            if len(data) > _MOST_BODY_BYTES:
                return {}, _problem(413, "the body is too long")
        try:
            body = json.loads(data or b"{}")
        except (ValueError, RecursionError):
            return {}, _problem(415, "the body is not JSON")
        return (body, None) if isinstance(body, dict) else ({}, _problem(400, "the body is an object"))


class _Guarded:
    """Asks `Access` before anything else, and gives every answer the headers of a strict policy."""

    def __init__(self, app: Starlette, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                given = [pair for pair in message.get("headers", []) if pair[0].decode() not in HEADERS]
                message = message | {"headers": [*given, *own]}
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._access.refusal(headers)
        if refusal is not None:
            await _problem(403, refusal)(scope, receive, sent)
            return
        await self._app(scope, receive, sent)


def _static(name: str) -> Callable[[Request], Any]:
    async def give(request: Request) -> Response:
        return FileResponse(STATIC / name, media_type=_TYPES[Path(name).suffix])

    return give


def _json(body: Any) -> Response:
    return Response(json_text(body), media_type="application/json")


def _problem(status: int, sentence: str) -> Response:
    return Response(json_text({"error": sentence}), status, media_type="application/json")
