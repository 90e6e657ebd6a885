"""A Profile as JSON: written for people, read with all mistakes reported at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from penstock.arguments import is_number, is_whole, shown
from penstock.errors import InputError, did_you_mean
from penstock.model.costs.communication import COLUMNS, communication_of, table_problems
from penstock.model.costs.learning.operator_facts import other_version_problem
from penstock.model.costs.profile import FixedCosts, OperatorCost, Profile, as_plain
from penstock.model.costs.resource_function import ResourceFunction, Term

VERSION = 1
_TOP = ("version", "fixed", "operators", "communication", "node", "nodes", "contention", "sources")
_FIXED = tuple(own.name for own in fields(FixedCosts))
_OPERATOR = (
    "key", "class", "cpu", "covariance", "noise", "outputs", "inputs", "scope", "by", "bytes_per_tuple",
    "communication_factor",
)  # fmt: skip
_SCOPES = ("none", "key", "stream")


def profile_text(profile: Profile) -> str:
    """The JSON text of a profile."""
    return json.dumps(profile_to_json(profile), indent=1) + "\n"


def profile_to_json(profile: Profile) -> dict[str, Any]:
    fixed, table = profile.fixed, profile.communication
    body: dict[str, Any] = {
        "version": VERSION,
        "fixed": {name: getattr(fixed, name) for name in _FIXED if getattr(fixed, name) is not None},
        "operators": {own.name: _operator_to_json(own) for own in profile.operators},
        "communication": {name: list(getattr(table, name)) for name in COLUMNS},
        "node": {"speed": dict(profile.speed)} | ({"name": profile.node} if profile.node else {}),
    }
    if profile.speeds_by_node:
        body["nodes"] = {name: {"speed": dict(own)} for name, own in profile.speeds_by_node.items()}
    if profile.contention:
        body["contention"] = profile.contention
    if profile.source_shares:
        body["sources"] = dict(profile.source_shares)
    return body


def _operator_to_json(own: OperatorCost) -> dict[str, Any]:
    body: dict[str, Any] = {
        "key": own.key,
        "class": own.operator_class,
        "cpu": as_plain(own.cpu),
        "covariance": [list(row) for row in own.cpu.covariance],
        "outputs": {stream: as_plain(function) for stream, function in own.outputs.items()},
        "scope": own.scope,
    }
    optional = {
        "noise": own.cpu.noise, "inputs": None if own.inputs is None else list(own.inputs), "by": list(own.by),
        "bytes_per_tuple": dict(own.bytes_per_tuple),
        "communication_factor": None if own.communication_factor == 1.0 else own.communication_factor,
    }  # fmt: skip
    given = {name: value for name, value in optional.items() if value or (name == "inputs" and value is not None)}
    return body | given


def read_profile(path: Path) -> Profile:
    """The profile of a file."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {' '.join(str(error).split())}") from None
    return profile_from_json(body, str(path))


def profile_from_json(body: Any, where: str = "the profile") -> Profile:
    """The profile that JSON describes; InputError with every mistake in it."""
    problems = list(_problems(body))
    if problems:
        raise InputError("\n".join(f"{where}: {problem}" for problem in problems))
    node = body.get("node", {})
    return Profile(
        tuple(_operator(name, own) for name, own in body["operators"].items()),
        FixedCosts(**body.get("fixed", {})),
        communication_of(body.get("communication", {})),
        node.get("speed", {}),
        node.get("name"),
        {name: own.get("speed", {}) for name, own in body.get("nodes", {}).items()},
        float(body.get("contention", 0.0)),
        body.get("sources", {}),
    )


def _operator(name: str, body: Mapping[str, Any]) -> OperatorCost:
    covariance = tuple(tuple(map(float, row)) for row in body.get("covariance") or ())
    cpu = ResourceFunction(_terms(body["cpu"]), covariance, float(body.get("noise") or 0.0))
    outputs = {stream: ResourceFunction(_terms(terms)) for stream, terms in body.get("outputs", {}).items()}
    inputs = body.get("inputs")
    key = body.get("key")
    return OperatorCost(
        name, cpu, outputs, None if inputs is None else tuple(inputs), body.get("class"),
        None if key is None else str(key), body.get("scope", "none"), tuple(body.get("by", ())),
        body.get("bytes_per_tuple", {}), float(body.get("communication_factor", 1.0)),
    )  # fmt: skip


def _terms(body: Sequence[Mapping[str, Any]]) -> tuple[Term, ...]:
    return tuple(Term(tuple(own["powers"]), float(own["coefficient"])) for own in body)


def _problems(body: Any) -> Iterator[str]:
    if not isinstance(body, Mapping):
        yield f"a profile is an object; got {shown(body)}"
        return
    yield from _unknown("the profile", body, _TOP)
    if body.get("version") != VERSION:
        yield f"version is {VERSION}; got {shown(body.get('version'))}"
    yield from _number_problems("fixed", body.get("fixed", {}), _FIXED)
    yield from table_problems(body.get("communication", {}))
    yield from _speed_problems("node", body.get("node", {}))
    for name, own in _mapping(body.get("nodes", {})).items():
        yield from _speed_problems(f"node '{name}'", own)
    if not is_number(body.get("contention", 0.0)) or body.get("contention", 0.0) < 0:
        yield f"contention is a number of at least 0; got {shown(body['contention'])}"
    if "sources" in body:
        yield from _number_problems("sources", body["sources"], None)
    operators = body.get("operators")
    if not isinstance(operators, Mapping) or not operators:
        yield f"operators is an object with at least one operator; got {shown(operators)}"
        return
    for name, own in operators.items():
        yield from _operator_problems(name, own)
    yield from _stream_problems(operators)


