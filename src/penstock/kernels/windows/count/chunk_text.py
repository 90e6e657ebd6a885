"""The kernel text that finds entries in chunks, and takes chunks; the names in it are those of `source.py`.

A group's word about chunks is about its next entry: a kernel that has filled a chunk looks up the one behind it at
once, so that most tuples, and what asks for their memory some tuples ahead, need no table.
"""

from __future__ import annotations

from penstock.kernels.windows.count.chunks import GRANULE, NEXT, ChunkLayout

_LOW = (1 << 32) - 1
_LINE_WORDS = 8
# Measured with windows of 1,000: a pass over all entries that finds its chunks cold takes three times as long.
_PASS_AHEAD_WORDS = 512
_BURST_WORDS = 256  # of each chunk; longer ones are read ahead by the processor itself


def find_text(chunks: ChunkLayout) -> list[str]:
    """Kernel text: has entry 0 of the chunk of entry s at granule `begin`; it is full when the head says `limit`.

    Where s is the first entry of a chunk that is not there yet, it takes one, or ends the kernel before tuple i.  What
    the memory was used for before does not matter: entries are written before they are read, about nulls, too, where
    any other process has written about them.
    """
    return [
        *next_text(chunks, "b"),
        f"if c == limit and c < {chunks.full}:",
        "    k = chunk_of[u(s)]",
        "    owner = owners[keys[i]] if owners.size > 0 else 0",
        "    at = nexts[owner]",
        "    if at + granules[k] > ends[owner]:",
        "        progress[0], progress[1], progress[2], progress[3] = i, fired, owner, granules[k]",
        "        return fired",
        "    nexts[owner] = at + granules[k]",
        f"    H[h + u(k + {NEXT})] = at - first[k] // {GRANULE}",
        f"    begin, limit = np.int64(H[h + u(k + {NEXT})]), min(np.int64(first[k + 1]), {chunks.full})",
        f"    I[b + u({chunks.fixed})] = begin << 32 | limit",
    ]


def move_text(chunks: ChunkLayout) -> list[str]:
    """Kernel text: where c, which counts entry s, says that its chunk is full, finds the next one, if it is there."""
    full, wrap = chunks.full, chunks.wrap
    return [
        f"if c == limit and c >= {full}:",
        f"    x = s + 1 if s < {full - 1} else 0",
        "    k = chunk_of[u(x)]",
        f"    begin = np.int64(H[h + u(k + {NEXT})])",
        f"    limit = (c if c < {wrap} else {wrap - full}) - x + min(np.int64(first[k + 1]), {full})",
        f"    I[b + u({chunks.fixed})] = begin << 32 | limit",
    ]


def next_text(chunks: ChunkLayout, base: str) -> list[str]:
    """Kernel text: reads `begin` and `limit` of the group whose words begin there."""
    return [f"following = I[{base} + u({chunks.fixed})]", f"begin, limit = following >> 32, following & {_LOW}"]


def place_text(chunks: ChunkLayout, slot: str) -> list[str]:
    """Kernel text: has g be the place of an entry: s before `move_text`, behind it s + 1 or the oldest one."""
    if slot != "oldest":
        return [f"g = u({GRANULE} * begin + {slot})"]
    return [f"g = u({GRANULE} * (begin if c >= {chunks.full} else np.int64(H[h + u({NEXT})])) + oldest)"]


def over_text(chunks: ChunkLayout, entries: str, step: list[str]) -> list[str]:
    """Kernel text: a step for the entry at g, for each from the last but one down to 1."""
    last, stride = len(chunks.granules) - 1, chunks.entry_words
    start = f"start = {GRANULE} * np.int64(H[h + u(k + {NEXT})])"
    lines = [start]
    if stride:
        ahead = [
            f"begin, x = {GRANULE} * np.int64(H[h + u(near + {NEXT})]), np.int64(first[near + 1])",
            f"for j in range((begin + x) * {stride} - 1, (begin + max(np.int64(first[near]), "
            f"x - {_BURST_WORDS // stride})) * {stride}, -{_LINE_WORDS}):",
            f"    prefetch({entries}, u(j))",
            f"prefetch({entries}, u((begin + first[near]) * {stride}))",
            "near -= 1",
        ]
        lines = [f"while near >= 0 and first[k] - first[near + 1] < {-(-_PASS_AHEAD_WORDS // stride)}:"]
        lines += [*("    " + line for line in ahead), start]
    lines += [f"for j in range(min(first[k + 1], {chunks.full - 1}) - 1, max(first[k], 1) - 1, -1):"]
    lines += ["    g = u(start + j)", *("    " + line for line in step)]
    return [f"near = {last}", f"for k in range({last}, -1, -1):", *("    " + line for line in lines)]
