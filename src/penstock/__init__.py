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

from penstock.host.extras import is_installed, require

if TYPE_CHECKING:
    from penstock import sinks, sources
    from penstock.app import spade
    from penstock.app.application import Application
    from penstock.app.stream import Stream, aggregate_function
    from penstock.app.windows import Window, sliding, tumbling
    from penstock.block.schema import schema_of, type_of
    from penstock.control.goals.goal import Goal, Price, latency, throughput
    from penstock.control.goals.limits import Limits
    from penstock.element.engine import Engine
    from penstock.element.evaluation import Tables
    from penstock.engines import evaluate
    from penstock.errors import (
        ApplicationError,
        ExpressionError,
        InputError,
        OperatorError,
        PenstockError,
        SpadeSyntaxError,
    )
    from penstock.measure.observation import Observation
    from penstock.plan.configuration import Configuration, ElementConfiguration
    from penstock.plan.thread_setting import ElasticThreads
    from penstock.spark.driver.handle import Handle, RunResult
    from penstock.spark.driver.start import run, start
    from penstock.spark.elastic_map.elastic_map import elastic_map
    from penstock.state.slots.slot_functions import GridSlots, HashSlots, RangeSlots

__version__ = "0.1.0"

# Imported when first asked for: Arrow and numba take most of a second, which `penstock --help` need not wait for.
_MODULE_BY_NAME = {
    "Application": "penstock.app.application",
    "Stream": "penstock.app.stream",
    "aggregate_function": "penstock.app.stream",
    "Window": "penstock.app.windows",
    "sliding": "penstock.app.windows",
    "tumbling": "penstock.app.windows",
    "schema_of": "penstock.block.schema",
    "type_of": "penstock.block.schema",
    "Engine": "penstock.element.engine",
    "evaluate": "penstock.engines",
    "Tables": "penstock.element.evaluation",
    "Configuration": "penstock.plan.configuration",
    "ElementConfiguration": "penstock.plan.configuration",
    "ElasticThreads": "penstock.plan.thread_setting",
    "Goal": "penstock.control.goals.goal",
    "Price": "penstock.control.goals.goal",
    "latency": "penstock.control.goals.goal",
    "throughput": "penstock.control.goals.goal",
    "Limits": "penstock.control.goals.limits",
    "HashSlots": "penstock.state.slots.slot_functions",
    "RangeSlots": "penstock.state.slots.slot_functions",
    "GridSlots": "penstock.state.slots.slot_functions",
    "Observation": "penstock.measure.observation",
    "Handle": "penstock.spark.driver.handle",
    "RunResult": "penstock.spark.driver.handle",
    "run": "penstock.spark.driver.start",
    "start": "penstock.spark.driver.start",
    "elastic_map": "penstock.spark.elastic_map.elastic_map",
    "PenstockError": "penstock.errors",
    "ApplicationError": "penstock.errors",
    "ExpressionError": "penstock.errors",
    "InputError": "penstock.errors",
    "OperatorError": "penstock.errors",
    "SpadeSyntaxError": "penstock.errors",
}
_MODULES = {"sources": "penstock.sources", "sinks": "penstock.sinks", "spade": "penstock.app.spade"}

_ON_SPARK = {name for name, module in _MODULE_BY_NAME.items() if module.startswith("penstock.spark.")}

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
        if name in _ON_SPARK:
            require(f"ps.{name}", "spark")
        value = getattr(importlib.import_module(_MODULE_BY_NAME[name]), name)
    else:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - (set() if is_installed("spark") else _ON_SPARK))
