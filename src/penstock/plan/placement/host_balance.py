"""Replicas exchanged between hosts, until none has clearly more load for its cores than the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

HOST_IMBALANCE = 0.1  # above the mean: less is not worth the copies (docs/design/0013-placement.md)
_GAIN = 1e-9

Change = Mapping[int, str]  # replica -> the host it comes to


def even_out_load(
    homes: list[str],
    load_by_replica: Sequence[float],
    held: Sequence[Mapping[str, int]],
    cores_by_host: Mapping[str, float],
    other_load: Mapping[str, float],
) -> None:
    """Takes load off the fullest host while it is too full: of the changes that are enough, the one with least to copy.

    A change is a replica that goes to another host, or two that change places; hosts have as many replicas for their
    cores as before, but for one.  `held`: how many slots of each replica a host has.  `other_load`: of other elements.
    """
    mean = (sum(load_by_replica) + sum(other_load.values())) / sum(cores_by_host.values())
    ceiling = (1 + HOST_IMBALANCE) * mean
    for _ in homes:
        load = _load_by_host(homes, load_by_replica, cores_by_host, other_load)
        fullest = max(load, key=lambda host: (load[host], host))
        if load[fullest] <= ceiling:
            return
        best: tuple[float, int, int] | None = None
        chosen: Change = {}
        for change in _changes(homes, fullest, cores_by_host):
            peak = _peak_after(change, homes, load_by_replica, load, cores_by_host)
            copied = sum(held[replica][homes[replica]] - held[replica][host] for replica, host in change.items())
            rank = max(peak, ceiling), copied, min(change)
            if peak < load[fullest] - _GAIN * mean and (best is None or rank < best):
                best, chosen = rank, change
        if not chosen:
            return
        for replica, host in chosen.items():
            homes[replica] = host


def _load_by_host(
    homes: Sequence[str],
    load_by_replica: Sequence[float],
    cores_by_host: Mapping[str, float],
    other_load: Mapping[str, float],
) -> dict[str, float]:
    """For each core."""
    load = {host: other_load.get(host, 0.0) for host in cores_by_host}
    for replica, host in enumerate(homes):
        load[host] += load_by_replica[replica]
    return {host: own / cores_by_host[host] for host, own in load.items()}


def _peak_after(
    change: Change,
    homes: Sequence[str],
    load_by_replica: Sequence[float],
    load: Mapping[str, float],
    cores_by_host: Mapping[str, float],
) -> float:
    """The higher load of the two hosts that a change is between."""
    after: dict[str, float] = {}
    for replica, host in change.items():
        for which, sign in ((homes[replica], -1), (host, 1)):
            before = after.get(which, load[which])
            after[which] = before + sign * load_by_replica[replica] / cores_by_host[which]
    return max(after.values())


def _changes(homes: Sequence[str], fullest: str, cores_by_host: Mapping[str, float]) -> Iterator[Change]:
    number = Counter(homes)
    with_space = [
        host
        for host in cores_by_host
        if host != fullest and is_even(number + Counter([host]) - Counter([fullest]), cores_by_host)
    ]
    for given in (r for r, host in enumerate(homes) if host == fullest):
        yield from ({given: target} for target in with_space)
        for taken, host in enumerate(homes):
            if host != fullest:
                yield {given: host, taken: fullest}


def is_even(numbers: Mapping[str, int], cores_by_host: Mapping[str, float]) -> bool:
    """Whether no host would have fewer replicas for its cores than the fullest, even with one more."""
    fullest = max(numbers.get(host, 0) / cores for host, cores in cores_by_host.items())
    return all((numbers.get(host, 0) + 1) / cores >= fullest for host, cores in cores_by_host.items())
