"""An HTTP service on loopback that takes its time, for benches: `python -m penstock.bench.slow_service`.

A request takes `delay_ms`; with a knee, more requests at once than that slow all of them down by the square.
`GET /knee/N` moves the knee (0: none), `GET /calls` tells how many requests were answered, and the most at once.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class SlowService:
    """What the requests share."""

    def __init__(self, delay_s: float, knee: int) -> None:
        self.delay_s, self.knee = delay_s, knee
        self.now = self.most = self.answered = 0

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
            self.knee, self.most = int(path[6:]), 0
            return "{}"
        if path == "/calls":
            return json.dumps({"answered": self.answered, "most": self.most})
        self.now += 1
        self.most = max(self.most, self.now)
        pressure = max(1.0, self.now / self.knee) if self.knee else 1.0
        await asyncio.sleep(self.delay_s * pressure**2)
        self.now -= 1
        self.answered += 1
        return path[1:]


@contextmanager
def slow_service(delay_ms: float, knee: int = 0) -> Iterator[int]:
    """Runs the service in a process of its own and gives its port."""
    command = [sys.executable, "-m", "penstock.bench.slow_service", "--delay-ms", str(delay_ms), "--knee", str(knee)]
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
