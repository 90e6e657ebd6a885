"""Figure 3: latency by scope of bin-packing, for two video streams that are joined, on three unequal machines."""

from __future__ import annotations

from penstock import twin

_PARTITIONS = 7  # one for each core


def image_model(busy: float) -> twin.Model:
    """Background and foreground are worked on apart, joined, and worked on again."""
    work_s = {"background": 0.6, "foreground": 0.8, "edges": 0.4, "join": 0.5, "count": 0.35}
    inputs = {"background": ("bg",), "foreground": ("fg",), "edges": ("foreground",), "join": ("background", "edges"),
              "count": ("join",)}  # fmt: skip
    operators = [
        twin.Operator(name, inputs[name], twin.exponential(work_s[name]), partitions=_PARTITIONS, merge_s=0.001)
        for name in work_s
    ]

    def model(rate: float) -> twin.Model:
        return twin.Model([twin.Source("bg", twin.constant(rate)), twin.Source("fg", twin.constant(rate))], operators)

    needed = sum(rate * work_s[name] for name, rate in model(1.0).rate_by_operator.items())
    return model(busy * sum(g.cores * g.speed for g in image_nodes().groups) / needed)


def image_nodes() -> twin.Nodes:
    """A quad-core of 2.4 GHz, a dual-core of 2.0 GHz, a single core of 1.6 GHz."""
    return twin.Nodes((twin.Node("quad", cores=4, speed=2.4), twin.Node("dual", cores=2, speed=2.0),
                       twin.Node("single", cores=1, speed=1.6)))  # fmt: skip


def scopes(seeds: range, seconds: float, busy: float = 0.5) -> dict[str, float]:
    """The mean latency by scope, over seeds."""
    model, nodes = image_model(busy), image_nodes()
    rates = model.rate_by_operator
    work_s = {
        (operator.name, part): rates[operator.name] * operator.service.value / operator.partitions
        for operator in model.operators
        for part in range(operator.partitions)
    }
    found = {}
    for scope in ("global", "local", "tiered"):
        placed = {"placed": twin.pack(work_s, nodes, scope, model.distances)}
        runs = [
            twin.simulate(model, nodes, schedule=placed, seconds=seconds, warm_up_s=seconds / 10, seed=seed)
            for seed in seeds
        ]
        found[scope] = sum(run.latency.mean_s or 0.0 for run in runs) / len(runs)
    return found
