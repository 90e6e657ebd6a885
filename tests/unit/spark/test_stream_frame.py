"""A stream as a DataFrame: what is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import InputError
from penstock.spark.driver.stream_frame import _with_sink


def test_a_stream_is_written_beside_one_checkpoint(tmp_path: Path) -> None:
    rows = ps.Application("app").source("rows", ps.sources.trace(keys=2, total=10))
    assert _with_sink(rows, tmp_path / "c") == tmp_path / "c-rows_dataframe"
    assert _with_sink(rows, tmp_path / "c") == tmp_path / "c-rows_dataframe"
    assert [own.name for own in rows.application.operators] == ["rows", "rows_dataframe"]
    sentence = "ps.to_dataframe writes the stream 'rows' by a sink 'rows_dataframe' to '.*d-rows_dataframe', and the "
    with pytest.raises(InputError, match=sentence + "application has an operator of this name; build it anew"):
        ps.to_dataframe(rows, checkpoint=tmp_path / "d")
