"""SPADE texts become programs: the five printed ones as they are, others of their style; wrong ones get sentences."""

from __future__ import annotations

import pytest

from penstock.app.spade.parse import parse
from penstock.app.spade.program import (
    AttributeOf,
    Declaration,
    InputPort,
    Measure,
    NodeOf,
    NodePool,
    Operation,
    Program,
    SchemaFor,
    Snippet,
    WindowOf,
)
from penstock.errors import SpadeSyntaxError
from tests.checkout import ROOT

EXAMPLES = ROOT / "examples" / "spade"


def printed(name: str) -> Program:
    file = f"{name}.spade"
    return parse((EXAMPLES / file).read_text(), file)


def only_operation(text: str) -> Operation:
    operations = parse("[Program]\n" + text).operations
    assert len(operations) == 1
    return operations[0]


def texts(snippets: tuple[Snippet, ...]) -> list[str]:
    return [snippet.text for snippet in snippets]


@pytest.mark.parametrize(
    ("name", "application", "streams"),
    [
        ("func3-cf4", "regex", ["Source1", "Regex1", "Regex2", "Regex3", "DummySink"]),
        ("aggs-cf1", "aggregator", ["Source1", "Aggreg1", "Sink1"]),
        ("aggt-cf1", "aggregator", ["Source1", "Aggreg1", "Sink1"]),
        ("join-cf1.1", None, ["Source1", "Source2", "Join1", "Sink1"]),
        ("vwap-cf3", "vwap", ["TradeQuote", "TradeFilter", "VWAPAggregator", "VWAPSum", "DummySink"]),
    ],
)
def test_the_printed_programs_are_read(name: str, application: str | None, streams: list[str]) -> None:
    program = printed(name)
    assert program.application == program.typespace == application
    assert [stream.name for stream in program.streams()] == streams
    assert len(program.node_pools) == 1
    assert all(operation.partition and operation.node for operation in program.operations)


def test_only_the_misprinted_program_is_repaired_and_its_repairs_name_line_and_reading() -> None:
    assert [str(repair) for repair in printed("vwap-cf3").repairs] == [
        "line 24: source 'TradeQuote' lists 10 columns for 9 attributes; "
        "read as if the surplus column 11 were not listed",
        "line 53: the '(' of Aggregate in line 51 is never closed; read as if ')' stood after the '}'",
    ]
    for name in ("func3-cf4", "aggs-cf1", "aggt-cf1", "join-cf1.1"):
        assert printed(name).repairs == ()


def test_the_surplus_column_is_left_out() -> None:
    assert texts(printed("vwap-cf3").operations[0].outputs) == ["1-3", "5", "7-9", "15-16"]


def test_an_operation_keeps_everything_that_was_written() -> None:
    source, join, _, sink = (printed("join-cf1.1").operations[i] for i in (0, 2, 1, 3))
    assert source.declares[0].schema[2] == AttributeOf("bidPrice", "Float", 9)
    assert texts(source.parameters) == ['"file:auction_bid.dat"', "csvformat", "throttledRate=10000"]
    assert source.inputs == source.outputs == ()
    assert [port.streams for port in join.inputs] == [("Source1",), ("Source2",)]
    assert join.inputs[0].window == WindowOf(Measure("count", 30.0, None, 26), None, False, 26)
    assert join.filter_text == "$1.productName = $2.productName & $2.offerPrice <= $1.bidPrice"
    assert texts(join.outputs) == ["$1.bidderName", "$2.productName", "$1.bidPrice", "$2.offerPrice"]
    assert (join.partition, join.node, join.line) == ("pe1", NodeOf("pool", 1, 29), 21)
    assert sink.filter_text == "false"


def test_expressions_are_cut_at_top_level_commas_and_know_their_place() -> None:
    regex = printed("func3-cf4").operations[2]
    assert len(regex.outputs) == 3
    assert regex.outputs[0].text.startswith('dateTime[3]+"-"+\n  select(toInteger(dateTime[2])-1,')
    assert regex.outputs[1:] == (Snippet("dateTime[4]", 27, 21), Snippet("seqNum()", 27, 34))


def test_commas_and_brackets_in_strings_do_not_cut() -> None:
    functor = only_operation('stream A(x:String) := Functor(B)[x="a,]b"]{ f(x, "},{", g[1, 2]), "say \\"a, b\\"" }')
    assert texts(functor.parameters) == ['x="a,]b"']
    assert texts(functor.outputs) == ['f(x, "},{", g[1, 2])', '"say \\"a, b\\""']


