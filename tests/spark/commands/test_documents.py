"""What the documents show of Spark is true: their blocks that say so run, on the shared session."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.unit.test_readme import DOCUMENTS, ROOT, blocks

BLOCKS = [
    pytest.param(document, block, id=f"{document.relative_to(ROOT)}:{1 + len(block) - len(block.lstrip(chr(10)))}")
    for document in DOCUMENTS
    for block in blocks(document, on_spark=True)
]


@pytest.mark.parametrize(("document", "block"), BLOCKS)
def test_a_block_for_spark_runs(
    session: SparkSession, document: Path, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, str(document), "exec"), {"__name__": "document"})


def test_there_are_such_blocks() -> None:
    assert BLOCKS