def _operator_problems(name: str, body: Any) -> Iterator[str]:
    where = f"operator '{name}'"
    if not isinstance(body, Mapping):
        yield f"{where} is an object with cpu and outputs; got {shown(body)}"
        return
    yield from _unknown(where, body, _OPERATOR)
    if isinstance(body.get("key"), str) and (problem := other_version_problem(name, body["key"])):
        yield problem
    sizes = set()
    if "cpu" not in body:
        yield f"{where} needs cpu"
    functions = {"cpu": body.get("cpu", [])}
    outputs = body.get("outputs", {})
    if isinstance(outputs, Mapping):
        functions |= {f"output '{stream}'": terms for stream, terms in outputs.items()}
    else:
        yield f"outputs of {where} is an object by stream; got {shown(outputs)}"
    for what, terms in functions.items():
        found = list(_term_problems(f"{what} of {where}", terms))
        yield from found
        if not found:
            sizes |= {len(own["powers"]) for own in terms if own["powers"]}
    if len(sizes) > 1:
        got = " and ".join(map(str, sorted(sizes)))
        yield f"{where} has one power for each input port in every term; got {got} of them"
    yield from _covariance_problems(where, body)
    if body.get("scope", "none") not in _SCOPES:
        yield f"scope of {where} is one of {', '.join(_SCOPES)}; got {shown(body['scope'])}"
    for streams in ("inputs", "by"):
        value = body.get(streams)
        if value is not None and not (isinstance(value, list) and all(isinstance(own, str) for own in value)):
            yield f"{streams} of {where} is a list of names; got {shown(value)}"
    if body.get("class") is not None and not isinstance(body["class"], str):
        yield f"class of {where} is text; got {shown(body['class'])}"
    if body.get("noise") is not None:
        yield from _number_problems(where, {"noise": body["noise"]}, ("noise",))
    if body.get("communication_factor") is not None:
        yield from _number_problems(
            where, {"communication_factor": body["communication_factor"]}, ("communication_factor",)
        )
    yield from _number_problems(f"bytes_per_tuple of {where}", body.get("bytes_per_tuple", {}), None)


def _term_problems(where: str, terms: Any) -> Iterator[str]:
    if not isinstance(terms, list):
        yield f"{where} is a list of terms with powers and coefficient; got {shown(terms)}"
        return
    for term in terms:
        if not isinstance(term, Mapping) or set(term) != {"powers", "coefficient"}:
            yield f"a term of {where} has powers and coefficient; got {shown(term)}"
            continue
        if not isinstance(term["powers"], list) or not all(is_whole(own, 0) for own in term["powers"]):
            got = shown(term["powers"])
            yield f"powers of {where} are whole numbers of at least 0, one for each input port; got {got}"
        if not is_number(term["coefficient"]):
            yield f"coefficient of {where} is a number; got {shown(term['coefficient'])}"


def _covariance_problems(where: str, body: Mapping[str, Any]) -> Iterator[str]:
    given, terms = body.get("covariance"), body.get("cpu")
    if not given or not isinstance(terms, list):
        return
    size = len(terms)
    rows = given if isinstance(given, list) else []
    if len(rows) != size or not all(
        isinstance(row, list) and len(row) == size and all(map(is_number, row)) for row in rows
    ):
        yield f"covariance of {where} is {size} rows of {size} numbers, one for each term of cpu; got {shown(given)}"


def _speed_problems(where: str, body: Any) -> Iterator[str]:
    if not isinstance(body, Mapping):
        yield f"{where} is an object with speed; got {shown(body)}"
        return
    yield from _unknown(where, body, ("speed", "name"))
    speeds = body.get("speed", {})
    if not isinstance(speeds, Mapping) or not all(is_number(own) and own > 0 for own in speeds.values()):
        yield f"speed of {where} is an object with a number above 0 for each operator class; got {shown(speeds)}"


def _stream_problems(operators: Mapping[str, Any]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name, own in operators.items():
        for stream in _mapping(_mapping(own).get("outputs", {})):
            if stream in seen:
                yield f"stream '{stream}' comes out of operator '{seen[stream]}' and of operator '{name}'"
            seen[stream] = name
    order = {name: place for place, name in enumerate(operators)}
    for name, own in operators.items():
        for stream in _mapping(own).get("inputs") or ():
            if order.get(seen.get(stream, ""), -1) >= order[name]:
                yield (
                    f"operator '{name}' reads '{stream}', which comes out of '{seen[stream]}' further down; "
                    "put operators after those they read"
                )


def _number_problems(where: str, body: Any, known: Sequence[str] | None) -> Iterator[str]:
    if not isinstance(body, Mapping):
        yield f"{where} is an object of numbers; got {shown(body)}"
        return
    if known is not None:
        yield from _unknown(where, body, known)
    for name, value in body.items():
        if (known is None or name in known) and (not is_number(value) or value < 0):
            yield f"{name} of {where} is a number of at least 0; got {shown(value)}"


def _unknown(where: str, body: Mapping[str, Any], known: Sequence[str]) -> Iterator[str]:
    for name in body:
        if name not in known:
            hint = did_you_mean(name, known)
            yield f"{where} has the unknown key '{name}'; known are: {', '.join(known)}" + (f"; {hint}" if hint else "")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
