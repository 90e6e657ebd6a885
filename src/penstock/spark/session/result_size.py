"""What Spark brings to the driver at most."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.runtime.driver.result_share import ResultShare

_NAME, _DEFAULT = "spark.driver.maxResultSize", "1g"


def result_share(session: SparkSession) -> ResultShare:
    """The shares of tasks within the session's `spark.driver.maxResultSize`; 0 is no limit."""
    text = session.sparkContext.getConf().get(_NAME, _DEFAULT) or _DEFAULT
    limit = int(session.sparkContext._jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(text))  # type: ignore[union-attr]
    return ResultShare(limit or None)
