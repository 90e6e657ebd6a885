"""The text of a count window's kernel: one pass over a block, all aggregates, no choice left to run time.

Names in the text: I and F the groups' words as int64 and as float64 (the same memory), N the null counts, b and n where
the group's words begin in them, v the columns, k their masks, x, y, z a tuple's value, the same as float64 and whether
it is null, e the tuple's terms, a those of the current entry, p of the prefix, w of the whole window, c the group's
entries, q its position within `every`, o and r the results and their masks.

Where entries lie in chunks: H the words as int32, h where a group's numbers about chunks begin in them, g an entry's
place in CI, CF and CN, which are to entries what I, F and N are to rows.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.windows.count.chunk_text import find_text, move_text, next_text, over_text, place_text
from penstock.kernels.windows.count.chunks import GRANULE, NEXT, ChunkLayout
from penstock.kernels.windows.count.results import indent, is_masked, results
from penstock.kernels.windows.count.ring import ring_body
from penstock.kernels.windows.count.shape import Area, Shape

# Measured: up to here writing results that nobody takes is cheaper than mispredicting which tuple fires.
UNCONDITIONAL_EVERY_MAX = 9
# How many tuples ahead a group's memory is asked for, and how many lines of it; not where all groups fit in a cache.
PREFETCH_TUPLES = 16
PREFETCH_LINES_MAX = 4
PREFETCH_ABOVE_WORDS = 1 << 16
_LINE_WORDS = 8
FOUND = "g"  # the entry whose place has been found
# Chunks of entries; who takes them: the key of each row, and the owner of each key (nobody's names: there is but one).
_CHUNK_ARGUMENTS = [
    "H",
    "CI",
    "CF",
    "CN",
    "chunk_of",
    "first",
    "granules",
    "keys",
    "owners",
    "nexts",
    "ends",
    "progress",
]
_CHUNK_TYPES = ["t.int32[::1]", "t.int64[::1]", "t.float64[::1]", "t.int64[::1]", *["t.int32[::1]"] * 3]
_CHUNK_TYPES += ["readonly(t.int32)"] * 2 + ["t.int64[::1]"] * 3


def kernel_source(shape: Shape) -> str:
    """The module text of a Python function `kernel`, which gives the number of windows fired, and its `signature`."""
    body = {"pane": _pane_body, "ring": ring_body, "entries": _entries_body, "stack": _entries_body}[shape.mode](shape)
    end = [] if shape.chunks is None else ["    progress[0] = groups.size"]
    return "\n".join([*_header(shape), *indent([*_row(shape), *body], 2), *end, "    return fired", ""])


def _header(shape: Shape) -> list[str]:
    masked = [place for place, call in enumerate(shape.calls) if is_masked(call, shape.nullable)]
    names = ["groups", "I", "F", "N", *(f"v{c}" for c in shape.columns)]
    types = ["readonly(t.int32)", "t.int64[::1]", "t.float64[::1]", "t.int64[::1]"]
    types += [f"readonly(t.{_numba_name(shape.types[c])})" for c in shape.columns]
    if shape.nullable:
        names += [f"k{c}" for c in shape.columns]
        types += ["readonly(t.boolean)"] * len(shape.columns)
    names += ["rows", *(f"o{place}" for place in range(len(shape.calls))), *(f"r{place}" for place in masked)]
    types += ["t.int64[::1]", *(f"t.{_numba_name(dtype)}[::1]" for dtype in shape.result_types)]
    types += ["t.boolean[::1]"] * len(masked)
    if shape.chunks is not None:
        names += _CHUNK_ARGUMENTS
        types += _CHUNK_TYPES
    return [
        "import numpy as np",
        "from numba import types as t",
        "",
        "from penstock.kernels.codegen.prefetch import prefetch",
        "",
        "u = np.uintp",
        "",
        "",
        "def readonly(type_):",
        '    return t.Array(type_, 1, "C", readonly=True)',
        "",
        "",
        f"signature = t.int64({', '.join(types)})",
        "",
        "",
        f"def kernel({', '.join(names)}):",
        "    fired = 0" if shape.chunks is None else "    fired = progress[1]",
        f"    ahead = groups.size if I.size > {PREFETCH_ABOVE_WORDS} else 0"
        if shape.chunks is None
        else f"    ahead = u(groups.size if CI.size > {PREFETCH_ABOVE_WORDS} else 0)",
        # Unsigned: an index that may be negative costs a nanosecond a tuple.
        "    for i in range(groups.size):"
        if shape.chunks is None
        else "    for i in range(u(progress[0]), u(groups.size)):",
    ]


def _numba_name(dtype: np.dtype[np.generic]) -> str:
    return "uint8" if dtype == np.bool_ else dtype.name


def _row(shape: Shape) -> list[str]:
    words, nulls = shape.words(False), shape.words(True)
    lines = [*_prefetch(shape), f"b = u(groups[i]) * u({words}) + u({words})"]
    if shape.nullable:
        lines.append(f"n = u(groups[i]) * u({nulls}) + u({nulls})")
    if shape.chunks is not None:
        lines.append(f"h = b * u(2) + u({2 * shape.chunks.fixed})")
    return lines if shape.mode == "pane" else [*lines, *_values(shape)]


def _prefetch(shape: Shape) -> list[str]:
    """Asks for the lines of a group some tuples ahead; a stack's slot is known only once its head has come.

    That `ahead` is tested on its own lets the compiler make a second loop, without all this, for groups that fit.
    """
    words, ahead = shape.words(False), PREFETCH_TUPLES
    if shape.mode != "stack":
        offsets = sorted({*range(0, min(words, PREFETCH_LINES_MAX * _LINE_WORDS), _LINE_WORDS), words - 1})
        if _LINE_WORDS % words == 0:  # then a group's words never lie in two lines
            offsets = [0]
        asked = [f"prefetch(I, f + u({offset}))" for offset in offsets[:PREFETCH_LINES_MAX]]
        next_row = f"f = u(groups[i + {ahead}]) * u({words}) + u({words})"
        return [f"if ahead > 0 and i + {ahead} < ahead:", *indent([next_row, *asked])]
    if shape.chunks is not None:
        return _prefetch_entry(shape, shape.chunks)
    slot, stride = shape.slot_words
    return [
        f"if ahead > 0 and i + {2 * ahead} < ahead:",
        f"    prefetch(I, u(groups[i + {2 * ahead}]) * u({words}) + u({words}))",
        f"if ahead > 0 and i + {ahead} < ahead:",
        f"    f = u(groups[i + {ahead}]) * u({words}) + u({words})",
        f"    h = f + u({slot}) + u(I[f + u({shape.head_words - 1})] % {shape.full}) * u({stride})",
        "    prefetch(I, h)",
        f"    prefetch(I, h + u({2 * stride - 1}))",
    ]


def _prefetch_entry(shape: Shape, chunks: ChunkLayout) -> list[str]:
    """The row first, then the next entry, which may not be there yet, and the one behind it, which is the oldest."""
    words, stride, ahead, entries = chunks.words, chunks.entry_words, PREFETCH_TUPLES, _any_entries(shape)
    far = f"np.int64(H[f * u(2) + u({2 * chunks.fixed + NEXT} + chunk_of[u(x)])])"
    return [
        f"if ahead > u(0) and i + u({2 * ahead}) < ahead:",
        f"    f = u(groups[i + u({2 * ahead})]) * u({words}) + u({words})",
        "    prefetch(I, f)",
        f"    prefetch(I, f + u({chunks.fixed}))",
        f"if ahead > u(0) and i + u({ahead}) < ahead:",
        f"    f = u(groups[i + u({ahead})]) * u({words}) + u({words})",
        f"    c = I[f + u({chunks.head_at})]",
        f"    s = c % {shape.full}",
        *indent(next_text(chunks, "f")),
        f"    g = u({GRANULE} * begin + s) * u({stride})",
        f"    prefetch({entries}, g)",
        f"    prefetch({entries}, g + u({max(2 * stride - 1, 0)}))",
        "    if c + 1 == limit:",
        f"        x = s + 1 if s < {shape.full - 1} else 0",
        f"        prefetch({entries}, u({GRANULE} * {far} + x) * u({stride}))",
    ]


def _any_entries(shape: Shape) -> str:
    """The entries as numbers that are at hand anyway: registers are few."""
    return "CF" if any(term.number == "f" and not term.about_nulls for term in shape.terms) else "CI"


def _values(shape: Shape) -> list[str]:
    lines = []
    for column in shape.columns:
        if shape.nullable:
            lines.append(f"z{column} = not k{column}[i]")
        lines += [f"y{column} = np.float64(v{column}[i])"]
        lines += [f"x{column} = " + (f"y{column}" if shape.number(column) == "f" else f"np.int64(v{column}[i])")]
    return lines


def _units(shape: Shape) -> list[str]:
    return [
        f"e{index}_{word} = {text}"
        for index, term in enumerate(shape.terms)
        for word, text in enumerate(term.unit(shape.nullable))
    ]


def _move(shape: Shape, area: Area, name: str, store: bool, slot: str = "", oldest: bool = True) -> list[str]:
    """Loads (or stores) the terms of an area; `oldest` False leaves out the terms that only the oldest entry gives."""
    lines: list[str] = []
    if area == "slot" and shape.chunks is not None:
        lines, slot = place_text(shape.chunks, slot) if slot != FOUND else [], "g"
    for index, term in enumerate(shape.terms):
        if term.keeps_oldest and not oldest:
            continue
        for word in range(term.words):
            variable, place = f"{name}{index}_{word}", shape.place(area, term, word, slot)
            lines.append(f"{place} = {variable}" if store else f"{variable} = {place}")
    return lines


def _load_oldest(shape: Shape, slot: str) -> list[str]:
    terms = [(index, term) for index, term in enumerate(shape.terms) if term.keeps_oldest]
    lines: list[str] = []
    if terms and shape.chunks is not None:
        lines, slot = place_text(shape.chunks, slot), "g"
    return [*lines, *(f"w{index}_0 = {shape.place('slot', term, 0, slot)}" for index, term in terms)]


def _merge(shape: Shape, into: str, older: str, newer: str, oldest: bool = False) -> list[str]:
    lines = []
    for index, term in enumerate(shape.terms):
        if oldest or not term.keeps_oldest:
            lines += term.merge(f"{into}{index}", f"{older}{index}", f"{newer}{index}", shape.nullable)
    return lines


def _copy(shape: Shape, into: str, source: str, oldest: bool = False) -> list[str]:
    return [
        f"{into}{index}_{word} = {source}{index}_{word}"
        for index, term in enumerate(shape.terms)
        if oldest or not term.keeps_oldest
        for word in range(term.words)
    ]


def _fire(shape: Shape, name: str) -> list[str]:
    if shape.fires_always:
        return results(shape, name, "i")
    return ["rows[fired] = i", *results(shape, name, "fired"), "fired += 1"]


def _pane_body(shape: Shape) -> list[str]:
    """Running terms; the tuples that no window will hold are passed over."""
    skipped, last = shape.every - min(shape.every, shape.size), shape.every - 1
    lines = ["q = I[b]"]
    if skipped:
        lines += [f"if q < {skipped}:", "    I[b] = q + 1", "    continue"]
    lines += [*_values(shape), *_units(shape), f"held = {min(shape.every, shape.size)}"]
    if shape.every == 1:
        return [*lines, *results(shape, "e", "i")]
    lines += [*_accumulate(shape, f"q == {skipped}", f"q - {skipped}"), *_move(shape, "current", "a", store=True)]
    if not shape.is_branchless or shape.every > UNCONDITIONAL_EVERY_MAX:
        lines += ["I[b] = q + 1", f"if q == {last}:", *indent(["I[b] = 0", *_fire(shape, "a")])]
        return lines
    bits = last.bit_length()
    lines += [f"I[b] = u(q + 1) * (u(1) - (u(q + {1 + (1 << bits) - shape.every}) >> u({bits})))"]
    return [*lines, "rows[fired] = i", *results(shape, "a", "fired"), f"fired += np.int64(q == {last})"]


def _accumulate(shape: Shape, is_fresh: str, position: str) -> list[str]:
    """The current entry with this tuple, whose position in it is given.

    Compilers turn a choice between values into a branch, which would often be mispredicted; so the choice is made by
    arithmetic on the place to read from: the group's own row or row 0, where the terms of nothing are.
    """
    merge = _merge(shape, "a", "a", "e", oldest=True)
    if not shape.is_branchless:
        copy, load = _copy(shape, "a", "e", oldest=True), _move(shape, "current", "a", store=False)
        return [f"if {is_fresh}:", *indent(copy or ["pass"]), "else:", *indent([*load, *merge] or ["pass"])]
    bits = (shape.every - 1).bit_length()
    lines = [f"begun = u({position} + {(1 << bits) - 1}) >> u({bits})", "own, b = b, b * begun"]
    lines += [*_move(shape, "current", "a", store=False), "b = own"]
    if shape.nullable:
        lines = ["own_n = n", lines[0], "n = n * begun", *lines[1:], "n = own_n"]
    return [*lines, *merge]


def _entries_body(shape: Shape) -> list[str]:
    if shape.every == 1:
        return ["c = I[b]", *_units(shape), *_push(shape, "e", 0), *_whole(shape, None), *_fire(shape, "w")]
    every, rest = shape.every, shape.rest
    start = "q == 0" if rest == 0 else f"q == {every - rest} or q + c == 0"
    lines = ["q = I[b]", "c = I[b + u(1)]", *_units(shape), *_accumulate(shape, start, "q")]
    keep = _move(shape, "current", "a", store=True)
    window = [*_whole(shape, "a" if rest else None), *_fire(shape, "w")]
    if rest == 0:
        lines += [f"if q < {every - 1}:", *indent([*keep, "I[b] = q + 1", "continue"])]
        return [*lines, *_push(shape, "a", 1), "I[b] = 0", *window]
    lines += [f"if q == {every - rest - 1}:", *indent([*_push(shape, "a", 1), "I[b] = q + 1", "continue"])]
    lines += [*keep, f"if q < {every - 1}:", *indent(["I[b] = q + 1", "continue"])]
    return [*lines, "I[b] = 0", *window]


def _push(shape: Shape, name: str, head_word: int) -> list[str]:
    """Puts a finished entry into its slot; afterwards c counts it, and wraps only in memory."""
    full = shape.full
    wrap = 2 * full if shape.rest == 0 else 3 * full
    lines = [f"s = c if c < {full} else c - {full}"] if shape.rest == 0 else [f"s = c % {full}"]
    if shape.chunks is not None:
        lines += find_text(shape.chunks)
    lines += _move(shape, "slot", name, store=True, slot="s")
    lines += ["c = c + 1", f"I[b + u({head_word})] = c if c < {wrap} else {wrap - full}"]
    if shape.mode == "stack":
        lines += ["if s == 0:", *indent(_copy(shape, "p", name) or ["pass"])]
        loaded = _move(shape, "prefix", "p", store=False, oldest=False)
        lines += ["else:", *indent([*loaded, *_merge(shape, "p", "p", name)] or ["pass"])]
        lines += _move(shape, "prefix", "p", store=True, oldest=False)
        lines += [f"if s == {full - 1}:", *indent(_finish_chunk(shape))]
    return lines if shape.chunks is None else [*lines, *move_text(shape.chunks)]


def _finish_chunk(shape: Shape) -> list[str]:
    """Turns the chunk's entries into the terms of its suffixes, in place; that of slot 0 nobody reads."""
    place = "j" if shape.chunks is None else FOUND
    step = [
        *_move(shape, "slot", "d", store=False, slot=place, oldest=False),
        *_merge(shape, "w", "d", "w"),
        *_move(shape, "slot", "w", store=True, slot=place, oldest=False),
    ]
    if not step:
        return ["pass"]
    if shape.chunks is not None:
        newest = _move(shape, "slot", "w", store=False, slot="s", oldest=False)
        return [*newest, *over_text(shape.chunks, _any_entries(shape), step)]
    first = _move(shape, "slot", "w", store=False, slot=str(shape.full - 1), oldest=False)
    return [*first, f"for j in range({shape.full - 2}, 0, -1):", *indent(step)]


