"""Our data sources, made known to a session by name."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

_known: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()


def register(session: SparkSession, source: type[DataSource]) -> None:
    """Registers a data source once per session.

    Spark looks in the thread's active session for one of the same name, and would refuse ours there if another session
    of the process knows it; so the session is made the active one, as when it makes a DataFrame.
    """
    known = _known.setdefault(session, set())
    if source.name() not in known:
        jvm: Any = session._jvm
        jvm.SparkSession.setActiveSession(session._jsparkSession)
        session.dataSource.register(source)
        known.add(source.name())
