"""Whatever is given to a public call, it works or says in a sentence what is wrong: never a bare TypeError."""

from __future__ import annotations

import inspect
import math
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.control.loop.control_request import control_request
from penstock.plan.configuration import check_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.state.checkpoint.checkpoint import Checkpoint
from tests.checkout import ROOT

WRONG: dict[str, Any] = {
    "None": None, "1": 1, "-1": -1, "1.5": 1.5, "text": "x", "bytes": b"x", "list": [], "dict": {}, "object": object(),
    "lambda": lambda *given: None, "nan": math.nan, "True": True, "False": False, "[None]": [None], "[1]": [1],
    "{1: 2}": {1: 2}, "{'x': None}": {"x": None}, "triple": [("a", "b", "c")], "huge": 10**400,
    "table": pa.table({"x": [1]}),
}  # fmt: skip
NOBODY = "spark://127.0.0.1:1"  # does not answer: what gets so far has been found right, and no Spark starts
SCHEMA = {"x": "int64", "k": "string"}
COUNT = ps.sliding(count=2)
# What calls give to users; they make none of these.
GIVEN = {"Stream", "Handle", "RunResult", "Observation", "Profile", "Tables"}


class Doubling:
    """An operator of the user's own."""

    def state(self) -> None:
        return None

    def process(self, row: dict[str, Any], state: None) -> dict[str, Any]:
        return row


class Case:
    """A public call with right arguments, and what a user does with what it gives."""

    def __init__(self, call: Callable[..., Any], use: Callable[[Any], object] = id, **right: Any) -> None:
        self.call, self.use, self.right = call, use, right

    def try_with(self, **other: Any) -> None:
        self.use(self.call(**{**self.right, **other}))


def application() -> tuple[ps.Application, ps.Stream, ps.Stream]:
    app = ps.Application("app")
    return app, app.source("one", schema=SCHEMA), app.source("two", schema=SCHEMA)


def of_application() -> dict[str, Case]:
    app, stream, other = application()
    own = ps.aggregate_function(len, "int64")
    stream.split("parts", {"low": "x < 1"}).low.sink("sunk")

    def use(made: object) -> object:
        return app.graph

    def method(name: str, **right: Any) -> Case:
        return Case(getattr(stream, name), use, name="new", **right)

    return {
        "Application": Case(ps.Application, name="app"),
        "Application.source": Case(
            app.source, use, name="new", source=ps.sources.csv("in"), schema=SCHEMA, stamp="x", rate_tuples_s=1.0,
            event_time="x", out_of_order_s=1.0, late="drop", max_ahead_s=60.0, idle_timeout_s=1.0, arrival="intake",
        ),
        "Application.request": Case(app.request, use, operator="one", partition="p", host="h"),
        "Application.stream": Case(app.stream, use, name="one"),
        "Application.from_json": Case(ps.Application.from_json, lambda made: made.graph, text=app.to_json()),
        "Application.from_graph": Case(ps.Application.from_graph, lambda made: made.graph, graph=app.graph),
        "Stream.functor": method("functor", where="x > 0", emit={"y": "x"}),
        "Stream.aggregate": method(
            "aggregate", window=COUNT, emit={"y": "own(x)"}, by="k", functions={"own": own}
        ),
        "Stream.join": method(
            "join", right=other, left_window=COUNT, right_window=COUNT, emit={"y": "left.x"}, on="k", where="left.x > 0"
        ),
        "Stream.split": method("split", branches={"low": "x < 1", "rest": None}),
        "Stream.union": Case(_union(stream), use, name="new", other=other),
        "Stream.sort": method("sort", by="x desc", window=ps.tumbling(count=3)),
        "Stream.punctor": method("punctor", when="x > 0", before=True),
        "Stream.barrier": Case(
            lambda name, other, emit: stream.barrier(name, other, emit=emit), use, name="new", other=other,
            emit={"y": "one.x"},
        ),
        "Stream.delay": method("delay", delay_s=1.0),
        "Stream.throttle": method("throttle", rate_tuples_s=1.0),
        "Stream.load": method("load", flop_per_tuple=1, wait_ms_per_tuple=1.0, wait_ms_per_block=1.0),
        "Stream.map": method("map", function=dict, schema=SCHEMA, per_tuple=True),
        "Stream.lookup": method("lookup", table={"k": ["a"], "v": [1]}, on="k", inner=True, refresh_s=None),
        "Stream.operator": method("operator", instance=Doubling(), schema=SCHEMA, by="k"),
        "Stream.sink": method("sink", sink=ps.sinks.memory()),
    }  # fmt: skip


