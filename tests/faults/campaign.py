"""Hundreds of kills: rounds by seed, each noted in a file when it is over, so that a campaign that was cut goes on."""

from __future__ import annotations

import itertools
import json
import math
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.faults.applications import APPLICATIONS
from tests.faults.attacks import Round

KINDS = ("drivers", "workers", "executors", "copies", "full disks")
LEAST_OF_EACH = 20
_FIRST = {"executors": 2, "full disks": 3, "drivers": 5}  # the application that a kind begins with
_SINKS = ("parquet", "memory", "parquet", "discard")
_DRIVER_SINKS = ("parquet", "memory")  # what a discarding sink counted is gone with its driver
_MOST_ROUNDS = 1_000


@dataclass(frozen=True, slots=True)
class Done:
    """A round that is over: its kills, and what was wrong with it if anything was."""

    round: int
    kind: str
    application: str
    kills: int
    seconds: float
    error: str = ""


def rounds(seed: int) -> Iterator[Round]:
    """All rounds of a seed, kinds and applications in turn."""
    applications = list(APPLICATIONS)
    for number in itertools.count():
        rng = random.Random(f"{seed} {number}")
        kind = KINDS[number % len(KINDS)]
        application = applications[(number // len(KINDS) + _FIRST.get(kind, 0)) % len(applications)]
        application = "prices" if kind == "copies" else application  # whose state is rows, which alone are copied
        sink = rng.choice(_DRIVER_SINKS if kind == "drivers" else _SINKS)
        yield Round(number, kind, application, sink, rng.random() < 0.5, rng.randrange(2**32))


class Campaign:
    """Rounds until there are enough kills in all and of each kind; `path` has a line for each that is over.

    With a kind as `rest`, the other kinds have the least number of kills, and this one makes up what is missing in all.
    """

    def __init__(
        self,
        path: Path,
        seed: int,
        attack: Callable[[Round], int],
        kills: int = 300,
        kinds: Sequence[str] = KINDS,
        applications: Sequence[str] = tuple(APPLICATIONS),
        rest: str | None = None,
    ) -> None:
        self._path, self._seed, self._attack, self._wanted, self._kinds = path, seed, attack, kills, tuple(kinds)
        self._applications, self._rest = tuple(applications), rest
        self.done = [Done(**json.loads(line)) for line in path.read_text().splitlines()] if path.is_file() else []

    @property
    def kills(self) -> Counter[str]:
        """Kills by kind, of rounds that went well."""
        found: Counter[str] = Counter(dict.fromkeys(self._kinds, 0))
        for own in self.done:
            found[own.kind] += own.kills
        return found

    def is_needed(self, kind: str) -> bool:
        """Whether there are too few kills in all, or of this kind."""
        kills, least = self.kills, min(LEAST_OF_EACH, self._wanted // len(self._kinds))
        if kills[kind] < least:
            return True
        to_come = 0 if self._rest is None else sum(max(least - own, 0) for own in kills.values())
        return self._rest in (None, kind) and kills.total() + to_come < self._wanted

    def run(self, tell: Callable[[str], None], most: int | None = None, minutes: float = math.inf) -> None:
        """Carries out what is missing: `most` rounds of it at most, none begun after so many minutes."""
        over, stop = {own.round for own in self.done}, _MOST_ROUNDS if most is None else len(self.done) + most
        end_s = time.monotonic() + 60.0 * minutes
        for own in itertools.islice(rounds(self._seed), _MOST_ROUNDS):
            if (
                len(self.done) >= stop
                or time.monotonic() >= end_s
                or not any(self.is_needed(kind) for kind in self._kinds)
            ):
                return
            is_asked_for = own.kind in self._kinds and own.application in self._applications
            if own.number in over or not is_asked_for or not self.is_needed(own.kind):
                continue
            tell(f"round {own.number}: {own.kind}, {own.application} ({own.sink}); {self.kills.total()} kills so far")
            self._note(self._carried_out(own))
            if self.done[-1].error:
                tell(self.done[-1].error)

    def _carried_out(self, own: Round) -> Done:
        begin_s = time.monotonic()
        try:
            kills, error = self._attack(own), ""
        except Exception:
            kills, error = 0, traceback.format_exc()
        return Done(own.number, own.kind, own.application, kills, round(time.monotonic() - begin_s, 1), error)

    def _note(self, done: Done) -> None:
        self.done.append(done)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(done)) + "\n")

    def summary(self) -> dict[str, Any]:
        """The JSON object."""
        failed = [own.round for own in self.done if own.error]
        return {
            "faults": "campaign", "seed": self._seed, "kills": self.kills.total(), "by_kind": dict(self.kills),
            "by_application": dict(sum((Counter({own.application: own.kills}) for own in self.done), Counter())),
            "rounds": len(self.done), "failed_rounds": failed, "seconds": round(sum(own.seconds for own in self.done)),
        }  # fmt: skip
