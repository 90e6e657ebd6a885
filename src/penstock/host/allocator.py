"""Settings of glibc's allocator for the processes of Spark, as environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import InputError

NAME = "PENSTOCK_MALLOC"
# Bytes: glibc reads "1G" as 1.  With them, blocks of some megabytes stay in the process between micro-batches; without,
# each one is mapped, faulted in and unmapped anew.  `python -m benchmarks files` measures both.
MALLOC_DEFAULTS = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}


def malloc_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables to add to an environment: those that the user has set stay, `PENSTOCK_MALLOC=system` adds none.

    >>> malloc_settings({"MALLOC_TRIM_THRESHOLD_": "1000000"})
    {'MALLOC_MMAP_THRESHOLD_': '1073741824'}
    """
    choice = environment.get(NAME, "keep")
    if choice not in ("keep", "system"):
        raise InputError(f"${NAME} is 'keep' (memory stays in Spark's processes) or 'system'; got '{choice}'")
    return {name: value for name, value in MALLOC_DEFAULTS.items() if choice == "keep" and name not in environment}
