"""What `tools/pairs.py` says of pairs of figures of two commits."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tools.pairs import interval_of, pairs_of, verdict


def test_the_interval_is_students_of_the_logarithms() -> None:
    low, high = interval_of([math.exp(x) for x in (-0.1, 0.0, 0.1)])
    half = 4.303 * 0.1 / math.sqrt(3)  # two degrees of freedom
    assert (low, high) == pytest.approx((math.exp(-half), math.exp(half)))


def test_one_pair_tells_nothing() -> None:
    assert interval_of([0.5]) == (0.0, math.inf)


@pytest.mark.parametrize(
    ("new", "word"), [((0.80, 0.81, 0.79, 0.80, 0.80), "WORSE"), ((0.95, 1.02, 0.93, 1.04, 0.96), "not worse")]
)
def test_not_worse_is_an_interval_that_reaches_the_bound(new: tuple[float, ...], word: str) -> None:
    assert verdict("rate", [({"rate": 1.0}, {"rate": own}) for own in new]).endswith(f"of 5 pairs: {word}")


def test_pairs_that_a_file_keeps_are_taken_up_by_part_and_commits(tmp_path: Path) -> None:
    kept, row = tmp_path / "kept.jsonl", {"part": "vwap", "commits": ["a1", "b2"], "old": {"a": 1}, "new": {"a": 2}}
    kept.write_text(
        "".join(json.dumps(row | other) + "\n" for other in ({}, {"part": "floor"}, {"commits": ["a1", "c3"]}))
    )
    assert pairs_of("vwap", kept, ["a1", "b2"]) == [({"a": 1}, {"a": 2})]
    assert pairs_of("state", kept, ["a1", "b2"]) == []
