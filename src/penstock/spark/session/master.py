"""Where Spark runs: the master that a user's text means, and whether it answers."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from penstock.errors import InputError

_ANSWER_TIMEOUT_S = 5.0
_REGISTRATION_TIMEOUT_S = 60.0
_SCHEDULER_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Master:
    """Where Spark runs: its URL as Spark is told, and the addresses that must answer before a JVM is started.

    `parallelism` is how many tasks a local one is asked to run at once; it may have more task slots.
    """

    url: str
    addresses: tuple[tuple[str, int], ...] = ()
    parallelism: int | None = None

    @property
    def is_local(self) -> bool:
        return self.url.startswith("local[")

    @property
    def start_timeout_s(self) -> float:
        """How long a context may take: schedulers that queue applications (YARN, Kubernetes) are given longer."""
        return _REGISTRATION_TIMEOUT_S if self.is_local or self.url.startswith("spark:") else _SCHEDULER_TIMEOUT_S


def master_of(text: str, task_slots: int | None, cores: int) -> Master:
    """The master that a user's text means; local ones get `task_slots` slots at least, and retry a failed task.

    >>> master_of("local[*]", 6, cores=2).url
    'local[6,4]'
    """
    local = re.fullmatch(r"local(?:\[(\*|[1-9]\d*)(?:\s*,\s*([1-9]\d*))?\])?", text)
    if local:
        asked = cores if local[1] == "*" else int(local[1] or 1)
        return Master(f"local[{max(asked, task_slots or 1)},{local[2] or 4}]", parallelism=asked)
    if text == "yarn":
        return Master(text)
    remote = re.fullmatch(r"(spark://|k8s://(?:https?://)?)([^/,:\s]+:\d+(?:,[^/,:\s]+:\d+)*)", text)
    if not remote:
        raise InputError(f"master '{text}' is not one that Spark knows; give local[*], local[N], spark://host:port, "
                         "k8s://https://host:port or yarn")  # fmt: skip
    pairs = [address.rsplit(":", 1) for address in remote[2].split(",")]
    return Master(text, tuple((host, int(port)) for host, port in pairs))


def require_answer(master: Master) -> None:
    """One clear sentence where no address of the master takes a connection; Spark itself would try for minutes."""
    reasons = []
    for host, port in master.addresses:
        try:
            socket.create_connection((host, port), timeout=_ANSWER_TIMEOUT_S).close()
            return
        except (OSError, OverflowError) as error:
            reasons.append(f"{host}:{port}: {getattr(error, 'strerror', None) or error}")
    if reasons:
        raise InputError(f"master '{master.url}' does not answer ({'; '.join(reasons)}); start it, or give the address "
                         "of one that runs")  # fmt: skip
