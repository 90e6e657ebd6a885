"""Runs the dashboard until it is stopped: an address, a token, one line with the link."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from penstock.errors import InputError
from penstock.host.atomic_file import write_whole
from penstock.watch.page.access import Access, is_loopback, new_token
from penstock.watch.page.server import Dashboard, Replay
from penstock.watch.recorded.run_reader import RunReader

_SEND_BUFFER_BYTES = 128 << 10  # the kernel's own choice may grow to megabytes for one that does not read
_UNSEEN_S = 30.0  # without a page, after the run's own process has gone


@dataclass(frozen=True, slots=True)
class Address:
    """Where the dashboard listens; `with_pid`: it ends some time after that process, once no page is open."""

    host: str = "127.0.0.1"
    port: int = 0
    token_file: Path | None = None
    with_pid: int | None = None


def serve(reader: RunReader, address: Address, replay: Replay, say: Callable[[str], None]) -> None:
    """Answers until Ctrl-C; `say` gets the line with the link."""
    with listening(address) as own:
        port = own.getsockname()[1]
        token = new_token()
        host = f"[{address.host}]" if ":" in address.host else address.host
        _give_token(token, address.token_file)  # who has read the link finds it there
        say(f"dashboard: http://{host}:{port}/")
        if not is_loopback(address.host):
            print(
                f"penstock: warning: the dashboard listens on {address.host}: whoever reaches this machine sees the "
                "run, and the token goes over the network as it is",
                file=sys.stderr,
            )
        dashboard = Dashboard(reader, Access(address.host, port, token), replay)
        config = uvicorn.Config(
            dashboard.application(), log_level="error", access_log=False, server_header=False, date_header=False,
            timeout_graceful_shutdown=1, h11_max_incomplete_event_size=65_536,
        )  # fmt: skip
        server = uvicorn.Server(config)
        if address.with_pid is not None:
            watcher = threading.Thread(target=_ends_with, args=(address.with_pid, dashboard, server), daemon=True)
            watcher.start()
        asyncio.run(server.serve(sockets=[own]))


def listening(address: Address) -> socket.socket:
    """A socket that listens there; InputError where that cannot be."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    own = socket.socket(family, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)  # of each connection
    try:
        own.bind((address.host, address.port))
        own.listen(128)
    except (OSError, OverflowError) as error:
        own.close()
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"the dashboard cannot listen on {address.host}:{address.port}: {reason}") from error
    own.setblocking(False)
    return own


def _give_token(token: str, file: Path | None) -> None:
    """To stderr, or into a file that only this user can read; never to stdout, which is often kept."""
    if file is None:
        print(f"token: {token}", file=sys.stderr, flush=True)
        return
    write_whole("writing the token", str(file.absolute()), f"{token}\n".encode())
    os.chmod(file, 0o600)


def _ends_with(pid: int, dashboard: Dashboard, server: uvicorn.Server) -> None:
    unseen_s = 0.0
    while unseen_s < _UNSEEN_S:
        time.sleep(1.0)
        is_needed = bool(dashboard.clients.connected) or os.path.exists(f"/proc/{pid}")
        unseen_s = 0.0 if is_needed else unseen_s + 1.0
    server.should_exit = True
