"""Files become tables; rows that do not fit become dead letters, files that do not fit are refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import penstock as ps

SCHEMA = {"name": "string", "price": "float64", "volume": "int64", "key": "symbol", "at": "timestamp"}


def application(source: Any = None) -> ps.Application:
    app = ps.Application("files")
    app.source("quotes", source, SCHEMA).sink("out")
    return app


def written(folder: Path, text: str) -> Path:
    path = folder / "quotes.csv"
    path.write_text(text, encoding="utf-8")
    return path


GOOD = "Zoë,1.5,3,a,2024-01-02 03:04:05\n"


def test_bad_rows_are_dead_letters_and_the_others_are_read(tmp_path: Path) -> None:
    bad = "x,nothing,1,b,2024-01-02\nx,1,1.5,b,2024-01-02\ntoo,few\nx,1,2,b,tomorrow\n"
    path = written(tmp_path, "name,price,volume,key,at\n" + GOOD + bad + GOOD)
    tables = ps.evaluate(application(), {"quotes": path})
    assert tables["out"].column("name").to_pylist() == ["Zoë", "Zoë"]
    reasons = sorted(row["reason"] for row in tables.dead_letters.to_pylist())
    assert reasons == [
        "has 2 fields where its file has 5",
        "has no float64 in 'price'",
        "has no int64 in 'volume'",
        "has no timestamp in 'at'",
    ]


@pytest.mark.parametrize("bad", ["too,few\n", "x,nothing,1,b,2024-01-02\n"])
def test_the_first_bad_row_stops_where_that_is_asked_for(
    bad: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "name,price,volume,key,at\n" + GOOD + bad)
    with pytest.raises(ps.errors.OperatorError, match="on_error='fail' stops at the first such tuple"):
        ps.evaluate(application(), {"quotes": path}, on_error="fail")
    assert capfd.readouterr().err == ""


def test_empty_fields_are_null_and_quoted_empty_ones_are_not(tmp_path: Path) -> None:
    path = written(tmp_path, 'name,price,volume,key,at\n"",,,,\n')
    (row,) = ps.evaluate(application(), {"quotes": path})["out"].to_pylist()
    assert row == {"name": "", "price": None, "volume": None, "key": None, "at": None}


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeffat,more,"key",volume,price,name\n2024-01-02,9,k,3,1.5,n\n')
    (row,) = ps.evaluate(application(), {"quotes": path})["out"].to_pylist()
    assert (row["name"], row["price"], row["key"]) == ("n", 1.5, "k")


def test_columns_are_found_by_number(tmp_path: Path) -> None:
    written(tmp_path, "7,skip,2024-01-02,Zoë,k,1.5\n")
    source = ps.sources.csv("quotes.csv", header=False, columns=(4, 6, 1, 5, 3))
    (row,) = ps.evaluate(application(source), data_dir=tmp_path)["out"].to_pylist()
    assert (row["name"], row["price"], row["volume"], row["key"]) == ("Zoë", 1.5, 7, "k")


@pytest.mark.parametrize("text", ["", "name,price,volume,key,at\n"])
def test_a_file_without_rows_is_an_empty_stream(tmp_path: Path, text: str) -> None:
    written(tmp_path, text)
    source = ps.sources.csv("quotes.csv", header=bool(text))
    assert ps.evaluate(application(source), data_dir=tmp_path)["out"].num_rows == 0


def test_parquet_and_arrow_files_are_read(tmp_path: Path) -> None:
    columns = {"name": ["n"], "price": [1], "volume": [2], "key": ["k"], "at": pa.array([3], pa.timestamp("us"))}
    table = pa.table(columns)
    pyarrow.parquet.write_table(table, tmp_path / "q.parquet")
    with pa.ipc.new_file(tmp_path / "q.arrow", table.schema) as file:
        file.write_table(table)
    results = [
        ps.evaluate(application(), {"quotes": tmp_path / f"q.{kind}"})["out"].to_pylist()
        for kind in ("parquet", "arrow")
    ]
    assert results[0] == results[1]
    assert results[0][0]["price"] == 1.0


def refused(inputs: dict[str, Any] | None, source: Any = None, folder: Path | None = None) -> str:
    with pytest.raises(ps.errors.InputError) as raised:
        ps.evaluate(application(source), inputs, data_dir=folder)
    return str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert (
        refused({"quotes": tmp_path / "none.csv"})
        == f"source 'quotes' reads the file {tmp_path / 'none.csv'}, which is not there"
    )
    assert "which is not there" in refused(None, ps.sources.parquet("none.parquet"), tmp_path)


def test_a_file_without_columns_and_one_of_bytes_are_described(tmp_path: Path) -> None:
    assert refused({"quotes": written(tmp_path, "")}).endswith("it has: none")
    sentence = refused({"quotes": written(tmp_path, "\x01\x02" * 500)})
    assert sentence.endswith("...")
    assert sentence.isprintable()
    assert len(sentence) < 500


def test_missing_columns_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "name,prize\na,1\n")
    sentence = refused({"quotes": path})
    assert sentence.startswith("source 'quotes' needs the columns name, price, volume, key, at;")
    assert sentence.endswith("lacks price, volume, key, at; it has: name, prize")
    table = tmp_path / "q.parquet"
    pyarrow.parquet.write_table(pa.table({"name": ["a"]}), table)
    assert "its input lacks price, volume, key, at; it has: name" in refused({"quotes": table})


def test_a_column_number_beyond_the_file_is_named(tmp_path: Path) -> None:
    written(tmp_path, "a,b,c\n")
    source = ps.sources.csv("quotes.csv", header=False, columns=(1, 2, 3, 4, 9))
    assert "reads column 9 of" in refused(None, source, tmp_path)
    assert "which has 3 columns" in refused(None, source, tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_file_that_is_something_else_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"q.{kind}"
    path.write_text("this is text, and long enough to be looked at as something else")
    assert f"which cannot be read as {'a Parquet' if kind == 'parquet' else 'an Arrow'} file" in refused(
        {"quotes": path}
    )


def test_numbers_of_columns_must_be_as_many_as_attributes() -> None:
    app = ps.Application("few")
    app.source("quotes", ps.sources.csv("q.csv", columns=(1, 2)), {"x": "int64"})
    assert [str(p) for p in app.problems] == [
        f"operator 'quotes' ({app.operators[0].place}) reads 2 columns by number but has 1 attributes in its schema"
    ]


def files(folder: Path, names: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in names.items():
        (folder / name).write_text("name,price,volume,key,at\n" + text)
    return folder


@pytest.mark.parametrize("pattern", ["in", "in/*.csv", "in/?.csv"])
def test_files_of_a_directory_are_read_in_the_order_of_their_names(tmp_path: Path, pattern: str) -> None:
    files(
        tmp_path / "in", {"b.csv": "2,,,,\n3,x,,,\n", "a.csv": "1,,,,\n", ".draft.csv": "9,,,,\n", "_c.csv": "9,,,,\n"}
    )
    tables = ps.evaluate(application(ps.sources.csv(pattern)), data_dir=tmp_path)
    assert tables["out"].column("name").to_pylist() == ["1", "2"]
    assert tables.dead_letters.column("reason").to_pylist() == ["has no float64 in 'price'"]


def test_many_parquet_files_may_differ_in_width_but_not_lack_a_column(tmp_path: Path) -> None:
    app = ps.Application("many")
    app.source("numbers", ps.sources.parquet(str(tmp_path)), {"x": "int64"}).sink("out")
    pyarrow.parquet.write_table(pa.table({"x": pa.array([1], pa.int32()), "more": ["a"]}), tmp_path / "1.parquet")
    pyarrow.parquet.write_table(pa.table({"x": pa.array([2], pa.int64())}), tmp_path / "2.parquet")
    assert ps.evaluate(app)["out"].column("x").to_pylist() == [1, 2]
    assert ps.evaluate(app, {"numbers": tmp_path})["out"].column("x").to_pylist() == [1, 2]
    pyarrow.parquet.write_table(pa.table({"y": [3]}), tmp_path / "3.parquet")
    with pytest.raises(ps.errors.InputError, match="its input lacks x; it has: y"):
        ps.evaluate(app)


def test_an_empty_directory_is_an_empty_stream_and_an_empty_pattern_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert ps.evaluate(application(ps.sources.csv("in")), data_dir=tmp_path)["out"].num_rows == 0
    assert "reads the files" in refused(None, ps.sources.csv("in/*.csv"), tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_damaged_file_is_named(tmp_path: Path, kind: str) -> None:
    """Arrow raises a bare OSError for pages and messages that do not decode."""
    path, table = tmp_path / f"q.{kind}", pa.table({"name": ["a"] * 50, "price": [1.5] * 50})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    data = path.read_bytes()
    what = "a Parquet file" if kind == "parquet" else "an Arrow file"
    for place in range(8, len(data), 5):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        said = refused({"quotes": path})  # what can be read lacks columns
        assert f"which cannot be read as {what}" in said or "source 'quotes' needs" in said


def test_a_column_number_that_is_given_twice_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    source = ps.sources.csv(path, header=False, columns=[1, 2, 2, 4, 5])
    assert refused(None, source) == "source 'quotes' reads column 2 for 'volume' and for another attribute, too; " \
        "give each attribute a column of its own"  # fmt: skip


def test_a_header_without_end_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "name," + "x" * 200_000 + "\n" + GOOD)
    assert "which cannot be read as CSV: field larger than field limit" in refused({"quotes": path})


def test_a_list_in_csv_is_a_dead_letter(tmp_path: Path) -> None:
    app = ps.Application("lists")
    app.source("quotes", None, {"name": "string", "many": "list<string>"}).sink("out")
    tables = ps.evaluate(app, {"quotes": written(tmp_path, "name,many\na,b\nc,\n")})
    assert tables["out"].to_pylist() == [{"name": "c", "many": None}]
    assert tables.dead_letters.column("reason").to_pylist() == ["has no list<string> in 'many'"]


@pytest.mark.parametrize("name", ["x" * 5_000, "x" * 300 + "*", "a\0b"])
def test_a_name_that_no_file_can_have_is_not_there(name: str) -> None:
    assert "not there" in refused({"quotes": name}) or "there are none" in refused({"quotes": name})
    with pytest.raises(ps.errors.InputError):
        ps.sources.trace(name)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("in_folder", [False, True])
def test_a_file_of_a_header_alone_has_no_rows(end: str, in_folder: bool, tmp_path: Path) -> None:
    path = written(tmp_path, "name,price,volume,key,at" + end)
    tables = ps.evaluate(application(ps.sources.csv(tmp_path if in_folder else path)))
    assert tables["out"].num_rows == tables.dead_letters.num_rows == 0


def test_a_column_that_a_header_names_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "name,price,volume,key,at,price,more,more\n" + "Zoë,1.5,3,a,2024-01-02,2.5,,\n")
    assert refused({"quotes": path}) == (
        f"source 'quotes' needs each column once; {path} has price more than once; "
        "choose columns by number: columns=(1, 2, ...)"
    )
    by_number = ps.sources.csv(path, columns=(1, 6, 3, 4, 5))
    assert ps.evaluate(application(by_number))["out"]["price"].to_pylist() == [2.5]
