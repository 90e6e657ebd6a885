"""Sources of a user's own are planned, read and checked through the port."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.planned.source_port import MEMBERS, lacking
from penstock.errors import ApplicationError, InputError
from penstock.plan.elements.source_partitions import has_partitions
from penstock.plan.elements.unused_attributes import unused_attributes
from penstock.runtime.planning.source_planner import SourcePlanner, join_offsets
from penstock.runtime.replica.source_rows import partition_of
from penstock.runtime.replica.split_blocks import SplitBlocks


@dataclass(frozen=True)
class Numbers:
    """Whole numbers in partitions, each of which counts from 0."""

    total: int
    partitions: int = 1
    schema = pa.schema([("n", pa.int64())])
    promise = "Exactly once."

    def problems(self, source: Any) -> Sequence[str]:
        return [] if self.total >= 0 else [f"needs a total of at least 0; got {self.total}"]

    def latest(self, start: Any, planning: ps.sources.Planning) -> Any:
        begin = start or 0
        return min(begin + planning.most_tuples // self.partitions, self.total) or start

    def splits(self, start: Any, end: Any, path: Path) -> Sequence[ps.sources.Split]:
        begin = start or 0
        return [ps.sources.Split([begin, end], begin, end - begin, place) for place in range(self.partitions)]

    def read(self, split: ps.sources.Split, reading: ps.sources.Reading) -> Iterator[pa.Table]:
        begin, end = split.part
        if begin == 666:
            raise InputError("source 'in' cannot read this")
        reading.reject("has a number that nobody likes", {"n": 13}) if begin <= 13 < end else None
        yield pa.table({"n": [n for n in range(begin, end) if n != 13]})

    def backlog(self, after: Any, path: Path) -> float | None:
        return self.partitions * float(self.total - (after or 0))

    def arrivals(self, splits: Sequence[ps.sources.Split], path: Path) -> Sequence[float | None]:
        return [None for _ in splits]


def application(source: Any, **more: Any) -> ps.Application:
    app = ps.Application("own")
    app.source("in", source, **more).sink("out")
    return app


def test_a_source_of_ones_own_is_read_batch_by_batch(tmp_path: Path) -> None:
    graph = application(Numbers(total=25, partitions=2)).graph
    planner, (source,), letters = SourcePlanner(graph, tmp_path), graph.sources, DeadLetters()
    start: dict[str, Any] = {"in": None}
    found: dict[int, list[int]] = {0: [], 1: []}
    while (end := planner.latest(start, 0.0, 20)) != start:
        for split in planner.splits(start, end)["in"]:
            for number, block in SplitBlocks(graph, source, letters, 3).read(split.to_json()):
                found[partition_of(source, number)] += block.column("n").to_arrow().to_pylist()
        start = end
    assert found == {place: [n for n in range(25) if n != 13] for place in (0, 1)}
    assert [letter["row"] for letter in letters.table().to_pylist()] == ['{"n": 13}'] * 2
    assert planner.sources["in"].backlog(start["in"], tmp_path) == 0


def test_what_cannot_be_read_is_one_dead_letter_that_names_the_split() -> None:
    graph, letters = application(Numbers(1000)).graph, DeadLetters()
    split = ps.sources.Split([666, 668], 666, 2)
    assert not list(SplitBlocks(graph, graph.sources[0], letters, 3).read(split.to_json()))
    (letter,) = letters.table().to_pylist()
    assert (letter["reason"], letter["row"]) == ("source 'in' cannot read this", '{"split": [666, 668]}')


def test_a_row_that_does_not_fit_is_a_dead_letter() -> None:
    class Texts(Numbers):
        def read(self, split: ps.sources.Split, reading: ps.sources.Reading) -> Iterator[pa.Table]:
            yield pa.table({"n": ["1", "two", "3"]})

    graph, letters = application(Texts(3)).graph, DeadLetters()
    split = ps.sources.Split([0, 3], 0, 3)
    assert not list(SplitBlocks(graph, graph.sources[0], letters, 3).read(split.to_json()))
    assert "needs 'n' as int64; its input has string" in letters.table().to_pylist()[0]["reason"]


def test_splits_must_be_splits(tmp_path: Path) -> None:
    class Pairs(Numbers):
        def splits(self, start: Any, end: Any, path: Path) -> Any:
            return [(0, 3)]

    planner = SourcePlanner(application(Pairs(3)).graph, tmp_path)
    with pytest.raises(InputError, match=r"source 'in' gives ps.sources.Split objects from splits; got \(0, 3\)"):
        planner.splits({"in": None}, {"in": 3})


def test_problems_of_a_source_are_told_with_all_others() -> None:
    with pytest.raises(ApplicationError, match=r"operator .in. .* needs a total of at least 0; got -1"):
        _ = application(Numbers(-1)).graph


def test_a_source_that_lacks_members_is_told_which() -> None:
    class Half:
        schema = pa.schema([("n", pa.int64())])
        promise = ""
        problems = latest = splits = None

    assert lacking(Half()) == ["read", "backlog", "arrivals"]
    with pytest.raises(ApplicationError, match="a source of your own lacks read, backlog, arrivals"):
        _ = application(Half()).graph


@pytest.mark.parametrize("source", [ps.sources.csv("in"), ps.sources.parquet("in")])
def test_our_own_files_are_behind_the_port_in_one_partition(source: Any) -> None:
    assert not lacking(source)
    assert len(MEMBERS) == 8
    assert not has_partitions(application(source, schema={"n": "int64"}).graph.sources[0])
    assert has_partitions(application(Numbers(1)).graph.sources[0])
    assert source.promise.startswith("Exactly once")


def test_an_attribute_is_unused_only_if_all_who_read_the_source_say_what_they_emit() -> None:
    app = ps.Application("two")
    rows = app.source("in", schema={"a": "int64", "b": "int64", "c": "int64"})
    rows.functor("one", where="b > 0", emit={"a": "a"}).sink("out")
    assert unused_attributes(app.graph, app.graph.sources[0]) == {"c"}
    rows.functor("two", where="a > 0").sink("all")
    assert not unused_attributes(app.graph, app.graph.sources[0])


def offsets(spark: Path, batch: int, *lines: str) -> Path:
    path = spark / "offsets" / str(batch)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["v1", "{}", *lines]))
    return path


def test_checkpoints_of_before_go_on_with_the_offsets_of_their_files(tmp_path: Path) -> None:
    app = ps.Application("old")
    app.source("files", ps.sources.csv(tmp_path), {"n": "int64"}).sink("one")
    app.source("ticks", ps.sources.rate(1)).sink("two")
    app.source("more", ps.sources.parquet(tmp_path), {"n": "int64"}).sink("three")
    paths = [
        offsets(tmp_path, 0, '{"#beat": 0}', "-", "3", '{"files": 1}'),
        offsets(tmp_path, 1, '{"#beat": 5}', '{"files": 2}', "4", '{"files": 7}'),
    ]
    (tmp_path / "sources" / "2").mkdir(parents=True)
    for _ in range(2):  # the second time it does nothing
        join_offsets(app.graph, tmp_path)
    first, second = (path.read_text().split("\n") for path in paths)
    assert json.loads(first[2]) == {"#beat": 0, "files": None, "more": {"files": 1}}
    assert json.loads(second[2]) == {"#beat": 5, "files": {"files": 2}, "more": {"files": 7}}
    assert (first[3:], second[3:]) == (["3"], ["4"])
    assert [path.name for path in (tmp_path / "sources").iterdir()] == ["1"]
