"""`mapInArrow` with what does not change between micro-batches made once.

The public method pickles its function and makes a dozen calls into the JVM each time, about 30 ms a batch
(docs/design/0010-micro-batch-cost.md).  The names that Spark keeps to itself are all in this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.util import PythonEvalType


class MapStage:
    """A function on Arrow batches, to be put behind one frame after the other."""

    def __init__(self, function: Callable[..., Any], schema: str) -> None:
        udf: Any = pandas_udf(function, schema, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)  # type: ignore[call-overload]
        self._column = udf()._jc

    def after(self, frame: DataFrame) -> DataFrame:
        return DataFrame(frame._jdf.mapInArrow(self._column, False, None), frame.sparkSession)
