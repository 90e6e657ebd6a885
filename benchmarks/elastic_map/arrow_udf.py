"""Spark's own Arrow-optimised functions, for benches beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.functions import udf


def arrow_udf(function: Callable[..., Any], kind: str) -> Any:
    """A function of a row's values as Spark runs it on Arrow batches, with its threads where a level is set.

    One that is registered by name, without this, is not Arrow-optimised: it has no threads, whatever the level.
    """
    return udf(function, returnType=kind, useArrow=True)