def _union(stream: ps.Stream) -> Callable[[str, ps.Stream], ps.Stream]:
    def union(name: str, other: ps.Stream) -> ps.Stream:
        return stream.union(name, other)

    return union


def of_windows() -> dict[str, Case]:
    def use(window: Any) -> object:
        app, stream, _ = application()
        stream.aggregate("window", window=window, emit={"y": "sum(x)"}, by="k")
        return app.graph

    none = dict.fromkeys(("count", "time_s", "delta", "punctuation", "on"))
    return {
        "sliding": Case(ps.sliding, use, **{**none, "count": 2, "every": 1, "every_s": None, "per_group": True}),
        "sliding time": Case(
            ps.sliding, use, **{**none, "time_s": 2.0, "every": 1, "every_s": 1.0, "on": "x", "per_group": True}
        ),
        "sliding delta": Case(
            ps.sliding, use, **{**none, "delta": 2.0, "every": 1, "every_s": None, "on": "x", "per_group": True}
        ),
        "tumbling": Case(ps.tumbling, use, **{**none, "count": 2, "per_group": True}),
        "aggregate_function": Case(ps.aggregate_function, function=len, returns="int64"),
    }


def read(connector: Any) -> object:
    app = ps.Application("read")
    app.source("in", connector, SCHEMA if getattr(connector, "schema", None) is None else None).sink("out")
    return app.graph


def written(sink: Any) -> object:
    app = ps.Application("written")
    app.source("in", schema=SCHEMA).sink("out", sink)
    return ps.evaluate(app, {"in": {"x": [1], "k": ["a"]}})


def of_connectors() -> dict[str, Case]:
    return {
        "sources.csv": Case(ps.sources.csv, read, path="in", header=True, columns=[1, 2], files_per_batch=1),
        "sources.parquet": Case(ps.sources.parquet, read, path="in", files_per_batch=1),
        "sources.dataframe": Case(ps.sources.dataframe, read, frame=None),
        "sources.column": Case(ps.sources.column, name="x"),
        "sources.kafka": Case(
            ps.sources.kafka, read, servers="localhost:1", topic="t", format="json", start={"0": 5}, include=[],
            avro_schema=None, on_expired="fail", patience_s=1.0, options={"security.protocol": "ssl"},
        ),
        "sources.rate": Case(ps.sources.rate, read, rows_per_second=1),
        "sources.trace": Case(
            ps.sources.trace, read, rate="step", rate_tuples_s=10.0, speed_up=1.0, period_s=10.0, keys=3, seed=1,
            total=5, key_distribution="uniform", ticker="symbol", function=None,
        ),
        "sinks.memory": Case(ps.sinks.memory, written, max_rows=1, max_mb=1.0),
        "sinks.parquet": Case(
            ps.sinks.parquet, written, path="out", ordered=True, compression="lz4", partition_by="k", compact_files=2
        ),
        "sinks.csv": Case(ps.sinks.csv, written, path="out"),
        "sinks.callback": Case(ps.sinks.callback, written, function=lambda table, batch: None),
        "sinks.foreach_batch": Case(ps.sinks.foreach_batch, written, function=lambda frame, batch: None),
        "sinks.console": Case(ps.sinks.console, written, rows=1),
        "sinks.discard": Case(ps.sinks.discard, written),
        "testing.source_of": Case(ps.testing.source_of, read, rows=[{"x": 1, "k": "a"}], schema=SCHEMA),
        "testing.collected": Case(ps.testing.collected, written),
        "spade.load": Case(
            ps.spade.load, lambda app: app.graph, text='[Program] stream A(x:Long) := Source()["file:a.dat"]{}',
            data_dir=".", file="a.spade",
        ),
    }  # fmt: skip


