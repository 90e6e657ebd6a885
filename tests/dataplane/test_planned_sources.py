"""Files that are read by plan give the results of the in-process engine, wherever batches are cut and tasks die."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import penstock as ps
from penstock.app.graph import Graph
from penstock.connectors.files import growing_files
from penstock.runtime.planning.source_planner import SourcePlanner
from penstock.runtime.replica.source_rows import split_row
from tests.dataplane.plane import Killed, Plane


class PlannedPlane(Plane):
    """Plans batches as the reader on Spark does, under any cap; a batch that was killed is planned from its offsets."""

    def __init__(self, graph: Graph, directory: Path, seed: int, kills: float) -> None:
        super().__init__(graph, None, directory, seed, kills)
        self._splits: list[dict[str, Any]] = []

    def _run_batches(self) -> None:
        start: dict[str, Any] = dict.fromkeys(SourcePlanner(self.fixed.graph, self.checkpoint.directory).sources)
        for batch in range(10_000):
            cap = self.random.choice([3, 17, 60])
            growing_files._intake.cache_clear()
            planner = SourcePlanner(self.fixed.graph, self.checkpoint.directory)
            end = planner.latest(start, 0.0, cap)
            if end == start:
                return
            while True:
                try:
                    splits = planner.splits(start, end)
                    self._splits = [
                        row
                        for name, own in splits.items()
                        for split in own
                        for row in split_row(name, split).to_pylist()
                    ]
                    self.run(None, batch)  # type: ignore[arg-type]
                    break
                except Killed:
                    self.epoch += 1
                    growing_files._intake.cache_clear()
                    planner = SourcePlanner(self.fixed.graph, self.checkpoint.directory)
            start = end

    def _rows(self, block_rows: int) -> list[dict[str, Any]]:
        return self._splits


def sums(source: Any, sink_all: bool) -> ps.Application:
    app = ps.Application("sums")
    rows = app.source("in", source, {"seq": "int64", "key": "string", "x": "float64"})
    if not sink_all:
        rows = rows.functor("some", where="x > 0", emit={"key": "key", "x": "x"})
    window = ps.sliding(count=5, every=1, per_group=True)
    rows.aggregate("sum", by="key", window=window, emit={"key": "any(key)", "sum": "sum(x)", "n": "count()"}).sink(
        "out"
    )
    return app


def write(folder: Path, kind: str) -> Any:
    folder.mkdir()
    for number in range(4):
        numbers = range(number * 40, number * 40 + 40)
        table = pa.table(
            {"seq": numbers, "key": [f"k{n % 5}" for n in numbers], "x": [n / 8 - 3 for n in numbers]}
        )  # fmt: skip
        if kind == "parquet":
            pyarrow.parquet.write_table(table, folder / f"{number}.parquet", row_group_size=25)
        else:
            pyarrow.csv.write_csv(table, folder / f"{number}.csv", pyarrow.csv.WriteOptions(quoting_style="none"))
    return ps.sources.parquet(folder) if kind == "parquet" else ps.sources.csv(folder)


@pytest.mark.parametrize("kills", [0.0, 0.15])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("seed", range(3))
def test_files_by_plan_equal_the_engine_in_process(tmp_path: Path, kind: str, seed: int, kills: float) -> None:
    app = sums(write(tmp_path / "in", kind), sink_all=bool(seed % 2))
    tables, letters = PlannedPlane(app.graph, tmp_path, seed, kills).run_all()
    expected = ps.evaluate(app)["out"]
    by_key = [("key", "ascending")]  # rows of a key come in its order, keys in any
    found = tables["out"].append_column("place", pa.array(range(tables["out"].num_rows)))
    wanted = expected.append_column("place", pa.array(range(expected.num_rows)))
    for one in (found, wanted):
        assert one.num_rows == expected.num_rows
    of = [t.sort_by([*by_key, ("place", "ascending")]).drop_columns("place").to_pylist() for t in (found, wanted)]
    assert of[0] == of[1]
    assert letters.num_rows == 0
