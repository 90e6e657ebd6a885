"""A plain driver and plain workers over keyed state, for tests that kill them; also the program of a worker process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.block.column import Column, FixedColumn, column_of
from penstock.kernels.keys.key_ids import KeyIndex
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.count.count_window import CountWindow, Fired
from penstock.state.checkpoint.entries import ENTRY, Entries
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.memory.host_directory import HostDirectory
from penstock.state.memory.host_memory import HostMemory
from penstock.state.rows.row_log import write_log
from penstock.state.rows.stored_count_window import StoredCountWindow
from penstock.state.token import Token
from tests.checkout import ROOT

SLOTS = 6
ALL_SLOTS = tuple(range(SLOTS))
CALLS = (AggregateCall("sum", 0), AggregateCall("min", 0), AggregateCall("first", 0), AggregateCall("count"))
OPERATOR = "window"
INTEGER = pa.int64()


@dataclass(frozen=True)
class Block:
    """Keys and values of some tuples; None is null."""

    keys: tuple[Any, ...]
    values: tuple[float | None, ...]

    def key_columns(self, type_: pa.DataType) -> list[Column]:
        return [column_of(pa.array(self.keys, type_))]

    def columns(self) -> list[FixedColumn]:
        column = column_of(pa.array(self.values, pa.float64()))
        assert isinstance(column, FixedColumn)
        return [column]


class Driver:
    """Tokens, ledgers and manifests of one operator, as a driver keeps them."""

    def __init__(self, checkpoint: Path, slots: int = SLOTS) -> None:
        self.checkpoint, self.slots = checkpoint, slots
        self.manifests = Manifests(str(checkpoint / "manifests"))
        self.epoch, self.attempt = 0, -1
        self.restart()

    def restart(self) -> None:
        """A new driver over the same checkpoint, whose task attempts count from 0 again."""
        self.epoch, self.attempt = self.epoch + 1, -1
        self.last = max(self.manifests.batches(), default=None)  # type: ignore[type-var]
        self.ledger = Ledger.empty(self.slots) if self.last is None else self.manifests.ledgers(self.last)[OPERATOR]

    @property
    def batch(self) -> int:
        return 0 if self.last is None else self.last + 1

    def token(self) -> Token:
        """That of the next attempt."""
        self.attempt += 1
        return Token(self.epoch, self.batch, self.attempt)

    def publish(self, *entries: Entries) -> None:
        before, added = {OPERATOR: self.ledger}, {OPERATOR: np.concatenate(entries)}
        batch = self.batch
        self.ledger = self.manifests.publish(batch, self.epoch, before, added, previous=self.last)[OPERATOR]
        self.last = batch


def stored_window(
    checkpoint: Path, host: Path, shape: tuple[int, int, bool], key_type: pa.DataType = INTEGER, slots: int = SLOTS
) -> StoredCountWindow:
    logs = Logs(str(checkpoint / "logs"))
    types = (key_type,), (pa.float64(),)
    return StoredCountWindow(*shape, CALLS, *types, slots=slots, host_directory=HostDirectory(str(host)), logs=logs)


class PlainWindow:
    """The same windows in one process's memory, fed with committed tuples only."""

    def __init__(self, shape: tuple[int, int, bool], key_type: pa.DataType = INTEGER) -> None:
        self.key_type = key_type
        self.index, self.window = KeyIndex((key_type,)), CountWindow(*shape, CALLS, (np.dtype("f8"),))

    def process(self, block: Block) -> Fired:
        ids = self.index.assign(block.key_columns(self.key_type), len(block.keys))
        return self.window.process(ids, self.index.count, block.columns())

    def rows(self) -> dict[Any, bytes]:
        keys = self.index.columns(np.arange(self.index.count, dtype=np.int32))[0].to_arrow().to_pylist()
        state = self.window.export() if keys else {"words": np.empty((0, 1), np.int64)}
        words, chunks = state["words"], self.window._shape.chunks
        rows = [row.tobytes() for row in words]
        if chunks is not None and keys:
            counts = np.minimum(words[:, chunks.head_at], chunks.full)
            ends = np.cumsum(counts)[:-1] * chunks.entry_words
            rows = [row + own.tobytes() for row, own in zip(rows, np.split(state["entries"], ends), strict=True)]
        return {_name(key): row for key, row in zip(keys, rows, strict=True)}


