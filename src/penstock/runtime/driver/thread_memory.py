"""What was learned about threads, in the driver: from the reports of one micro-batch into the plan of the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.control.threads.thread_control import LearnedThreads, learned_from_text
from penstock.plan.configuration import Configuration
from penstock.plan.thread_setting import ElasticThreads

Learned = Mapping[str, Mapping[int, str]]


class ThreadMemory:
    """The newest of each element and replica; those of replicas that are gone are kept until they come back."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[int, str]] = {}

    def take(self, learned: Iterable[tuple[str, int, str]]) -> None:
        """What the tasks of a micro-batch had to say: element, replica, text."""
        for element, replica, text in learned:
            self._texts.setdefault(element, {})[replica] = text

    def for_plan(self, configuration: Configuration, before: Learned) -> dict[str, dict[int, str]]:
        """What the replicas of a micro-batch start from; one that is new, from what another has found.

        `before` are those of the plan before, which a new driver goes on from.
        """
        found = {}
        for element in configuration.elements:
            if isinstance(element.threads, ElasticThreads):
                known = dict(before.get(element.name, {})) | self._texts.get(element.name, {})
                found[element.name] = _for_all(known, element.replicas)
        return found


def _for_all(known: Mapping[int, str], replicas: int) -> dict[int, str]:
    texts = dict(known)
    missing = [replica for replica in range(replicas) if replica not in known]
    pattern = _pattern(known) if missing else None
    return texts if pattern is None else texts | dict.fromkeys(missing, pattern)


def _pattern(known: Mapping[int, str]) -> str | None:
    """What a settled replica knows, else any that has decided something."""
    read = [learned_from_text(text) for text in known.values()]
    learned: list[LearnedThreads] = [own for own in read if own is not None and own.state is not None]
    if not learned:
        return None
    return max(learned, key=lambda own: own.settled).between_periods().to_text()
