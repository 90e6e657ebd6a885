"""A folder that all tasks of a micro-batch see, for what they hand to each other; on a local master alone."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.runtime.exchange import host_exchange
from penstock.spark.executors.pinning import is_local

_OURS = "penstock-"  # how the folders begin that our sessions make, and sweep after drivers that died


@contextlib.contextmanager
def exchange_folder(session: SparkSession, name: str) -> Iterator[None]:
    """Names a folder to the tasks of jobs that run within, and deletes it at the end; on clusters there is none."""
    context = session.sparkContext
    if context not in _homes:
        _homes[context] = _home(session)
    home = _homes[context]
    if home is None:
        yield
        return
    folder = home / f"exchange-{name}-{os.getpid()}-{next(_runs)}"  # no task of a run before is in it
    try:
        folder.mkdir(exist_ok=True)
    except OSError:  # a full disk: Spark carries all payloads
        yield
        return
    context.setLocalProperty(host_exchange.PROPERTY, str(folder))
    try:
        yield
    finally:
        context.setLocalProperty(host_exchange.PROPERTY, None)  # type: ignore[arg-type]
        shutil.rmtree(folder, ignore_errors=True)


_runs = itertools.count()
_homes: WeakKeyDictionary[SparkContext, Path | None] = WeakKeyDictionary()


def _home(session: SparkSession) -> Path | None:
    home = Path(session.sparkContext.getConf().get("spark.local.dir") or "")
    return home if is_local(session) and home.name.startswith(_OURS) and home.is_dir() else None
