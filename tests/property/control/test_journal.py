"""A journal gives back what was written, whatever was killed in between."""

from __future__ import annotations

import base64
import json
import os
import tempfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control.journal.journal import (
    Journal,
    JournalLine,
    RecordedRun,
    newest_batch,
    part_before,
    read_journal,
)
from penstock.control.journal.plain_text import to_text
from penstock.control.journal.plain_values import pack, to_plain, unpack
from penstock.errors import InputError
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from tests.reference.observations import observations

BASE = Configuration((ElementConfiguration("trades", 2), ElementConfiguration("window", 2, even_route(2, 8))))
configurations = st.builds(
    lambda replicas, rows: replace(BASE.with_replicas("window", replicas), block_rows=rows),
    st.integers(1, 3),
    st.sampled_from((1, 64)),
)
lines = st.lists(st.builds(JournalLine, observations, configurations, st.none() | st.just({"replicas": 2})), max_size=6)


def write(path: Path, written: list[JournalLine], resumed: set[int] = frozenset()) -> None:  # type: ignore[assignment]
    journal = Journal(path, "prices")
    for number, line in enumerate(written):
        if number in resumed:
            journal = Journal(path, "prices")
        journal.write(line.observation, line.configuration, line.decision)


@settings(deadline=None)
@given(written=lines, resumed=st.sets(st.integers(0, 5)))
def test_what_was_written_is_read_and_a_batch_that_ran_again_replaces_its_line(
    written: list[JournalLine], resumed: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written, resumed)
        newest = {line.observation.batch: line for line in written}
        if written:
            assert read_journal(path) == RecordedRun("prices", tuple(newest[batch] for batch in sorted(newest)))


