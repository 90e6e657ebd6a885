"""Every example under examples/ runs on generated data, as its own text says."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.cli import main
from tests.checkout import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    with pytest.raises(SystemExit) as ended:
        main(["generate", "all", "--rows", "4000", "--output", str(folder)])
    assert ended.value.code == 0
    return folder


def run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_examples_run_and_every_sink_gets_tuples(example: str, data: Path, tmp_path: Path) -> None:
    text = (EXAMPLES / example).read_text()
    assert f"penstock evaluate examples/{example}" in text
    reads = ("--input", f"trades={data}/trades.parquet") if "--input trades=" in text else ("--data-dir", str(data))
    run("evaluate", str(EXAMPLES / example), *reads, "--output", str(tmp_path))
    results = list(tmp_path.glob("*.parquet"))
    assert results
    assert all(pq.read_metadata(path).num_rows for path in results)
    assert not (tmp_path / "dead_letters.parquet").exists()


@pytest.mark.parametrize("program", sorted(path.name for path in (EXAMPLES / "spade").glob("*.spade")))
def test_printed_programs_run(program: str, data: Path, tmp_path: Path) -> None:
    from penstock.cli.application import load_application

    app = load_application(str(EXAMPLES / "spade" / program))
    last = app.operators[-2].name  # the very last one is a dummy sink that drops everything
    run(
        "evaluate", str(EXAMPLES / "spade" / program), "--data-dir", str(data), "--tap", last, "--output", str(tmp_path)
    )
    assert pq.read_metadata(tmp_path / f"{last}.parquet").num_rows