def _whole(shape: Shape, newest: str | None) -> list[str]:
    """The terms w of the window: its entries, then the tuples after them where there are any."""
    full = shape.full
    entries = _whole_of_stack(shape, newest) if shape.mode == "stack" else _whole_of_ring(shape)
    oldest = [f"oldest = 0 if c < {full} else c % {full}"] if any(t.keeps_oldest for t in shape.terms) else []
    held = f"held = min(c * {shape.every}, {shape.size})"
    newest_merge = _merge(shape, "w", "w", newest) if newest else []
    return [*entries, *newest_merge, *oldest, *_load_oldest(shape, "oldest"), held]


def _whole_of_stack(shape: Shape, newest: str | None) -> list[str]:
    """Right after a push the prefix and its last slot are at hand; before the last tuples they are read again."""
    if newest is None:
        read, begun = [], f"c > {shape.full} and s < {shape.full - 1}"
    else:
        found = [] if shape.chunks is None else next_text(shape.chunks, "b")
        read = ["s = (c - 1) % " + str(shape.full), *found, *_move(shape, "prefix", "p", store=False, oldest=False)]
        begun = f"c > {shape.full} and s < {shape.full - 1}"
    suffix = [*_move(shape, "slot", "w", store=False, slot="s + 1", oldest=False), *_merge(shape, "w", "w", "p")]
    return [*read, f"if {begun}:", *indent(suffix or ["pass"]), "else:", *indent(_copy(shape, "w", "p") or ["pass"])]


def _whole_of_ring(shape: Shape) -> list[str]:
    first = _move(shape, "slot", "w", store=False, slot="0", oldest=False)
    step = [*_move(shape, "slot", "d", store=False, slot="j", oldest=False), *_merge(shape, "w", "w", "d")]
    return [*first, f"for j in range(1, min(c, {shape.full})):", *indent(step or ["pass"])]