@settings(deadline=None)
@given(
    written=lines.filter(len),
    part_bytes=st.integers(1, 20_000),
    resumed=st.sets(st.integers(0, 5)),
    cut=st.none() | st.integers(0, 100),
)
def test_a_long_journal_goes_on_in_a_new_part_and_has_all_that_happened_lately(
    written: list[JournalLine], part_bytes: int, resumed: set[int], cut: int | None
) -> None:
    written = [replace(line, observation=replace(line.observation, batch=i)) for i, line in enumerate(written)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        before = part_before(path)
        journal = Journal(path, "prices", part_bytes=part_bytes)
        longest = path.stat().st_size
        for number, line in enumerate(written):
            if number in resumed:
                journal = Journal(path, "prices", part_bytes=part_bytes)
            size = path.stat().st_size
            journal.write(line.observation, line.configuration, line.decision)
            longest = max(longest, abs(path.stat().st_size - size), path.stat().st_size if size >= part_bytes else 0)
            assert path.stat().st_size < part_bytes + 2 * longest
            read = read_journal(path)
            assert read.application == "prices"
            assert read.lines == tuple(written[: number + 1][-len(read.lines) :])
            assert newest_batch(path) == number
            assert len(read.lines) == number + 1 or before.stat().st_size >= part_bytes
        if cut is not None and before.exists():  # killed while the new part was begun
            path.write_bytes(path.read_bytes()[: min(cut, path.read_bytes().index(b"\n"))])
            left = read_journal(path).lines
            journal = Journal(path, "prices", part_bytes=part_bytes)
            if left:  # none where the part before has its header alone
                journal.decide(left[-1].observation.batch, {"replicas": 9})
                assert read_journal(path).lines == (*left[:-1], replace(left[-1], decision={"replicas": 9}))


@settings(deadline=None)
@given(written=lines.filter(len), cut=st.integers(1, 10_000), after=lines)
def test_a_kill_at_any_byte_loses_at_most_what_was_not_whole(
    written: list[JournalLine], cut: int, after: list[JournalLine]
) -> None:
    written = [replace(line, observation=replace(line.observation, batch=i)) for i, line in enumerate(written)]
    after = [replace(line, observation=replace(line.observation, batch=100 + i)) for i, line in enumerate(after)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written)
        data = path.read_bytes()
        kept = data[: len(data) - cut % len(data)]
        path.write_bytes(kept)
        survived = max(kept.count(b"\n") - 1, 0)
        if kept.count(b"\n"):
            assert read_journal(path).lines == tuple(written[:survived])
        write(path, after)
        assert read_journal(path).lines == (*written[:survived], *after)


@given(st.lists(st.integers(0, 2**40), max_size=700))
def test_packed_numbers_are_unpacked(numbers: list[int]) -> None:
    assert unpack(pack(numbers)) == tuple(numbers)


def test_numbers_of_older_journals_are_unpacked() -> None:
    planes = np.array([3, 256, 70_000], np.uint32).view(np.uint8).reshape(-1, 4).T.tobytes()
    assert unpack("4:" + base64.b85encode(zlib.compress(planes)).decode()) == (3, 256, 70_000)


@given(observations, st.floats(allow_nan=False) | st.sampled_from((1e6, -1e6, 999_999.5, 1e-9, 3.0)))
def test_generated_text_says_what_plain_values_say(observation: Observation, seconds: float) -> None:
    observation = replace(observation, micro_batch_s=seconds)
    assert json.loads(to_text(observation)) == json.loads(json.dumps(to_plain(observation)))


def test_text_of_values_that_are_no_field_of_an_observation() -> None:
    @dataclass(frozen=True)
    class Odd:
        what: Any
        pairs: tuple[tuple[float, bool], ...] = ()
        names: tuple[str, ...] = ("a",)

    odd = Odd({"x": (1, None)}, ((0.5, True),), ())
    assert json.loads(to_text(odd)) == {"what": {"x": [1, None]}, "pairs": [[0.5, True]], "names": []}
    assert to_text(Odd(None)) == '{"what":null}'


def test_routes_are_written_only_where_they_change(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    seen = Observation(0, 1.0, 0.5, 10, 5)
    same = [JournalLine(seen, BASE), JournalLine(replace(seen, batch=1), replace(BASE, block_rows=7))]
    write(path, [*same, JournalLine(replace(seen, batch=2), BASE.with_replicas("window", 1))])
    assert [text.count("route") for text in path.read_text().splitlines()] == [0, 2, 0, 1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"observation":{}}\n', "' is not a journal: its first line has no version; give a checkpoint"),
        ("", "the journal '.*' is empty"),
        ('{"penstock_journal":7}\n', "has a version that is not read here: versions 1 and 2 are; got version 7"),
        ('{"penstock_journal":1}\n{"observation"\n{}\n', "line 2 of the journal '.*' is not JSON"),
        ('{"penstock_journal":1}\n[1]\n', "line 2 of the journal '.*' is not an object"),
        ('{"penstock_journal":1}\n{"observation":{"batch":1}}\n', "line 2 of the journal '.*' is no micro-batch"),
    ],
)
def test_what_is_no_journal_is_told(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "j").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_journal(tmp_path / "j")


def test_a_journal_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read: no such file"):
        read_journal(tmp_path / "none")


def test_a_decision_that_comes_later_is_that_of_its_micro_batch(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "prices", single=("intake",))
    seen = Observation(0, 1.0, 0.5, 10, 5)
    for batch in range(3):
        journal.write(replace(seen, batch=batch), BASE)
        journal.decide(max(batch - 1, 0), {"replicas": batch})
    journal.write(replace(seen, batch=1), BASE)  # runs again, and nothing was decided after it yet
    run = read_journal(tmp_path / "j")
    assert [line.decision for line in run.lines] == [{"replicas": 1}, None, None]
    assert run.single == ("intake",)


def fill(journal: Journal) -> None:
    for batch in range(1000):
        journal.decide(batch, {"replicas": batch})
        journal.write(Observation(batch, 1.0, 0.1, 10, 10), BASE)


def test_a_full_disk_leaves_whole_lines_and_the_journal_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fills_up(descriptor: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(28, "No space left on device")
        written = real(descriptor, data[: room[0]])
        room[0] -= written
        return written

    real, room = os.write, [1 << 30]
    monkeypatch.setattr(os, "write", fills_up)
    path = tmp_path / "j"
    journal = Journal(path, "prices", part_bytes=200)
    for bytes_left in (0, 20, 100, 700):
        room[0] = bytes_left
        with pytest.raises(OSError, match="No space"):
            fill(journal)
        room[0] = 1 << 30
        newest = Observation(5000 + bytes_left, 1.0, 0.1, 10, 10)
        journal.write(newest, BASE)
        assert read_journal(path).lines[-1].observation == newest, "whatever is there can be read"