def of_values() -> dict[str, Case]:
    app, stream, _ = application()
    stream.functor("half", emit={"h": "x / 2"}).sink("out")
    configuration = ps.Configuration.of(app, replicas=2)

    def use(made: ps.Configuration) -> None:
        check_configuration(made, pipeline_of(app.graph, made.fused))

    def wished(**control: Any) -> object:
        return control_request(ps.throughput(), **control)

    def threaded(threads: ps.ElasticThreads) -> object:
        return ps.Engine(app, threads=threads).finish()

    return {
        "latency": Case(ps.latency, p95_ms=100.0, mean_ms=50.0),
        "throughput": Case(ps.throughput, served_ratio=0.9),
        "JournalSettings": Case(ps.JournalSettings, disk_mb=64, dead_letter_samples=False),
        "Price": Case(ps.Price, lambda price: wished(price=price), core_hour=1.0, kwh=0.1),
        "Limits": Case(
            ps.Limits, lambda limits: wished(limits=limits), min_replicas=1, max_replicas=2, max_executors=2,
            max_micro_batch_tuples=10, frequencies_ghz=(1.0, 2.0), max_imbalance=0.5, frequency_dry_run=True,
        ),
        "ElasticThreads": Case(
            ps.ElasticThreads, threaded, least=1, most=2, policy="elastic", period_s=1.0, tolerance=0.1, decay_rate=0.1,
            sensitivity=0.1, satisfaction=0.5, as_printed=False,
        ),
        "Configuration": Case(
            ps.Configuration, use, elements=configuration.elements, block_rows=1, micro_batch_tuples=1, unfused=(),
            frequency_ghz=1.0, fusion=None,
        ),
        "Application.configuration": Case(app.configuration, use, replicas=1),
        "Configuration.of": Case(ps.Configuration.of, use, app=app, replicas=1, slots=8),
        "Configuration.element": Case(configuration.element, name="half"),
        "Configuration.with_replicas": Case(configuration.with_replicas, use, name="half", replicas=1),
        "Configuration.with_threads": Case(configuration.with_threads, use, name="half", threads=1),
        "Configuration.with_element": Case(configuration.with_element, use, element=configuration.element("half")),
        "Configuration.with_unfused": Case(configuration.with_unfused, use, graph=app, unfused=["half"], slots=8),
        "Configuration.with_fusion": Case(configuration.with_fusion, use, graph=app, fusion=[["half"]], slots=8),
        "plan_of": Case(ps.plan_of, app=app, configuration=configuration),
        "slots.HashSlots": Case(ps.slots.HashSlots, slots=8),
        "slots.RangeSlots": Case(ps.slots.RangeSlots, bounds=(1.0, 2.0)),
        "slots.GridSlots": Case(ps.slots.GridSlots, first_bounds=(1.0,), second_bounds=(1.0,)),
        "policies.names": Case(ps.policies.names),
        "policies.parameters": Case(ps.policies.parameters, name="mpc"),
    }  # fmt: skip


def of_engines() -> dict[str, Case]:
    app, stream, _ = application()
    stream.functor("half", emit={"h": "x / 2"}).sink("out")
    tables = {"one": {"x": [1], "k": ["a"]}, "two": {"x": [1], "k": ["a"]}}
    engine = ps.Engine(app)
    in_process: dict[str, Any] = {
        "inputs": tables, "engine": "inprocess", "block_rows": 2, "taps": ["half"], "data_dir": ".", "on_error": "fail",
        "progress": lambda done, total: None, "threads": 1, "queued": None, "schedule": "oldest_first",
        "at_end": "hold", "configuration": None, "master": NOBODY, "session": None,
    }  # fmt: skip
    return {
        "evaluate": Case(ps.evaluate, app=app, **in_process),
        "evaluate on threads": Case(ps.evaluate, app=app, **{**in_process, "threads": 2, "queued": ["half"]}),
        "evaluate on Spark": Case(ps.evaluate, app=app, **{**in_process, "engine": "spark"}),
        "Engine": Case(
            ps.Engine, lambda made: made.finish(), graph=app, block_rows=1, taps=["half"], on_error="fail",
            idle_timeout_s=1.0, clock=lambda: 0.0, threads=2, queued=["half"], schedule="oldest_first",
            at_end="fire",
        ),
        "Engine.feed": Case(engine.feed, inputs={"one": pa.table({"x": [1], "k": ["a"]})}),
        "Engine.feed one": Case(lambda one: engine.feed({"one": one}), one=pa.table({"x": [1], "k": ["a"]})),
    }  # fmt: skip


