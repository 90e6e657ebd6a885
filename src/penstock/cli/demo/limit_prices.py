"""The question that each window of the service-bound trading application asks, over kept-alive connections."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.cli.demo.price_service import ANSWER, REQUEST, limit_price

_PATIENCE_S = 30.0
_connections = threading.local()  # of each thread, by process: a forked worker must not share its parent's


@dataclass(frozen=True, slots=True)
class LimitPrices:
    """A block of estimates in, the same with the service's limit price for each out; one question at a time."""

    port: int
    host: str = "127.0.0.1"

    def __call__(self, block: pa.RecordBatch) -> dict[str, Any]:
        pairs = zip(block.column("close").to_pylist(), block.column("forecast").to_pylist(), strict=True)
        limits = [ask(self.host, self.port, b"p", close, forecast) for close, forecast in pairs]
        return {**{name: block.column(name) for name in block.schema.names}, "limit_price": limits}


@dataclass(frozen=True, slots=True)
class ComputedPrices:
    """The same without a service: what the service answers, computed here."""

    def __call__(self, block: pa.RecordBatch) -> dict[str, Any]:
        pairs = zip(block.column("close").to_pylist(), block.column("forecast").to_pylist(), strict=True)
        limits = [limit_price(close, forecast) for close, forecast in pairs]
        return {**{name: block.column(name) for name in block.schema.names}, "limit_price": limits}


def ask(host: str, port: int, kind: bytes, first: float = 0.0, second: float = 0.0) -> float:
    """One answer of the price service; a connection that was closed meanwhile is made anew once."""
    request = REQUEST.pack(kind, first, second)
    try:
        return _exchange(_connection(host, port), request)
    except OSError:
        _forget(host, port)
    try:
        return _exchange(_connection(host, port), request)
    except OSError as error:
        _forget(host, port)
        reason = error.strerror or error
        raise ConnectionError(f"the price service at {host}:{port} does not answer: {reason}") from error


def _exchange(connection: socket.socket, request: bytes) -> float:
    connection.sendall(request)
    answer = b""
    while len(answer) < ANSWER.size:
        piece = connection.recv(ANSWER.size - len(answer))
        if not piece:
            raise ConnectionResetError("it closed the connection")
        answer += piece
    number: float = ANSWER.unpack(answer)[0]
    return number


def _connection(host: str, port: int) -> socket.socket:
    by_place: dict[tuple[int, str, int], socket.socket] = _connections.__dict__.setdefault("by_place", {})
    place = (os.getpid(), host, port)
    if place not in by_place:
        connection = socket.create_connection((host, port), timeout=_PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        by_place[place] = connection
    return by_place[place]


def _forget(host: str, port: int) -> None:
    connection = _connections.__dict__.get("by_place", {}).pop((os.getpid(), host, port), None)
    if connection is not None:
        connection.close()
