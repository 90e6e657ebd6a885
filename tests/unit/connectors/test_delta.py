"""Delta: each batch is added once, whoever commits it; the log is read back without the library that wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.block.block import block_of
from penstock.connectors.files.folder_owner import Run
from penstock.connectors.port import BatchId
from penstock.errors import InputError, MissingExtraError, StateError
from penstock.host import extras
from tests.contract import test_sink_port as contract

SCHEMA = pa.schema({"n": pa.int64(), "key": pa.string()})


def actions(folder: Path) -> list[dict[str, Any]]:
    """The table's log, line by line."""
    logs = sorted((folder / "_delta_log").glob("*.json"))
    return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def numbers(folder: Path) -> list[int]:
    files = [action["add"]["path"] for action in actions(folder) if "add" in action]
    return [n for file in files for n in pq.read_table(folder / file)["n"].to_pylist()]


CASE = contract.Case(ps.sinks.delta, numbers)


@pytest.mark.parametrize("stage", contract.STAGES)
def test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(contract.CASES, "delta", CASE)
    contract.test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing("delta", stage, tmp_path)
    done = [action["txn"]["version"] for action in actions(tmp_path / "out") if "txn" in action]
    assert done == [0, 1, 3]


def test_it_is_a_port_and_can_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contract.CASES, "delta", CASE)
    contract.test_a_sink_is_a_port_that_survives_being_stored("delta", tmp_path)
    contract.test_finite_input_goes_to_any_sink("delta", tmp_path)


def staged(sink: Any, batch: int, values: list[int], run: str = "run", epoch: int = 1) -> ps.sinks.Delivery:
    opened = sink.open(ps.sinks.Part("out", SCHEMA, BatchId(batch, run), epoch, 0))
    sink.write(opened, block_of(pa.table({"n": values, "key": ["k"] * len(values)}), SCHEMA))
    return ps.sinks.Delivery("out", SCHEMA, BatchId(batch, run), (opened.close(),), epoch)


def test_two_drivers_that_commit_the_same_batch_add_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older driver has looked, and found nothing, when the newer one commits."""
    sink = ps.sinks.delta(tmp_path / "t")
    sink.publish(staged(sink, 0, [1]))
    late = staged(sink, 1, [2])
    look, versions = type(sink)._table, []

    def looked(own: Any) -> Any:
        found = look(own)
        versions.append(found.version())
        if len(versions) == 1:
            own.publish(late)
        return found

    monkeypatch.setattr(type(sink), "_table", looked)
    sink.publish(late)
    assert versions == [0, 0, 1], "the third look finds what the newer driver has committed"
    assert numbers(tmp_path / "t") == [1, 2]


def test_a_driver_that_was_overtaken_commits_nothing(tmp_path: Path) -> None:
    def overtaken() -> None:
        raise StateError("taken over")

    sink = ps.sinks.delta(tmp_path / "t")
    late = staged(sink, 0, [1])
    with pytest.raises(StateError):
        sink.publish(ps.sinks.Delivery("out", SCHEMA, late.batch, late.parts, fence=overtaken))
    assert not (tmp_path / "t" / "_delta_log").exists()


def test_another_run_s_batch_0_is_not_the_one_that_was_done(tmp_path: Path) -> None:
    sink = ps.sinks.delta(tmp_path / "t")
    for run in ("one", "other"):
        sink.publish(staged(sink, 0, [1], run))
    assert numbers(tmp_path / "t") == [1, 1]


def test_a_table_with_other_columns_is_refused_at_the_start(tmp_path: Path) -> None:
    sink = ps.sinks.delta(tmp_path / "t")
    sink.publish(staged(sink, 0, [1]))
    other = pa.schema({"n": pa.float64(), "more": pa.string()})
    with pytest.raises(InputError, match=r"sink 'out' writes to the Delta table .* differ in: key, more, n; take"):
        sink.claim(ps.sinks.Claim("out", Run("run", ""), only_checks=True, schema=other))


def test_types_that_delta_lacks_are_widened(tmp_path: Path) -> None:
    app = ps.Application("types")
    schema = {"small": "uint8", "large": "uint64", "key": "symbol", "at": "timestamp", "tags": "list<symbol>"}
    app.source("in", schema=schema).sink("out", ps.sinks.delta(tmp_path / "t"))
    row = {"small": [200], "large": [1 << 63], "key": ["k"], "at": [1_000_000], "tags": [["t", None]]}
    (file,) = ps.evaluate(app, {"in": row}).written
    assert [str(field.type) for field in pq.read_schema(file)] == [
        "int16", "decimal128(20, 0)", "string", "timestamp[us, tz=UTC]", "list<element: string>",
    ]  # fmt: skip


def test_a_missing_extra_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"ps\.sinks\.delta needs deltalake, .*'penstock-streams\[delta\]'"):
        ps.sinks.delta("t")