def of_spark() -> dict[str, Case]:
    app = ps.Application("app")
    trades = app.source("trades", ps.sources.trace(keys=2, total=10))
    trades.aggregate("window", by="ticker", window=ps.sliding(count=2, per_group=True), emit={"n": "count()"}).sink(
        "out"
    )
    both: dict[str, Any] = {
        "master": NOBODY, "checkpoint": tempfile.mkdtemp(), "configuration": ps.Configuration.of(app, slots=8),
        "durable": False, "reset_state": (), "state_directory": tempfile.mkdtemp(), "at_end": "hold",
        "dead_letters": "letters", "on_error": "fail", "session": None, "goal": ps.throughput(),
        "price": ps.Price(), "payback": "calm", "limits": ps.Limits(), "policy": "mpc", "passive": True,
        "willingness": None, "dashboard": False, "journal": ps.JournalSettings(),
    }  # fmt: skip
    return {
        "run": Case(ps.run, app=app, duration_s=1.0, **{**both, "configuration": None}),
        "start": Case(ps.start, app=app, slots=8, slot_functions={"window": ps.slots.HashSlots(8)}, **both),
        "profile": Case(
            ps.profile, app=app, rates=[1, 2, 3], master=NOBODY, seconds=1.0, inputs={}, session=None, progress=None,
            node="rack-1", contention=False,
        ),
        "spark_session": Case(
            ps.spark_session, master=NOBODY, task_slots=2, conf={"spark.ui.enabled": "false"}, log_file=None,
            name="app", verbose=False, state_directory=tempfile.mkdtemp(),
        ),
        "to_dataframe": Case(
            ps.to_dataframe, stream=trades, checkpoint=tempfile.mkdtemp(), session=None,
        ),
        "elastic_map": Case(
            ps.elastic_map, df=None, function=dict, schema="x long", ordered=True, max_threads=2, per_tuple=True,
            threads=1, block_rows=1, retries=1, timeout_s=1.0, on_error="column", keep_input=True, period_s=1.0,
            journal="journal",
        ),
    }  # fmt: skip


def of_checkpoints() -> dict[str, Case]:
    app, folder = ps.Application("app"), tempfile.mkdtemp()
    app.source("trades", ps.sources.trace(keys=2, total=10)).sink("out", ps.sinks.csv("results"))
    Checkpoint(folder).fix(app.graph, slots=8, now_s=0.0, dumps=lambda value, what: pickle.dumps(value))
    return {"copy_checkpoint": Case(ps.copy_checkpoint, source=folder, target=f"{folder}-copy", sinks={"out": "more"})}


