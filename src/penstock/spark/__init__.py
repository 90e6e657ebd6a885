"""Everything that talks to Spark, and the only importer of pyspark and py4j.

`session` opens a session, `sources` feeds a query, `driver` runs its micro-batches, `executors` is what runs in the
Python workers, `elastic_map` the public function.  `worker_daemon.py` starts warm workers; it and
`session/offset_log.py` work without importing pyspark.

May import `watch` and the rooms below it, not `simulate`.  Begin with `driver/start.py`, then
`driver/micro_batch.py`.
"""
