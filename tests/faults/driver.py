"""A driver process for the fault tests: runs an application into Parquet files until it is done."""

from __future__ import annotations

import sys
from dataclasses import replace

from penstock.app import sinks
from penstock.control.configuration import default_configuration
from penstock.plan.pipeline import pipeline_of
from penstock.spark.query import run
from tests.spark.applications import prices


def main(checkpoint: str, output: str, total: int) -> None:
    app = prices(sinks.parquet(output), total)
    configuration = replace(default_configuration(pipeline_of(app.graph), 2), block_rows=500, micro_batch_tuples=2_000)
    result = run(app, master="local[2]", checkpoint=checkpoint, configuration=configuration)
    print("done", len(result.observations))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
