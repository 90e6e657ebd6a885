"""Files that a source reads: Parquet, CSV and Arrow with changed bytes, other schemas, no rows, huge strings."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

import penstock as ps
from benchmarks.fuzz.kind import Body
from benchmarks.fuzz.mutations import HUGE, mutated_bytes, mutated_words
from benchmarks.fuzz.rows import NAMES, SCHEMA, arrow_table, check_counts, passing, right_row
from penstock.cli.candlesticks import candlesticks_command
from penstock.connectors.trace.rate_files import read_traces
from penstock.errors import PenstockError
from penstock.watch.pictures.candlesticks import NEEDED

_SUFFIXES = ("parquet", "parquet", "csv", "arrow")
_WAYS = ("input", "input", "source", "folder", "candlesticks", "rates")


class Files:
    """Mutations of right files, read by every reader of files."""

    def __init__(self, folder: Path) -> None:
        self._graph = passing()
        self._base = {suffix: base_files(folder, suffix) for suffix in set(_SUFFIXES)}
        self._rates = rates_text().encode()

    def make(self, rng: random.Random) -> Body:
        way = rng.choice(_WAYS)
        if way == "rates":
            return {"way": way, "suffix": "csv", "data": _text(self._mutated_csv(rng, self._rates))}
        suffix = "parquet" if way == "candlesticks" else rng.choice(_SUFFIXES)
        return {"way": way, "suffix": suffix, "data": _text(self._data(rng, suffix)), "options": _options(rng)}

    def weight(self, body: Body) -> int:
        return 1

    def attempt(self, body: Body, folder: Path) -> None:
        path = folder / f"rows.{body['suffix']}"
        path.write_bytes(body["data"].encode("latin-1"))
        if body["way"] == "rates":
            read_traces((str(path),))
            ps.sources.trace(str(path), total=3).table()
        elif body["way"] == "candlesticks":
            candlesticks_command(path, (), 5, folder / "candles.svg")
        else:
            self._evaluate(body, path, folder)

    def _evaluate(self, body: Body, path: Path, folder: Path) -> None:
        """Evaluates an application over the file; a Parquet or Arrow file that can be read has as many rows as came."""
        rows = _rows_of(path)
        if body["way"] == "input":
            tables = ps.evaluate(self._graph, {"rows": path})
        else:
            if body["way"] == "folder":  # among files that are right
                for number, own in enumerate(self._base[body["suffix"]][:2]):
                    (folder / f"right-{number}.{body['suffix']}").write_bytes(own)
                rows = None if rows is None else rows + sum(_rows_of(p) or 0 for p in folder.glob("right-*"))
            place = folder if body["way"] == "folder" else path
            source: Any = (
                ps.sources.csv(place, **body["options"]) if body["suffix"] == "csv" else ps.sources.parquet(place)
            )
            app = ps.Application("read")
            app.source("rows", source, SCHEMA).sink("out")
            tables = ps.evaluate(app)
        if rows is not None and body["suffix"] != "csv":
            check_counts(tables, rows)

    def _data(self, rng: random.Random, suffix: str) -> bytes:
        base = self._base[suffix]
        draw = rng.random()
        if draw < 0.03:
            return b""
        if draw < 0.06:
            return rng.randbytes(rng.choice((1, 8, 100, 5_000)))
        if draw < 0.12:
            return rng.choice(self._base[rng.choice(_SUFFIXES)])  # the file of another format, whole
        if draw < 0.15:
            return rng.choice(base)
        if suffix == "csv" and draw < 0.6:
            return self._mutated_csv(rng, rng.choice(base))
        return mutated_bytes(rng, rng.choice(base), rng.choice(base))

    @staticmethod
    def _mutated_csv(rng: random.Random, data: bytes) -> bytes:
        text = mutated_words(rng, data.decode("latin-1"), (*NAMES, "timestamp", "value", "2024-01-01", '"', ",", "\n"))
        return text.encode("utf-8", "replace")


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def _options(rng: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["header"] = rng.random() < 0.5
    if rng.random() < 0.3:
        options["columns"] = [rng.randint(1, 9) for _ in NAMES]
    return options


def _rows_of(path: Path) -> int | None:
    """Rows of a file that Arrow reads whole, None where it cannot or it is CSV."""
    readers: dict[str, Callable[[Path], pa.Table]] = {".parquet": pq.read_table, ".arrow": pyarrow.feather.read_table}
    if path.suffix not in readers:
        return None
    try:
        return int(readers[path.suffix](path).num_rows)
    except Exception:
        return None


def rates_text() -> str:
    """A trace's counts, as `ps.sources.trace` reads them."""
    return "timestamp,value\n" + "".join(f"2015-02-01 00:{i:02d}:00,{i * 3}\n" for i in range(60))


def base_files(folder: Path, suffix: str) -> list[bytes]:
    """Right files of a format, files of other schemas, one with huge strings and one without rows."""
    folder.mkdir(parents=True, exist_ok=True)
    right = pa.Table.from_pylist([right_row(i) for i in range(40)])
    rng = random.Random(3)
    tables = [right, right.slice(0, 5), right.slice(0, 0), right.drop_columns(["price"])]
    tables.append(right.set_column(1, "name", pa.array(["x" * HUGE] * 40)).slice(0, 1))
    tables.append(right.rename_columns(["at", "flag", "volume", "price", "name", "id"]))
    tables.append(_estimates())
    if suffix != "csv":
        tables += [arrow_table(rng, 12) for _ in range(8)]
    return [data for i, table in enumerate(tables) for data in _written(table, folder / f"{i}.{suffix}", suffix)]


def _estimates() -> pa.Table:
    """What the trading application estimates, as `penstock candlesticks` reads it."""
    columns: dict[str, list[Any]] = {name: [i + 0.5 for i in range(12)] for name in NEEDED}
    return pa.table(columns | {"symbol": ["a", "b", "c"] * 4, "time_us": list(range(12))})


def _written(table: pa.Table, path: Path, suffix: str) -> list[bytes]:
    """The file's bytes in one or several ways; none where the format has no such types."""
    found = []
    options: list[dict[str, Any]] = [{}]
    if suffix == "parquet":
        options += [{"compression": "none", "use_dictionary": False}, {"compression": "gzip", "row_group_size": 3}]
    for own in options:
        try:
            if suffix == "parquet":
                pq.write_table(table, path, **own)
            elif suffix == "csv":
                pyarrow.csv.write_csv(table, path)
            else:
                pyarrow.feather.write_feather(table, path, compression="uncompressed")
        except (pa.ArrowException, PenstockError, ValueError):
            continue
        found.append(path.read_bytes())
    return found