def of_twin() -> dict[str, Case]:
    twin = ps.twin
    source = twin.Source("s", twin.poisson(10.0))
    operator = twin.Operator("a", ("s",), twin.exponential(0.01))
    model, nodes = twin.Model([source], [operator]), twin.Nodes((twin.Node("n1"),))
    app, profile = ps.Application("app"), f"{tempfile.mkdtemp()}/profile.json"
    app.source("trades", ps.sources.trace(keys=2, total=10)).sink("out", ps.sinks.discard())
    Path(profile).write_text('{"version": 1, "operators": {}}')

    def modelled(own: Any) -> object:
        return twin.simulate(twin.Model([source], [own]), nodes, seconds=1, warm_up_s=0)

    def arriving(own: Any) -> object:
        return twin.simulate(twin.Model([own], [operator]), nodes, seconds=1, warm_up_s=0)

    def simulated(own: Any) -> object:
        return twin.simulate(model, own, seconds=1, warm_up_s=0)

    return {
        "twin.poisson": Case(twin.poisson, rate_tuples_s=10.0),
        "twin.exponential": Case(twin.exponential, mean_s=0.1),
        "twin.constant": Case(twin.constant, value=0.1),
        "twin.given": Case(twin.given, values=[0.1, 0.2]),
        "twin.trace": Case(twin.trace, counts=[1, 2], interval_s=1.0, random=True),
        "twin.Source": Case(
            twin.Source, arriving, name="s", arrivals=twin.poisson(10.0), block_tuples=2, bytes_per_tuple=10.0
        ),
        "twin.Operator": Case(
            twin.Operator, modelled, name="a", inputs=("s",), service=twin.exponential(0.01), partitions=1,
            selectivity=1.0, replicas=1, serial=False, queue_blocks=None, when_full="block", merge_s=0.0,
            operator_class=None, bytes_per_tuple=None, locks={"gil": 2e-6},
        ),
        "twin.Model": Case(twin.Model, sources=[source], operators=[operator]),
        "twin.Load": Case(
            twin.Load, lambda own: simulated(twin.Nodes((twin.Node("n1", loads=(own,)),))), from_s=0.0, to_s=1.0,
            cores=1.0,
        ),
        "twin.Outage": Case(
            twin.Outage, lambda own: simulated(twin.Nodes((twin.Node("n1", outages=(own,)),))), from_s=0.0, to_s=1.0
        ),
        "twin.Node": Case(
            twin.Node, lambda own: simulated(twin.Nodes((own,))), name="n1", count=1, cores=1, speed=1.0,
            speed_by_class={}, memory_mb=None, price_core_hour=None, loads=(), outages=(), gives_speed=True,
        ),
        "twin.Network": Case(
            twin.Network, lambda own: simulated(twin.Nodes(nodes.groups, own)), bytes_s=1e6, latency_s=0.1
        ),
        "twin.Nodes": Case(twin.Nodes, simulated, groups=(twin.Node("n1"),), network=twin.Network()),
        "twin.nodes": Case(twin.nodes, path=str(ROOT / "tests" / "unit" / "plan" / "nodes.toml")),
        "twin.simulate": Case(
            twin.simulate, model=model, nodes=nodes, plan=None, mode="continuous", schedule="oldest_first", seconds=1.0,
            warm_up_s=0.5, seed=1, record=False, progress=None, costs=None, from_journal=None, from_profile=None,
            rate_tuples_s=None,
        ),
        "twin.Plant": Case(
            twin.Plant, lambda own: own.observe(), model=model, nodes=nodes, configuration=None, period_s=1.0,
            end_s=2.0, seed=1, costs=None, elements=None, paced=False,
        ),
        "twin.MicroBatchCosts": Case(
            twin.MicroBatchCosts, batch_s=0.1, stage_s=0.0, task_s=0.0, tuple_s=0.0, between_s=0.0, interval_s=0.0,
            noise=0.0, straggler_ratio=0.0, straggler_factor=3.0, tasks_per_core=1, background_ratio=0.0,
            reconfigure_s=0.0, move_s=0.0, restart_s=0.0, start_s=0.0, batch_noise=0.0,
        ),
        "twin.fit_of": Case(twin.fit_of, app=app, from_journal=None, from_profile=profile),
        "twin.pack": Case(
            twin.pack, work_s_by_partition={("a", 0): 1.0}, nodes=nodes, scope="tiered", distance_by_operator={"a": 0}
        ),
        "twin.search": Case(
            twin.search, model=model, nodes=nodes, goal="latency_mean", simulations=2, method="genetic", start=None,
            seed=1, seconds=1.0, most_partitions=2, progress=None, from_journal=None, from_profile=None,
        ),
    }  # fmt: skip


MAKERS = (of_application, of_windows, of_connectors, of_values, of_engines, of_spark, of_checkpoints, of_twin)
CASES = {name: maker for maker in MAKERS for name in maker()}
PARAMETERS = [(name, own) for maker in MAKERS for name, case in maker().items() for own in case.right]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_every_public_call_is_here() -> None:
    public = {name for name in ps.__all__ if callable(getattr(ps, name))} - GIVEN
    methods = {
        f"{kind.__name__}.{name}" for kind in (ps.Application, ps.Stream, ps.Configuration)
        for name, member in inspect.getmembers(kind, callable) if not name.startswith("_")
    }  # fmt: skip
    connectors = {
        f"{name}.{own}" for name in ("sources", "sinks")
        for own, member in vars(getattr(ps, name)).items()
        if inspect.isfunction(member) and member.__module__ == f"penstock.{name}" and not own.startswith("_")
    }  # fmt: skip
    of_the_twin = {f"twin.{name}" for name in ps.twin.__all__ if callable(getattr(ps.twin, name))}
    given_by_the_twin = {"twin.Draws", "twin.Result", "twin.Search", "twin.Fit"}
    without_arguments = {"Application.to_json"}
    wanted = {*public, *methods, *connectors, *of_the_twin} - without_arguments - given_by_the_twin
    assert wanted <= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_every_parameter_is_here(name: str) -> None:
    case = CASES[name]()[name]
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(case.call).parameters
    assert set(case.right) == {own for own, parameter in parameters.items() if parameter.kind not in kinds}


