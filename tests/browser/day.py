"""A day of load on a service that waits, tuned under a goal: what the pictures of docs/watch.md show."""

from __future__ import annotations

import sys
from pathlib import Path

import penstock as ps
from penstock.cli.demo.command import GOAL_P95_MS, MOST_REPLICAS, SERVICE_MS, DemoRequest, day_of
from penstock.cli.demo.price_service import price_service
from penstock.cli.demo.trading import trading


def main(seconds: float) -> None:
    session = ps.spark_session("local[*]", task_slots=2 * MOST_REPLICAS)
    source = day_of(DemoRequest(seconds, Path(), "local[*]"))
    limits, price = ps.Limits(max_replicas=MOST_REPLICAS), ps.Price(core_hour=0.05)
    with price_service(SERVICE_MS) as port:
        app = trading(source, service=port, sink=ps.sinks.discard())
        ps.run(app, session=session, goal=ps.latency(p95_ms=GOAL_P95_MS), limits=limits, price=price, dashboard=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