def test_comments_are_skipped_but_not_in_strings() -> None:
    text = '# one\nstream A(x:Long) // two\n := Source()["file:///data#1/a.dat", # three\n csvformat]{}\n'
    operation = only_operation(text)
    assert texts(operation.parameters) == ['"file:///data#1/a.dat"', "csvformat"]
    assert operation.parameters[1] == Snippet("csvformat", 5, 2)


def test_both_places_of_an_aggregates_closing_parenthesis_are_read() -> None:
    late = only_operation("stream A(n:Long) := Aggregate(B <count(2)> [x] {Cnt()})")
    early = only_operation("stream A(n:Long) := Aggregate(B <count(2)>) [x] {Cnt()}")
    assert (late.inputs, texts(late.outputs)) == (early.inputs, texts(early.outputs))


@pytest.mark.parametrize("after", ["", '-> partition["pe0"]', "stream B(x:Long) := Functor(A)[]{}"])
def test_an_unclosed_parenthesis_is_repaired_wherever_the_next_thing_begins(after: str) -> None:
    program = parse(f"[Program]\nstream A(n:Long) := Aggregate(S <count(2)>[]{{Cnt()}}\n{after}")
    assert [repair.line for repair in program.repairs] == [2]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("<count(4)>", WindowOf(Measure("count", 4.0, None, 2), None, False, 2)),
        (
            "< count(10), count(1), pergroup >",
            WindowOf(Measure("count", 10.0, None, 2), Measure("count", 1.0, None, 2), True, 2),
        ),
        ("<count(10), pergroup>", WindowOf(Measure("count", 10.0, None, 2), None, True, 2)),
        ("<time(60), time(1.5)>", WindowOf(Measure("time", 60.0, None, 2), Measure("time", 1.5, None, 2), False, 2)),
        ("<time(ts, 60)>", WindowOf(Measure("time", 60.0, "ts", 2), None, False, 2)),
        ("<delta(price, 5.0d)>", WindowOf(Measure("delta", 5.0, "price", 2), None, False, 2)),
        (
            "<delta(price, 5.0), count(1)>",
            WindowOf(Measure("delta", 5.0, "price", 2), Measure("count", 1.0, None, 2), False, 2),
        ),
        ("<punct()>", WindowOf(Measure("punct", None, None, 2), None, False, 2)),
    ],
)
def test_windows_of_every_form_are_read(window: str, expected: WindowOf) -> None:
    assert only_operation(f"stream A(n:Long) := Aggregate(B {window})[]{{Cnt()}}").inputs[0].window == expected


def test_an_operator_may_read_several_ports_and_several_streams_per_port() -> None:
    operation = only_operation("stream A(x:Long) := Join(B, C <count(1)>; D <count(2)>)[]{x}")
    assert [port.streams for port in operation.inputs] == [("B", "C"), ("D",)]


def test_a_split_declares_several_streams() -> None:
    split = only_operation("stream A(schemaFor(S)) stream B(schemaFor(S), y:Long) := Split(S)[x % 2]{}")
    assert split.declares[1] == Declaration("B", (SchemaFor("S", 2), AttributeOf("y", "Long", 2)), 2)
    assert split.name == "A"


def test_a_sink_declares_no_stream_and_is_named_after_its_input() -> None:
    sink = only_operation('Null := Sink(Prices)["file:out.csv", csvformat]{} -> node(pool, 0)')
    assert (sink.declares, sink.name, sink.node) == ((), "Prices_sink", NodeOf("pool", 0, 2))
    assert sink.inputs == (InputPort(("Prices",), None, 2),)


