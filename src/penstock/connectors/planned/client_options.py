"""Settings of clients that are never stored: kept in memory, by the place of their source in the checkpoint.

They may hold secrets.  The driver notes those of the application at the start; tasks are given them by Spark beside
their work, under a name that Spark redacts in its logs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

PROPERTY = "penstock.secret.options"
_by_place: dict[str, Mapping[str, str]] = {}


def keep(place: str, options: Mapping[str, str]) -> None:
    """Notes the settings of a source."""
    _by_place[place] = dict(options)


def options_of(place: str) -> Mapping[str, str]:
    """The settings of a source; none where nobody gave any."""
    return _by_place.get(place, {})


def to_property() -> str | None:
    """All of them for tasks; None where there are none."""
    own = {place: dict(options) for place, options in _by_place.items() if options}
    return json.dumps(own) if own else None


def take_property(text: str | None) -> None:
    """Notes in a task what the driver has sent."""
    if text:
        _by_place.update(json.loads(text))
