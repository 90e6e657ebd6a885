"""Numbers of rows within a source: rows of one partition or file go before all of the next."""

from __future__ import annotations

from penstock.errors import InputError

# Numbers are int64: the first places have 2**40 of them each, all places behind have 2**32 each.
WIDE_PLACES, WIDE_BITS, NARROW_BITS = 1 << 22, 40, 32
_PLACES = WIDE_PLACES + (1 << 30) - 1


def first_of(place: int) -> int:
    """The number of the first row of a partition or file; rows of one go before all of the next."""
    if place >= _PLACES:
        raise InputError(f"a source has at most {_PLACES:,} files for the life of a checkpoint; got file "
                         f"{place + 1:,}; start with a new checkpoint")  # fmt: skip
    narrow = max(0, place - WIDE_PLACES)
    return ((place - narrow) << WIDE_BITS) + (narrow << NARROW_BITS)


def end_of(place: int) -> int:
    """The number behind the last one that a partition or file may have."""
    return first_of(place) + (1 << (WIDE_BITS if place < WIDE_PLACES else NARROW_BITS))


def check_in_place(first: int, rows: int, source: str) -> None:
    """InputError where rows from a number on reach into the next partition or file."""
    place = place_of(first)
    if first + rows > end_of(place):
        raise InputError(f"source '{source}' takes at most {end_of(place) - first_of(place):,} rows of one file here; "
                         "write smaller files")  # fmt: skip


def place_of(number: int) -> int:
    """The partition or file of a row."""
    wide = number >> WIDE_BITS
    return wide if wide < WIDE_PLACES else WIDE_PLACES + ((number - (WIDE_PLACES << WIDE_BITS)) >> NARROW_BITS)