def test_node_pools_with_and_without_hosts_are_read() -> None:
    text = '[Nodepools]\nnodepool a[2] := ()\nnodepool b[] := ("one.example", "two.example")\n[Program]\n'
    assert parse(text).node_pools == (NodePool("a", 2, (), 2), NodePool("b", 2, ("one.example", "two.example"), 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "stream A",
            "1:1: expected one of the sections [Application], [Typedefs], [Nodepools], [Program], got 'stream'",
        ),
        (
            "[Progam]",
            "1:2: expected one of the sections [Application], [Typedefs], [Nodepools], [Program] (did you mean "
            "'Program'?), got 'Progam'",
        ),
        ("[Application]\na\n", "3:1: expected the section [Program], got the end of the text"),
        ("[Application]\n[Program]", "2:1: expected the application's name after [Application], got '['"),
        (
            "[Program] [Program]",
            "1:12: expected one of the sections [Application], [Typedefs], [Nodepools], got 'Program'",
        ),
        ("[Program", "1:9: expected ']' after '[Program', got the end of the text"),
        ("[Nodepools]\nnodepool p[x] := ()", "2:12: expected a number of nodes of node pool 'p', got 'x'"),
        ("[Nodepools]\nnodepool p[1] = ()", "2:15: expected ':=' after node pool 'p', got '='"),
        ("[Typedefs]\ntypespce x", "2:1: expected 'typespace' or a section in [Typedefs], got 'typespce'"),
        ("[Program]\nstraem A(x:Long)", "2:1: expected 'stream', 'vstream' or 'Null', got 'straem'"),
        ("[Program]\nvstream A x", "2:11: expected '(' before the schema of vstream 'A', got 'x'"),
        ("[Program]\nvstream A()", "2:11: expected an attribute's name or 'schemaFor' in the schema of 'A', got ')'"),
        ("[Program]\nvstream A(x Long)", "2:13: expected ':' after attribute 'x', got 'Long'"),
        ("[Program]\nvstream A(x:5)", "2:13: expected a type of attribute 'x', got '5'"),
        ("[Program]\nvstream A(x:Long y:Long)", "2:18: expected ')' or ',' in the schema of vstream 'A', got 'y'"),
        (
            "[Program]\nstream A(schemaFor(B) = Functor(B)[]{}",
            "2:23: expected ')' or ',' in the schema of stream 'A', got '='",
        ),
        ("[Program]\nstream A(x:Long) = Functor(B)[]{}", "2:18: expected ':=' after stream 'A', got '='"),
        ("[Program]\nstream A(x:Long) := (B)[]{}", "2:21: expected the name of an operator after ':=', got '('"),
        ("[Program]\nstream A(x:Long) := Functor B", "2:29: expected '(' after 'Functor', got 'B'"),
        (
            "[Program]\nstream A(x:Long) := Functor(B}",
            "2:30: expected ')' after the inputs of Functor (its '(' is in line 2), got '}'",
        ),
        ("[Program]\nstream A(x:Long) := Functor(B){}", "2:31: expected '[' after the inputs of Functor, got '{'"),
        ("[Program]\nstream A(x:Long) := Functor(B)[] -> ", "2:34: expected '{' after the ']' of Functor, got '->'"),
        (
            "[Program]\nstream A(x:Long) := Functor(B)[x > (1]{}",
            "2:38: expected ')' to close the '(' of line 2, got ']'",
        ),
        (
            "[Program]\nstream A(x:Long) := Functor(B)[]{x\n-> node(p, 0)",
            "3:1: expected '}' to close the '{' of line 2, got '->'",
        ),
        ("[Program]\nstream A(x:Long) := Functor(B)[]{x, }", "2:37: expected an expression after ',', got '}'"),
        ("[Program]\nstream A(x:Long) := Functor(B)[]{,x}", "2:34: expected an expression after '{', got ','"),
        (
            '[Program]\nstream A(x:Long) := Functor(B)[x="a]{}',
            '2:34: expected " at the end of a string, got the end of the line',
        ),
        (
            "[Program]\nstream A(x:Long) := Aggregate(B <cnt(1)>)[]{}",
            "2:34: expected count(...), time(...), delta(...) or punct() as a window's measure, got 'cnt'",
        ),
        (
            "[Program]\nstream A(x:Long) := Aggregate(B <count(1.5)>)[]{}",
            "2:40: expected a number of tuples in count(...), got '1.5'",
        ),
        ("[Program]\nstream A(x:Long) := Aggregate(B <time(x)>)[]{}", "2:40: expected ',' after 'time(x', got ')'"),
        (
            "[Program]\nstream A(x:Long) := Aggregate(B <count(1), count(1), count(1)>)[]{}",
            "2:54: expected 'pergroup' after the two measures of a window, got 'count'",
        ),
        ("[Program]\nstream A(x:Long) := Aggregate(B <count(1))[]{}", "2:42: expected '>' or ',' in a window, got ')'"),
        (
            "[Program]\nstream A(x:Long) := Functor(B)[]{} partition",
            "2:36: expected '->', 'stream', 'vstream' or the end of the text after an operator, got 'partition'",
        ),
        (
            "[Program]\nstream A(x:Long) := Functor(B)[]{} -> host(1)",
            "2:39: expected partition[...] or node(...) after '->', got 'host'",
        ),
        (
            "[Program]\nstream A(x:Long) := Functor(B)[]{} -> partition[pe0]",
            "2:49: expected the partition's name as a string after 'partition[', got 'pe0'",
        ),
        ("[Program]\nstream A(x:Long) := Functor(B)[]{} -> node(p)", "2:45: expected ',' after 'node(p', got ')'"),
    ],
)
def test_a_syntax_error_points_at_line_and_column_and_names_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(SpadeSyntaxError) as caught:
        parse(text, "bad.spade")
    assert str(caught.value) == f"bad.spade:{message}"
