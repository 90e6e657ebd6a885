"""Elementwise kernels: a scalar function over whole arrays, as a numpy ufunc that is compiled when first needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from penstock.element.kernels import generated, scalars


@cache
def ufunc(name: str, signature: str) -> Callable[..., Any]:
    """The ufunc of `scalars.<name>` for one numba signature, such as 'float64(float64, int64)'; broadcasts."""
    letters = ", ".join("abcdef"[: signature.partition("(")[2].count(",") + 1])
    source = f'''"""scalars {scalars.MARK}"""
from numba import vectorize
from penstock.element.kernels import scalars

@vectorize(["{signature}"], nopython=True, cache=True)
def over({letters}):
    return scalars.{name}({letters})
'''
    kernel: Callable[..., Any] = generated.load(source).over
    return kernel
