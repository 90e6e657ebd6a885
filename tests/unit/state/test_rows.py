"""Stored windows: moves, rebuilds, damage, full disks, few and many keys."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.block.column import FixedColumn, column_of
from penstock.errors import CorruptStateError, StateError, StateFileError
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.count.count_window import CountWindow
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.memory.header import Field, Shared
from penstock.state.memory.host_directory import HostDirectory, host_directory
from penstock.state.rows.row_log import AGE_MAX_BATCHES, PIECES_MAX
from penstock.state.rows.stored_count_window import StoredCountWindow
from penstock.state.token import Token
from tests.faults.state_worker import (
    ALL_SLOTS,
    INTEGER,
    Block,
    Driver,
    PlainWindow,
    results,
    stored_rows,
    stored_window,
)

SHAPE = (4, 1, False)
ONE = Block((1, 2, 1, 3), (1.0, 2.0, 3.0, 4.0))


class Setting:
    """A driver and one worker."""

    def __init__(self, root: Path) -> None:
        self.root, self.driver = root, Driver(root / "checkpoint")
        self.window, self.plain = self.worker("host"), PlainWindow(SHAPE)

    def worker(self, host: str) -> StoredCountWindow:
        return stored_window(self.root / "checkpoint", self.root / host, SHAPE)

    def open(self, window: StoredCountWindow | None = None) -> int:
        ledger, window = self.driver.ledger, window or self.window
        return len(window.open(ALL_SLOTS, ledger.heads, ledger.history, self.driver.token()))

    def run(self, block: Block, window: StoredCountWindow | None = None) -> int:
        """One batch; how many slots were rebuilt for it."""
        window = window or self.window
        rebuilt = self.open(window)
        fired = window.process(block.key_columns(pa.int64()), len(block.keys), block.columns())
        assert results(fired, len(block.keys)) == results(self.plain.process(block), len(block.keys))
        self.driver.publish(window.commit())
        return rebuilt

    def log(self) -> Path:
        return next((self.root / "checkpoint" / "logs").iterdir())


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def test_workers_of_one_host_pass_slots_on_without_rebuilding(setting: Setting) -> None:
    other = setting.worker("host")
    assert [
        setting.run(ONE),
        setting.run(ONE, other),
        setting.run(Block((9, 1), (5.0, 6.0))),
        setting.run(ONE, other),
    ] == [0] * 4


def test_a_slot_that_was_elsewhere_is_rebuilt_only_where_it_differs(setting: Setting) -> None:
    other = setting.worker("other host")
    assert setting.run(ONE) == 0
    written = len(setting.driver.ledger.entries)
    assert setting.run(ONE, other) == written
    assert setting.run(Block((2,), (0.5,))) == written
    assert setting.run(ONE, other) == 1  # slots that did not change while they were away are as good as ever


def test_a_slot_that_was_elsewhere_reads_only_what_it_missed(setting: Setting) -> None:
    keys = tuple(range(60))
    setting.run(Block(keys, (1.0,) * 60))
    first = setting.log()
    setting.run(Block((1,), (2.0,)), setting.worker("other host"))
    first.rename(first.with_suffix(".away"))
    assert setting.run(Block(keys, (3.0,) * 60)) == 1


def test_slots_that_were_opened_and_closed_are_ready(setting: Setting) -> None:
    setting.run(ONE)
    other = setting.worker("other host")
    assert setting.open(other) > 0
    other.close()
    assert setting.run(ONE, other) == 0


def test_an_attempt_without_a_commit_is_undone(setting: Setting) -> None:
    setting.run(ONE)
    setting.open()
    setting.window.process(ONE.key_columns(pa.int64()), 4, ONE.columns())
    setting.window.close()
    assert setting.run(Block((2, 77), (1.0, 1.0))) > 0


def test_a_batch_without_tuples_writes_nothing(setting: Setting) -> None:
    setting.run(ONE)
    before = setting.driver.ledger.entries
    setting.run(Block((), ()))
    assert np.array_equal(setting.driver.ledger.entries, before)
    assert len(list((setting.root / "checkpoint" / "logs").iterdir())) == 1


def test_a_log_that_was_damaged_is_refused_with_its_slot(setting: Setting) -> None:
    setting.run(ONE)
    data = bytearray(setting.log().read_bytes())
    data[-3] ^= 4
    setting.log().write_bytes(data)
    fresh = setting.worker("other host")
    with pytest.raises(CorruptStateError, match=r"\.log' is not what was written: slot \d has another checksum"):
        setting.open(fresh)
    assert fresh.memory.header.fields[Field.DIRTY].all()


def test_a_log_that_was_cut_off_or_lost_is_said(setting: Setting) -> None:
    setting.run(ONE)
    whole = setting.log().stat().st_size
    os.truncate(setting.log(), whole - 8)
    with pytest.raises(CorruptStateError, match=rf"is cut off: it has {whole - 8} bytes of {whole} that were written"):
        setting.open(setting.worker("other host"))
    setting.log().unlink()
    with pytest.raises(StateFileError, match=r"reading the state log .* failed: no such file or directory"):
        setting.open(setting.worker("other host"))


def _no_room(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_checkpoint_disk_is_one_sentence_and_leaves_the_slots_dirty(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting.run(ONE)
    setting.open()
    setting.window.process(ONE.key_columns(pa.int64()), 4, ONE.columns())
    monkeypatch.setattr(os, "writev", _no_room)
    with pytest.raises(StateFileError, match=r"writing the state log .* no space left"):
        setting.window.commit()
    monkeypatch.undo()
    setting.window.close()
    assert setting.window.memory.header.fields[Field.DIRTY].all()
    assert setting.run(ONE) > 0


def test_full_host_memory_is_one_sentence(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    setting.run(ONE)
    setting.open()
    many = Block(tuple(range(1000, 1200)), (0.0,) * 200)
    monkeypatch.setattr(os, "posix_fallocate", _no_room)
    with pytest.raises(StateFileError, match=r"reserving memory for state in .* no space"):
        setting.window.process(many.key_columns(pa.int64()), 200, many.columns())
    monkeypatch.undo()
    setting.window.close()
    assert setting.run(many) > 0


def test_a_host_directory_wiped_under_a_living_worker_is_made_anew(setting: Setting) -> None:
    setting.run(ONE)
    shutil.rmtree(setting.root / "host")
    assert setting.run(ONE) > 0
    assert setting.run(ONE, setting.worker("host")) == 0


def test_a_tuple_of_a_slot_that_is_not_held_is_refused(setting: Setting) -> None:
    ledger = setting.driver.ledger
    setting.window.open([0], ledger.heads, ledger.history, setting.driver.token())
    many = Block(tuple(range(50)), (0.0,) * 50)
    with pytest.raises(
        StateError, match=r"a tuple of slot \d came to a task that does not hold it; its route is wrong"
    ):
        setting.window.process(many.key_columns(pa.int64()), 50, many.columns())
    with pytest.raises(StateError, match="an operator of 6 slots was asked for slots 0 to 6"):
        setting.window.open(range(7), ledger.heads, ledger.history, setting.driver.token())


def test_a_known_key_whose_slot_went_elsewhere_is_refused_too(setting: Setting) -> None:
    setting.run(ONE)
    ledger = setting.driver.ledger
    setting.window.open([5], ledger.heads, ledger.history, setting.driver.token())
    with pytest.raises(StateError, match="its route is wrong"):
        setting.window.process(ONE.key_columns(pa.int64()), 4, ONE.columns())


def test_a_task_commits_once_and_processes_while_open(setting: Setting) -> None:
    with pytest.raises(StateError, match="processes blocks between `open` and `commit` or `close`"):
        setting.window.process(ONE.key_columns(pa.int64()), 4, ONE.columns())
    setting.open()
    task = setting.window.task
    task.commit()
    with pytest.raises(StateError, match="it commits once, and before it is closed"):
        task.commit()


def test_nulls_that_another_worker_wrote_are_known(setting: Setting) -> None:
    other, fresh = setting.worker("host"), setting.worker("third host")
    setting.run(ONE)
    setting.run(Block((1, 2), (None, 5.0)), other)
    setting.run(ONE)
    setting.run(Block((3, 1), (None, None)), fresh)
    setting.run(ONE, other)


def test_slots_may_come_with_the_tuples(setting: Setting) -> None:
    """Slots by range of an attribute are not found from the key's hash."""
    ledger = setting.driver.ledger
    setting.window.open([2], ledger.heads, ledger.history, setting.driver.token())
    slots = np.full(4, 2, np.int32)
    setting.window.process(ONE.key_columns(pa.int64()), 4, ONE.columns(), slots)
    assert setting.window.commit()["slot"].tolist() == [2]


