"""PostgreSQL: each batch is there once, whatever dies; read back by psql."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.app.serialise import graph_to_json
from penstock.block.block import block_of
from penstock.connectors.files.folder_owner import Run
from penstock.connectors.port import BatchId
from penstock.connectors.sinks.postgres import PostgresSink
from penstock.errors import InputError, OperatorError, StateError
from tests.contract import test_sink_port as contract
from tests.services.postgres_server import PostgresServer

SCHEMA = contract.SCHEMA


def numbers(server: PostgresServer, table: str) -> list[int]:
    return [int(row[0]) for row in server.query(f"select n from {table} order by n")]


@pytest.mark.parametrize("stage", contract.STAGES)
def test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing(
    postgres: PostgresServer, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "dies_" + stage.replace(" ", "_")
    postgres.query(f"create table {table} (n bigint, key text)")
    postgres.query("drop table if exists penstock_sinks")
    own = contract.Case(
        lambda folder: Unstored(ps.sinks.postgres(postgres.dsn, table)), lambda folder: numbers(postgres, table)
    )
    monkeypatch.setitem(contract.CASES, "postgres", own)
    contract.test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing("postgres", stage, tmp_path)


def Unstored(sink: PostgresSink) -> Any:
    """The contract pickles sinks for their hosts, which have no connection and need none."""
    assert pickle.loads(pickle.dumps(sink)).dsn == ""
    return sink


def staged(sink: Any, folder: Path, batch: int, table: dict[str, Any], schema: pa.Schema, epoch: int = 1) -> Any:
    part = ps.sinks.Part("out", schema, BatchId(batch, "run"), epoch, 0, batch, folder)
    opened = sink.open(part)
    sink.write(opened, block_of(pa.table(table), schema))
    return ps.sinks.Delivery("out", schema, BatchId(batch, "run"), (opened.close(),), epoch, folder)


def claimed(sink: Any, schema: pa.Schema) -> None:
    for only_checks in (True, False):
        sink.claim(ps.sinks.Claim("out", Run("run", ""), only_checks, schema))


def test_a_server_that_is_killed_in_the_middle_of_a_batch_has_all_of_it_or_nothing(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.connectors.sinks import postgres as module

    postgres.query("drop table if exists penstock_sinks, cut")
    sink = ps.sinks.postgres(postgres.dsn, "cut")
    claimed(sink, SCHEMA)
    real, copied = module.copy_text, []

    def dying(batch: pa.RecordBatch) -> bytes:
        copied.append(batch.num_rows)
        if len(copied) == 1:
            postgres.kill()
            postgres.start()
        return real(batch)

    monkeypatch.setattr(module, "copy_text", dying)
    sink.publish(staged(sink, tmp_path, 0, {"n": [1, 2, 3], "key": ["a", "b", "c"]}, SCHEMA))
    assert len(copied) > 1, "the first attempt was cut"
    assert numbers(postgres, "cut") == [1, 2, 3]


def test_upserts_keep_the_last_row_of_a_key(postgres: PostgresServer, tmp_path: Path) -> None:
    postgres.query("drop table if exists penstock_sinks, latest")
    sink = ps.sinks.postgres(postgres.dsn, "latest", upsert_by="key")
    claimed(sink, SCHEMA)
    for batch, rows in enumerate([{"n": [1, 2, 3], "key": ["a", "b", "a"]}, {"n": [4, 5, 6], "key": ["b", "b", "c"]}]):
        delivery = staged(sink, tmp_path, batch, rows, SCHEMA)
        sink.publish(delivery)
        sink.publish(delivery)
    assert postgres.query("select key, n from latest order by key") == [["a", "3"], ["b", "5"], ["c", "6"]]


def test_a_driver_that_was_overtaken_is_refused_by_the_table_itself(postgres: PostgresServer, tmp_path: Path) -> None:
    postgres.query("drop table if exists penstock_sinks, fenced")
    sink = ps.sinks.postgres(postgres.dsn, "fenced")
    claimed(sink, SCHEMA)
    sink.publish(staged(sink, tmp_path, 0, {"n": [1], "key": ["a"]}, SCHEMA, epoch=2))
    with pytest.raises(StateError, match="sink 'out' was taken over by a later driver"):
        sink.publish(staged(sink, tmp_path, 1, {"n": [2], "key": ["a"]}, SCHEMA, epoch=1))
    assert numbers(postgres, "fenced") == [1]


def test_every_type_has_a_column(postgres: PostgresServer) -> None:
    postgres.query("drop table if exists typed")
    app = ps.Application("types")
    schema = {"small": "uint8", "large": "uint64", "key": "symbol", "at": "timestamp", "tags": "list<symbol>",
              "x": "float64", "text": "string", "yes": "bool"}  # fmt: skip
    sink = ps.sinks.postgres(postgres.dsn, "typed")
    app.source("in", schema=schema).sink("out", sink)
    sink.claim(ps.sinks.Claim("out", Run("run", ""), schema=app.graph.sinks[0].schema))
    row = {"small": [200, None], "large": [1 << 63, None], "key": ["k", None], "at": [1_000_000, None],
           "tags": [["t", None, 'q"\\'], None], "x": [float("nan"), None],
           "text": ['a,"b"\nc', ""], "yes": [True, None]}  # fmt: skip
    ps.evaluate(app, {"in": row})
    found = postgres.query("select row_to_json(t) from (select small, large, key, extract(epoch from at)::int as at,"
                           " tags, x::text, text, yes from typed order by small nulls last) t")  # fmt: skip
    assert json.loads("|".join(found[0])) == {
        "small": 200, "large": 1 << 63, "key": "k", "at": 1, "tags": ["t", None, 'q"\\'], "x": "NaN",
        "text": 'a,"b"\nc', "yes": True,
    }  # fmt: skip
    assert json.loads("|".join(found[1]))["text"] == ""
    assert json.loads("|".join(found[1]))["tags"] is None


def test_a_table_that_does_not_fit_is_told_at_the_start(postgres: PostgresServer) -> None:
    postgres.query("drop table if exists other; create table other (n bigint, key text)")
    missing = pa.schema({"n": pa.int64(), "more": pa.string()})
    with pytest.raises(OperatorError, match=r"sink 'out' cannot write to the table 'other' .* does not exist"):
        claimed(ps.sinks.postgres(postgres.dsn, "other"), missing)
    with pytest.raises(OperatorError, match="no unique or exclusion constraint"):
        claimed(ps.sinks.postgres(postgres.dsn, "other", upsert_by="key"), SCHEMA)


def test_secrets_are_nowhere_but_in_the_driver(postgres: PostgresServer, tmp_path: Path) -> None:
    sink = ps.sinks.postgres(postgres.dsn, "prices")
    app = ps.Application("secret")
    app.source("in", schema=SCHEMA).sink("out", sink)
    seen = [repr(sink), pickle.dumps(sink).decode("latin1"), graph_to_json(app.graph)]
    assert not any("very-secret" in text for text in seen)
    lost = pickle.loads(pickle.dumps(sink))
    with pytest.raises(InputError, match="sink 'out' lost its connection when the application was stored as text"):
        lost.publish(staged(sink, tmp_path, 0, {"n": [1], "key": ["a"]}, SCHEMA))
    wrong = ps.sinks.postgres(postgres.dsn.replace(str(postgres.port), "1"), "prices")
    with pytest.raises(OperatorError) as told:
        wrong.claim(ps.sinks.Claim("out", Run("run", ""), schema=SCHEMA))
    assert "very-secret" not in str(told.value)
