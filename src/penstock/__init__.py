"""Penstock: a self-tuning stream-processing system for Python people.

>>> import penstock as ps
>>> app = ps.Application("halves")
>>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
>>> ps.evaluate(app, {"numbers": {"x": [1, 2, 3]}})["out"].column("h").to_pylist()
[0.5, 1.0, 1.5]

The names of `__all__` are public; everything else may change at any time.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from penstock.errors import did_you_mean
from penstock.host.extras import is_installed, require

if TYPE_CHECKING:
    from penstock import errors, policies, sinks, slots, sources, spade, testing
    from penstock.app.application import Application
    from penstock.app.stream import Stream, aggregate_function
    from penstock.app.windows import sliding, tumbling
    from penstock.control.goals.goal import Price, latency, throughput
    from penstock.control.goals.limits import Limits
    from penstock.element.engine import Engine
    from penstock.element.evaluation import Tables
    from penstock.engines import evaluate
    from penstock.measure.observation import Observation
    from penstock.plan.configuration import Configuration
    from penstock.plan.thread_setting import ElasticThreads
    from penstock.spark.driver.handle import Handle, RunResult
    from penstock.spark.driver.start import run, start
    from penstock.spark.elastic_map.elastic_map import elastic_map
    from penstock.spark.session.session import spark_session

__version__ = "0.1.0"

# Imported when first asked for: Arrow and numba take most of a second, which `penstock --help` need not wait for.
_MODULE_BY_NAME = {
    "Application": "penstock.app.application",
    "Stream": "penstock.app.stream",
    "aggregate_function": "penstock.app.stream",
    "sliding": "penstock.app.windows",
    "tumbling": "penstock.app.windows",
    "Engine": "penstock.element.engine",
    "evaluate": "penstock.engines",
    "Tables": "penstock.element.evaluation",
    "Configuration": "penstock.plan.configuration",
    "ElasticThreads": "penstock.plan.thread_setting",
    "Price": "penstock.control.goals.goal",
    "latency": "penstock.control.goals.goal",
    "throughput": "penstock.control.goals.goal",
    "Limits": "penstock.control.goals.limits",
    "Observation": "penstock.measure.observation",
    "Handle": "penstock.spark.driver.handle",
    "RunResult": "penstock.spark.driver.handle",
    "run": "penstock.spark.driver.start",
    "start": "penstock.spark.driver.start",
    "elastic_map": "penstock.spark.elastic_map.elastic_map",
    "spark_session": "penstock.spark.session.session",
}
_MODULES = {
    name: f"penstock.{name}" for name in ("sources", "sinks", "policies", "errors", "testing", "spade", "slots")
}

# Public until 0.1: where each name is, and what to write instead.
_DEPRECATED = {
    "Window": ("penstock.app.windows", "made by penstock.sliding(...) and penstock.tumbling(...) alone"),
    "Goal": ("penstock.control.goals.goal", "made by penstock.latency(...) and penstock.throughput(...) alone"),
    "ElementConfiguration": (
        "penstock.plan.configuration",
        "made by penstock.Configuration.of(app), and changed by its with_replicas(...) and with_threads(...)",
    ),
    "schema_of": ("penstock.block.schema", "private; a schema is given as {'x': 'int64'} or as a pyarrow.Schema"),
    "type_of": ("penstock.block.schema", "private; a type is given as a word such as 'int64' or as a pyarrow.DataType"),
    **{
        name: ("penstock.slots", f"penstock.slots.{name}") for name in ("HashSlots", "RangeSlots", "GridSlots")
    },
    **{
        name: ("penstock.errors", f"penstock.errors.{name}")
        for name in (
            "PenstockError", "ApplicationError", "ExpressionError", "InputError", "OperatorError", "SpadeSyntaxError",
        )
    },
}  # fmt: skip

_ON_SPARK = {name for name, module in _MODULE_BY_NAME.items() if module.startswith("penstock.spark.")}

__all__ = [
    "Application",
    "Stream",
    "sliding",
    "tumbling",
    "aggregate_function",
    "evaluate",
    "run",
    "start",
    "Engine",
    "elastic_map",
    "spark_session",
    "latency",
    "throughput",
    "Price",
    "Limits",
    "Configuration",
    "ElasticThreads",
    "Handle",
    "RunResult",
    "Observation",
    "Tables",
    "sources",
    "sinks",
    "policies",
    "errors",
    "testing",
    "spade",
    "slots",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name in _MODULE_BY_NAME:
        if name in _ON_SPARK:
            require(f"ps.{name}", "spark")
        value = getattr(importlib.import_module(_MODULE_BY_NAME[name]), name)
    elif name in _DEPRECATED:
        module, instead = _DEPRECATED[name]
        warnings.warn(f"penstock.{name} is now {instead}; the old name goes in 0.2", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(module), name)
    else:
        hint = None if name.startswith("_") else did_you_mean(name, __all__)
        raise AttributeError(f"module 'penstock' has no attribute '{name}'" + (f"; {hint}" if hint else ""))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - (set() if is_installed("spark") else _ON_SPARK))
