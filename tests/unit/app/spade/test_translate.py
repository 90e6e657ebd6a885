"""SPADE programs become applications: operators, windows, casts, requests; mistakes come together with their lines."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.app import operators as ops
from penstock.app.application import Application
from penstock.app.graph import Request
from penstock.app.spade import load
from penstock.app.windows import sliding, tumbling
from penstock.connectors.csv import CsvSink, CsvSource
from penstock.errors import ApplicationError
from penstock.expressions.parser import parse as parse_expression
from penstock.expressions.tree import Expression
from tests.checkout import ROOT

EXAMPLES = ROOT / "examples" / "spade"
INPUT = '[Program]\nstream Input(k:String, x:Long, p:Double, ts:Long) := Source()["file:in.dat", csvformat]{}\n'


def printed(name: str) -> Application:
    return load((EXAMPLES / f"{name}.spade").read_text(), data_dir="data", file=f"{name}.spade")


def operator(text: str, name: str = "Out") -> ops.Operator:
    return load(INPUT + text).graph.operator(name)


def problems(text: str) -> list[str]:
    with pytest.raises(ApplicationError) as caught:
        load(text, file="bad.spade")
    return [str(problem) for problem in caught.value.problems]


def expressions(emits: tuple[ops.Emit, ...]) -> dict[str, Expression]:
    return {emit.name: emit.expression for emit in emits}


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.spade")), ids=lambda file: file.stem)
def test_every_printed_program_becomes_an_application(file: Path) -> None:
    graph = printed(file.stem).graph
    assert [operator.name for operator in graph.operators if not operator.inputs] == [s.name for s in graph.sources]
    assert all(operator.place is not None and operator.place.file == file.name for operator in graph.operators)
    assert all(request.partition and request.host for request in graph.requests)
    assert len(graph.requests) == len(graph.operators)


def test_an_application_is_named_by_its_program_or_its_file() -> None:
    assert printed("vwap-cf3").name == "vwap"
    assert printed("join-cf1.1").name == "join-cf1.1"


def test_repairs_are_warnings_with_file_and_line() -> None:
    assert printed("aggs-cf1").warnings == []
    warnings = printed("vwap-cf3").warnings
    assert [warning.split(": ")[0] for warning in warnings] == ["vwap-cf3.spade:24", "vwap-cf3.spade:53"]
    assert "column 11" in warnings[0]
    assert "never closed" in warnings[1]


def test_a_source_reads_the_listed_columns_of_its_file_at_its_declared_rate() -> None:
    source = printed("vwap-cf3").graph.sources[0]
    assert source.connector == CsvSource(
        "data/TradesAndQuotes.csv.long", header=False, columns=(1, 2, 3, 5, 7, 8, 9, 15, 16)
    )
    assert source.rate_tuples_s == 10_000.0
    assert source.schema.names[-2:] == ["askprice", "asksize"]


def test_partition_and_node_become_requests() -> None:
    assert printed("aggs-cf1").graph.requests == (
        Request("Source1", "pe0", "pool[0]"),
        Request("Aggreg1", "pe1", "pool[1]"),
        Request("Sink1", "pe0", "pool[0]"),
    )


def test_a_node_of_a_pool_with_hosts_is_its_host() -> None:
    text = '[Nodepools]\nnodepool p[] := ("a.example", "b.example")\n' + INPUT + "-> node(p, 1)"
    assert load(text).graph.requests == (Request("Input", None, "b.example"),)


def test_the_aggregates_of_the_printed_programs_have_their_windows() -> None:
    windows = {}
    for name in ("aggs-cf1", "aggt-cf1", "vwap-cf3"):
        aggregate = next(o for o in printed(name).graph.operators if isinstance(o, ops.Aggregate))
        windows[name] = (aggregate.window, aggregate.by)
    assert windows == {
        "aggs-cf1": (sliding(count=10, every=1, per_group=True), ("symbol",)),
        "aggt-cf1": (tumbling(count=10, per_group=True), ("symbol",)),
        "vwap-cf3": (sliding(count=4, every=1), ("ticker",)),
    }


def test_a_join_slides_over_its_windows_and_looks_up_what_must_be_equal() -> None:
    join = printed("join-cf1.1").graph.operator("Join1")
    assert isinstance(join, ops.Join)
    assert (join.left_window, join.right_window) == (sliding(count=30), sliding(count=15))
    assert join.on == (("productName", "productName"),)
    assert join.where == parse_expression('"right".offerPrice <= "left".bidPrice')
    assert expressions(join.emit)["matchingPrice"] == parse_expression('"right".offerPrice')


def test_empty_braces_copy_by_name_and_a_false_filter_drops_all() -> None:
    sink = printed("join-cf1.1").graph.operator("Sink1")
    assert isinstance(sink, ops.Functor)
    assert sink.where == parse_expression("false")
    assert sink.emits == ((ops.Emit("bidderName", parse_expression("bidderName")),),)


def test_numbers_are_cast_to_their_declared_type() -> None:
    functor = operator("stream Out(a:Double, b:Long, c:Double) := Functor(Input)[]{x, p, p}")
    assert isinstance(functor, ops.Functor)
    assert expressions(functor.emits[0]) == {
        "a": parse_expression("cast(x as float64)"),
        "b": parse_expression("cast(p as int64)"),
        "c": parse_expression("p"),
    }
    assert functor.schema.types == [pa.float64(), pa.int64(), pa.float64()]


def test_attributes_may_be_read_through_the_input_they_belong_to() -> None:
    functor = operator("stream Out(a:Long, b:Long) := Functor(Input)[$1.x > 1]{$1.x, Input.x}")
    assert isinstance(functor, ops.Functor)
    assert functor.where == parse_expression("x > 1")
    assert set(expressions(functor.emits[0]).values()) == {parse_expression("x")}


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("<count(4)>", tumbling(count=4)),
        ("<count(4), count(2)>", sliding(count=4, every=2)),
        ("<time(60), time(1)>", sliding(time_s=60, every_s=1, on="ts")),
        ("<time(x, 60)>", tumbling(time_s=60, on="x")),
        ("<delta(p, 5.0)>", tumbling(delta=5.0, on="p")),
        ("<delta(p, 5.0), count(2)>", sliding(delta=5.0, every=2, on="p")),
        ("<punct()>", tumbling(punctuation=True)),
        ("<punct(3), punct(1)>", sliding(punctuation=3, every=1)),
    ],
)
def test_windows_of_aggregates(written: str, window: object) -> None:
    aggregate = operator(f"stream Out(n:Long) := Aggregate(Input {written} [] {{Cnt()}})")
    assert isinstance(aggregate, ops.Aggregate)
    assert aggregate.window == window


def test_a_time_that_names_no_attribute_is_taken_with_a_warning() -> None:
    text = INPUT + "stream Out(n:Long) := Aggregate(Input <time(60)> [] {Cnt()})"
    assert load(text).warnings == [
        "program.spade:3: operator 'Out' has a window of time(60), which runs on 'ts', read as seconds; "
        "write time(attribute, 60) to choose another"
    ]
    assert load(text.replace("time(60)", "time(x, 60)")).warnings == []


def test_a_time_without_an_attribute_to_run_on_is_refused() -> None:
    text = INPUT.replace("ts:Long", "moment:Long") + "stream Out(n:Long) := Aggregate(Input <time(60)> [] {Cnt()})"
    assert problems(text) == [
        "operator 'Out' (bad.spade:3) has a window of time(60), and its input has no number named one of timestamp, "
        "ts, time; name the attribute that it runs on: time(attribute, 60)"
    ]


def test_an_operator_may_be_written_before_what_it_reads() -> None:
    text = '[Program]\nstream B(x:Long) := Functor(A)[]{}\nstream A(x:Long) := Source()["file:a"]{}'
    assert [operator.name for operator in load(text).graph.operators] == ["A", "B"]


def test_several_streams_of_one_port_are_merged() -> None:
    graph = load(
        INPUT + "stream B(schemaFor(Input)) := Functor(Input)[]{}\nstream Out(x:Long) := Functor(Input, B)[]{}"
    ).graph
    assert graph.operator("Out_input1").inputs == ("Input", "B")
    assert graph.operator("Out").inputs == ("Out_input1",)


def test_a_union_merges_ports_and_streams() -> None:
    text = "stream B(schemaFor(Input)) := Functor(Input)[]{}\nstream Out(schemaFor(Input)) := Union(Input; B)[]{}"
    assert operator(text) == ops.Union("Out", ("Input", "B"), load(INPUT).graph.operator("Input").schema)


def test_a_split_by_conditions_keeps_the_names_of_its_streams() -> None:
    text = 'stream Low(schemaFor(Input)) stream Rest(x:Double) := Split(Input)[p < 1.0]{} -> partition["s"]'
    graph = load(INPUT + text).graph
    split = graph.operator("Low_split")
    assert isinstance(split, ops.Split)
    assert split.branches == (ops.Branch("Low", parse_expression("p < 1.0")), ops.Branch("Rest", None))
    assert graph.operator("Rest").inputs == ("Low_split.Rest",)
    assert graph.operator("Rest").schema.names == ["x"]
    assert [request.operator for request in graph.requests] == ["Low_split", "Low", "Rest"]


def test_a_split_by_a_number_deals_out_by_modulo() -> None:
    text = "stream A(schemaFor(Input)) stream B(schemaFor(Input)) := Split(Input)[x + 1]{}"
    split = operator(text, "A_split")
    assert isinstance(split, ops.Split)
    assert [branch.where for branch in split.branches] == [
        parse_expression("(x + 1) % 2 = 0"),
        parse_expression("(x + 1) % 2 = 1"),
    ]


def test_the_other_operators_are_read() -> None:
    schema = load(INPUT).graph.operator("Input").schema
    stream = "stream Out(schemaFor(Input)) := "
    assert operator(stream + "Sort(Input <count(5)>)[p desc, x]{}") == ops.Sort(
        "Out", ("Input",), schema, tumbling(count=5), (ops.SortKey("p", True), ops.SortKey("x"))
    )
    assert operator(stream + 'Punctor(Input)[x = 1, "before"]{}') == ops.Punctor(
        "Out", ("Input",), schema, parse_expression("x = 1"), True
    )
    assert operator(stream + "Delay(Input)[2.5]{}") == ops.Delay("Out", ("Input",), schema, 2.5)
    assert operator(stream + "Throttle(Input)[rate=1000]{}") == ops.Throttle("Out", ("Input",), schema, 1000.0)


def test_a_barrier_reads_its_inputs_by_number() -> None:
    text = """stream Out(k:String, both:Long) := Barrier(Input; B)[]{$1.k, $1.x + $2.y}
    stream B(y:Long) := Functor(Input)[]{x}"""
    barrier = operator(text)
    assert isinstance(barrier, ops.Barrier)
    assert barrier.ports == ("Input", "B")
    assert expressions(barrier.emit)["both"] == parse_expression("Input.x + B.y")


def test_a_sink_writes_its_input_as_csv() -> None:
    sink = load(INPUT + 'Null := Sink(Input)["file:out", csvformat]{}', data_dir="data").graph.sinks[0]
    assert (sink.name, sink.inputs, sink.connector) == ("Input_sink", ("Input",), CsvSink("data/out"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "stream Out(x:Long) := Functr(Input)[]{}",
            "operator 'Out' (bad.spade:3) is a Functr, which does not exist; there are: Source, Sink, Functor, "
            "Aggregate, Join, Barrier, Union, Split, Sort, Punctor, Delay, Throttle; did you mean 'Functor'?",
        ),
        (
            "stream Out(x:Long)\n := Functor(\nInputt)[]{}",
            "operator 'Out' (bad.spade:5) reads 'Inputt', which is no stream of the program; did you mean 'Input'?",
        ),
        (
            "stream Out(x:Long) := Functor(Input;Input)[]{}",
            "operator 'Out' (bad.spade:3) is a Functor, which has one input; got 2",
        ),
        (
            "stream Out(x:Long) := Sink(Input)[]{}",
            "operator 'Out' (bad.spade:3) is a Sink, which declares no stream; write Null := Sink(...)",
        ),
        (
            "Null := Functor(Input)[]{}",
            "operator 'Input_sink' (bad.spade:3) is a Functor, which declares a stream; got Null; "
            "write stream Name(...) := ...",
        ),
        (
            "stream Out(x:Long) stream Other(x:Long) := Functor(Input)[]{}",
            "operator 'Out' (bad.spade:3) declares 2 streams; only a Split does that; was ':= Operator(...)' left out?",
        ),
        (
            "stream Out(x:Long) := Functor(Input)[]\n{ x,\n p }",
            "operator 'Out' (bad.spade:4) gives 2 expressions for 1 attribute: x",
        ),
        (
            "stream Out(x:Long) := Functor(Input)[]\n{ p +\n  pp }",
            "operator 'Out' (bad.spade:5) reads 'pp', which its input does not have; it has: k, x, p, ts "
            "(in `p + pp`, column 3); did you mean 'p'?",
        ),
        (
            "stream Out(y:Long) := Functor(Input)[]{}",
            "operator 'Out' (bad.spade:3) reads 'y' in {} (a copy by name), which its input does not have; "
            "it has: k, x, p, ts",
        ),
        (
            "stream Out(x:Long) := Functor(Input)[]{k}",
            "operator 'Out' (bad.spade:3) declares 'x' as an int64, but gives it a string",
        ),
        (
            "stream Out(x:Long) := Functor(Input)[x]{}",
            "operator 'Out' (bad.spade:3) needs a condition between its brackets; got `x`, which is an int64; "
            "compare it with something",
        ),
        (
            "stream Out(x:Long) := Functor(Input)[x > 1, x < 2]{}",
            "operator 'Out' (bad.spade:3) takes one condition between its brackets; got 2",
        ),
        (
            "stream Out(x:Long) := Functor(Input)[]{$2.x}",
            "operator 'Out' (bad.spade:3) reads 'x' of $2; its inputs are: $1, Input (in `$2.x`, column 40)",
        ),
        (
            "stream Out(n:Long) := Aggregate(Input)[]{Cnt()}",
            "operator 'Out' (bad.spade:3) needs a window on its input 'Input', such as <count(10)>; got none",
        ),
        (
            "stream Out(n:Long) := Aggregate(Input <count(3), time(1)>)[]{Cnt()}",
            "operator 'Out' (bad.spade:3) has a window by count, which slides by count; got time(1)",
        ),
        (
            "stream Out(n:Long) := Aggregate(Input <count(3), pergroup>)[]{Cnt()}",
            "operator 'Out' (bad.spade:3) has a window per group but no groups; "
            "name the attributes that make them between its brackets",
        ),
        (
            "stream Out(k:String) := Aggregate(Input <count(3)>)[]{}",
            "operator 'Out' (bad.spade:3) needs an aggregate between its braces for each attribute; got {}; "
            "write Any(x) to keep x",
        ),
        (
            "stream Out(x:Long) := Join(Input <count(3), count(1)>; Input <count(3)>)[]{$1.x}",
            "operator 'Out' (bad.spade:3) joins windows of one measure; got two, count(3) and count(1)",
        ),
        (
            "stream Out(x:Long) := Delay(Input)[soon]{}",
            "operator 'Out' (bad.spade:3) needs a delay in seconds between its brackets; got soon",
        ),
        (
            "stream A(schemaFor(Input)) stream B(schemaFor(Input)) := Split(Input)[k]{}",
            "operator 'A' (bad.spade:3) takes one whole number, or a condition for each of its 2 outputs (the last "
            "may be left out), between its brackets; got k",
        ),
        (
            'stream B(x:Long) := Source()["file:b.dat"]{1-2}',
            "operator 'B' (bad.spade:3) lists 2 columns for 1 attribute",
        ),
        (
            'stream B(x:Long) := Source()["file:b.dat", csvfromat]{}',
            "operator 'B' (bad.spade:3) has the option 'csvfromat'; there are: csvformat, nodelays, throttledRate=...; "
            "did you mean 'csvformat'?",
        ),
        (
            "stream A(x:Long) := Functor(B)[]{}\nstream B(x:Long) := Functor(A)[]{}",
            "bad.spade:3: these streams wait for each other in a circle: A, B",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_line(text: str, sentence: str) -> None:
    assert sentence in problems(INPUT + text)


def test_all_mistakes_of_a_program_are_reported_together() -> None:
    found = problems(
        INPUT + "stream A(x:Lng) := Functor(Input)[]{y}\nstream B(x:Long) := Functor(C)[]{}\n-> node(q, 0)"
    )
    assert len(found) >= 3
    assert {"3:", "4:", "5:"} <= {f"{part}:" for line in found for part in (line.split("bad.spade:")[1][0],)}


def test_a_program_without_streams_is_refused() -> None:
    assert problems("[Program]") == ["bad.spade: declares no stream after [Program]"]
