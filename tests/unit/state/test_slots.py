"""Keys find the same slot everywhere, and slots their rows."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from penstock.block.column import Column, column_of
from penstock.errors import InputError
from penstock.state.extents import EXTENTS_MAX, extent_units, extents_for, locate
from penstock.state.slots.slot_functions import GridSlots, HashSlots, RangeSlots

WORDS = ["", "a", "GOOG", "seven77", "eight888", "longer than one word", None]


def slots(values: list[object], type_: pa.DataType, count: int = 512) -> list[int]:
    return HashSlots(count).slots_of([column_of(pa.array(values, type_))], len(values)).tolist()


def test_hashes_are_what_they_were_when_checkpoints_were_written() -> None:
    assert slots([0, 1, -1, 2**62, None], pa.int64()) == [452, 290, 457, 1, 135]
    assert slots(WORDS, pa.string()) == [416, 242, 289, 368, 416, 481, 135]


def test_another_process_with_another_hash_seed_finds_the_same_slots() -> None:
    program = "from tests.unit.state.test_slots import *; print(slots(WORDS, pa.string()), slots([1.5], pa.float64()))"
    found = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONHASHSEED": "5"}, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == f"{slots(WORDS, pa.string())} {slots([1.5], pa.float64())}"


def test_a_coded_string_is_in_the_slot_of_its_text() -> None:
    coded = pa.array([*WORDS, *WORDS]).dictionary_encode()
    few = pa.DictionaryArray.from_arrays(pa.array([2], pa.int32()), pa.array(WORDS[:-1]))
    assert HashSlots(512).slots_of([column_of(coded)], 14).tolist() == 2 * slots(WORDS, pa.string())
    assert HashSlots(512).slots_of([column_of(few)], 1).tolist() == slots(["GOOG"], pa.string())


def test_equal_numbers_are_in_one_slot_whatever_their_bits_or_width() -> None:
    assert len(set(slots([0.0, -0.0], pa.float64()))) == 1
    strange = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    assert len(set(HashSlots(512).slots_of([column_of(pa.array(strange))], 2).tolist())) == 1
    assert slots([7, None], pa.int32()) == slots([7, None], pa.int64())


def test_composite_keys_depend_on_every_column_and_its_place() -> None:
    left, right = column_of(pa.array([1, 2, 1])), column_of(pa.array(["x", "x", "y"]))
    found = HashSlots(32_768).slots_of([left, right], 3).tolist()
    turned = HashSlots(32_768).slots_of([right, left], 3).tolist()
    assert len({*found, *turned}) == 6
    assert HashSlots(8).slots_of([], 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize("values", [np.arange(100_000), np.arange(100_000) * 1024, np.arange(100_000) - 50_000])
def test_keys_spread_evenly(values: np.ndarray) -> None:  # type: ignore[type-arg]
    counts = np.bincount(HashSlots(64).slots_of([column_of(pa.array(values))], len(values)), minlength=64)
    assert counts.min() > 0.9 * len(values) / 64
    assert counts.max() < 1.1 * len(values) / 64


def test_ranges_and_grids() -> None:
    first: Column = column_of(pa.array([5, 10, 19, 99, None]))
    second: Column = column_of(pa.array([0.0, 1.0, float("nan"), -5.0, 0.5]))
    assert RangeSlots((10, 20)).slots_of([first], 5).tolist() == [0, 1, 1, 2, 2]
    assert RangeSlots((0.5,)).slots_of([second], 5).tolist() == [0, 1, 1, 0, 1]
    assert GridSlots((10, 20), (0.5,)).slots_of([first, second], 5).tolist() == [0, 3, 3, 4, 5]
    assert GridSlots((10, 20), (0.5,)).slots == 6


def test_mistakes_are_said() -> None:
    with pytest.raises(InputError, match="an operator has 1 to 32768 slots; got 0"):
        HashSlots(0)
    with pytest.raises(InputError, match="bounds of slots ascend; got 2, 1"):
        RangeSlots((2, 1))
    with pytest.raises(InputError, match="slots by range need a number as key attribute 1; got keys of string"):
        RangeSlots((1,)).slots_of([column_of(pa.array(["a"]))], 1)
    with pytest.raises(InputError, match="slots by range need a number as key attribute 2; got keys of int64"):
        GridSlots((1,), (1,)).slots_of([column_of(pa.array([1]))], 1)


@pytest.mark.parametrize("shift", [0, 4])
def test_extents_follow_one_another_without_gaps(shift: int) -> None:
    table = np.zeros((1, EXTENTS_MAX), np.int64)
    units = extent_units(np.arange(EXTENTS_MAX), shift)
    table[0] = np.cumsum(units) - units
    for local in [*range(300), 4095, 4096, 1_000_003, (1 << 26) - 1]:
        assert locate(table, 0, local, shift) == local
        needed = int(extents_for(np.array([local + 1]), shift)[0])
        assert table[0, needed - 1] <= local < table[0, needed - 1] + units[needed - 1]
    assert extents_for(np.array([0]), shift).tolist() == [0]
