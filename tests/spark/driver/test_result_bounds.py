"""No micro-batch is too large for the driver: what exceeds `spark.driver.maxResultSize` goes through files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.runtime.driver import result_share

TUPLES = 200_000  # about 6 MB


@pytest.fixture
def narrow(session: SparkSession) -> Iterator[SparkSession]:
    """The session with room for one megabyte of results."""
    conf = session.sparkContext._jsc.sc().conf()
    before = conf.get("spark.driver.maxResultSize", "1g")
    conf.set("spark.driver.maxResultSize", "1m")
    yield session
    conf.set("spark.driver.maxResultSize", before)


def traded(sink: Any, **options: Any) -> ps.Application:
    app = ps.Application("large")
    app.source("trades", ps.sources.trace("unbounded", total=TUPLES), **options).sink("out", sink)
    return app


@pytest.mark.parametrize("kind", ["memory", "callback", "foreach_batch", "csv", "parquet"])
def test_results_beyond_the_drivers_limit_arrive(narrow: SparkSession, tmp_path: Path, kind: str) -> None:
    rows: dict[int, int] = {}
    folder = tmp_path / "out"
    sink = {
        "memory": ps.sinks.memory,
        "callback": lambda: ps.sinks.callback(lambda table, batch: rows.update({batch: table.num_rows})),
        "foreach_batch": lambda: ps.sinks.foreach_batch(lambda frame, batch: rows.update({batch: frame.count()})),
        "csv": lambda: ps.sinks.csv(folder),
        "parquet": lambda: ps.sinks.parquet(folder, ordered=True),
    }[kind]()
    result = ps.run(traded(sink), session=narrow, checkpoint=tmp_path / "c", duration_s=300)
    if kind == "memory":
        assert result.tables["out"].column("seq").to_pylist() == list(range(TUPLES))
    elif folder.exists():
        read = pyarrow.csv.read_csv if kind == "csv" else pyarrow.parquet.read_table
        tables = [read(path) for path in sorted(folder.glob(f"*.{kind}"))]
        assert pa.concat_tables(tables).column("seq").to_pylist() == list(range(TUPLES))
    else:
        assert sum(rows.values()) == TUPLES
    assert list((tmp_path / "c").glob("results/*")) == [], "files of delivered batches are deleted"


def test_a_restart_gets_through_a_batch_that_failed_on_the_limit(
    narrow: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = traded(ps.sinks.memory())
    with monkeypatch.context() as patch:  # as before: nobody watches the limit
        patch.setattr(result_share, "_LIMIT_PARTS", 1 / 64)
        patch.setattr(result_share, "_SIGN", "nothing like it")
        with pytest.raises(ps.errors.PenstockError, match="maxResultSize"):
            ps.run(app, session=narrow, checkpoint=tmp_path / "c", duration_s=300)
    result = ps.run(app, session=narrow, checkpoint=tmp_path / "c", duration_s=300)
    assert result.tables["out"].column("seq").to_pylist() == list(range(TUPLES))


def test_dead_letters_beyond_the_limit_are_all_written(narrow: SparkSession, tmp_path: Path) -> None:
    app = ps.Application("letters")
    source = app.source("trades", ps.sources.trace("unbounded", total=100_000))
    source.map("fails", lambda row: 1 // 0, {"n": "int64"}, per_tuple=True).sink("out", ps.sinks.discard())
    result = ps.run(app, session=narrow, dead_letters=tmp_path / "letters", duration_s=300)
    assert (result.dead_letter_count, result.dead_letters.num_rows) == (100_000, 10_000)
    written = pyarrow.parquet.read_table(tmp_path / "letters")
    assert len(set(written.column("row").to_pylist())) == 100_000