_ON_SPARK = ("elastic_map", "sources.dataframe")
_WORKING = [name for name in CASES if name not in _ON_SPARK]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n == "to_dataframe" else n for n in _WORKING]
)
def test_right_arguments_work(name: str) -> None:
    needs_spark = ("does not answer", "is open in this process already", "which only engine='spark' has")
    try:
        CASES[name]()[name].try_with()
    except ps.errors.InputError as error:
        if not any(reason in str(error) for reason in needs_spark):
            raise


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_a_wrong_type_has_its_sentence(name: str, parameter: str, capsys: pytest.CaptureFixture[str]) -> None:
    for what, value in WRONG.items():
        try:
            CASES[name]()[name].try_with(**{parameter: value})
        except ps.errors.PenstockError:
            pass
        except Exception as error:
            pytest.fail(f"{name}({parameter}={what}) ended in {error!r}")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: ps.sources.trace(rate=1000),
            "a trace's rate is a name or CSV files; got 1000; for tuples a second use rate_tuples_s=1000",
        ),
        (lambda: ps.sources.trace(rate=["a.csv", 5]), "a trace's rate is a name or CSV files; got ['a.csv', 5]"),
        (lambda: ps.sources.csv(5), "path of ps.sources.csv is a path as text or pathlib.Path; got 5"),
        (
            lambda: ps.sources.csv("in", header="no", columns=[0]),
            "header of ps.sources.csv is True or False; got 'no'\n"
            "columns of ps.sources.csv is a list of column numbers from 1, or None; got [0]",
        ),
        (lambda: ps.aggregate_function(len, 5), "a type is a word such as 'int64', or a pyarrow.DataType; got 5"),
        (lambda: ps.ElasticThreads(most="8"), "most of ps.ElasticThreads is a whole number; got '8'"),
        (lambda: ps.run("app", master=NOBODY), "ps.start needs an application; got 'app'"),
        (lambda: ps.run(None, master=5), "master of ps.start is text; got 5"),
        (lambda: ps.slots.RangeSlots("ab"), "bounds of slots by range is a tuple of numbers; got 'ab'"),
        (
            lambda: ps.testing.local_session("2").__enter__(),
            "cores of ps.testing.local_session is a whole number of at least 1; got '2'",
        ),
        (
            lambda: ps.testing.loopback_cluster("c", workers=0).__enter__(),
            "workers of ps.testing.loopback_cluster is a whole number of at least 1; got 0",
        ),
        (lambda: handle().apply("x"), "configuration of Handle.apply is a ps.Configuration; got 'x'"),
        (lambda: handle().wait("5"), "timeout_s of Handle.wait is a number of at least 0, or None; got '5'"),
        (lambda: handle().stop(None), "patience_s of Handle.stop is a number of at least 0; got None"),
    ],
)
def test_the_sentence_is_this(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ps.errors.InputError) as raised:
        call()
    assert str(raised.value) == sentence


def test_an_operator_tells_it_with_its_other_mistakes() -> None:
    app, stream, _ = application()
    stream.map("own", 5, SCHEMA, per_tuple="no").split("parts", ["x < 1"])  # type: ignore[arg-type]
    with pytest.raises(ps.errors.ApplicationError) as raised:
        _ = app.graph
    assert [problem.sentence for problem in raised.value.problems] == [
        "needs a function; got 5",
        "needs per_tuple as True or False; got 'no'",
        "needs branches as a dict of conditions by name, or None; got ['x < 1']",
        "needs at least one branch",
    ]


def handle() -> Any:
    """A handle on nothing: what is wrong is found before it looks at its query."""
    return object.__new__(ps.Handle)


def test_a_long_value_is_cut_short() -> None:
    with pytest.raises(ps.errors.InputError) as raised:
        ps.evaluate(pa.table({"x": range(1000)}))  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 200
