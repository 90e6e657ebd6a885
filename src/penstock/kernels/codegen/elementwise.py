"""Elementwise kernels: a scalar function over whole arrays, as a numpy ufunc that is compiled when first needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from penstock.kernels.codegen import generated
from penstock.kernels.text import scalars

# numba keeps a kernel under its module's name and imports that name when it loads the kernel in another process, so a
# generated module must be found among the imported ones while it is being executed.
PREAMBLE = """import sys
from types import ModuleType

sys.modules.setdefault(__name__, ModuleType(__name__)).__dict__.update(globals())
"""


@cache
def ufunc(name: str, signature: str) -> Callable[..., Any]:
    """The ufunc of `scalars.<name>` for one numba signature, such as 'float64(float64, int64)'; broadcasts."""
    letters = ", ".join("abcdef"[: signature.partition("(")[2].count(",") + 1])
    source = f'''"""scalars {scalars.MARK}"""
{PREAMBLE}
from numba import vectorize
from penstock.kernels.text import scalars

@vectorize(["{signature}"], nopython=True, cache=True)
def over({letters}):
    return scalars.{name}({letters})
'''
    kernel: Callable[..., Any] = generated.load(source).over
    return kernel
