"""Tuples kept in memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemorySink:
    """Tuples kept for the caller."""
