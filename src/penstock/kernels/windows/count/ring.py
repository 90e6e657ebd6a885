"""The text for small windows that fire at each tuple: a ring of the values, from which all terms are computed anew.

A full window without nulls is reduced as a balanced tree over the slots, which compilers turn into vector instructions;
any other one slot after slot.  Which of the two is a matter of the window's contents, never of the stream's cuts.
"""

from __future__ import annotations

from penstock.kernels.windows.aggregates import Term, literal
from penstock.kernels.windows.count.results import indent, results
from penstock.kernels.windows.count.shape import Shape


def ring_body(shape: Shape) -> list[str]:
    """The statements for one tuple whose values are at hand."""
    size = shape.size
    lines = ["c = I[b]", f"s = c if c < {size} else c - {size}"]
    lines += ["c = c + 1", f"I[b] = c if c < {2 * size} else {size}"]
    for column in shape.held_columns:
        value = f"({'0.0' if shape.number(column) == 'f' else '0'} if z{column} else x{column})"
        lines.append(f"{_value(shape, column, 's')} = {value if shape.nullable else f'x{column}'}")
    is_full = f"c >= {size}"
    if shape.nullable:
        lines += _note_nulls(shape)
        is_full += "".join(f" and g{column} == 0" for column in shape.columns)
    rest = [*_oldest(shape), *_nulls(shape), *results(shape, "w", "i")]
    # The results are written in both branches, so that dividing by the number of tuples can be a multiplication.
    lines += [f"if {is_full}:", *indent([f"held = {size}", *_whole_by_tree(shape), *rest])]
    return [*lines, "else:", *indent([f"held = min(c, {size})", *_whole_by_slot(shape), *rest])]


def _value(shape: Shape, column: int, slot: str) -> str:
    offset = shape.head_words + shape.held_columns.index(column) * shape.size
    return f"{'F' if shape.number(column) == 'f' else 'I'}[b + u({offset}) + u({slot})]"


def _note_nulls(shape: Shape) -> list[str]:
    """One bit per slot in one word per column."""
    lines = ["bit = 1 << s"]
    for index, column in enumerate(shape.columns):
        lines += [
            f"g{column} = N[n + u({index})]",
            f"g{column} = (g{column} | bit) if z{column} else (g{column} & ~bit)",
            f"N[n + u({index})] = g{column}",
        ]
    return lines


def _whole_by_tree(shape: Shape) -> list[str]:
    lines = []
    for column in shape.held_columns:
        lines += [f"h{column}_{slot} = {_value(shape, column, str(slot))}" for slot in range(shape.size)]
    for index, term in enumerate(shape.terms):
        if not term.keeps_oldest and not term.about_nulls:
            lines += _tree_of_term(shape, index, term)
    return lines


def _tree_of_term(shape: Shape, index: int, term: Term) -> list[str]:
    values = [f"h{term.column}_{slot}" for slot in range(shape.size)]
    floats = [_as_float(shape, term.column, value) for value in values]
    if term.kind == "sum":
        return [f"w{index}_0 = {_sum(floats if term.number == 'f' else values)}"]
    if term.kind == "moments":
        squares = _sum([f"({value} - w{index}_1) * ({value} - w{index}_1)" for value in floats])
        mean = f"{_sum(floats)} / {float(shape.size)}"
        return [f"w{index}_0 = {float(shape.size)}", f"w{index}_1 = {mean}", f"w{index}_2 = {squares}"]
    lines = _extreme(f"w{index}_0", values, "<" if term.kind == "min" else ">", term.number == "u")
    if term.number == "f":
        # The sum is NaN wherever a value is, and testing it alone is cheaper; infinities may make it one too.
        total = _sum(values)
        lines += [f"if {total} != {total}:", f"    if {' or '.join(f'{v} != {v}' for v in values)}:"]
        lines += [f"        w{index}_0 = np.nan"]
    return lines


def _extreme(result: str, values: list[str], comparison: str, unsigned: bool) -> list[str]:
    lines, level, depth = [], values, 0
    while len(level) > 1:
        pairs = [(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        names = [f"{result}_{depth}_{i}" for i in range(len(pairs))]
        for name, (a, b) in zip(names, pairs, strict=True):
            test = f"np.uint64({a}) {comparison} np.uint64({b})" if unsigned else f"{a} {comparison} {b}"
            lines.append(f"{name} = {a} if {test} else {b}")
        level, depth = names + level[len(pairs) * 2 :], depth + 1
    return [*lines, f"{result} = {level[0]}"]


def _sum(parts: list[str]) -> str:
    """A balanced tree of additions."""
    while len(parts) > 1:
        pairs = [f"({parts[i]} + {parts[i + 1]})" for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(pairs) * 2 :]
    return parts[0]


def _whole_by_slot(shape: Shape) -> list[str]:
    terms = [(index, t) for index, t in enumerate(shape.terms) if not t.keeps_oldest and not t.about_nulls]
    lines = [f"w{index}_{word} = {literal(value)}" for index, t in terms for word, value in enumerate(t.nothing())]
    if not terms:
        return []
    lines += ["for j in range(held):"]
    for column in sorted({term.column for _, term in terms}):
        step = [f"h{column} = {_value(shape, column, 'j')}"]
        for index, term in terms:
            if term.column == column:
                step += _add_slot(shape, index, term)
        lines += indent([f"if (g{column} >> j) & 1 == 0:", *indent(step)] if shape.nullable else step)
    return lines


def _add_slot(shape: Shape, index: int, term: Term) -> list[str]:
    value = f"h{term.column}"
    as_float = _as_float(shape, term.column, value)
    words = ("1.0", as_float, "0.0") if term.kind == "moments" else (as_float if term.number == "f" else value,)
    unit = [f"d{index}_{word} = {text}" for word, text in enumerate(words)]
    return [*unit, *term.merge(f"w{index}", f"w{index}", f"d{index}", nullable=True)]


def _oldest(shape: Shape) -> list[str]:
    retained = [(index, term) for index, term in enumerate(shape.terms) if term.keeps_oldest]
    lines = [f"oldest = 0 if c < {shape.size} or s == {shape.size - 1} else s + 1"] if retained else []
    for index, term in retained:
        source = f"(g{term.column} >> oldest) & 1" if term.about_nulls else _value(shape, term.column, "oldest")
        lines.append(f"w{index}_0 = {source}")
    return lines


def _nulls(shape: Shape) -> list[str]:
    """The number of bits set, by halves: there are at most 16."""
    lines = []
    for index, term in enumerate(shape.terms):
        if term.kind == "nulls":
            word = f"w{index}_0"
            lines += [
                f"{word} = g{term.column} - ((g{term.column} >> 1) & 0x5555)",
                f"{word} = ({word} & 0x3333) + (({word} >> 2) & 0x3333)",
                f"{word} = ({word} + ({word} >> 4)) & 0x0F0F",
                f"{word} = ({word} + ({word} >> 8)) & 0x1F",
            ]
    return lines


def _as_float(shape: Shape, column: int, value: str) -> str:
    number = shape.number(column)
    if number == "f":
        return value
    return f"np.float64(np.uint64({value}))" if number == "u" else f"np.float64({value})"
