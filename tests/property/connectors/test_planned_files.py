"""Files read by plan, micro-batch by micro-batch, give what the in-process reader gives, wherever batches are cut."""

from __future__ import annotations

import itertools
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.app.graph import Graph
from penstock.block.block import Block
from penstock.block.dead_letters import DeadLetters, Letters
from penstock.connectors.csv import CsvSource
from penstock.connectors.files import growing_files
from penstock.connectors.files.listing import files_of
from penstock.connectors.files.readers import read_one
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.row_checks import fitted
from penstock.errors import InputError
from penstock.runtime.planning.source_planner import SourcePlanner, dealt
from penstock.runtime.replica.split_blocks import SplitBlocks

SCHEMA = {"seq": "int64", "name": "symbol", "text": "string", "price": "float64 not null"}
Row = tuple[Any, ...]


def graph_of(source: Any, *, reads_all: bool) -> Graph:
    app = ps.Application("files")
    rows = app.source("in", source, SCHEMA)
    if not reads_all:  # nobody reads seq and text, so that they may be left out
        rows = rows.functor("some", where="name is not null", emit={"name": "name", "price": "price"})
    rows.sink("out")
    return app.graph


def used(block: Block, reads_all: bool) -> list[Row]:
    names = block.schema.names if reads_all else ["name", "price"]
    return list(zip(*(block.column(name).to_arrow().to_pylist() for name in names), strict=True))


def whole(graph: Graph, reads_all: bool) -> tuple[list[Row], list[dict[str, str]]]:
    """The slow way: all files, one after the other."""
    (source,), letters, rows = graph.sources, DeadLetters(), list[Row]()
    assert isinstance(source.connector, CsvSource | ParquetSource)
    for path in files_of(source.connector.path):
        try:
            table = read_one(path, source.connector, source, letters)
        except InputError as error:
            letters.add("in", str(error), {"file": str(path)})
            continue
        for batch in table.combine_chunks().to_batches():
            rows += used(fitted(batch, source, letters), reads_all)
    return rows, letters.table().to_pylist()


def planned(
    graph: Graph, folder: Path, chance: random.Random, reads_all: bool
) -> tuple[list[Row], list[dict[str, str]], list[int]]:
    """Batch after batch under any cap; each is read twice, by another process and in other shares."""
    (source,), rows, letters, batches = graph.sources, list[Row](), DeadLetters(), list[int]()
    start: dict[str, Any] = {"in": None}
    while True:
        growing_files._intake.cache_clear()
        cap = chance.choice([1, 2, 7, 50, 1000])
        end = json.loads(json.dumps(SourcePlanner(graph, folder).latest(start, 0.0, cap)))
        if end == start:
            return rows, letters.table().to_pylist(), batches
        found = []
        for _ in range(2):
            growing_files._intake.cache_clear()
            own, splits = DeadLetters(), SourcePlanner(graph, folder).splits(start, end).get("in", ())
            reader = SplitBlocks(graph, source, own, chance.choice([1, 3, 100]))
            shares = dealt(splits, chance.choice([1, 2, 5]))
            numbered = [pair for share in shares for split in share for pair in reader.read(split.to_json())]
            assert all(a[0] + a[1].rows <= b[0] for a, b in itertools.pairwise(numbered))
            found.append(([row for _, block in numbered for row in used(block, reads_all)], own.table().to_pylist()))
        assert repr(found[0]) == repr(found[1])
        for letter in found[0][1]:
            letters.keep(Letters(letter["operator"], letter["reason"], letter["row"]))
        batches.append(len(found[0][0]))
        assert len(found[0][0]) <= cap or has_quotes(source.connector)
        rows, start = [*rows, *found[0][0]], end


def has_quotes(connector: Any) -> bool:
    """CSV files with quotes are read whole, so that the cap does not hold for them."""
    return any(b'"' in path.read_bytes() for path in Path(connector.path).glob("*.csv"))


names = st.sampled_from(["IBM", "GE", "", "Ünal", None])
prices = st.sampled_from([1.5, -2.0, 1e300, float("inf"), None])
records = st.lists(st.tuples(st.integers(-(2**40), 2**40), names, names, prices), max_size=30)


@given(st.lists(st.tuples(records, st.integers(1, 12)), max_size=4), st.integers(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_parquet_by_pieces_of_row_groups(files: list[Any], seed: int, reads_all: bool) -> None:
    with tempfile.TemporaryDirectory() as root:
        (inbox := Path(root, "in")).mkdir()
        for number, (own, group) in enumerate(files):
            columns = list(zip(*own, strict=True)) or [(), (), (), ()]
            types = [pa.int64(), pa.string(), pa.string(), pa.float64()]
            arrays = [pa.array(values, type_) for values, type_ in zip(columns, types, strict=True)]
            table = pa.table(arrays, names=list(SCHEMA))
            pyarrow.parquet.write_table(table, inbox / f"{number}.parquet", row_group_size=group)
        graph = graph_of(ps.sources.parquet(inbox), reads_all=reads_all)
        rows, letters, _ = planned(graph, Path(root, "c"), random.Random(seed), reads_all)
        assert (rows, letters) == whole(graph, reads_all)


fields = st.sampled_from(
    ["1", "-7", "1.5", "", " 2", "x", "0x1f", "1e3", "nan", "007", "Ünal", '"q"', '"a,b"', "-0.0", "9" * 20]
)
lines = st.lists(st.lists(fields, min_size=3, max_size=5) | st.lists(fields, min_size=4, max_size=4), max_size=25)


@given(st.lists(st.tuples(lines, st.booleans()), max_size=3), st.integers(), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=60, deadline=None)
def test_csv_by_ranges_of_bytes(files: list[Any], seed: int, newline: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        (inbox := Path(root, "in")).mkdir()
        for number, (own, ends) in enumerate(files):
            text = newline.join([",".join(SCHEMA), *(",".join(line) for line in own)]) + (newline if ends else "")
            (inbox / f"{number}.csv").write_bytes(text.encode())
        graph = graph_of(ps.sources.csv(inbox), reads_all=True)
        rows, letters, _ = planned(graph, Path(root, "c"), random.Random(seed), True)
        expected = whole(graph, True)
        assert (repr(rows), sorted(map(str, letters))) == (repr(expected[0]), sorted(map(str, expected[1])))
