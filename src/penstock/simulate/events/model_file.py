"""model.json: a Model as plain values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from penstock.arguments import shown
from penstock.errors import InputError, PenstockError, did_you_mean
from penstock.simulate.events.draws import constant, exponential, given, poisson, trace
from penstock.simulate.events.model import Model, Operator, Source

_DRAWS: dict[str, Callable[[Any], Any]] = {
    "poisson": poisson, "exponential": exponential, "constant": constant, "given": given, "trace": trace,
}  # fmt: skip
_KEYS = ("sources", "operators")


def read_model(path: Path) -> Model:
    """The model in a file; a sentence for each mistake, all at once."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    if not isinstance(body, dict) or not all(isinstance(body.get(key), list) for key in _KEYS):
        raise InputError(f"{path}: a model has the lists sources and operators; got {shown(body)}")
    problems = [*_unknown("a model", body, _KEYS)]
    sources = [_made(Source, "source", "arrivals", one, problems) for one in body["sources"]]
    operators = [_made(Operator, "operator", "service", one, problems) for one in body["operators"]]
    if problems:
        raise InputError("\n".join(f"{path}: {problem}" for problem in problems))
    return Model(tuple(sources), tuple(operators))


def is_model_file(path: str) -> bool:
    """Whether a JSON file has a model, and not an application."""
    try:
        body = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(body, dict) and isinstance(body.get("sources"), list) and isinstance(body.get("operators"), list)


def _made(form: Any, what: str, draws: str, body: object, problems: list[str]) -> Any:
    if not isinstance(body, Mapping):
        problems.append(f"{what} is an object; got {shown(body)}")
        return None
    where = f"{what} {shown(body.get('name', body))}"
    known = [field.name for field in fields(form)]
    unknown = [*_unknown(where, body, known)]
    needed = ("name", "inputs", draws) if form is Operator else ("name", draws)
    missing = [f"{where} needs {key}" for key in needed if key not in body]
    problems += [*unknown, *missing]
    if unknown or missing:
        return None
    try:
        return form(**{**body, draws: _drawn(body[draws])})
    except PenstockError as error:
        problems += [f"{where}: {line}" for line in str(error).splitlines()]
        return None


def _drawn(body: object) -> Any:
    if isinstance(body, Mapping) and len(body) == 1 and next(iter(body)) in _DRAWS:
        name, value = next(iter(body.items()))
        return _DRAWS[name](value)
    raise InputError(f"draws are an object with one of the keys {', '.join(_DRAWS)}; got {shown(body)}")


def _unknown(where: str, body: Mapping[str, Any], known: Any) -> Iterator[str]:
    for key in body:
        if key not in known:
            hint = did_you_mean(key, known)
            yield f"{where} has the unknown key '{key}'; known are: {', '.join(known)}" + (f"; {hint}" if hint else "")
