"""The folders of a run are its own, and stay where they were, whatever the working directory or Hadoop's settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.errors import InputError
from penstock.spark.driver.start import run
from tests.checkout import ROOT

SINKS = {
    "csv": ps.sinks.csv("out"),
    "parquet": ps.sinks.parquet("out"),
    "ordered": ps.sinks.parquet("out", ordered=True),
}


def numbered(sink: Any, *, keeps: bool = True) -> ps.Application:
    """Some tuples through a function that may keep none of them."""

    def kept(row: dict[str, Any]) -> dict[str, Any] | None:
        return {"n": row["seq"]} if keeps else None

    app = ps.Application("numbered")
    trace = app.source("in", ps.sources.trace("unbounded", total=100, keys=3))
    trace.map("kept", kept, schema={"n": "int64"}, per_tuple=True).sink("out", sink)
    return app


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("kind", SINKS)
def test_a_new_run_never_touches_the_files_of_an_older_one(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run(numbered(SINKS[kind]), session=session, checkpoint="one", duration_s=300)
    before = contents(tmp_path / "out")
    assert len(before) > 1
    with pytest.raises(
        InputError, match=r"the files of sink 'out' would go to the folder '.*/out', which has the files"
    ):
        run(numbered(SINKS[kind]), session=session, checkpoint="two", duration_s=300)
    with pytest.raises(InputError, match=r"or go on with checkpoint '.*/one'"):
        run(numbered(SINKS[kind]), session=session, duration_s=300)
    run(numbered(SINKS[kind]), session=session, checkpoint="one", duration_s=300)
    assert contents(tmp_path / "out") == before


def test_a_new_run_never_touches_the_dead_letters_of_an_older_one(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("n\n1\nx\n")
    app = ps.Application("letters")
    app.source("in", ps.sources.csv(tmp_path / "in.csv"), {"n": "int64"}).sink("out")
    options: Any = {"session": session, "dead_letters": tmp_path / "dead", "duration_s": 300}
    run(app, checkpoint=tmp_path / "one", **options)
    before = contents(tmp_path / "dead")
    (tmp_path / "in.csv").write_text("n\n1\ny\n")
    with pytest.raises(
        InputError, match=r"the dead letters would go to the folder '.*dead', which has the files of another"
    ):
        run(app, checkpoint=tmp_path / "two", **options)
    assert contents(tmp_path / "dead") == before
    options["dead_letters"] = tmp_path / "dead two"
    run(app, checkpoint=tmp_path / "two", **options)  # its letters were not lost with the start that failed
    assert pyarrow.parquet.read_table(tmp_path / "dead two" / "before-all.parquet")["row"].to_pylist() == ['{"n": "y"}']


@pytest.mark.parametrize("kind", ["csv", "ordered", "parquet"])
def test_a_batch_whose_manifest_is_published_is_not_computed_again(
    session: SparkSession, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(numbered(SINKS[kind]), session=session, checkpoint="c", duration_s=300)
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("batch-*")}
    assert written
    for path in (tmp_path / "c" / "spark" / "commits").iterdir():  # as if the driver had died before Spark's commit
        path.unlink()
    run(numbered(SINKS[kind], keeps=False), session=session, checkpoint="c", duration_s=300)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").glob("batch-*")} == written


@pytest.mark.parametrize("kind", SINKS)
def test_files_go_where_the_run_was_started(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "in").mkdir(parents=True)
        (tmp_path / name / "in" / "a.csv").write_text(f"n\n{len(name)}\n")
    monkeypatch.chdir(tmp_path / "one")
    app = ps.Application("moved")
    app.source("in", ps.sources.csv("in"), {"n": "int64"}).sink("out", SINKS[kind])
    handle = ps.start(app, session=session, checkpoint=tmp_path / "c")
    os.chdir(tmp_path / "other")
    while not list(tmp_path.glob("*/out/batch-*")):
        assert not handle.wait(0.1)
    handle.stop()
    (file,) = tmp_path.glob("*/out/batch-*")
    assert file.parent == tmp_path / "one" / "out"
    read = pyarrow.csv.read_csv if kind == "csv" else pyarrow.parquet.read_table
    assert read(file).to_pydict() == {"n": [3]}
    with pytest.raises(InputError, match="start in the directory of before"):
        ps.start(app, session=session, checkpoint=tmp_path / "c")


_ON_ANOTHER_DEFAULT = """
import sys
from pathlib import Path
import penstock as ps

session = ps.spark_session("local[2]", conf={"spark.hadoop.fs.defaultFS": sys.argv[1]})
folder = Path(sys.argv[2])
app = ps.Application("prices")
trace = app.source("in", ps.sources.trace("unbounded", total=1000, keys=3))
trace.functor("half", emit={"seq": "seq", "h": "price / 2"}).sink("out", ps.sinks.csv(f"file:{folder / 'out'}"))
result = ps.run(app, session=session, checkpoint=folder / "check point", duration_s=120)
print("done", sum(o.tuples_in for o in result.observations))
"""


@pytest.mark.parametrize("name", [pytest.param("plain", marks=pytest.mark.long), "two words, 100% #1 a:b [x] {y} été"])
def test_all_of_a_checkpoint_is_local_whatever_hadoops_default_is(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    default = f"hdfs://127.0.0.1:1{tmp_path}"
    done = subprocess.run(
        [sys.executable, "-c", _ON_ANOTHER_DEFAULT, default, str(folder)],
        cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src"},
    )  # fmt: skip
    assert done.stdout.endswith("done 1000\n"), done.stderr
    assert (folder / "check point" / "spark" / "commits" / "0").is_file()
    found = pa.concat_tables([pyarrow.csv.read_csv(path) for path in sorted((folder / "out").glob("*.csv"))])
    assert found["seq"].to_pylist() == list(range(1000))
    assert {path.name for path in tmp_path.iterdir()} <= {name, "spark-warehouse"}
