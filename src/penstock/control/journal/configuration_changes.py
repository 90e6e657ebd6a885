"""Configurations as the lines of a journal have them: each element's route only where it is another than before."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from penstock.plan.configuration import SLOTS_MAX, Configuration, configuration_from_json, configuration_to_json

Routes = dict[str, list[int]]


class WrittenRoutes:
    """Writes Configurations, one after the other."""

    def __init__(self) -> None:
        self._routes: Routes = {}

    def of(self, configuration: Configuration) -> dict[str, Any]:
        """The body of the next one."""
        body = configuration_to_json(configuration)
        for element in _elements(body):
            route = element.pop("route")
            if route != self._routes.get(element["name"]):
                self._routes[element["name"]] = route
                element["route"] = _runs(route)
        return body


class RecordedRoutes:
    """Reads Configurations in the same order."""

    def __init__(self) -> None:
        self._routes: Routes = {}
        self._runs: dict[str, Any] = {}  # of elements whose route is only noted so far

    def note(self, body: Mapping[str, Any]) -> None:
        """Skips a line: its routes are those of the lines after it that have none, and cost nothing until then."""
        for element in _elements(body):
            if "route" in element:
                self._runs[element["name"]] = element["route"]

    def seed(self, configuration: Configuration) -> None:
        """Begins in the middle: these are the routes so far."""
        self._routes |= {element.name: list(element.route) for element in configuration.elements}

    def configuration(self, body: dict[str, Any]) -> Configuration:
        """The Configuration of a line; routes that are not there are those of the lines before, which are noted."""
        for element in _elements(body):
            name = element["name"]
            runs = element.get("route", self._runs.pop(name, None))
            if runs is not None:
                self._runs.pop(name, None)
                self._routes[name] = _expanded(runs)
            element["route"] = self._routes[name]
        return configuration_from_json(body)


def _elements(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    elements: list[dict[str, Any]] = body["elements"]
    return elements


def _runs(route: list[int]) -> list[list[int]]:
    """[replica, slots] for each run of slots with the same replica."""
    return [[replica, len(list(own))] for replica, own in itertools.groupby(route)]


def _expanded(runs: list[list[int]]) -> list[int]:
    if sum(slots for _, slots in runs) > SLOTS_MAX:
        raise ValueError(f"a route of more than {SLOTS_MAX:,} slots")
    return [replica for replica, slots in runs for _ in range(slots)]
