"""Cases of the window join: MODEL's A.4, 100 products, two bids to an offer."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.kernels.cases.bare_kernels import JoinKernel, KeyLookup
from benchmarks.kernels.cases.join_limits import (
    BIDS,
    OFFERS,
    chained,
    chained_state,
    join_outputs,
    scanned,
    scanned_state,
)
from benchmarks.kernels.job import KEY_TYPES, Case, Job, KeyType, Query, Scale
from benchmarks.kernels.loop import Array, Loop
from benchmarks.kernels.ticks import key_column, key_names
from penstock.app.application import Application
from penstock.app.windows import sliding
from penstock.block.block import Block, block_of
from penstock.expressions.parser import parse
from penstock.kernels.joins.window_join import JoinWindow, WindowJoin
from penstock.operators.windows.join_emits import JoinEmits

GOAL_RATIO = 0.70
PRODUCTS, BIDDERS = 100, 10_000
_NOTE = "30 bids, 15 offers; limit links tuples of a product"
_BIDS_S, _OFFERS_S = 10_000.0, 5_000.0
_WHERE = "right.offer <= left.bid"
_EMIT = {"bidder": "left.bidder", "product": "right.product", "bid": "left.bid", "offer": "right.offer"}
_SQL = f"""
WITH merged AS (SELECT stamp, 0 AS port, seq FROM bids UNION ALL SELECT stamp, 1, seq FROM offers),
numbered AS (
    SELECT port, seq, sum(1 - port) OVER w AS bids, sum(port) OVER w AS offers FROM merged
    WINDOW w AS (ORDER BY stamp, port, seq ROWS UNBOUNDED PRECEDING)),
met AS (
    SELECT seq AS bid_seq, unnest(range(greatest(offers - {OFFERS}, 0)::BIGINT, offers::BIGINT)) AS offer_seq
    FROM numbered WHERE port = 0
    UNION ALL
    SELECT unnest(range(greatest(bids - {BIDS}, 0)::BIGINT, bids::BIGINT)), seq FROM numbered WHERE port = 1)
SELECT bidder, b.product AS product, bid, offer
FROM met JOIN bids b ON b.seq = bid_seq JOIN offers o ON o.seq = offer_seq
WHERE b.product = o.product AND offer <= bid
"""


def join_cases() -> list[Case]:
    """The join for each spelling of its texts, and once more beside a loop that scans whole windows."""
    scan = "limit scans whole windows; for information"
    cases = [
        Case(f"join_{key_type}", "join", key_type, GOAL_RATIO if key_type == "int32" else None,
             partial(_join, key_type, "chained"), _NOTE if key_type == "int32" else f"{_NOTE}; kernel as for int32")
        for key_type in KEY_TYPES
    ]  # fmt: skip
    return [*cases, Case("join_int32_scan", "join", "int32", None, partial(_join, "int32", "scanned"), scan)]


def _join(key_type: KeyType, limit: str, scale: Scale) -> Job:
    rng, products = scale.generator, scale.keys or PRODUCTS
    offers = scale.rows // 3
    bids = scale.rows - offers
    bid_arrays = (np.arange(bids) / _BIDS_S, rng.integers(0, BIDDERS, bids).astype(np.int32),
                  rng.integers(0, products, bids).astype(np.int32), rng.random(bids) * 100 + 1)  # fmt: skip
    offer_arrays = (np.arange(offers) / _OFFERS_S, rng.integers(0, products, offers).astype(np.int32),
                    rng.random(offers) * 100 + 1)  # fmt: skip
    cuts = _cuts(bid_arrays[0], offer_arrays[0], scale)
    state, function = (
        (chained_state(products), chained) if limit == "chained" else (scanned_state(scale.block_rows), scanned)
    )
    inputs = _inputs(bid_arrays, offer_arrays, scale)
    loop = Loop(function, inputs, state, join_outputs(scale.block_rows))
    names = {"bidder": key_names(BIDDERS), "product": key_names(products)}
    tables = {"bids": _bids(bid_arrays, names, key_type), "offers": _offers(offer_arrays, names, key_type)}
    query = Query(None, _SQL, "polars cannot join on the last n rows")
    app = _application(tables)
    return Job(
        app,
        tables,
        cuts,
        loop,
        query,
        {} if key_type == "int32" else names,
        kernel=partial(_kernel, products, inputs, tables, cuts) if key_type == "int32" else None,
        lookup=partial(_lookup, tables, cuts),
    )


def _kernel(
    products: int, inputs: list[tuple[Array, ...]], tables: dict[str, pa.Table], cuts: tuple[dict[str, int], ...]
) -> JoinKernel:
    """Pairs, predicate and emits over the merged inputs of the limit."""
    join = WindowJoin(JoinWindow("count", BIDS), JoinWindow("count", OFFERS))
    sides = tuple(_blocks(tables[name], [cut[name] for cut in cuts]) for name in ("bids", "offers"))
    emits = JoinEmits(
        parse(_WHERE), [parse(text) for text in _EMIT.values()], (tables["bids"].schema, tables["offers"].schema)
    )
    merged = [(ports, keys) for ports, keys, *_ in inputs]
    return JoinKernel(join, emits, products, merged, (sides[0], sides[1]), list(_EMIT))


def _blocks(table: pa.Table, cuts: list[int]) -> list[Block]:
    whole, ends = block_of(table, table.schema), np.cumsum(cuts)
    return [whole.slice(int(end - rows), int(end)) for end, rows in zip(ends, cuts, strict=True)]


def _lookup(tables: dict[str, pa.Table], cuts: tuple[dict[str, int], ...]) -> KeyLookup:
    """One index for both sides' products, which the operator asks side by side."""
    keys = pa.chunked_array([chunk for table in tables.values() for chunk in table.column("product").chunks])
    return KeyLookup(keys, [sum(cut.values()) for cut in cuts])


