"""An estimate that says where its formula broke and a bound was used instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number from a model; `saturated` names the limit that was hit, and is empty where the formula held."""

    value: float
    saturated: str = ""
