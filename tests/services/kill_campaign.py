"""`python -m tests.services.kill_campaign`: kills of driver, workers, executors and broker under a stream.

It reads a topic and writes another, a Delta table and one of PostgreSQL.  Rounds follow from the seed, and
`.faults/streams-SEED/rounds.jsonl` has a line for each that is over, so that a campaign that was cut goes on.  A round
ends when clients of others have read every number once from each of the three.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.testing import Cluster, loopback_cluster
from tests.checkout import ROOT
from tests.faults.attacks import CONF, JAVA
from tests.faults.processes import executors, kill, python_workers
from tests.services.kafka_server import KafkaServer
from tests.services.postgres_server import PostgresServer
from tests.services.stream_driver import SECRET, StreamWish
from tests.services.test_kafka import create, messages

KINDS = ("driver", "worker", "executor", "broker")
KEYS, PARTITIONS = 17, 12
_RATE_S = 150.0
_WITHIN_S = 300.0


@dataclass(slots=True)
class Scene:
    """The servers and the cluster that all rounds share."""

    kafka: KafkaServer
    postgres: PostgresServer
    cluster: Cluster
    folder: Path


@dataclass(slots=True)
class StreamRound:
    """One stream under attack: `kills` are made one after the other, each after some progress."""

    number: int
    seed: int
    scene: Scene
    kinds: tuple[str, ...]
    made: Counter[str] = field(default_factory=Counter)
    restarts: list[str] = field(default_factory=list)  # what drivers said that gave up by themselves
    sent: int = 0
    process: subprocess.Popen[str] | None = None

    def carried_out(self) -> None:
        rng, name = random.Random(self.seed), f"s{uuid.uuid4().hex[:8]}"
        kafka, folder = self.scene.kafka, self.scene.folder / name
        create(kafka, f"{name}-in", PARTITIONS)
        create(kafka, name, PARTITIONS)
        self.scene.postgres.query(f"create table {name} (n bigint, key text, seen bigint)")
        master = self.scene.cluster.url
        conf = {**CONF, **JAVA}
        wish = StreamWish(str(folder), kafka.sasl_servers, f"{name}-in", name, self.scene.postgres.dsn, master, conf)
        ends = threading.Event()
        feeder = threading.Thread(target=self._feed, args=(f"{name}-in", ends), daemon=True)
        try:
            self._start(wish)
            feeder.start()
            for kind in self.kinds:
                self._await_progress(wish, rng.randint(1, 3))
                time.sleep(rng.random() * 0.5)
                self._kill(kind, wish, rng)
            ends.set()
            feeder.join()
            self._await_all(wish, name)
        finally:
            ends.set()
            self._end()
        check(self.scene, wish, name, self.sent)
        check_secrets(folder)
        shutil.rmtree(folder, ignore_errors=True)

    def _feed(self, topic: str, ends: threading.Event) -> None:
        from confluent_kafka import Producer

        servers = self.scene.kafka.servers
        settings = {"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0, "linger.ms": 5}
        producer, begin_s = Producer({**settings, "message.timeout.ms": 0}), time.monotonic()
        while not ends.is_set():
            while self.sent < (time.monotonic() - begin_s) * _RATE_S:
                key = f"k{self.sent % KEYS}"
                producer.produce(topic, json.dumps({"n": self.sent, "key": key}), key)
                self.sent += 1
            producer.poll(0.02)
        assert producer.flush(120) == 0

    def _start(self, wish: StreamWish) -> None:
        command = [sys.executable, "-m", "tests.services.stream_driver", wish.to_json()]
        self.process = subprocess.Popen(
            command, cwd=ROOT, text=True, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def _kill(self, kind: str, wish: StreamWish, rng: random.Random) -> None:
        assert self.process is not None
        if kind == "broker":
            self.scene.kafka.kill()
            time.sleep(rng.uniform(0.0, 2.0))
            self.scene.kafka.start()
        elif kind == "driver":
            self._end()
            self._start(wish)
        else:
            find = python_workers if kind == "worker" else executors
            found = [pid for worker in self.scene.cluster.workers for pid in find(worker.pid)]
            if not found or not kill(rng.choice(found)):
                return
        self.made[kind] += 1

    def _end(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()

    def _await_progress(self, wish: StreamWish, batches: int) -> None:
        wanted = _batches(wish) + batches
        self._await(wish, lambda: _batches(wish) >= wanted, f"{wanted} batches")

    def _await_all(self, wish: StreamWish, name: str) -> None:
        query = f"select count(distinct n) from {name}"  # the last sink of a batch, and the plan's order of sinks
        self._await(wish, lambda: int(self.scene.postgres.query(query)[0][0]) >= self.sent, f"{self.sent} numbers")
        done = _batches(wish)
        self._await(wish, (Path(wish.folder) / f"checkpoint/spark/commits/{done - 1}").exists, "commits")

    def _await(self, wish: StreamWish, is_so: Callable[[], bool], what: str) -> None:
        """Waits, and starts drivers again that gave up, as a supervisor does."""
        assert self.process is not None
        deadline_s = time.monotonic() + _WITHIN_S
        while not is_so():
            assert time.monotonic() < deadline_s, f"round {self.number}: no {what} within {_WITHIN_S:g} s"
            if self.process.poll() is not None:
                said = (self.process.communicate()[1] or "").strip().splitlines()
                self.restarts.append(said[-1][:300] if said else f"exit code {self.process.returncode}")
                assert len(self.restarts) <= 5, self.restarts
                self._start(wish)
            time.sleep(0.1)


def _batches(wish: StreamWish) -> int:
    names = [int(path.stem) for path in (Path(wish.folder) / "checkpoint" / "manifests").glob("*.manifest")]
    return 1 + max(names, default=-1)


def check(scene: Scene, wish: StreamWish, name: str, sent: int) -> None:
    """Every number once in each of the three, with its key, and those of a key in order; by clients of others."""
    topic = [(own["n"], own["key"], own["seen"]) for _, own in messages(scene.kafka, name)]
    table = [(int(n), key, int(seen)) for n, key, seen in scene.postgres.query(f"select n, key, seen from {name}")]
    wanted = [(n, f"k{n % KEYS}", min(n // KEYS + 1, 4)) for n in range(sent)]
    for where, found in (("topic", topic), ("postgres", table), ("delta", delta_rows(f"{wish.folder}/delta"))):
        counted = Counter(found)
        lost, more = sorted(set(wanted) - set(found)), [row for row, count in counted.items() if count > 1]
        assert sorted(found) == wanted, f"{where}: lost {lost[:5]}, repeated {more[:5]}, {len(found)} of {sent}"
    by_key: dict[str, list[int]] = {}
    for n, key, _ in topic:
        by_key.setdefault(key, []).append(n)
    assert all(own == sorted(own) for own in by_key.values()), "the order of a key is another"


def check_secrets(folder: Path) -> None:
    """No file of a run has what only its driver may know: checkpoint, journal, logs, what Spark tells, tables."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "journal.jsonl" for path in files)
    assert any(path.name == "spark.log" for path in files)
    assert any("events" in path.parts for path in files)
    telling = [str(path) for path in files if SECRET.encode() in path.read_bytes()]
    assert telling == [], "files with a secret"


