"""What outlives a micro-batch of a thing that keeps state: some of its attributes, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """A thing whose state can be taken out and put into another one that was made alike."""

    def export(self) -> Mapping[str, Any]:
        """The state; it may share memory with the thing itself."""
        ...

    def restore(self, state: Any) -> None:
        """A new thing takes over what `export` gave; the state is no longer the caller's."""
        ...


class SnapshotFields:
    """Exports the attributes named in `snapshot_fields`: stateful ones by their own `export`, others as they are.

    What `export` gives can be pickled.  A thing that keeps nothing gives nothing.
    """

    snapshot_fields: tuple[str, ...] = ()

    def export(self) -> dict[str, Any]:
        return {name: _exported(getattr(self, name)) for name in self.snapshot_fields}

    def restore(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            parts = getattr(self, name)
            if isinstance(parts, Stateful):
                parts.restore(value)
            elif _are_stateful(parts):
                for part, own in zip(parts, value, strict=True):
                    part.restore(own)
            else:
                setattr(self, name, value)


def _exported(value: Any) -> Any:
    if isinstance(value, Stateful):
        return value.export()
    return tuple(part.export() for part in value) if _are_stateful(value) else value


def _are_stateful(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(part, Stateful) for part in value)
