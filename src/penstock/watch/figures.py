"""Figures as people read them, short enough for a table in a terminal."""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.plan.thread_setting import MOST_THREADS, ElasticThreads

_REPLICAS_LISTED = 6


def count_text(count: float) -> str:
    """
    >>> [count_text(n) for n in (7, 12_345, 3_456_789, 2.5e9)]
    ['7', '12.3 k', '3.46 M', '2.50 G']
    """
    for size, letter, digits in ((1e9, "G", 2), (1e6, "M", 2), (1e4, "k", 1)):
        if abs(count) >= size:
            factor = 1e3 if letter == "k" else size
            return f"{count / factor:,.{digits}f} {letter}"
    return f"{count:,.0f}"


def size_text(count_bytes: float) -> str:
    """
    >>> [size_text(n) for n in (7, 12_345, 3_456_789, 2.5e9)]
    ['7 bytes', '12.3 kB', '3.5 MB', '2.5 GB']
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count_bytes >= factor:
            return f"{count_bytes / factor:,.1f} {unit}"
    return f"{count_bytes:.0f} bytes"


def time_text(seconds: float) -> str:
    """
    >>> [time_text(s) for s in (0.0042, 0.182, 1.5, 75)]
    ['4 ms', '182 ms', '1.5 s', '75 s']
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds:,.0f} s"


def clock_text(seconds: float) -> str:
    """
    >>> clock_text(75), clock_text(3700)
    ('01:15', '1:01:40')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def route_text(element: ElementConfiguration) -> str:
    """How an element's slots are dealt out: evenly, or slots per replica; and how many are split.

    >>> route_text(ElementConfiguration("window", 3, (0, 0, 0, 0, 1, 2)))
    'slots 4 + 1 + 1'
    >>> route_text(ElementConfiguration("window", 2, (0, 0, 1, 1), split=(3,)))
    'even, 1 split'
    """
    if not element.route:
        return ""
    return _dealt_text(element) + (f", {len(element.split)} split" if element.split else "")


def _dealt_text(element: ElementConfiguration) -> str:
    counts = [element.route.count(replica) for replica in range(element.replicas)]
    if max(counts) - min(counts) <= 1:
        return "even"
    if len(counts) > _REPLICAS_LISTED:
        return f"{min(counts)} to {max(counts)} slots a replica"
    return "slots " + " + ".join(map(str, counts))


def replicas_text(configuration: Configuration) -> str:
    """
    >>> replicas_text(Configuration((ElementConfiguration("trades", 2), ElementConfiguration("window", 2, (0, 1)))))
    'trades 2, window 2 (even)'
    """
    return ", ".join(_element_text(element) for element in configuration.elements)


def configuration_text(configuration: Configuration) -> str:
    """One line: replicas and routes of each element, size of blocks, most tuples of a micro-batch."""
    most = count_text(configuration.micro_batch_tuples)
    sizes = f"blocks of {configuration.block_rows:,}, at most {most} tuples a micro-batch"
    return f"{replicas_text(configuration)}; {sizes}"


def threads_text(threads: int | ElasticThreads) -> str:
    """
    >>> threads_text(4), threads_text(1), threads_text(ElasticThreads()), threads_text(ElasticThreads(2, 16))
    ('4 threads', '1 thread', 'elastic threads', 'elastic threads, 2 to 16')
    """
    if not isinstance(threads, ElasticThreads):
        return f"{threads} thread{'s' * (threads != 1)}"
    bounded = (threads.least, threads.most) != (1, MOST_THREADS)
    return f"{threads.policy} threads" + (f", {threads.least} to {threads.most}" if bounded else "")


def _element_text(element: ElementConfiguration) -> str:
    route = route_text(element)
    threads = "" if element.threads == 1 else f" x {threads_text(element.threads)}"
    return f"{element.name} {element.replicas}{threads}" + (f" ({route})" if route else "")


def change_text(before: Configuration, after: Configuration) -> str:
    """What is different, in a few words.

    >>> two, four = (Configuration((ElementConfiguration("window", n, tuple(range(n))),)) for n in (2, 4))
    >>> change_text(two, four)
    'window 2 → 4 replicas'
    """
    known = {element.name: element for element in before.elements}
    pairs = [(known[new.name], new) for new in after.elements if new.name in known]
    shown_parts = [_element_change(old, new) for old, new in pairs if old != new]
    if before.fused != after.fused:
        shown_parts.insert(0, f"elements {', '.join(element.name for element in after.elements)}")
    if before.block_rows != after.block_rows:
        shown_parts.append(f"blocks of {after.block_rows:,}")
    if before.micro_batch_tuples != after.micro_batch_tuples:
        shown_parts.append(f"at most {count_text(after.micro_batch_tuples)} tuples a micro-batch")
    return ", ".join(shown_parts) or "other settings"


def _element_change(old: ElementConfiguration, new: ElementConfiguration) -> str:
    route = route_text(new)
    if old.threads != new.threads and replace(old, threads=new.threads) == new:
        return f"{new.name}: {threads_text(new.threads)}"
    if old.replicas == new.replicas:
        return f"{new.name}: {route or 'other settings'}{' route' if route == 'even' else ''}"
    return f"{new.name} {old.replicas} → {new.replicas} replicas" + (f", {route}" if route not in ("", "even") else "")