def _cuts(bid_stamps: Array, offer_stamps: Array, scale: Scale) -> tuple[dict[str, int], ...]:
    """Rows of both sources in each block of merged tuples."""
    order = np.argsort(np.concatenate([bid_stamps, offer_stamps]), kind="stable")
    offers = (order.reshape(scale.blocks, scale.block_rows) >= len(bid_stamps)).sum(axis=1)
    return tuple({"bids": scale.block_rows - int(n), "offers": int(n)} for n in offers)


def _inputs(bids: tuple[Array, ...], offers: tuple[Array, ...], scale: Scale) -> list[tuple[Array, ...]]:
    """Ports, products, prices and bidders of both sources, merged by stamp; bids first where stamps are equal."""
    order = np.argsort(np.concatenate([bids[0], offers[0]]), kind="stable")
    ports = np.repeat(np.array([0, 1], np.uint8), [len(bids[0]), len(offers[0])])
    nobody = np.zeros(len(offers[0]), np.int32)
    pairs = ((bids[2], offers[1]), (bids[3], offers[2]), (bids[1], nobody))
    arrays = [ports[order], *(np.concatenate(pair)[order] for pair in pairs)]
    return list(zip(*(np.split(array, scale.blocks) for array in arrays), strict=True))


def _bids(arrays: tuple[Array, ...], names: dict[str, pa.Array], key_type: KeyType) -> pa.Table:
    stamp, bidder, product, price = arrays
    return pa.table({
        "seq": np.arange(len(stamp)), "stamp": stamp, "bidder": key_column(bidder, names["bidder"], key_type),
        "product": key_column(product, names["product"], key_type), "bid": price,
    })  # fmt: skip


def _offers(arrays: tuple[Array, ...], names: dict[str, pa.Array], key_type: KeyType) -> pa.Table:
    stamp, product, price = arrays
    product_column = key_column(product, names["product"], key_type)
    return pa.table({"seq": np.arange(len(stamp)), "stamp": stamp, "product": product_column, "offer": price})


def _application(tables: dict[str, pa.Table]) -> Application:
    app = Application("join")
    bids, offers = (app.source(name, schema=table.schema, stamp="stamp") for name, table in tables.items())
    joined = bids.join("matches", offers, left_window=sliding(count=BIDS), right_window=sliding(count=OFFERS),
                       on="product", where=_WHERE, emit=_EMIT)  # fmt: skip
    joined.sink("out")
    return app
