"""A service on loopback that answers with limit prices and takes its time: `python -m penstock.cli.demo.price_service`.

A request is a letter and two numbers, an answer one number: `p` (close, forecast) asks for a limit price, `d` (ms, 0)
sets how long answers take from now on, `n` (0, 0) tells how many prices were given.  With `at_once`, more requests than
that wait for each other, so that the service has a highest rate.
"""

from __future__ import annotations

import argparse
import asyncio
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

REQUEST, ANSWER = struct.Struct("<cdd"), struct.Struct("<d")
PORT = 7070


def limit_price(close: float, forecast: float) -> float:
    """Half-way from the last price to the forecast, in whole cents."""
    return round((close + forecast) / 2, 2)


class PriceService:
    """What all connections share."""

    def __init__(self, delay_s: float, at_once: int) -> None:
        self.delay_s, self.at_once = delay_s, at_once
        self.now = self.answered = 0
        self.waiting: deque[tuple[asyncio.Transport, bytes]] = deque()

    def ask(self, transport: asyncio.Transport, answer: bytes) -> None:
        """Answers once it is this request's turn and its time is over."""
        if self.at_once and self.now >= self.at_once:
            self.waiting.append((transport, answer))
            return
        self.now += 1
        asyncio.get_running_loop().call_later(self.delay_s, self._give, transport, answer)

    def _give(self, transport: asyncio.Transport, answer: bytes) -> None:
        self.now -= 1
        self.answered += 1
        if not transport.is_closing():
            transport.write(answer)
        if self.waiting:
            self.ask(*self.waiting.popleft())


class _Connection(asyncio.Protocol):
    def __init__(self, service: PriceService) -> None:
        self.service, self.pending = service, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while len(self.pending) >= REQUEST.size:
            kind, first, second = REQUEST.unpack_from(self.pending)
            self.pending = self.pending[REQUEST.size :]
            self._answer(kind, first, second)

    def _answer(self, kind: bytes, first: float, second: float) -> None:
        if kind == b"p":
            self.service.ask(self.transport, ANSWER.pack(limit_price(first, second)))
        elif kind == b"d":
            self.service.delay_s = first / 1000
            self.transport.write(ANSWER.pack(first))
        elif kind == b"n":
            self.transport.write(ANSWER.pack(self.service.answered))
        else:
            self.transport.close()


@contextmanager
def price_service(delay_ms: float, at_once: int = 0) -> Iterator[int]:
    """Runs the service in a process of its own and gives its port."""
    given = ["--port", "0", "--delay-ms", str(delay_ms), "--at-once", str(at_once)]
    command = [sys.executable, "-m", "penstock.cli.demo.price_service", *given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().split()[-1])
        finally:
            process.kill()


async def _serve(port: int, delay_s: float, at_once: int) -> None:
    service = PriceService(delay_s, at_once)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(service), "127.0.0.1", port)
    print(f"limit prices on port {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def _main() -> None:
    parser = argparse.ArgumentParser(description="Limit prices on loopback, each after a while.")
    parser.add_argument("--port", type=int, default=PORT, help="0: any that is free")
    parser.add_argument("--delay-ms", type=float, default=5.0)
    parser.add_argument("--at-once", type=int, default=0, help="how many answers are made at once; 0: any number")
    given = parser.parse_args()
    try:
        asyncio.run(_serve(given.port, given.delay_ms / 1000, given.at_once))
    except KeyboardInterrupt:
        pass
    except OSError as error:
        sys.exit(f"the price service cannot listen on port {given.port}: {error.strerror}")


if __name__ == "__main__":
    _main()