def test_histories_stay_bounded(tmp_path: Path) -> None:
    """One of two hundred keys changes at a time: most logs are small, and now and then a slot is written whole."""
    window, ledger = stored_window(tmp_path, tmp_path / "host", SHAPE), Ledger.empty(6)
    blocks = [Block(tuple(range(200)), (1.0,) * 200), *(Block((key % 200,), (2.0,)) for key in range(400))]
    sizes = []
    for batch, block in enumerate(blocks):
        window.open(ALL_SLOTS, ledger.heads, ledger.history, Token(1, batch, batch))
        window.process(block.key_columns(pa.int64()), len(block.keys), block.columns())
        ledger = ledger.after(window.commit())
        sizes.append(int(ledger.heads["bytes"].sum()))
    assert max(sizes) < 3 * sizes[0]
    assert ledger.heads["pieces"].max() <= PIECES_MAX


def test_a_slot_at_rest_is_written_again_before_its_log_is_too_old(setting: Setting) -> None:
    setting.run(ONE)
    ledger = setting.driver.ledger
    setting.window.open(ALL_SLOTS, ledger.heads, ledger.history, Token(1, AGE_MAX_BATCHES + 1, 50))
    entries = setting.window.commit()
    assert sorted(entries["slot"]) == sorted(ledger.entries["slot"])
    assert entries["whole"].all()


