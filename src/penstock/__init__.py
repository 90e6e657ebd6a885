"""Penstock: a self-tuning stream-processing system for Python people.

>>> import penstock as ps
>>> app = ps.Application("halves")
>>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
>>> ps.evaluate(app, {"numbers": {"x": [1, 2, 3]}})["out"].column("h").to_pylist()
[0.5, 1.0, 1.5]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.app import sinks, sources, spade
    from penstock.app.application import Application
    from penstock.app.schema import schema_of, type_of
    from penstock.app.stream import Stream, aggregate_function
    from penstock.app.windows import Window, sliding, tumbling
    from penstock.control.configuration import Configuration, ElementConfiguration
    from penstock.control.elastic_threads import ElasticThreads
    from penstock.control.engine import Engine
    from penstock.control.goal import Goal, Price, latency, throughput
    from penstock.control.limits import Limits
    from penstock.element.evaluation import Tables
    from penstock.element.state.slot_functions import GridSlots, HashSlots, RangeSlots
    from penstock.errors import (
        ApplicationError,
        ExpressionError,
        InputError,
        OperatorError,
        PenstockError,
        SpadeSyntaxError,
    )
    from penstock.measure.observation import Observation
    from penstock.spark.elastic.elastic_map import elastic_map
    from penstock.spark.evaluation import evaluate
    from penstock.spark.handle import Handle, RunResult
    from penstock.spark.query import run, start

__version__ = "0.1.0"

# Imported when first asked for: Arrow and numba take most of a second, which `penstock --help` need not wait for.
_MODULE_BY_NAME = {
    "Application": "penstock.app.application",
    "Stream": "penstock.app.stream",
    "aggregate_function": "penstock.app.stream",
    "Window": "penstock.app.windows",
    "sliding": "penstock.app.windows",
    "tumbling": "penstock.app.windows",
    "schema_of": "penstock.app.schema",
    "type_of": "penstock.app.schema",
    "Engine": "penstock.control.engine",
    "evaluate": "penstock.spark.evaluation",
    "Tables": "penstock.element.evaluation",
    "Configuration": "penstock.control.configuration",
    "ElementConfiguration": "penstock.control.configuration",
    "ElasticThreads": "penstock.control.elastic_threads",
    "Goal": "penstock.control.goal",
    "Price": "penstock.control.goal",
    "latency": "penstock.control.goal",
    "throughput": "penstock.control.goal",
    "Limits": "penstock.control.limits",
    "HashSlots": "penstock.element.state.slot_functions",
    "RangeSlots": "penstock.element.state.slot_functions",
    "GridSlots": "penstock.element.state.slot_functions",
    "Observation": "penstock.measure.observation",
    "Handle": "penstock.spark.handle",
    "RunResult": "penstock.spark.handle",
    "run": "penstock.spark.query",
    "start": "penstock.spark.query",
    "elastic_map": "penstock.spark.elastic.elastic_map",
    "PenstockError": "penstock.errors",
    "ApplicationError": "penstock.errors",
    "ExpressionError": "penstock.errors",
    "InputError": "penstock.errors",
    "OperatorError": "penstock.errors",
    "SpadeSyntaxError": "penstock.errors",
}
_MODULES = {"sources": "penstock.app.sources", "sinks": "penstock.app.sinks", "spade": "penstock.app.spade"}

__all__ = [
    "Application",
    "Stream",
    "sources",
    "sinks",
    "sliding",
    "tumbling",
    "Window",
    "aggregate_function",
    "schema_of",
    "type_of",
    "spade",
    "evaluate",
    "run",
    "start",
    "elastic_map",
    "Configuration",
    "ElementConfiguration",
    "ElasticThreads",
    "throughput",
    "latency",
    "Goal",
    "Price",
    "Limits",
    "HashSlots",
    "RangeSlots",
    "GridSlots",
    "Handle",
    "RunResult",
    "Observation",
    "Tables",
    "Engine",
    "PenstockError",
    "ApplicationError",
    "ExpressionError",
    "InputError",
    "OperatorError",
    "SpadeSyntaxError",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name in _MODULE_BY_NAME:
        value = getattr(importlib.import_module(_MODULE_BY_NAME[name]), name)
    else:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
