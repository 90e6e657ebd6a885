"""Who reads which stream, and how many tuples flow: the graph of a profile at some rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.arguments import is_number, shown
from penstock.errors import InputError, did_you_mean
from penstock.model.costs.profile import OperatorCost, Profile


@dataclass(frozen=True, slots=True)
class Flows:
    """Tuples/s of every stream, the streams that each operator reads, and who emits each."""

    rates: Mapping[str, float]
    inputs: Mapping[str, tuple[str, ...]]
    producer: Mapping[str, str]
    readers: Mapping[str, tuple[str, ...]]

    def ports(self, operator: str) -> tuple[float, ...]:
        """Tuples/s of its input ports; of a source: what it is to emit."""
        return tuple(self.rates[stream] for stream in self.inputs[operator])


def flows_of(profile: Profile, rates: Mapping[str, float]) -> Flows:
    """Rates of all streams from those of the sources: functions g are applied in program order (MODEL, 3.4)."""
    _check_rates(profile, rates)
    inputs = wired(profile, rates)
    _check_sources(profile, rates, inputs)
    known = {_external(name, profile): float(rate) for name, rate in rates.items()}
    for own in profile.operators:
        ports = tuple(known[stream] for stream in inputs[own.name])
        for stream, function in own.outputs.items():
            known[stream] = function.at(ports)
    producer = {stream: own.name for own in profile.operators for stream in own.outputs}
    readers: dict[str, tuple[str, ...]] = dict.fromkeys(known, ())
    for name, streams in inputs.items():
        for stream in streams:
            readers[stream] = (*readers[stream], name)
    return Flows(known, inputs, producer, readers)


def wired(profile: Profile, rates: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
    """The streams that each operator reads.

    Where a profile does not say, an operator of n ports reads the first n streams that nobody reads yet: those of the
    operators before it, then sources.
    """
    inputs: dict[str, tuple[str, ...]] = {}
    outside = [name for name in rates if name not in profile.names]
    made: list[str] = []
    for own in profile.operators:
        if own.inputs:
            inputs[own.name] = own.inputs
        elif own.name in rates or _is_source(own):
            inputs[own.name] = (_external(own.name, profile),)
        else:
            ports = max(ports_of(own), 1)
            waiting = [*made, *outside]
            inputs[own.name] = tuple(waiting[:ports])
            if len(waiting) < ports:
                raise InputError(
                    f"operator '{own.name}' needs {ports} unread {'stream' if ports == 1 else 'streams'} before it; "
                    f"there are: {', '.join(waiting) or 'none'}; "
                    "give the rates of all sources, or inputs in the profile"
                )
        outside = [stream for stream in outside if stream not in inputs[own.name]]
        made = [stream for stream in made if stream not in inputs[own.name]]
        made += own.outputs
    return inputs


def ports_of(own: OperatorCost) -> int:
    return max([own.cpu.ports, *(function.ports for function in own.outputs.values())])


def _external(name: str, profile: Profile) -> str:
    """What a source reads: a stream of its own that comes from outside."""
    return f"@{name}" if name in profile.names else name


def sources_of(profile: Profile) -> tuple[str, ...]:
    """The operators that read no stream, and the streams that no operator emits.

    Where the profile names neither, streams called source, source2, ...
    """
    made = {stream for own in profile.operators for stream in own.outputs}
    read = dict.fromkeys(stream for own in profile.operators for stream in own.inputs or ())
    named = [own.name for own in profile.operators if _is_source(own)]
    named += [stream for stream in read if stream not in made]
    if named:
        return tuple(named)
    lacking = waiting = 0
    for own in profile.operators:
        ports = max(ports_of(own), 1)
        lacking += max(ports - waiting, 0)
        waiting = max(waiting - ports, 0) + len(own.outputs)
    return tuple("source" if number == 0 else f"source{number + 1}" for number in range(lacking))


def _is_source(own: OperatorCost) -> bool:
    return own.inputs == () or (own.inputs is None and own.operator_class == "source")


def _check_rates(profile: Profile, rates: Mapping[str, float]) -> None:
    if not isinstance(rates, Mapping) or not rates:
        raise InputError(f"rates of predict is a mapping with tuples/s for each source; got {shown(rates)}")
    problems = [f"the rate of '{name}' is a number of at least 0, in tuples/s; got {shown(rate)}"
                for name, rate in rates.items() if not is_number(rate) or rate < 0]  # fmt: skip
    if problems:
        raise InputError("\n".join(problems))


def _check_sources(profile: Profile, rates: Mapping[str, float], inputs: Mapping[str, tuple[str, ...]]) -> None:
    """Every stream that an operator reads has a producer or a rate, and every rate is read."""
    made = {stream for own in profile.operators for stream in own.outputs}
    outside = {_external(name, profile): name for name in rates}
    needed = {stream: name for name, streams in inputs.items() for stream in streams if stream not in made}
    problems = []
    for stream, name in needed.items():
        if stream not in outside:
            problems.append(f"the rates lack source '{stream.removeprefix('@')}', which operator '{name}' reads"
                            if not stream.startswith("@") else f"the rates lack source '{name}'")  # fmt: skip
    for stream, name in outside.items():
        if stream not in needed:
            known = [own.removeprefix("@") for own in needed]
            hint = did_you_mean(name, known)
            problems.append(
                f"there is no source '{name}'; the sources are: {', '.join(known)}" + (f"; {hint}" if hint else "")
            )
    if problems:
        raise InputError("\n".join(problems))