def test_one_key(setting: Setting) -> None:
    for value in range(10):
        setting.run(Block((7,), (float(value),)))
    fresh = setting.worker("other host")
    setting.open(fresh)
    assert stored_rows(fresh) == setting.plain.rows()


def test_a_million_keys(tmp_path: Path) -> None:
    calls, count = (AggregateCall("sum", 0),), 1_000_000
    plain = CountWindow(*SHAPE, calls, (np.dtype("f8"),))

    def worker(host: str) -> StoredCountWindow:
        where = {"host_directory": HostDirectory(str(tmp_path / host)), "logs": Logs(str(tmp_path / "logs"))}
        return StoredCountWindow(*SHAPE, calls, (pa.int64(),), (pa.float64(),), slots=512, **where)  # type: ignore[arg-type]

    ledger, random = Ledger.empty(512), np.random.default_rng(3)
    values = FixedColumn(random.random(count), pa.float64())
    for batch, host in enumerate(["first", "second"]):
        window = worker(host)
        window.open(np.arange(512), ledger.heads, ledger.history, Token(1, batch, batch))
        fired = window.process([column_of(pa.array(np.arange(count) * 7919))], count, [values])
        expected = plain.process(np.arange(count, dtype=np.int32), count, [values])
        assert np.array_equal(fired.columns[0].values, expected.columns[0].values)
        ledger = ledger.after(window.commit())
    per_key = 8 * window.memory.header.shared[Shared.ROWS_USED] * window.memory.layout.words / count
    assert per_key < 1.25 * 8 * window.memory.layout.words


@pytest.mark.parametrize("key_type", [pa.int64(), pa.string()])
def test_workers_that_add_keys_in_turns_see_the_files_that_the_other_made_longer(
    tmp_path: Path, key_type: pa.DataType
) -> None:
    driver, count = Driver(tmp_path / "checkpoint", slots=2), 20_000
    workers = [stored_window(tmp_path / "checkpoint", tmp_path / "host", SHAPE, key_type, slots=2) for _ in range(2)]
    plain = PlainWindow(SHAPE, key_type)
    for _ in range(2):
        for slot, window in enumerate(workers):
            window.open([slot], driver.ledger.heads, driver.ledger.history, driver.token())
        for piece in range(8):  # first one makes the files longer, then the other adds keys
            names = range(piece * count, (piece + 1) * count)
            block = Block(tuple(names if key_type == INTEGER else map("key {}".format, names)), (float(piece),) * count)
            place = np.full(count, piece % 2, np.int32)
            fired = workers[piece % 2].process(block.key_columns(key_type), count, block.columns(), place)
            assert results(fired, count) == results(plain.process(block), count)
        driver.publish(*(window.commit() for window in workers))


def test_the_host_directory_is_the_checkpoints_and_the_boots_own(tmp_path: Path) -> None:
    one = host_directory("a", "window", str(tmp_path))
    assert one.path.startswith(str(tmp_path))
    assert one != host_directory("b", "window", str(tmp_path))
