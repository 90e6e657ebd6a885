"""Workers start warm: what every element needs is imported before the fork, and stays so as modules move."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import penstock as ps
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.checkpoint import Checkpoint

# What a forked worker does first, in a process that has done what the daemon does.
LOOK = """
import sys
from penstock.spark.worker_daemon import preload
preload()
known = set(sys.modules)
from penstock.runtime.replica.element_worker import element_worker
from penstock.plan.fusion.groups import Fused
from penstock.spark.session.pickling import dumps
for number in (0, 1):
    element_worker(sys.argv[1], 1, Fused((), None), number, dumps=dumps)
rooms = ("penstock.", "numba.", "numpy.", "pyarrow.", "pandas.")
print(*sorted(name for name in set(sys.modules) - known if name.startswith(rooms)))
"""


def test_a_worker_that_is_forked_imports_nothing_more(tmp_path: Path) -> None:
    app = ps.Application("quotes")
    quotes = app.source("quotes", ps.sources.trace("constant", 1000, keys=3))
    window = ps.sliding(count=5, every=1, per_group=True)
    quotes.aggregate("means", by="ticker", window=window, emit={"mean": "avg(price)"}).sink("out", ps.sinks.discard())
    Checkpoint(tmp_path).fix(app.graph, slots=8, now_s=0.0, dumps=dumps_for_workers)
    found = subprocess.run([sys.executable, "-c", LOOK, tmp_path], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
