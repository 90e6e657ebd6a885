"""The trading application with a service that each window asks for a limit price: it waits more than it computes.

python -m penstock.cli.demo.price_service --delay-ms 5
penstock run examples/streaming/trading_with_service.py --duration 60 --set windows.replicas=8
"""

import penstock as ps
from penstock.cli.demo.price_service import PORT
from penstock.cli.demo.trading import market, trading

app = trading(market(rate="random_walk", rate_tuples_s=20_000), service=PORT, sink=ps.sinks.discard())
