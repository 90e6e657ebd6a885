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
import os
import warnings
from typing import TYPE_CHECKING, Any

from penstock.errors import no_attribute
from penstock.host.extras import is_installed, require

if TYPE_CHECKING:
    from penstock import costs, errors, policies, sinks, slots, sources, spade, testing, twin
    from penstock.app.application import Application
    from penstock.app.stream import Stream, aggregate_function
    from penstock.app.windows import sliding, tumbling
    from penstock.control.goals.goal import Price, latency, throughput
    from penstock.control.goals.limits import Limits
    from penstock.control.journal.history import JournalSettings
    from penstock.element.engine import Engine
    from penstock.element.evaluation import Tables
    from penstock.engines import evaluate
    from penstock.measure.observation import Observation
    from penstock.model.costs.choosing.preferred import plan_of
    from penstock.model.costs.profile import Profile
    from penstock.plan.configuration import Configuration
    from penstock.plan.thread_setting import ElasticThreads
    from penstock.runtime.driver.checkpoint_copy import copy_checkpoint
    from penstock.spark.driver.handle import Handle
    from penstock.spark.driver.start import run, start
    from penstock.spark.driver.stream_frame import to_dataframe
    from penstock.spark.elastic_map.elastic_map import elastic_map
    from penstock.spark.profiling.profile import profile
    from penstock.spark.session.session import spark_session
    from penstock.watch.run_result import RunResult

__version__ = "0.1.0"

if not os.access(os.path.dirname(__file__), os.W_OK):  # where numba would keep what it compiled
    importlib.import_module("penstock.host.directories").use_numba_cache()

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
    "plan_of": "penstock.model.costs.choosing.preferred",
    "Price": "penstock.control.goals.goal",
    "latency": "penstock.control.goals.goal",
    "throughput": "penstock.control.goals.goal",
    "Limits": "penstock.control.goals.limits",
    "JournalSettings": "penstock.control.journal.history",
    "Observation": "penstock.measure.observation",
    "Profile": "penstock.model.costs.profile",
    "Handle": "penstock.spark.driver.handle",
    "RunResult": "penstock.watch.run_result",
    "run": "penstock.spark.driver.start",
    "start": "penstock.spark.driver.start",
    "copy_checkpoint": "penstock.runtime.driver.checkpoint_copy",
    "elastic_map": "penstock.spark.elastic_map.elastic_map",
    "profile": "penstock.spark.profiling.profile",
    "spark_session": "penstock.spark.session.session",
    "to_dataframe": "penstock.spark.driver.stream_frame",
}
_MODULES = {
    name: f"penstock.{name}"
    for name in ("sources", "sinks", "policies", "errors", "testing", "spade", "slots", "twin", "costs")
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
    "copy_checkpoint",
    "Engine",
    "elastic_map",
    "spark_session",
    "to_dataframe",
    "latency",
    "throughput",
    "Price",
    "Limits",
    "JournalSettings",
    "Configuration",
    "ElasticThreads",
    "plan_of",
    "Handle",
    "RunResult",
    "Observation",
    "Profile",
    "profile",
    "Tables",
    "sources",
    "sinks",
    "policies",
    "errors",
    "testing",
    "spade",
    "slots",
    "twin",
    "costs",
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
        raise no_attribute("penstock", name, __all__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - (set() if is_installed("spark") else _ON_SPARK))
