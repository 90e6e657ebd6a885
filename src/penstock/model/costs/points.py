"""Points: what was measured of an element, and of the operators in it, at one rate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.arguments import is_number, is_whole, shown
from penstock.errors import InputError, did_you_mean

_NAMES = ("cpu_cores", "tuples_in_s", "tuples_out_s", "bytes_in", "bytes_out", "operators", "replicas", "elapsed_cores")


@dataclass(frozen=True, slots=True)
class OperatorPoint:
    """An operator inside an element: its CPU, however it was estimated, and its rates in tuples/s.

    `elapsed_cores` is the time it took per second, waiting included, where that was measured.

    >>> OperatorPoint(0.25, (1000.0,)).tuples_in_s
    (1000.0,)
    """

    cpu_cores: float
    tuples_in_s: tuple[float, ...]
    tuples_out_s: Mapping[str, float] = field(default_factory=dict)
    elapsed_cores: float | None = None


@dataclass(frozen=True, slots=True)
class ElementPoint:
    """An element at one rate: CPU in cores, tuples/s by input port and by output stream, bytes per tuple of both.

    `operators` has what was measured inside, where it was; `elapsed_cores` is the time that the operators took per
    second, waiting included.

    >>> ElementPoint(0.5, (1000.0,), {"out": 100.0}).tuples_out_s["out"]
    100.0
    """

    cpu_cores: float
    tuples_in_s: tuple[float, ...]
    tuples_out_s: Mapping[str, float] = field(default_factory=dict)
    bytes_in: tuple[float, ...] = ()
    bytes_out: Mapping[str, float] = field(default_factory=dict)
    operators: Mapping[str, OperatorPoint] = field(default_factory=dict)
    replicas: int = 1
    elapsed_cores: float | None = None


def element_points(points: Iterable[ElementPoint | Mapping[str, Any]], where: str) -> list[ElementPoint]:
    """Points out of what a caller gave (a DataFrame: its rows); InputError with a sentence for each that is none."""
    rows = points.to_dict("records") if hasattr(points, "to_dict") else points
    if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
        raise InputError(f"{where} takes a list of points; got {shown(points)}")
    found, problems = [], []
    for place, point in enumerate(rows, 1):
        try:
            found.append(point if isinstance(point, ElementPoint) else _element_point(point))
        except InputError as error:
            problems.append(f"point {place} of {where}: {error}")
    if problems:
        raise InputError("\n".join(problems))
    if not found:
        raise InputError(f"{where} needs points; got none")
    ports = sorted({len(point.tuples_in_s) for point in found})
    if len(ports) > 1:
        counts = " and ".join(map(str, ports))
        raise InputError(f"{where} needs as many input ports in each point; got {counts} of them")
    return found


def _element_point(body: object) -> ElementPoint:
    if isinstance(body, tuple | list) and len(body) == 2:
        body = {"tuples_in_s": body[0], "cpu_cores": body[1]}
    if not isinstance(body, Mapping):
        raise InputError(
            "a point is a mapping with cpu_cores, tuples_in_s and tuples_out_s, or a pair (tuples_in_s, cpu_cores); "
            f"got {shown(body)}"
        )
    for name in body:
        if name not in _NAMES:
            hint = did_you_mean(name, _NAMES)
            raise InputError(f"there is no '{name}' in a point; known are: {', '.join(_NAMES)}"
                             + (f"; {hint}" if hint else ""))  # fmt: skip
    inside = body.get("operators", {})
    if not isinstance(inside, Mapping):
        raise InputError(f"operators is a mapping of points by operator; got {shown(inside)}")
    operators = {str(name): _operator_point(own) for name, own in inside.items()}
    rates = _ports(body, "tuples_in_s") if "tuples_in_s" in body or not operators else ()
    widths = _ports(body, "bytes_in") if "bytes_in" in body else ()
    if widths and len(widths) != len(rates):
        raise InputError(f"bytes_in has one number for each of {len(rates)} input ports; got {len(widths)}")
    if not is_whole(replicas := body.get("replicas", 1), 1):
        raise InputError(f"replicas is a whole number of at least 1; got {shown(replicas)}")
    return ElementPoint(
        _number(body, "cpu_cores"), rates, _streams(body, "tuples_out_s"), widths, _streams(body, "bytes_out"),
        operators, int(replicas), _elapsed(body),
    )  # fmt: skip


def _operator_point(body: object) -> OperatorPoint:
    if isinstance(body, OperatorPoint):
        return body
    if not isinstance(body, Mapping):
        raise InputError(f"an operator of a point is a mapping with cpu_cores and tuples_in_s; got {shown(body)}")
    return OperatorPoint(
        _number(body, "cpu_cores"), _ports(body, "tuples_in_s"), _streams(body, "tuples_out_s"), _elapsed(body)
    )


def _elapsed(body: Mapping[str, Any]) -> float | None:
    return _number(body, "elapsed_cores") if "elapsed_cores" in body else None


def _number(body: Mapping[str, Any], name: str) -> float:
    value = _plain(body.get(name))
    if not is_number(value) or value < 0:
        raise InputError(f"{name} is a number of at least 0; got {shown(value)}")
    return float(value)


def _plain(value: Any) -> Any:
    """numpy's numbers and arrays as Python's."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(own) for own in value] if isinstance(value, list | tuple) else value


def _ports(body: Mapping[str, Any], name: str) -> tuple[float, ...]:
    """One number for each input port; a number alone is one port."""
    given = body.get(name)
    values = _plain(list(given.values()) if isinstance(given, Mapping) else given)
    values = [values] if is_number(values) else values
    if not isinstance(values, Sequence) or not values or not all(is_number(value) and value >= 0 for value in values):
        raise InputError(f"{name} is a number of at least 0 for each input port; got {shown(given)}")
    return tuple(map(float, values))


def _streams(body: Mapping[str, Any], name: str) -> dict[str, float]:
    """Numbers by stream; a number or list alone names its streams out, out2, ..."""
    given = _plain(body.get(name, {}))
    values = {"out": given} if is_number(given) else given
    if isinstance(values, Sequence) and not isinstance(values, str):
        values = {"out" if place == 0 else f"out{place + 1}": value for place, value in enumerate(values)}
    values = {own: _plain(value) for own, value in values.items()} if isinstance(values, Mapping) else values
    if not isinstance(values, Mapping) or not all(is_number(value) and value >= 0 for value in values.values()):
        raise InputError(f"{name} is a number of at least 0 for each output stream; got {shown(given)}")
    return {str(stream): float(value) for stream, value in values.items()}
