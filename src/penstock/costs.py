"""What operators cost: resource functions, what any fusion of them would use, and the fusion to choose.

>>> from penstock import costs
>>> table = costs.Communication((8.0,), (1e6,), (0.2,), (0.1,))
>>> points = [{"cpu_cores": 0.05 + 3e-6 * r + table.receive(r, 8.0), "tuples_in_s": [r]} for r in (1e4, 2e4, 4e4)]
>>> print(costs.recover_unfused(points, table).cpu)
0.05 + 3e-06 r
"""

from __future__ import annotations

from penstock.model.costs.choosing.choice import Choice
from penstock.model.costs.communication import Communication
from penstock.model.costs.composition import ElementPrediction
from penstock.model.costs.least_squares import fit
from penstock.model.costs.points import ElementPoint, OperatorPoint
from penstock.model.costs.prediction import Prediction
from penstock.model.costs.profile import FixedCosts, OperatorCost, Profile
from penstock.model.costs.recovery import Recovered, recover_fused, recover_unfused
from penstock.model.costs.resource_function import ResourceFunction, Term
from penstock.plan.nodes import Node, Nodes, nodes

__all__ = [
    "Profile",
    "OperatorCost",
    "FixedCosts",
    "ResourceFunction",
    "Term",
    "Communication",
    "ElementPoint",
    "OperatorPoint",
    "Recovered",
    "recover_unfused",
    "recover_fused",
    "fit",
    "Prediction",
    "ElementPrediction",
    "Choice",
    "Nodes",
    "Node",
    "nodes",
]
