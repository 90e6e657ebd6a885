"""Commands for a running application: passive or active, paused, another goal, limits, a Configuration, stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from penstock.arguments import is_number, is_whole, shown
from penstock.control.goals.goal import Goal, latency, throughput
from penstock.control.goals.limits import Limits
from penstock.control.journal.plain_values import to_plain
from penstock.errors import InputError, did_you_mean
from penstock.plan.configuration import Configuration, configuration_from_json

COMMANDS = ("passive", "paused", "goal", "limits", "configuration", "stop")
_GOAL = "goal is 'throughput', 'latency p95_ms=500' or {'p95_ms': 500}"
_LIMITS = tuple(field.name for field in fields(Limits))


@dataclass(frozen=True, slots=True)
class ControlChange:
    """What is to be different of control; None: as it is."""

    passive: bool | None = None
    paused: bool | None = None
    goal: Goal | None = None
    limits: Limits | None = None

    @property
    def is_empty(self) -> bool:
        return self == ControlChange()

    @property
    def in_force(self) -> dict[str, Any]:
        """Goal and limits as a journal has them, where they change."""
        return {name: to_plain(own) for name, own in (("goal", self.goal), ("limits", self.limits)) if own is not None}


def check_command(body: Mapping[str, Any]) -> None:
    """InputError where a command is none, whatever the application is."""
    unknown = [name for name in body if name not in COMMANDS]
    if unknown:
        hint = did_you_mean(unknown[0], COMMANDS)
        sentence = f"a command has {', '.join(COMMANDS)}; got {shown(unknown[0])}"
        raise InputError(sentence + (f"; {hint}" if hint else ""))
    for name in ("passive", "paused"):
        if name in body and not isinstance(body[name], bool):
            raise InputError(f"{name} is true or false; got {shown(body[name])}")
    if "stop" in body and body["stop"] is not True:
        raise InputError(f"stop is true; got {shown(body['stop'])}")
    if "goal" in body:
        goal_from(body["goal"])
    if "limits" in body:
        limits_from(body["limits"], Limits())
    if "configuration" in body and not isinstance(body["configuration"], Mapping):
        raise InputError(
            "configuration is an object: {'replicas': {ELEMENT: N}}, or all that a journal has; "
            f"got {shown(body['configuration'])}"
        )


def control_change(body: Mapping[str, Any], limits: Limits) -> ControlChange:
    """What a checked command asks of control; limits that it does not name stay as they are."""
    return ControlChange(
        body.get("passive"),
        body.get("paused"),
        goal_from(body["goal"]) if "goal" in body else None,
        limits_from(body["limits"], limits) if "limits" in body else None,
    )


def goal_from(given: object) -> Goal:
    """
    >>> goal_from("latency p95_ms=500").p95_s, goal_from({"mean_ms": 250}).mean_s, goal_from("p95_ms=300").p95_s
    (0.5, 0.25, 0.3)
    """
    bounds: dict[str, Any] = {}
    if isinstance(given, str):
        words = given.replace(",", " ").split()
        kind = words.pop(0) if words and "=" not in words[0] else ""
        for word in words:
            name, _, value = word.partition("=")
            try:
                bounds[name] = float(value)
            except ValueError:
                raise InputError(f"{_GOAL}; got {shown(given)}") from None
        if kind not in ("", "latency", "throughput") or (kind != "throughput" and not bounds):
            raise InputError(f"{_GOAL}; got {shown(given)}")
    elif isinstance(given, Mapping):
        bounds = dict(given)
    else:
        raise InputError(f"{_GOAL}; got {shown(given)}")
    if set(bounds) <= {"served_ratio"} and all(map(is_number, bounds.values())):
        return throughput(**bounds)
    if set(bounds) <= {"p95_ms", "mean_ms"} and bounds and all(map(is_number, bounds.values())):
        return latency(**bounds)
    raise InputError(f"{_GOAL}; got {shown(given)}")


def limits_from(given: object, now: Limits) -> Limits:
    """The limits with those that are given."""
    if not isinstance(given, Mapping):
        raise InputError(f"limits are an object, such as {{'max_replicas': 4}}; got {shown(given)}")
    unknown = [name for name in given if name not in _LIMITS]
    if unknown:
        hint = did_you_mean(unknown[0], _LIMITS)
        raise InputError(f"limits are {', '.join(_LIMITS)}; got {shown(unknown[0])}" + (f"; {hint}" if hint else ""))
    changed: dict[str, Any] = {name: tuple(own) if isinstance(own, list) else own for name, own in given.items()}
    limits = replace(now, **changed)
    if problems := limits.problems():
        raise InputError(problems[0])
    return limits


def configuration_from(given: Mapping[str, Any], now: Configuration) -> Configuration:
    """Another Configuration by hand: replicas by element, a cap, or all of it as a journal has it.

    >>> from penstock.plan.configuration import ElementConfiguration
    >>> now = Configuration((ElementConfiguration("window", 2, (0, 0, 1, 1)),))
    >>> configuration_from({"replicas": {"window": 1}}, now).element("window").route
    (0, 0, 0, 0)
    """
    if "elements" in given:
        return configuration_from_json(given)
    if not given or not set(given) <= {"replicas", "micro_batch_tuples"}:
        raise InputError(f"a Configuration by hand has replicas and micro_batch_tuples; got {shown(dict(given))}")
    replicas, cap = given.get("replicas", {}), given.get("micro_batch_tuples", now.micro_batch_tuples)
    if not isinstance(replicas, Mapping):
        raise InputError(f"replicas are numbers by element; got {shown(replicas)}")
    if not is_whole(cap, 1):
        raise InputError(f"micro_batch_tuples is a whole number of at least 1; got {shown(cap)}")
    for name, number in replicas.items():
        now = now.with_replicas(str(name), number)
    return replace(now, micro_batch_tuples=cap)
