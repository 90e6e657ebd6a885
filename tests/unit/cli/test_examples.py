"""Every example under examples/ runs on generated data, as its own text says."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.cli import main
from penstock.cli.application import load_application
from penstock.connectors.csv import CsvSink
from penstock.connectors.parquet import ParquetSink
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
    before = {path.name: pq.read_table(path) for path in results}
    run("evaluate", str(EXAMPLES / example), *reads, "--output", str(tmp_path))  # a second run replaces the files
    assert {path.name: pq.read_table(path) for path in tmp_path.glob("*.parquet")} == before


STREAMING = sorted(path.name for path in (EXAMPLES / "streaming").glob("*.py"))


@pytest.mark.parametrize("example", STREAMING)
def test_streaming_examples_say_how_to_run_them(example: str) -> None:
    assert f"penstock run examples/streaming/{example} --duration" in (EXAMPLES / "streaming" / example).read_text()


def file_sinks(example: str) -> list[str]:
    sinks = load_application(str(EXAMPLES / "streaming" / example)).graph.sinks
    return [sink.connector.path for sink in sinks if isinstance(sink.connector, ParquetSink | CsvSink)]


@pytest.mark.parametrize("example", STREAMING)
def test_each_run_of_a_streaming_example_takes_a_folder_of_its_own(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = file_sinks(example)
    for path in first:
        Path(path).mkdir(parents=True)
    assert set(first).isdisjoint(file_sinks(example))
    assert first == (["out/estimates-1"] if example == "trading.py" else [])


def test_the_trading_example_goes_on_in_the_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out/estimates-1").mkdir(parents=True)
    monkeypatch.setenv("ESTIMATES", "out/estimates-1")
    assert file_sinks("trading.py") == ["out/estimates-1"]


@pytest.mark.parametrize("program", sorted(path.name for path in (EXAMPLES / "spade").glob("*.spade")))
def test_printed_programs_run(program: str, data: Path, tmp_path: Path) -> None:
    app = load_application(str(EXAMPLES / "spade" / program))
    last = app.operators[-2].name  # the very last one is a dummy sink that drops everything
    run(
        "evaluate", str(EXAMPLES / "spade" / program), "--data-dir", str(data), "--tap", last, "--output", str(tmp_path)
    )
    assert pq.read_metadata(tmp_path / f"{last}.parquet").num_rows
