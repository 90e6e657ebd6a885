"""Spark's processes keep their memory unless the user says otherwise."""

from __future__ import annotations

import pytest

from penstock.errors import InputError
from penstock.host.allocator import MALLOC_DEFAULTS, malloc_settings


def test_memory_is_kept_by_default_and_the_users_own_settings_stay() -> None:
    assert malloc_settings({}) == MALLOC_DEFAULTS
    assert malloc_settings({"PENSTOCK_MALLOC": "system"}) == {}
    assert malloc_settings(dict.fromkeys(MALLOC_DEFAULTS, "5")) == {}


def test_sizes_are_bytes_since_glibc_reads_no_units() -> None:
    assert all(value.isdigit() for value in MALLOC_DEFAULTS.values())


def test_another_word_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"\$PENSTOCK_MALLOC is 'keep' .* or 'system'; got 'yes'"):
        malloc_settings({"PENSTOCK_MALLOC": "yes"})
