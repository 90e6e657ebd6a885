"""The threads of a recorded run: what their policy said last, a line for the replicas of which the same is true."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.cli.screen import amount
from penstock.measure.run_figures import ElementFigures
from penstock.measure.threads_found import ThreadsFound


def thread_lines(elements: Iterable[ElementFigures]) -> list[str]:
    return [
        f"threads of {element.name}, {_replicas(found.replicas)}: {_level(found)}, "
        f"{'settled' if found.settled else 'not settled'}: {found.reason}"
        for element in elements
        for found in element.threads_found
    ]


def _replicas(numbers: tuple[int, ...]) -> str:
    return ("replica " if len(numbers) == 1 else "replicas ") + ", ".join(str(number) for number in numbers)


def _level(found: ThreadsFound) -> str:
    return f"{amount(found.level, 'thread')} of at most {found.most}" + (", which wait" if found.waits else "")
