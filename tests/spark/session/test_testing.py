"""What `penstock.testing` gives is the same on Spark, on the session that it opens and on the shared one."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps

ROWS = [{"key": "ab"[n % 2], "x": None if n == 7 else n} for n in range(40)]


def sums() -> tuple[ps.Application, Any]:
    app, results = ps.Application("sums"), ps.testing.collected()
    numbers = app.source("numbers", ps.testing.source_of(ROWS))
    window, emit = ps.sliding(count=3, per_group=True), {"key": "any(key)", "sum": "sum(x)", "n": "count()"}
    numbers.aggregate("sums", by="key", window=window, emit=emit).sink("out", results)
    return app, results


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Any]]:
    app, results = sums()
    ps.evaluate(app)
    assert len(results.rows) == len(ROWS)
    return list(results.rows)


def test_a_run_gives_the_rows_of_an_evaluation(session: SparkSession, expected: list[dict[str, Any]]) -> None:
    app, results = sums()
    assert ps.run(app, session=session).observations
    assert results.rows == expected


def test_an_evaluation_on_spark_gives_them_too(session: SparkSession, expected: list[dict[str, Any]]) -> None:
    app, results = sums()
    ps.evaluate(app, engine="spark", session=session)
    assert results.rows == expected


def test_a_configuration_made_for_an_application_fits_it(session: SparkSession, expected: list[dict[str, Any]]) -> None:
    app, results = sums()
    configuration = ps.Configuration.of(app, replicas=2).with_threads("sums", 2)
    ps.run(app, session=session, configuration=configuration)
    assert results.rows == expected


def test_a_configuration_fits_an_application_whose_files_are_merged(session: SparkSession, tmp_path: Any) -> None:
    """Files are recorded first, so that it has no intake."""
    app, results = ps.Application("merged"), ps.testing.collected()
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("x\n1\n2\n")
    one, two = (app.source(name, ps.sources.csv(tmp_path / f"{name}.csv"), {"x": "int64"}) for name in ("one", "two"))
    one.union("both", two).sink("out", results)
    ps.run(app, session=session, configuration=ps.Configuration.of(app))
    assert [row["x"] for row in results.rows] == [1, 1, 2, 2]
