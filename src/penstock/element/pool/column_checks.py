"""Whether Arrow columns fit the schema, where Arrow itself does not look: nulls, names in structs, infinity."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.value_checks import check_no_unknown


def has_required(field: pa.Field) -> bool:
    """Whether a column, or something in it, is not to be null."""
    kind = field.type
    if pa.types.is_map(kind):
        return not field.nullable or has_required(kind.item_field)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return not field.nullable or has_required(kind.value_field)
    return not field.nullable or (pa.types.is_struct(kind) and any(has_required(own) for own in kind))


def check_nulls(array: pa.Array, field: pa.Field, where: str, part: str = "") -> None:
    """Refuses nulls where the schema forbids them; `part` says which of a list's or a map's own values these are."""
    if not field.nullable and array.null_count:
        what, verb = (f"among the {part} of", "are") if part else ("for", "is")
        raise ValueError(f"must return no null {what} '{where}', which the schema says {verb} not null")
    kind = field.type
    if array.null_count:
        array = array.drop_null()  # of what is null itself, nothing within counts
    if pa.types.is_struct(kind):
        for child, own in zip(array.flatten(), kind, strict=True):
            if has_required(own):
                check_nulls(child, own, f"{where}.{own.name}")
    elif pa.types.is_map(kind):
        if has_required(kind.item_field):
            check_nulls(_between(array, array.items), kind.item_field, where, "values")
    elif (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and has_required(kind.value_field):
        check_nulls(array.flatten(), kind.value_field, where, "elements")


def check_names(got: pa.DataType, wanted: pa.DataType, where: str) -> None:
    """Refuses fields of structs that the schema does not have: a cast would leave them out."""
    if pa.types.is_struct(got) and pa.types.is_struct(wanted):
        check_no_unknown([field.name for field in got], [field.name for field in wanted], f" in '{where}'")
        for field in got:
            check_names(field.type, wanted.field(field.name).type, f"{where}.{field.name}")
    elif pa.types.is_map(got) and pa.types.is_map(wanted):
        check_names(got.key_type, wanted.key_type, where)
        check_names(got.item_type, wanted.item_type, where)
    elif _is_list(got) and _is_list(wanted):
        check_names(got.value_type, wanted.value_type, where)


def check_finite(got: pa.ChunkedArray | pa.Array, cast: pa.ChunkedArray | pa.Array, where: str) -> None:
    """Refuses numbers that became infinite as floats of 32 bits."""
    if pa.types.is_float64(got.type) and pa.types.is_float32(cast.type):
        became = pc.and_not(pc.is_inf(cast), pc.is_inf(got))
        if pc.any(became).as_py():
            raise ValueError(f"must return numbers for '{where}' that a float can hold; use double")


def _between(array: pa.Array, values: pa.Array) -> pa.Array:
    """Those of a map's values that belong to it; it may be a slice."""
    offsets = array.offsets
    first, last = (offsets[0].as_py(), offsets[-1].as_py()) if len(offsets) else (0, 0)
    return values.slice(first, last - first)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
