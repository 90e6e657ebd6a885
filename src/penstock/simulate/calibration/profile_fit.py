"""An application by its profile: the resource functions of a `ps.Profile`, at a rate.

Profile JSON: `operators[NAME].cpu` and `.outputs[STREAM]` are sums of coefficient x rate ** power over input ports, CPU
in cores, rates in tuples/s; `fixed` has the CPU of a micro-batch and a task, and the time of a micro-batch where it was
measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.app import operators as ops
from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.arguments import is_number, shown
from penstock.errors import InputError
from penstock.model.costs.profile_file import profile_from_json
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import PipelineElement, pipeline_of, with_files_recorded
from penstock.simulate.calibration.fit import Fit
from penstock.simulate.calibration.fit_report import ElementFit, FitReport
from penstock.simulate.events.draws import constant, poisson
from penstock.simulate.events.model import Model, Operator, Source
from penstock.simulate.micro_batch.batch_element import BatchElement
from penstock.simulate.micro_batch.costs import MicroBatchCosts
from penstock.simulate.plant_shape import even_keys

VERSION = 1
USUAL_RATE_TUPLES_S = 1000.0  # of a source that does not say how fast it is


def fit_profile(app: Application, path: Path) -> Fit:
    """The application with the service times that its profile has at the rates of its sources."""
    body = _read(path)
    graph = with_files_recorded(graph_of(app, "from_profile"))
    pipeline = pipeline_of(graph)
    rates, cores = _rates(graph, body["operators"], path)
    configuration = Configuration.of(app)
    names = {stream: e.name for e in pipeline.elements for o in e.operators for stream in graph.operator(o).outputs}
    elements, sources = [], []
    for own in pipeline.elements:
        come, gone = _through(own, graph, rates)
        if not own.inputs:
            sources.append(Source(f"{own.name}@source", poisson(max(come, 1e-9))))
        inputs = tuple(dict.fromkeys(names[stream] for stream in own.inputs)) or (f"{own.name}@source",)
        service_s = sum(cores[name] for name in own.operators) / max(come, 1e-9)
        slots = len(configuration.element(own.name).route) or 1
        elements.append(
            BatchElement(
                own.name, inputs, service_s, selectivity=gone / max(come, 1e-9), is_single=own.scope == "stream",
                shares=even_keys(slots),
            )
        )  # fmt: skip
    fixed = body.get("fixed", {})
    costs = MicroBatchCosts(
        batch_s=fixed.get("micro_batch_s", fixed.get("micro_batch_cpu_s", 0.0)),
        task_s=fixed.get("task_cpu_s", 0.0),
        stage_s=0.0,
    )
    operators = [
        Operator(own.name, own.inputs, constant(own.service_s), selectivity=own.selectivity, serial=own.is_single)
        for own in elements
    ]
    figures = tuple(ElementFit(own.name, own.service_s, 1.0, own.selectivity, 0, 0.0) for own in elements)
    note = "tasks vary by 3 %, and a change of routes pauses for 0.1 s: a profile does not say"
    report = FitReport(f"profile '{path}'", 0, 0, figures, notes=(note,))
    return Fit(Model(sources, operators), tuple(elements), costs, configuration, report)


def _read(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    if not isinstance(body, dict) or body.get("version") != VERSION or not isinstance(body.get("operators"), dict):
        raise InputError(f"{path}: a profile has version {VERSION} and operators; got {shown(body)}")
    if body["operators"]:
        profile_from_json(body, str(path))  # every other mistake in it has a sentence there
    return body


def _rates(graph: Graph, profiles: Mapping[str, Any], path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Tuples/s of each stream, and the cores that each operator needs for them."""
    rates: dict[str, float] = {}
    cores: dict[str, float] = {}
    for operator in graph.operators:
        if isinstance(operator, ops.Source):
            given = operator.rate_tuples_s or getattr(operator.connector, "rate_tuples_s", None)
            rates |= dict.fromkeys(operator.outputs, float(given) if is_number(given) else USUAL_RATE_TUPLES_S)
            cores[operator.name] = 0.0
        if operator.name not in profiles:
            if not isinstance(operator, ops.Source | ops.Sink):
                raise InputError(f"profile {path} has nothing about operator '{operator.name}'; profile it anew")
            cores.setdefault(operator.name, 0.0)
            continue
        own, ports = profiles[operator.name], [rates[stream] for stream in operator.inputs]
        if isinstance(operator, ops.Source):
            ports = [rates[stream] for stream in operator.outputs]
        cores[operator.name] = _value(own.get("cpu", []), ports)
        outputs = own.get("outputs", {})
        if not isinstance(operator, ops.Source | ops.Sink):
            rates |= {s: _value(outputs[s], ports) if s in outputs else sum(ports) for s in operator.outputs}
    return rates, cores


def _value(terms: Sequence[Mapping[str, Any]], rates: Sequence[float]) -> float:
    """A polynomial; powers are per input port."""
    total = 0.0
    for term in terms:
        product = float(term["coefficient"])
        for rate, power in zip(rates, term["powers"], strict=False):
            product *= rate**power
        total += product
    return max(total, 0.0)


def _through(element: PipelineElement, graph: Graph, rates: Mapping[str, float]) -> tuple[float, float]:
    """Tuples/s that come to an element and leave it."""
    own = [graph.operator(name) for name in element.operators]
    made = [stream for operator in own if not isinstance(operator, ops.Sink) for stream in operator.outputs]
    come = [*element.inputs, *(s for o in own if isinstance(o, ops.Source) for s in o.outputs)]
    read = {stream for operator in own if not isinstance(operator, ops.Sink) for stream in operator.inputs}
    gone = [stream for stream in made if stream not in read] or made[-1:]
    return sum(rates[stream] for stream in come), sum(rates[stream] for stream in gone)
