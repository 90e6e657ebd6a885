"""One change of replicas as its results tell it: latency of keys that moved and of others, and gaps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.batches import committed_at_s
from penstock.block.column import FixedColumn
from penstock.connectors.trace.trace import Trace
from penstock.measure.observation import Observation
from penstock.state.slots.slot_functions import HashSlots

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Timed:
    """Results of one micro-batch: when it was committed on the trace's clock, and the latency of each kind of keys.

    `has_away`: some are of keys whose state goes to another host.
    """

    committed_s: float
    moved_ms: Floats
    unmoved_ms: Floats
    has_away: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """Keys that moved, or others: latency after the change and in the steady time before, and results' longest gap."""

    worst_ms: float
    p99_ms: float
    steady_p99_ms: float
    gap_ms: float


@dataclass(frozen=True, slots=True)
class Change:
    """A change and what came of it; `line` is for a picture: seconds since the change, and the worst latency then."""

    way: str
    moved: Kind
    unmoved: Kind
    switched_after_s: float
    line: tuple[tuple[float, float, float], ...]
    away_gap_ms: float = 0.0  # of keys whose state goes to another host

    @property
    def gap_ms(self) -> float:
        return max(self.moved.gap_ms, self.unmoved.gap_ms, self.away_gap_ms)


def timed_batches(
    observations: Sequence[Observation], folder: Path, trace: Trace, began_s: float, is_moved: Mask, is_away: Mask
) -> list[Timed]:
    """The timed results of some batches; by slot: whether it changes replica, and whether it changes host."""
    found = []
    for observation in observations:
        committed_s, late_ms, moved, has_away = committed_at_s(observation) - began_s, [], [], False
        for path in sorted(folder.glob(f"batch-{observation.batch:012d}-*.parquet")):
            table = pq.read_table(path).combine_chunks()
            if table.num_rows:
                arrival_s = trace.arrival_s(table.column("seq").to_numpy())
                assert arrival_s is not None
                late_ms.append((committed_s - arrival_s) * 1000)
                tickers = FixedColumn(table.column("ticker").to_numpy().astype(np.int32), pa.int32())
                slots = HashSlots(len(is_moved)).slots_of([tickers], table.num_rows)
                moved.append(is_moved[slots])
                has_away = has_away or bool(is_away[slots].any())
        all_ms = np.concatenate([np.empty(0), *late_ms])
        mask = np.concatenate([np.empty(0, np.bool_), *moved])
        found.append(Timed(committed_s, all_ms[mask], all_ms[~mask], has_away))
    return found


def change_of(way: str, timed: Sequence[Timed], applied_s: float, switched_s: float) -> Change:
    """What batches before and after a change say, times on the trace's clock."""
    before = [t for t in timed if t.committed_s <= applied_s]
    after = [t for t in timed if t.committed_s > applied_s]
    kinds = [_kind([getattr(t, name) for t in before], [getattr(t, name) for t in after],
                   _gap_ms([t.committed_s for t in timed if len(getattr(t, name))], applied_s))
             for name in ("moved_ms", "unmoved_ms")]  # fmt: skip
    line = tuple((t.committed_s - applied_s, _worst(t.moved_ms), _worst(t.unmoved_ms)) for t in timed)
    away_gap_ms = _gap_ms([t.committed_s for t in timed if t.has_away], applied_s)
    return Change(way, kinds[0], kinds[1], switched_s - applied_s, line, away_gap_ms)


def _kind(before: Sequence[Floats], after: Sequence[Floats], gap_ms: float) -> Kind:
    steady, later = np.concatenate([np.empty(0), *before]), np.concatenate([np.empty(0), *after])
    return Kind(_worst(later), _p99(later), _p99(steady), gap_ms)


def _gap_ms(moments_s: Sequence[float], applied_s: float) -> float:
    """The longest time without results that ends after the change."""
    gaps = [later - earlier for earlier, later in itertools.pairwise(moments_s) if later > applied_s]
    return 1000 * max(gaps, default=0.0)


def _worst(late_ms: Floats) -> float:
    return float(late_ms.max()) if len(late_ms) else 0.0


def _p99(late_ms: Floats) -> float:
    return float(np.quantile(late_ms, 0.99)) if len(late_ms) else 0.0
