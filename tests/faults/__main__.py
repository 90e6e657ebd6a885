"""`python -m tests.faults`: a campaign of kills; PENSTOCK_FAULTS_SEED chooses it, `.faults/` keeps how far it came."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.testing import Cluster, loopback_cluster
from tests.checkout import ROOT
from tests.faults.applications import APPLICATIONS
from tests.faults.attacks import Attacks
from tests.faults.campaign import KINDS, Campaign

FOLDER = ROOT / ".faults"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PENSTOCK_FAULTS_SEED", "1")))
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--only", choices=KINDS, action="append", help="this kind alone; may be repeated")
    parser.add_argument("--application", choices=APPLICATIONS, action="append", help="this one alone; may be repeated")
    parser.add_argument(
        "--rest", choices=KINDS, help="the other kinds stop at 20 kills; this one, such as workers, makes up the rest"
    )
    parser.add_argument("--rounds", type=int, help="at most so many rounds now; the next run goes on")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="after so many no round begins, and nothing more is killed"
    )
    parser.add_argument("--again", action="store_true", help="begin anew")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a round that is cut leaves no processes
    folder = FOLDER / str(given.seed)
    results = folder / "rounds.jsonl"
    if given.again:
        results.unlink(missing_ok=True)
    with ExitStack() as stack:
        cluster = cache(lambda: cluster_in(stack, folder))
        attacks, applications = Attacks(folder, cluster, given.minutes), given.application or tuple(APPLICATIONS)
        campaign = Campaign(results, given.seed, attacks, given.kills, given.only or KINDS, applications, given.rest)
        campaign.run(lambda text: print(text, flush=True), given.rounds, given.minutes)
    _show(campaign)
    summary = campaign.summary()
    print(json.dumps(summary))
    sys.exit(1 if summary["failed_rounds"] else 0)


def cluster_in(stack: ExitStack, folder: Path) -> Cluster:
    """A cluster in a new folder, which goes away with it: a run that was killed may have left its own."""
    folder.mkdir(parents=True, exist_ok=True)
    own = stack.enter_context(tempfile.TemporaryDirectory(prefix="cluster-", dir=folder, ignore_cleanup_errors=True))
    return stack.enter_context(loopback_cluster(own))


def _show(campaign: Campaign) -> None:
    table = Table("kills of", "kills", "rounds", "went wrong", "seconds")
    for kind, kills in campaign.kills.items():
        own = [done for done in campaign.done if done.kind == kind]
        failed = sum(bool(done.error) for done in own)
        table.add_row(kind, str(kills), str(len(own)), str(failed), f"{sum(done.seconds for done in own):.0f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
