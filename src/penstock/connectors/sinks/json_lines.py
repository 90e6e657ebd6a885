"""JSON lines as a sink: one object a tuple, in the total order when files are read in the order of their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.arguments import PATH, check_arguments, checked_call
from penstock.block.block import Block
from penstock.connectors.files.staged_file import StagedFile, claim_folder, publish_files, sweep_staged
from penstock.connectors.sinks.sink_port import Claim, Delivered, Delivery, Part, SinkPromise, Sweep
from penstock.host.paths.local_path import local_path


@dataclass(frozen=True, slots=True)
class JsonLinesSink:
    """A directory of files with one JSON object a line."""

    path: str

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("exactly once")

    def claim(self, claim: Claim) -> None:
        claim_folder(self.path, claim)

    def open(self, part: Part) -> StagedFile:
        return StagedFile(self.path, part, _LinesWriter)

    def write(self, opened: StagedFile, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> Delivered:
        return Delivered(publish_files(self.path, ".jsonl", delivery))

    def sweep(self, sweep: Sweep) -> None:
        sweep_staged(self.path, sweep)


@checked_call("ps.sinks.json_lines")
def json_lines(path: str | Path) -> JsonLinesSink:
    """A directory of files of JSON lines, which in the order of their names have all tuples in order.

    A moment is text as ISO 8601 has it, in UTC; NaN and infinities, which JSON does not have, are null.

    >>> json_lines("out")
    JsonLinesSink(path='out')
    """
    check_arguments("ps.sinks.json_lines", path=(path, PATH))
    return JsonLinesSink(local_path(path, "path of ps.sinks.json_lines"))


def lines_of(table: pa.Table | pa.RecordBatch) -> Iterator[bytes]:
    """Each row as a JSON object in a line, without the line's end."""
    for row in table.to_pylist():
        try:
            text = json.dumps(row, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain)
        except ValueError:
            text = json.dumps(_finite(row), ensure_ascii=False, separators=(",", ":"), default=_plain)
        yield text.encode()


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat() + ("" if value.tzinfo else "Z")
    return str(value)


def _finite(value: Any) -> Any:
    """The value with null in place of each number that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(own) for name, own in value.items()}
    if isinstance(value, list):
        return [_finite(own) for own in value]
    return None if isinstance(value, float) and value - value != 0.0 else value


class _LinesWriter:
    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def write_table(self, table: pa.Table, rows: int) -> None:
        self._file.writelines(line + b"\n" for line in lines_of(table))

    def close(self) -> None:
        self._file.close()
