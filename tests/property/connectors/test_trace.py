"""Traces equal a plain version of themselves at any cut, in any process; moments and counts are inverse."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.connectors.trace.arrivals import Arrivals
from penstock.connectors.trace.market_tables import base_cents, volumes
from penstock.connectors.trace.rates import SHAPES
from penstock.connectors.trace.tuple_kernels import word_of_seed

OFFSETS = st.one_of(st.integers(0, 1000), st.integers(0, 2**53))
SEEDS = st.one_of(st.integers(0, 9), st.integers(0, 2**70))
SETTINGS = st.fixed_dictionaries({
    "keys": st.one_of(st.integers(1, 10), st.sampled_from([2836, 100_000])),
    "key_distribution": st.sampled_from(["uniform", "zipf"]), "seed": SEEDS,
})  # fmt: skip


def word(offset: int, seed: int) -> int:
    """splitmix64 in whole numbers."""
    z = (offset * 0x9E3779B97F4A7C15 + word_of_seed(seed)) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def plain_tuple(offset: int, seed: int, keys: int, alias: list[int] | None) -> tuple[Any, ...]:
    bits = word(offset, seed)
    code, rest = divmod((bits >> 32) * keys, 2**32)
    if alias is not None and rest >= alias[code] >> 32:
        code = alias[code] % 2**32
    cents = int(base_cents(seed)[code % 4096])
    cents += cents * ((bits >> 1) % 1024 - 512) // 2**16
    return offset, code, bits % 2, cents / 100, float(volumes()[(bits >> 11) % 1024])


@given(start=OFFSETS, rows=st.integers(0, 50), settings=SETTINGS)
def test_blocks_equal_the_plain_version(start: int, rows: int, settings: dict[str, Any]) -> None:
    trace = ps.sources.trace(**settings).open()
    block = trace.block(start, start + rows)
    alias = None if trace.alias is None else trace.alias.tolist()
    wanted = [plain_tuple(n, settings["seed"], settings["keys"], alias) for n in range(start, start + rows)]
    assert list(zip(*(column.tolist() for column in block.columns), strict=True)) == wanted


@given(start=OFFSETS, cuts=st.lists(st.integers(0, 300), min_size=2, max_size=5), settings=SETTINGS)
def test_a_block_is_its_pieces(start: int, cuts: list[int], settings: dict[str, Any]) -> None:
    trace = ps.sources.trace(**settings).open()
    edges = [start + cut for cut in sorted(cuts)]
    whole = trace.block(edges[0], edges[-1])
    room = trace.block(0, 300)
    for a, b in itertools.pairwise(edges):
        piece = trace.block(a, b, into=room)
        for one, other in zip(whole.columns, piece.columns, strict=True):
            assert np.array_equal(one[a - edges[0] : b - edges[0]], other)


@given(counts=st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=1, max_size=4), data=st.data())
def test_recorded_keys_are_the_same_at_any_cut(
    tmp_path_factory: pytest.TempPathFactory, counts: list[list[int]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("traces")
    for key, values in enumerate(counts):
        rows = "".join(f"{i},{value}\n" for i, value in enumerate(values))
        (folder / f"{key}.csv").write_text("timestamp,value\n" + rows)
    total = sum(map(sum, counts))
    if total == 0:
        return
    source = ps.sources.trace([folder / f"{key}.csv" for key in range(len(counts))], key_distribution="traces")
    codes = source.block(0, total).ticker
    cut = data.draw(st.integers(0, total))
    pieces = source.block(0, cut).ticker, source.block(cut, total).ticker
    assert np.array_equal(codes, np.concatenate(pieces))
    bounds = np.cumsum([0, *(sum(column) for column in zip(*counts, strict=True))])
    for i, (a, b) in enumerate(itertools.pairwise(bounds)):
        assert np.bincount(codes[a:b], minlength=len(counts)).tolist() == [values[i] for values in counts]


@given(
    name=st.sampled_from(sorted(SHAPES)), rate=st.floats(0.01, 1e8), seed=st.integers(0, 9),
    speed_up=st.sampled_from([1.0, 7.0, 1000.0]), time_s=st.floats(0, 1e5), offset=st.integers(0, 10**11),
)  # fmt: skip
def test_counts_and_moments_are_inverse(
    name: str, rate: float, seed: int, speed_up: float, time_s: float, offset: int
) -> None:
    arrivals = ps.sources.trace(name, rate_tuples_s=rate, seed=seed, speed_up=speed_up).open().arrivals
    assert arrivals is not None
    count = arrivals.arrived_by(time_s)
    assert arrivals.arrival_s(np.array([count]))[0] >= time_s
    assert count == 0 or arrivals.arrival_s(np.array([count - 1]))[0] < time_s
    moments = arrivals.arrival_s(np.arange(offset, offset + 500))
    assert (np.diff(moments) >= 0).all()


@given(pieces=st.lists(st.tuples(st.floats(0.1, 10), st.floats(0, 5)), min_size=1, max_size=8), repeats=st.booleans())
def test_moments_in_any_order_equal_a_search_one_by_one(pieces: list[tuple[float, float]], repeats: bool) -> None:
    edges_s = np.cumsum([0.0, *(length for length, _ in pieces)])
    counts = np.cumsum([0.0, *(count for _, count in pieces)])
    if counts[-1] < 0.1:
        return
    arrivals = Arrivals(edges_s, counts, repeats)
    offsets = np.random.default_rng(1).permutation(60)
    moments = arrivals.arrival_s(offsets)
    assert moments.tolist() == [arrivals.arrival_s(np.array([n]))[0] for n in offsets]
    assert (np.diff(np.sort(moments[np.argsort(offsets)])[np.isfinite(np.sort(moments))]) >= 0).all()
    for n in offsets[:10]:
        by_moment = sum(float(m) < float(n) for m in moments)
        assert min(arrivals.arrived_by(float(n)), 60) == by_moment


def test_another_process_makes_the_same_tuples() -> None:
    program = (
        "import penstock as ps, hashlib\n"
        "for kind in ('uniform', 'zipf'):\n"
        "    block = ps.sources.trace(key_distribution=kind, seed=11).block(10**12, 10**12 + 5000)\n"
        "    print(hashlib.sha256(b''.join(column.tobytes() for column in block.columns)).hexdigest())\n"
        "print(ps.sources.trace('trading_day', seed=11).open().arrived_by(1234.5))\n"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in "12"]
    assert runs[0].stdout == runs[1].stdout
    assert len(set(runs[0].stdout.split())) == 3


def test_half_are_trades_and_keys_are_as_frequent_as_asked_for() -> None:
    rows = 1_000_000
    uniform = ps.sources.trace(keys=1000).block(0, rows)
    assert abs(uniform.ttype.mean() - 0.5) < 0.003
    counts = np.bincount(uniform.ticker, minlength=1000)
    assert ((counts - rows / 1000) ** 2 / (rows / 1000)).sum() < 1000 + 5 * np.sqrt(2000)  # chi squared, 5 sigma
    zipf = np.sort(np.bincount(ps.sources.trace(keys=1000, key_distribution="zipf").block(0, rows).ticker))[::-1]
    shares = (1 / np.arange(1, 11)) / (1 / np.arange(1, 1001)).sum()
    assert zipf[:10] / rows == pytest.approx(shares, rel=0.02)


def test_attributes_do_not_follow_each_other() -> None:
    block = ps.sources.trace(keys=1000).block(0, 1_000_000)
    relative = block.price / (base_cents(7)[block.ticker] / 100)
    columns = [block.ticker, block.ttype, relative, np.log(block.volume)]
    together = np.corrcoef(columns) - np.eye(4)
    assert np.abs(together).max() < 0.005
    for column in columns:
        assert abs(np.corrcoef(column[1:], column[:-1])[0, 1]) < 0.005


def test_prices_are_cents_near_their_base_and_volumes_round_lots() -> None:
    block = ps.sources.trace(keys=100).block(0, 100_000)
    assert np.array_equal(block.price, np.round(block.price, 2))
    assert np.abs(block.price / (base_cents(7)[block.ticker] / 100) - 1).max() < 0.02
    assert not (block.volume % 100).any()
    assert 100 == block.volume.min() < np.median(block.volume) < block.volume.mean() < block.volume.max() <= 10_000
