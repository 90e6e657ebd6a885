"""Values as JSON that every browser reads: finite numbers, texts of a bounded length."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

LONGEST_TEXT = 2_000
_HIGHEST = 1e18


def jsonable(value: Any) -> Any:
    """
    >>> jsonable({"a": float("nan"), "b": "x" * 3000})["a"] is None
    True
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _HIGHEST else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        text = value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 3] + "..."
        return text.encode("utf-8", "replace").decode()  # lone surrogates are no text
    if isinstance(value, Mapping):
        return {jsonable(str(name)): jsonable(own) for name, own in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(own) for own in value]
    return jsonable(str(value))


def json_text(value: Any) -> str:
    return json.dumps(jsonable(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
