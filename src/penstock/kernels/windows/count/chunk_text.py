"""The kernel text that finds entries in chunks, and takes chunks; the names in it are those of `source.py`."""

from __future__ import annotations

from penstock.kernels.windows.count.chunks import GRANULE, NEWEST, ChunkLayout

_LOW = (1 << 32) - 1


def find_text(chunks: ChunkLayout) -> list[str]:
    """Kernel text: has entry 0 of the group's newest chunk at granule `begin`; it is full when the head says `limit`.

    s is the entry that is to be written.  Where it is the first of a chunk that is not there yet, it takes one, or ends
    the kernel before tuple i.  What the memory was used for before does not matter: entries are written before they are
    read, about nulls, too, where any other process has written about them.
    """
    return [
        *newest_text(chunks, "b"),
        "if c == limit:",
        "    k = chunk_of[u(s)]",
        f"    if c < {chunks.full}:",
        "        owner = owners[keys[i]] if owners.size > 0 else 0",
        "        at = nexts[owner]",
        "        if at + granules[k] > ends[owner]:",
        "            progress[0], progress[1], progress[2], progress[3] = i, fired, owner, granules[k]",
        "            return fired",
        "        nexts[owner] = at + granules[k]",
        f"        H[h + u(k + {NEWEST})] = at - first[k] // {GRANULE}",
        f"    begin, limit = np.int64(H[h + u(k + {NEWEST})]), c - s + min(np.int64(first[k + 1]), {chunks.full})",
        f"    if limit == {chunks.wrap}:",
        f"        limit = {chunks.wrap - chunks.full}",
        f"    I[b + u({chunks.fixed})] = begin << 32 | limit",
    ]


def newest_text(chunks: ChunkLayout, base: str) -> list[str]:
    """Kernel text: reads `begin` and `limit` of the group whose words begin there."""
    return [f"newest = I[{base} + u({chunks.fixed})]", f"begin, limit = newest >> 32, newest & {_LOW}"]


def place_text(slot: str) -> list[str]:
    """Kernel text: has g be the place of an entry; s has been found, and c counts it."""
    if slot == "s":
        return [f"g = u({GRANULE} * begin + s)"]
    far = f"{GRANULE} * np.int64(H[h + u(chunk_of[u(x)] + {NEWEST})]) + x"
    near = f"{GRANULE} * begin + x if c != limit else " if slot == "s + 1" else ""
    return [f"x = {slot}", f"g = u({near}{far})"]


def over_text(chunks: ChunkLayout, step: list[str]) -> list[str]:
    """Kernel text: a step for the entry at g, for each from the last but one down to 1."""
    each = [f"for j in range(min(first[k + 1], {chunks.full - 1}) - 1, max(first[k], 1) - 1, -1):"]
    each += ["    g = u(start + j)", *("    " + line for line in step)]
    start = f"start = {GRANULE} * np.int64(H[h + u(k + {NEWEST})])"
    return [f"for k in range({len(chunks.granules) - 1}, -1, -1):", *("    " + line for line in [start, *each])]
