"""How many threads an element may use when others run in its process, so that all of them together fit the cores."""

from __future__ import annotations

from collections.abc import Sequence


def fair_max_level(levels: Sequence[int], own: int, cores: int) -> int:
    """The most threads of element number `own`: its even share, and what the others leave of theirs.

    Computing elements that each seek their own best win cores from one another by ever more threads, and all lose
    (record 0020).
    """
    others = sum(levels) - levels[own]
    return max(even_share(len(levels), cores), cores - others)


def even_share(elements: int, cores: int) -> int:
    """The threads of each of so many elements, whatever the others use; at least one."""
    return max(1, cores // elements)
