"""Figure 2: unpinned nodes against all pinned ones, with a burst and a node that becomes slow (simulated)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import twin

END_S = 60.0
_RATE, _BURST, _WORK_S = 60.0, 1.6, 0.033


def moments(seed: int) -> Any:
    """Tuples at random, more of them from 10 to 20 s."""
    random = np.random.default_rng(seed)
    found = np.cumsum(random.exponential(1 / (_RATE * _BURST), int(3 * END_S * _RATE)))
    keep = ((found >= 10) & (found < 20)) | (random.random(len(found)) < 1 / _BURST)
    return found[keep & (found < END_S)]


def volatility(seed: int) -> dict[str, list[float]]:
    """The mean latency of each second by schedule: filter, then a moving average, on six nodes of one core."""
    arrivals = moments(seed)
    model = twin.Model(
        [twin.Source("quotes", twin.given(arrivals))],
        [
            twin.Operator("filter", ("quotes",), twin.exponential(_WORK_S)),
            twin.Operator("average", ("filter",), twin.exponential(_WORK_S)),
        ],
    )
    nodes = twin.Nodes(
        (*(twin.Node(f"n{n}") for n in range(1, 6)), twin.Node("n6", loads=(twin.Load(40.0, 50.0, 0.5),)))
    )
    schedules: dict[str, Any] = {"unpinned": "oldest_first"}
    for first in range(1, 6):
        pins = {f"n{n}": ["filter" if n <= first else "average"] for n in range(1, 7)}
        schedules[f"({first},{6 - first})"] = {"pinned": pins}
    return {name: _by_second(model, nodes, schedule, arrivals, seed) for name, schedule in schedules.items()}


def _by_second(model: twin.Model, nodes: twin.Nodes, schedule: Any, arrivals: Any, seed: int) -> list[float]:
    log = twin.simulate(model, nodes, schedule=schedule, seconds=10 * END_S, warm_up_s=0, seed=seed, record=True).log
    done = log[log.operator == "average"]
    births = arrivals[done.block]
    second = births.astype(int)
    late = done.time_s - births
    return [float(late[second == n].mean()) for n in range(int(END_S))]
