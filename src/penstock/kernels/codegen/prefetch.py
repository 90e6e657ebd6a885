"""Asking the processor for memory ahead of its use, which hides most of a cache miss when groups are many."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """`prefetch(array, index)`: will read and write there soon; `index` is not checked, nor wrapped."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), cgutils.voidptr_t)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] + [ir.IntType(32)] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        for_writing, keep_in_all_caches, data = (ir.Constant(ir.IntType(32), value) for value in (1, 3, 1))
        builder.call(function, [address, for_writing, keep_in_all_caches, data])
        return context.get_dummy_value()

    return types.void(array, index), generate
