"""What the documents show of Spark is true: their blocks that say so run, on the shared session."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from tests.unit.test_readme import DOCUMENTS, ROOT, Block, blocks, run_block

SKIPPED = "  # doctest: +SKIP"
BLOCKS = [
    pytest.param(
        document, block, id=f"{document.relative_to(ROOT)}:{1 + len(block.code) - len(block.code.lstrip(chr(10)))}"
    )
    for document in DOCUMENTS
    for block in blocks(document, on_spark=True)
]


@pytest.mark.parametrize(("document", "block"), BLOCKS)
def test_a_block_for_spark_runs(
    session: SparkSession,
    document: Path,
    block: Block,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run_block(block, document, {"__name__": "document"}, capsys)


def test_there_are_such_blocks() -> None:
    assert BLOCKS


@pytest.mark.parametrize("name", ["run", "start", "Handle", "elastic_map", "spark_session"])
def test_the_example_of_a_name_that_needs_spark_runs(session: SparkSession, name: str) -> None:
    """Marked to be left out where there is no Spark."""
    text = inspect.getdoc(getattr(ps, name))
    assert text is not None
    assert SKIPPED in text
    namespace = {"ps": ps, name: getattr(ps, name)}
    example = doctest.DocTestParser().get_doctest(text.replace(SKIPPED, ""), namespace, name, None, None)
    assert doctest.DocTestRunner().run(example).failed == 0