def stored_rows(window: StoredCountWindow) -> dict[Any, bytes]:
    """The rows of all keys in the slots that are open."""
    cache, table = window.store.keys, window.memory.words
    ids = np.flatnonzero(cache.group[: cache.index.count] >= 0).astype(np.int32)
    keys = cache.index.columns(ids)[0].to_arrow().to_pylist()
    rows = [stored_row(window.memory, table.rows(int(group) + 1, int(group) + 2)[0]) for group in cache.group[ids]]
    return {_name(key): row for key, row in zip(keys, rows, strict=True)}


def stored_row(memory: HostMemory, row: np.ndarray) -> bytes:
    """A group's words, with its entries behind them where they lie in chunks."""
    chunks = memory.layout.chunks
    if chunks is None:
        return row.tobytes()
    count, table = min(int(row[chunks.head_at]), chunks.full), row[chunks.fixed :].view(np.int32)
    starts = [int(table[2 + chunks.chunk_of[s]]) * 4 + s for s in range(count)]
    width, values = chunks.entry_words, memory.chunks.integers
    entries = [values[start * width : (start + 1) * width].tobytes() for start in starts]
    return row[: chunks.fixed].tobytes() + b"".join(entries)


def results(fired: Fired, rows: int) -> list[tuple[Any, ...]]:
    """What fired, with floats as hexadecimal text so that equal means equal to the bit."""
    places = range(rows) if fired.rows is None else fired.rows.tolist()
    columns = [column.to_arrow().to_pylist() for column in fired.columns]
    bits = [[value.hex() if isinstance(value, float) else value for value in column] for column in columns]
    return list(zip(places, *bits, strict=True))


def _name(key: Any) -> Any:
    return "nan" if isinstance(key, float) and key != key else key


class WorkerProcess:
    """A process that does one task and, where told, stops in the middle of it and waits to be killed."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.state_worker", json.dumps(order)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip

    def wait_for(self, word: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line.split(maxsplit=1)[1].strip() if " " in line else ""
        raise AssertionError(f"no {word}: {self.process.stderr.read() if self.process.stderr else ''}")

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def wait(self) -> int:
        code = self.process.wait(60)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code


def order(
    driver: Driver,
    host: Path,
    shape: tuple[int, int, bool],
    blocks: list[Block],
    *,
    pause: str = "",
    slots: Any = ALL_SLOTS,
) -> dict[str, Any]:
    """What a worker process is to do: the next attempt of the driver's batch."""
    token = driver.token()
    return {
        "checkpoint": str(driver.checkpoint), "host": str(host), "shape": shape, "slots": list(slots), "pause": pause,
        "token": [token.epoch, token.batch, token.attempt], "last": driver.last,
        "blocks": [[list(block.keys), list(block.values)] for block in blocks],
    }  # fmt: skip


def _pause(asked: str, place: str) -> None:
    if asked == place:
        print(place, flush=True)
        time.sleep(60)


def main(text: str) -> None:
    task = json.loads(text)
    size, every, tumbling = task["shape"]
    checkpoint, token = Path(task["checkpoint"]), Token(*task["token"])
    ledger = Ledger.empty(SLOTS)
    if task["last"] is not None:
        ledger = Manifests(str(checkpoint / "manifests")).ledgers(task["last"])[OPERATOR]
    window = stored_window(checkpoint, Path(task["host"]), (size, every, tumbling))
    rebuilt = window.open(np.array(task["slots"]), ledger.heads, ledger.history, token)
    _pause(task["pause"], "opened")
    for keys, values in task["blocks"]:
        block = Block(tuple(keys), tuple(values))
        window.process(block.key_columns(pa.int64()), len(keys), block.columns())
        _pause(task["pause"], "changed")
    while task["pause"] == "endless":
        window.process(block.key_columns(pa.int64()), len(keys), block.columns())
        print("endless", flush=True)
    if task["pause"] == "logged":
        store, own = window.store, window.task
        write_log(store.memory, store.keys, store.logs, store.recorded, own._held)
        _pause(task["pause"], "logged")
    entries = window.commit()
    print("committed", f"{entries.tobytes().hex()},{len(rebuilt)}", flush=True)
    _pause(task["pause"], "committed")


def entries_in(answer: str) -> Entries:
    """The entries in what a worker says after "committed"."""
    return np.frombuffer(bytes.fromhex(answer.split(",", 1)[0]), ENTRY)


def rebuilt_in(answer: str) -> int:
    """How many slots it had to rebuild."""
    return int(answer.split(",")[1])


if __name__ == "__main__":
    main(sys.argv[1])
