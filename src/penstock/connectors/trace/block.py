"""A stretch of a trace as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.connectors.trace.market import Codes, Floats, Integers


@dataclass(frozen=True, slots=True, eq=False)
class TraceBlock:
    """Five attributes of some tuples; `ticker` and `ttype` are codes into the trace's `tickers` and `kinds`."""

    seq: Integers
    ticker: Codes
    ttype: Codes
    price: Floats
    volume: Floats

    @classmethod
    def empty(cls, rows: int) -> TraceBlock:
        """Room for so many tuples."""
        codes = np.empty(rows, np.int32), np.empty(rows, np.int32)
        return cls(np.empty(rows, np.int64), *codes, np.empty(rows), np.empty(rows))

    def head(self, rows: int) -> TraceBlock:
        """A view of its first tuples."""
        if rows == len(self.seq):
            return self
        return TraceBlock(self.seq[:rows], self.ticker[:rows], self.ttype[:rows], self.price[:rows], self.volume[:rows])

    @property
    def columns(self) -> tuple[Integers, Codes, Codes, Floats, Floats]:
        return self.seq, self.ticker, self.ttype, self.price, self.volume
