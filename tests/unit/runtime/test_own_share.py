"""Tasks choose among the shares of a micro-batch: each share is read once, by a process that read its partitions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.planned.source_port import Split
from penstock.errors import StaleAttemptError, StateFileError
from penstock.runtime.replica.source_rows import split_of, split_row
from penstock.runtime.sources.offset_reader import AnyShare, OffsetReader, Share
from penstock.runtime.sources.own_share import PartitionsRead, each_once, own_share

SHARES = 3


def any_share(shares: int = SHARES) -> AnyShare:
    """Shares of two partitions each."""
    splits = [tuple(Split({"n": place}, 7, 1, place) for place in (2 * own, 2 * own + 1)) for own in range(shares)]
    return AnyShare(tuple(Share("s", own, (None, None)) for own in splits))


def rows(partition: Share | AnyShare) -> list[pa.RecordBatch]:
    return list(OffsetReader.read(SimpleNamespace(), partition))  # type: ignore[arg-type]


def partitions_of(batches: Any) -> list[int]:
    return [split_of(row["payload"])[0].partition for batch in batches for row in batch.to_pylist()]


def task(number: int, folder: Path | None, read: PartitionsRead, batch: int = 0) -> tuple[int, list[int]]:
    share, found = own_share(iter(rows(any_share())), number, None if folder is None else str(folder), read, batch)
    return share, partitions_of(found)


def test_a_task_takes_the_share_whose_partitions_its_process_has_read(tmp_path: Path) -> None:
    processes = [PartitionsRead() for _ in range(SHARES)]
    assert [task(n, None, processes[n]) for n in range(SHARES)] == [(n, [2 * n, 2 * n + 1]) for n in range(SHARES)]
    for batch, moved in enumerate(([1, 2, 0], [2, 1, 0], [0, 2, 1]), 1):
        folder = tmp_path / str(batch)
        folder.mkdir()
        assert [task(n, folder, processes[own], batch)[0] for n, own in enumerate(moved)] == moved


@given(st.lists(st.tuples(st.integers(0, SHARES - 1), st.integers(0, 3)), max_size=12))
def test_each_share_is_read_once_and_a_task_that_runs_again_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory, attempts: list[tuple[int, int]]
) -> None:
    folder, processes = tmp_path_factory.mktemp("batch"), [PartitionsRead() for _ in range(4)]
    found = dict[int, Sequence[int]]()
    for number, process in [*attempts, *((n, 0) for n in range(SHARES))]:
        share, own = task(number, folder, processes[process])
        assert found.setdefault(number, own) == own == [2 * share, 2 * share + 1]
    assert sorted(place for own in found.values() for place in own) == list(range(2 * SHARES))


def test_a_task_for_which_nothing_is_left_does_not_count(tmp_path: Path) -> None:
    for number in range(SHARES):
        task(number, tmp_path, PartitionsRead())
    with pytest.raises(StaleAttemptError, match="task 7 came too late: other tasks have claimed all 3 shares"):
        task(7, tmp_path, PartitionsRead())


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match=r"claiming splits in '.*/share-1' failed: no such file"):
        task(1, tmp_path / "gone", PartitionsRead())


def test_rows_without_a_choice_are_the_task_s_own() -> None:
    own = rows(any_share().shares[1])
    share, found = own_share(iter(own), 5, None, PartitionsRead(), 0)
    assert (share, partitions_of(found)) == (5, [2, 3])
    assert own_share(iter([]), 4, None, PartitionsRead(), 0)[0] == 4


def test_one_task_in_place_of_all_reads_each_share_once() -> None:
    of_all = [batch for _ in range(SHARES) for batch in rows(any_share())]
    other = split_row("other", Split({}, 0, 1, 9))
    assert partitions_of(each_once([*of_all, other])) == [*range(2 * SHARES), 9]
    together = pa.Table.from_batches(of_all).combine_chunks().to_batches()
    assert partitions_of(each_once(together)) == list(range(2 * SHARES))


@pytest.mark.parametrize("reads_ahead", [True, False])
def test_tasks_choose_where_a_source_reads_ahead(reads_ahead: bool) -> None:
    splits = {"s": [Split({}, 0, 10, place) for place in range(4)]}
    planner = SimpleNamespace(
        splits=lambda start, end: splits, reads_ahead=lambda names: reads_ahead and list(names) == ["s"],
        arrivals=lambda name, own: [None] * len(own),
    )  # fmt: skip
    reader = SimpleNamespace(
        planner=planner, cuts=SimpleNamespace(sources={}, frontier=lambda end: None),
        _settings=lambda: {"tasks": 2, "block_rows": 8}, _shares=None,
    )  # fmt: skip
    reader._shares = lambda *given: OffsetReader._shares(reader, *given)  # type: ignore[arg-type]
    found = OffsetReader.partitions(reader, {}, {})  # type: ignore[arg-type]
    assert [type(own) for own in found] == [AnyShare if reads_ahead else Share] * 2
    assert json.loads(rows(found[1])[-1].column("payload")[0].as_py())[3] == 3
