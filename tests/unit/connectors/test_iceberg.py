"""Iceberg: each batch is added once, whoever commits it; metadata are read back without the library that wrote them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.connectors.files.folder_owner import Run
from penstock.connectors.sinks.iceberg import IcebergSink
from penstock.errors import InputError, MissingExtraError, StateError
from penstock.host import extras
from tests.contract import test_sink_port as contract
from tests.unit.connectors.test_delta import SCHEMA, staged

pytest.importorskip("pyiceberg")
fastavro = pytest.importorskip("fastavro")


def made(folder: Path) -> IcebergSink:
    return ps.sinks.iceberg(folder, "market.numbers")


def local(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))


def metadata(folder: Path) -> dict[str, Any]:
    with sqlite3.connect(folder / "catalog.db") as catalog:
        ((location,),) = catalog.execute("select metadata_location from iceberg_tables").fetchall()
    found: dict[str, Any] = json.loads(local(location).read_text())
    return found


def records(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return list(fastavro.reader(file))


def numbers(folder: Path) -> list[int]:
    """The numbers of the table's newest snapshot."""
    if not (folder / "catalog.db").exists():
        return []
    table = metadata(folder)
    snapshots = [own for own in table["snapshots"] if own["snapshot-id"] == table.get("current-snapshot-id")]
    manifests = [one for own in snapshots for one in records(local(own["manifest-list"]))]
    entries = [entry for own in manifests for entry in records(local(own["manifest_path"])) if entry["status"] != 2]
    files = sorted(local(entry["data_file"]["file_path"]) for entry in entries)
    return [n for file in files for n in pq.read_table(file)["n"].to_pylist()]


CASE = contract.Case(made, numbers)


@pytest.mark.parametrize("stage", contract.STAGES)
def test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(contract.CASES, "iceberg", CASE)
    contract.test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing("iceberg", stage, tmp_path)
    assert metadata(tmp_path / "out")["properties"][f"penstock.{contract.RUN}.out"] == "3"


def test_it_is_a_port_and_can_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contract.CASES, "iceberg", CASE)
    contract.test_a_sink_is_a_port_that_survives_being_stored("iceberg", tmp_path)
    contract.test_finite_input_goes_to_any_sink("iceberg", tmp_path)


def test_two_drivers_that_commit_the_same_batch_add_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older driver has looked, and found nothing, when the newer one commits."""
    sink = made(tmp_path / "t")
    sink.publish(staged(sink, 0, [1]))
    late, look, looks = staged(sink, 1, [2]), IcebergSink._table, list[int]()

    def looked(own: IcebergSink, schema: pa.Schema) -> Any:
        found = look(own, schema)
        looks.append(len(found.snapshots()))
        if len(looks) == 1:
            own.publish(late)
        return found

    monkeypatch.setattr(IcebergSink, "_table", looked)
    sink.publish(late)
    assert looks == [1, 1, 2], "the third look finds what the newer driver has committed"
    assert numbers(tmp_path / "t") == [1, 2]


def test_a_driver_that_was_overtaken_commits_nothing(tmp_path: Path) -> None:
    def overtaken() -> None:
        raise StateError("taken over")

    sink = made(tmp_path / "t")
    late = staged(sink, 0, [1])
    with pytest.raises(StateError):
        sink.publish(ps.sinks.Delivery("out", SCHEMA, late.batch, late.parts, fence=overtaken))
    assert numbers(tmp_path / "t") == []


def test_a_table_with_other_columns_is_refused_at_the_start(tmp_path: Path) -> None:
    sink = made(tmp_path / "t")
    sink.publish(staged(sink, 0, [1]))
    sink.claim(ps.sinks.Claim("out", Run("run", ""), schema=SCHEMA))
    other = pa.schema({"n": pa.float64(), "more": pa.string()})
    with pytest.raises(InputError, match=r"sink 'out' writes to the Iceberg table .* differ in: key, more, n; take"):
        sink.claim(ps.sinks.Claim("out", Run("run", ""), schema=other))


def test_the_properties_of_a_catalogue_are_shown_and_stored_nowhere(tmp_path: Path) -> None:
    sink = ps.sinks.iceberg(tmp_path, "a.b", catalog={"credential": "geheim"})
    assert "geheim" not in repr(sink)
    app = ps.Application("stored")
    app.source("in", schema={"n": "int64"}).sink("out", sink)
    assert "geheim" not in app.to_json()


def test_a_name_without_a_namespace_and_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"is a namespace and a name, such as 'market\.prices'; got 'prices'"):
        ps.sinks.iceberg("t", "prices")
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"ps\.sinks\.iceberg needs pyiceberg, .*'penstock-streams\[iceberg\]'"):
        ps.sinks.iceberg("t", "a.b")
