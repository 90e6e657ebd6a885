"""Schemas, types, columns and placements of SPADE programs, and a sentence for each thing that can be wrong in them."""

from __future__ import annotations

import pytest

from penstock.app.spade.parse import parse
from penstock.app.spade.program import Snippet
from penstock.app.spade.resolve import resolve
from penstock.app.spade.source_options import FileOptions, columns, file_options
from penstock.errors import InputError


def snippets(*texts: str) -> list[Snippet]:
    return [Snippet(text, 1, 1) for text in texts]


def problems(program: str) -> list[str]:
    return [str(problem) for problem in resolve(parse(program)).problems]


def test_schema_for_copies_attributes_of_streams_and_virtual_streams_declared_anywhere() -> None:
    text = """[Program]
    stream A(schemaFor(V), extra:Double) := Functor(B)[]{}
    vstream V(name:String, parts:StringList, flag:Boolean)
    stream B(schemaFor(A), last:Integer) := Functor(A)[]{}"""
    schemas = resolve(parse(text)).schemas
    assert schemas["A"] == {"name": "string", "parts": "list<string>", "flag": "bool", "extra": "float64"}
    assert schemas["B"] == {**schemas["A"], "last": "int64"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "vstream V(x:Sting)",
            "program.spade:2: attribute 'x': there is no type 'Sting'; there are: String, Boolean, Byte, "
            "Short, Integer, Long, Float, Double, and each with List behind it; did you mean 'String'?",
        ),
        ("vstream V(x:Long, x:Long)", "program.spade:2: stream 'V' has two attributes of the name 'x'"),
        ("vstream V(schemaFor(W))", "program.spade:2: schemaFor(W) names no stream of the program"),
        ("vstream V(x:Long)\nvstream V(x:Long)", "program.spade:3: stream 'V' was declared before, in line 2"),
        (
            "stream A(x:Long) := Functor(A)[]{} -> node(p, 0)",
            "program.spade:2: node(p, 0) names no node pool; there are: none",
        ),
    ],
)
def test_what_is_wrong_with_a_name_is_said_with_its_line(text: str, sentence: str) -> None:
    assert problems(f"[Program]\n{text}") == [sentence]


def test_schemas_that_go_round_in_a_circle_are_refused() -> None:
    assert problems("[Program]\nvstream V(schemaFor(W))\nvstream W(schemaFor(V))") == [
        "program.spade:3: schemaFor(V) goes round in a circle: V -> W -> V"
    ]


def test_node_pools_are_checked() -> None:
    text = """[Nodepools]
    nodepool p[2] := ()
    nodepool q[3] := ("a", "b")
    nodepool p[1] := ()
    [Program]
    stream A(x:Long) := Functor(A)[]{} -> node(q, 3)"""
    assert problems(text) == [
        "program.spade:4: node pool 'p' was declared before",
        "program.spade:3: node pool 'q' has 3 nodes but 2 hosts",
        "program.spade:6: node(q, 3) is outside of its pool, whose nodes are 0 to 2",
    ]


def test_column_lists_are_numbers_and_ranges() -> None:
    assert columns(snippets("1-3", "5", "7 - 9", "11")) == (1, 2, 3, 5, 7, 8, 9, 11)
    assert columns([]) is None


@pytest.mark.parametrize("text", ["0", "3-1", "x", "1-", "-1", "1.5"])
def test_a_wrong_column_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="columns are numbers from 1, or ranges such as 1-3"):
        columns(snippets(text))


def test_a_column_listed_twice_is_refused() -> None:
    with pytest.raises(InputError, match="lists column 3 twice"):
        columns(snippets("1-3", "5", "3-4"))


def test_file_options_are_read() -> None:
    given = snippets('"file:a.dat"', "nodelays", "csvformat", "throttledRate = 1000")
    assert file_options(given) == FileOptions("a.dat", 1000.0)
    assert file_options(snippets('"file:///tmp/a.dat"')) == FileOptions("/tmp/a.dat")
    assert file_options(snippets('"a.dat"')) == FileOptions("a.dat")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], 'needs a file as its first option, such as "file:stock_report.dat"'),
        (["csvformat"], 'needs a file as its first option, such as "file:stock_report.dat"'),
        (['"stcp://host:1"'], "reads or writes 'stcp://host:1'; only files can be used here, written \"file:path\""),
        (
            ['"file:a"', "csvfromat"],
            "has the option 'csvfromat'; there are: csvformat, nodelays, throttledRate=...; did you mean 'csvformat'?",
        ),
        (['"file:a"', "throttledRate=0"], "has throttledRate=0; it must be a positive number of tuples per second"),
        (
            ['"file:a"', "throttledRate=fast"],
            "has throttledRate=fast; it must be a positive number of tuples per second",
        ),
    ],
)
def test_a_wrong_file_option_is_refused(options: list[str], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        file_options(snippets(*options))
    assert str(caught.value) == sentence
