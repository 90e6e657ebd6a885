"""Loads of several bytes at any address, which arrays lack: strings compared by words take 1 ns a row, not 3-11."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic


def _load(bits: int, result: Any) -> Any:
    """The function (bytes, index) -> word for so many bits; the caller keeps within the array."""

    @intrinsic
    def load(typingctx: Any, array: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(view.data, [arguments[1]])
            word = builder.load(builder.bitcast(place, ir.IntType(bits).as_pointer()))
            word.align = 1
            return word

        return result(array, types.intp), codegen

    return load


load8 = _load(64, types.uint64)
load4 = _load(32, types.uint32)
