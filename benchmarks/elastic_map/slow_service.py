"""An HTTP service on loopback that takes its time, for benches: `python -m benchmarks.elastic_map.slow_service`.

A request takes `delay_ms`; with a knee, more requests at once than that slow all of them down by the square.
`GET /knee/N` moves the knee (0: none), `GET /free` answers everything without delay from then on. `GET /begin` counts
anew; `GET /calls` tells what was counted: answers, their rate, the most requests at once, the seconds past the knee.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

PAST_KNEE = 1.25  # of the knee: a look upwards by a quarter is not past it


@dataclass(frozen=True, slots=True)
class Calls:
    """What a service counted since `/begin`; the most at once and the seconds past the knee since that was set."""

    answered: int
    tuples_s: float | None
    most_at_once: int
    past_knee_s: float


class SlowService:
    """What the requests share."""

    def __init__(self, delay_s: float, knee: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.delay_s, self.knee, self._clock = delay_s, knee, clock
        self.now = self.most = 0
        self.past_knee_s, self._counted_s = 0.0, clock()
        self.moments_s: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One kept-alive connection."""
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                body = (await self._answer(line.split()[1].decode())).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()
        except (ConnectionError, IndexError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str) -> str:
        if path.startswith("/knee/"):
            self._count(0)
            self.knee, self.most, self.past_knee_s = int(path[6:]), 0, 0.0
            return "{}"
        if path == "/free":
            self.delay_s = 0.0
            return "{}"
        if path == "/begin":
            self.moments_s.clear()
            return "{}"
        if path == "/calls":
            self._count(0)
            rate = late_tuples_s(self.moments_s)
            return json.dumps([len(self.moments_s), rate, self.most, self.past_knee_s])
        self._count(1)
        self.most = max(self.most, self.now)
        pressure = max(1.0, self.now / self.knee) if self.knee else 1.0
        await asyncio.sleep(self.delay_s * pressure**2)
        self._count(-1)
        self.moments_s.append(self._counted_s)
        return path[1:]

    def _count(self, change: int) -> None:
        """One request more or less, after a time with so many."""
        now_s = self._clock()
        if self.knee and self.now > PAST_KNEE * self.knee:
            self.past_knee_s += now_s - self._counted_s
        self.now, self._counted_s = self.now + change, now_s


def late_tuples_s(moments_s: Sequence[float]) -> float | None:
    """Answers per second between half and nine tenths of them; None for too few.

    So neither the start of a job counts, nor what a pool takes to find its level, nor the end, where it has too little
    to do: it is the same for everybody.

    >>> late_tuples_s([0.0, 5.0, 10.0, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 20.0])
    10.0
    """
    first, last = len(moments_s) // 2, len(moments_s) * 9 // 10 - 1
    if last <= first:
        return None
    return round((last - first) / (moments_s[last] - moments_s[first]), 3)


@contextmanager
def slow_service(delay_ms: float, knee: int = 0) -> Iterator[int]:
    """Runs the service in a process of its own and gives its port."""
    options = ["--delay-ms", str(delay_ms), "--knee", str(knee)]
    command = [sys.executable, "-m", "benchmarks.elastic_map.slow_service", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


def ask(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    body = connection.getresponse().read().decode()
    connection.close()
    return body


def counted(port: int) -> Calls:
    """What the service has counted."""
    return Calls(*json.loads(ask(port, "/calls")))


async def _main(delay_s: float, knee: int) -> None:
    server = await asyncio.start_server(SlowService(delay_s, knee).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay-ms", type=float, default=20.0)
    parser.add_argument("--knee", type=int, default=0)
    given = parser.parse_args()
    asyncio.run(_main(given.delay_ms / 1000, given.knee))
