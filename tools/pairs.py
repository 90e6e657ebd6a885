"""Whether this tree is slower than another one: parts of benchmarks in both in turn, and the ratio with its interval.

`python tools/pairs.py OTHER_TREE --part vwap --pairs 5`: the other tree is a checkout with a `.venv` of its own. "Not
worse" where the 95 % interval of the ratio (new / old, higher is better) reaches 0.97. Results are kept in a file of
JSON lines with their commits, so that a run that was cut goes on; pairs of other commits do not count.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median, stdev

NOT_WORSE = 0.97
PARTS = ("vwap", "floor", "state", "migrate")
_HERE = Path(__file__).resolve().parents[1]
# Student's t for 95 %, two sides, by degrees of freedom
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
Figures = Mapping[str, float]


def interval_of(ratios: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the geometric mean of some ratios."""
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) < 2:
        return (0.0, math.inf)
    half = _T95[min(len(logs) - 2, len(_T95) - 1)] * stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean(logs) - half), math.exp(mean(logs) + half)


def verdict(name: str, pairs: Sequence[tuple[Figures, Figures]]) -> str:
    """A line about a figure, from pairs (old, new)."""
    ratios = [new[name] / old[name] for old, new in pairs]
    low, high = interval_of(ratios)
    word = "not worse" if high >= NOT_WORSE else "WORSE"
    old, new = (median(pair[i][name] for pair in pairs) for i in (0, 1))
    said = f"{name}: {old:,.4g} -> {new:,.4g}; ratio {math.exp(mean(map(math.log, ratios))):.3f}"
    return f"{said} ({low:.3f} to {high:.3f}) of {len(ratios)} pairs: {word}"


def measured(tree: Path, part: str) -> dict[str, float]:
    """The figures of a part in a tree, from a process of its own."""
    with tempfile.TemporaryDirectory(prefix="penstock-pair-") as folder:
        command = [str(tree / ".venv/bin/python"), str(_HERE / "tools/pair_part.py"), part, folder]
        environment = {**os.environ, "PYTHONPATH": str(tree), "PENSTOCK_CLASS_ARCHIVE": "off"}
        done = subprocess.run(command, check=False, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{part} in {tree} ended with code {done.returncode}:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def commits_of(trees: Sequence[Path]) -> list[str]:
    """What is checked out in some trees."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return [
        subprocess.run(command, check=True, cwd=own, capture_output=True, text=True).stdout.strip() for own in trees
    ]


def pairs_of(part: str, kept: Path, commits: Sequence[str]) -> list[tuple[Figures, Figures]]:
    """Pairs of a part, old and new, that a file keeps of two commits."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    rows = [json.loads(line) for line in lines]
    return [(row["old"], row["new"]) for row in rows if (row["part"], row["commits"]) == (part, commits)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("other", type=Path, help="the other tree, with a .venv of its own")
    parser.add_argument("--part", action="append", choices=PARTS, help="all, unless given; may be repeated")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--kept", type=Path, default=Path(".pairs.jsonl"), help="JSON lines of all pairs so far")
    asked = parser.parse_args()
    trees = {"old": asked.other.resolve(), "new": _HERE}
    commits = commits_of([*trees.values()])
    for part in asked.part or PARTS:
        while (number := len(pairs_of(part, asked.kept, commits))) < asked.pairs:
            order = list(trees) if number % 2 == 0 else list(trees)[::-1]
            found = {name: measured(trees[name], part) for name in order}
            with asked.kept.open("a") as file:
                file.write(json.dumps({"part": part, "commits": commits, **found}) + "\n")
            print(f"{part}, pair {number + 1} of {asked.pairs}: {json.dumps(found)}", flush=True)
        pairs = pairs_of(part, asked.kept, commits)
        for name in pairs[0][1]:
            print(verdict(name, pairs), flush=True)


if __name__ == "__main__":
    main()
