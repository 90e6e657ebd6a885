"""A driver process that goes on for ever: reads a topic, and writes another, a Delta table and one of PostgreSQL."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import penstock as ps
from penstock.errors import PenstockError
from penstock.plan.configuration import Configuration
from penstock.spark.driver.start import start
from penstock.spark.session.session import spark_session
from tests.services.kafka_server import PASSWORD, USER

SCHEMA = {"n": "int64", "key": "symbol"}
SECRET = PASSWORD  # also in the connection string of PostgreSQL's tests
OPTIONS = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": USER,
           "sasl.password": SECRET}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StreamWish:
    """What a driver reads and writes; `servers` ask for a password.

    `dsn` of PostgreSQL is without a table, which is named as the topic `out`.
    """

    folder: str
    servers: str
    topic: str
    out: str
    dsn: str
    master: str
    conf: dict[str, str] = field(default_factory=dict)

    def app(self) -> ps.Application:
        app = ps.Application("through")
        numbers = app.source("numbers", ps.sources.kafka(self.servers, self.topic, options=OPTIONS), SCHEMA)
        emit = {"n": "last(n)", "key": "any(key)", "seen": "count()"}
        window = ps.sliding(count=4, every=1, per_group=True)
        results = numbers.aggregate("windows", by="key", window=window, emit=emit)
        results.sink("topic", ps.sinks.kafka(self.servers, self.out, key="key", options=OPTIONS))
        results.sink("delta", ps.sinks.delta(f"{self.folder}/delta"))
        results.sink("postgres", ps.sinks.postgres(self.dsn, self.out))
        return app

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def main(wish: StreamWish) -> None:
    events = Path(wish.folder, "events")  # what Spark tells of every job, with its properties
    events.mkdir(exist_ok=True)
    told = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": events.as_uri()}
    session = spark_session(wish.master, conf={**told, **wish.conf}, log_file=f"{wish.folder}/spark.log")
    app = wish.app()
    configuration = replace(Configuration.of(app, replicas=2), micro_batch_tuples=500)
    handle = start(app, session=session, checkpoint=f"{wish.folder}/checkpoint", configuration=configuration)
    try:
        handle.wait(None)
    finally:
        handle.stop()


if __name__ == "__main__":
    given = StreamWish(**json.loads(sys.argv[1]))
    Path(given.folder).mkdir(parents=True, exist_ok=True)
    try:
        main(given)
    except PenstockError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
