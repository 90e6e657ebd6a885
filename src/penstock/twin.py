"""The twin: what an application would do on machines that nobody has to pay for.

>>> from penstock import twin
>>> model = twin.Model(
...     sources=[twin.Source("trades", arrivals=twin.poisson(900))],
...     operators=[twin.Operator("window", inputs=("trades",), service=twin.exponential(1e-3))],
... )
>>> result = twin.simulate(model, twin.Nodes((twin.Node("n1", cores=2),)), seconds=60, warm_up_s=6)
>>> 800 < result.throughput_tuples_s < 1000
True
"""

from __future__ import annotations

from penstock.plan.nodes import Load, Network, Node, Nodes, Outage, nodes
from penstock.simulate.calibration.fit import Fit, fit_of
from penstock.simulate.events.draws import Draws, constant, exponential, given, poisson, trace
from penstock.simulate.events.model import Model, Operator, Source
from penstock.simulate.events.results import Result
from penstock.simulate.micro_batch.costs import MicroBatchCosts
from penstock.simulate.micro_batch.plant import Plant
from penstock.simulate.packing import pack
from penstock.simulate.plan_search import Search, search
from penstock.simulate.simulation import simulate

__all__ = [
    "Model",
    "Source",
    "Operator",
    "Draws",
    "poisson",
    "exponential",
    "constant",
    "given",
    "trace",
    "Nodes",
    "Node",
    "Load",
    "Outage",
    "Network",
    "nodes",
    "simulate",
    "Result",
    "Plant",
    "MicroBatchCosts",
    "Fit",
    "fit_of",
    "pack",
    "search",
    "Search",
]
