"""`make services`: fetches Kafka's jars and tries the broker; says in one line what cannot be tested here."""

from __future__ import annotations

import sys

from tests.services.kafka_server import KafkaServer, fetch
from tests.services.postgres_server import postgres_binaries


def main() -> int:
    if postgres_binaries() is None:
        print("left out: tests of PostgreSQL, which is not installed (apt install postgresql)")
    lacking = fetch()
    if lacking is not None:
        print(f"left out: tests of Kafka: {lacking}")
        return 0
    server = KafkaServer()
    print(f"Kafka starts on loopback ({server.servers}); the tests start one of their own")
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
