"""`--metrics [HOST:]PORT`: figures of a run for Prometheus."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import InputError


def metrics_address(text: str) -> tuple[str, int]:
    """
    >>> metrics_address("9100"), metrics_address("0.0.0.0:9100"), metrics_address("[::1]:9100")
    (('127.0.0.1', 9100), ('0.0.0.0', 9100), ('::1', 9100))
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise InputError(f"--metrics is PORT or HOST:PORT; got '{text}'")
    return host.strip("[]") or "127.0.0.1", int(port)


def serve_metrics(text: str, checkpoint: Path) -> str:
    """Serves the metrics of a run in a thread of its own, and gives their address."""
    host, port = metrics_address(text)
    from penstock.host.extras import require

    require("--metrics", "metrics")
    from penstock.watch.metrics import start_metrics
    from penstock.watch.recorded.run_reader import RunReader, journal_of

    reader = RunReader(journal_of(checkpoint))
    reader.open()
    try:
        used = start_metrics(reader, host, port)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"metrics cannot be served on {host}:{port}: {reason}") from error
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{used}/metrics"
