"""Server-sent events: one text for all clients, and a bounded queue for each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

MOST_QUEUED_BYTES = 512 << 10  # of one client; a connection's own buffers come to less than that again
KEEP_ALIVE_S = 15.0


def event_text(kind: str, data: str, batch: int | None) -> bytes:
    """
    >>> event_text("run", "{}", 7)
    b'event: run\\nid: 7\\ndata: {}\\n\\n'
    """
    number = "" if batch is None else f"id: {batch}\n"
    lines = "".join(f"data: {line}\n" for line in data.split("\n"))
    return f"event: {kind}\n{number}{lines}\n".encode()


class Client:
    """One that reads slowly loses the oldest events; the page fetches what it lacks when it is back."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self.queued_bytes = 0
        self._wake = asyncio.Event()

    def put(self, event: bytes) -> None:
        self._waiting.append(event)
        self.queued_bytes += len(event)
        while self.queued_bytes > MOST_QUEUED_BYTES and self._waiting:
            self.queued_bytes -= len(self._waiting.popleft())
        self._wake.set()

    async def events(self) -> AsyncIterator[bytes]:
        """Without an end; a comment now and then tells whether anybody is still there."""
        yield b"retry: 2000\n\n"
        while True:
            while self._waiting:
                event = self._waiting.popleft()
                self.queued_bytes -= len(event)
                yield event
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), KEEP_ALIVE_S)
            except TimeoutError:
                yield b": still here\n\n"


class Clients:
    """All that are connected."""

    def __init__(self) -> None:
        self.connected: set[Client] = set()

    def tell(self, event: bytes) -> None:
        for client in self.connected:
            client.put(event)
