"""Tuples that are only counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DiscardSink:
    """Tuples counted and summed up in a checksum, then dropped."""
