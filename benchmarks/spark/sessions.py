"""Settings of the sessions in which stock Spark runs."""

from __future__ import annotations

# RocksDB's state store of Spark 4.3 insists on the checksummed local file system, which our own sessions do without.
STOCK_CONF = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "2",
}