def delta_rows(folder: str) -> list[tuple[int, str, int]]:
    """The rows of a Delta table as DuckDB reads the files that its log names."""
    import deltalake
    import duckdb

    files = deltalake.DeltaTable(folder).file_uris()
    return duckdb.sql(f"select n, key, seen from read_parquet({files})").fetchall()


def rounds_of(seed: int, by_round: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Number, seed and kinds of each round; kinds come equally often."""
    number, left = 0, list[str]()
    while True:
        rng, kinds = random.Random(f"{seed} {number}"), list[str]()
        while len(kinds) < by_round:
            left = left or rng.sample(KINDS, len(KINDS))
            kinds.append(left.pop())
        yield number, rng.randrange(2**32), tuple(kinds)
        number += 1


@contextlib.contextmanager
def scene_in(folder: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        kafka = stack.enter_context(contextlib.closing(_Closing(KafkaServer())))
        postgres = stack.enter_context(contextlib.closing(_Closing(PostgresServer())))
        cluster = stack.enter_context(loopback_cluster(folder / f"cluster-{uuid.uuid4().hex[:6]}"))
        yield Scene(kafka.server, postgres.server, cluster, folder)


@dataclass(slots=True)
class _Closing:
    server: Any

    def close(self) -> None:
        self.server.stop()


def campaign(folder: Path, seed: int, kills: int, by_round: int, until_s: float, tell: Callable[[str], None]) -> Any:
    """Carries out rounds that are missing, until there are enough kills or the time is over; gives the sums."""
    path = folder / "rounds.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    if sum(sum(own["kills"].values()) for own in done) < kills:
        with scene_in(folder) as scene:
            for number, own_seed, kinds in rounds_of(seed, by_round):
                if number in {own["round"] for own in done}:
                    continue
                if sum(sum(own["kills"].values()) for own in done) >= kills or time.monotonic() > until_s:
                    break
                begin_s, error = time.monotonic(), ""
                round_ = StreamRound(number, own_seed, scene, kinds)
                try:
                    round_.carried_out()
                except Exception:
                    error = traceback.format_exc()
                    tell(error)
                done.append({
                    "round": number, "kills": dict(round_.made), "numbers": round_.sent, "restarts": round_.restarts,
                    "seconds": round(time.monotonic() - begin_s, 1), "error": error,
                })  # fmt: skip
                with path.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
                tell(json.dumps(done[-1]))
    return summary(seed, done)


def summary(seed: int, done: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON object; lost and repeated are of rounds that ended with a comparison."""
    by_kind = sum((Counter(own["kills"]) for own in done if not own["error"]), Counter[str]())
    return {
        "faults": "streams", "seed": seed, "kills": by_kind.total(), "by_kind": dict(by_kind), "rounds": len(done),
        "failed_rounds": [own["round"] for own in done if own["error"]],
        "numbers": sum(own["numbers"] for own in done if not own["error"]),
        "restarts": sum(len(own["restarts"]) for own in done), "seconds": round(sum(own["seconds"] for own in done)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.services.kill_campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--by-round", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1e9, help="no round begins later; the next run goes on")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers and drivers end with it
    folder = ROOT / ".faults" / f"streams-{given.seed}"
    until_s = time.monotonic() + given.seconds
    found = campaign(folder, given.seed, given.kills, given.by_round, until_s, lambda text: print(text, flush=True))
    print(json.dumps(found))
    sys.exit(1 if found["failed_rounds"] else 0)


if __name__ == "__main__":
    main()
