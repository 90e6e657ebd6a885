"""The Configuration: everything that can be changed while an application runs, as one frozen value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.arguments import NAMES, TEXT, check_arguments, is_whole, kind, many, number, or_none, shown, whole
from penstock.errors import InputError, did_you_mean
from penstock.plan.elements.pipeline import Pipeline, pipeline_of, with_files_recorded
from penstock.plan.thread_setting import ElasticThreads, check_threads, threads_from_json, threads_to_json

SLOTS = 512
_NUMBERS = many("a tuple of whole numbers", whole())


@dataclass(frozen=True, slots=True)
class ElementConfiguration:
    """How one element runs: on how many replicas, which of them serves each slot, and on how many threads each.

    `split` are slots so hot that one replica is not enough: their tuples go to all, and the slot's own puts the
    aggregates together. One thread is the task's own, which calls operators as functions.
    """

    name: str
    replicas: int
    route: tuple[int, ...] = ()
    split: tuple[int, ...] = ()
    threads: int | ElasticThreads = 1

    def __post_init__(self) -> None:
        check_arguments(
            "an element's configuration", name=(self.name, TEXT), replicas=(self.replicas, whole()),
            route=(self.route, _NUMBERS), split=(self.split, _NUMBERS),
            threads=(self.threads, kind("a whole number or ps.ElasticThreads(...)", int, ElasticThreads)),
        )  # fmt: skip


_ELEMENT = kind("what Configuration.element gives", ElementConfiguration)
_ELEMENTS = many("a tuple of what Configuration.element gives", _ELEMENT)


@dataclass(frozen=True, slots=True)
class Configuration:
    """Replicas and routes of every element, and the sizes of blocks and micro-batches.

    `micro_batch_tuples` caps what one micro-batch takes from sources; `unfused` are operators that begin an element of
    their own although they could run in the one before; `frequency_ghz` is that of the cores in use, None where it is
    left alone.  `of` makes one for an application, and `with_...` another one of it.

    >>> from penstock.app.application import Application
    >>> app = Application("halves")
    >>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
    >>> configuration = Configuration.of(app, replicas=2).with_threads("half", 4)
    >>> configuration.element("half").replicas, configuration.element("half").threads
    (2, 4)
    """

    elements: tuple[ElementConfiguration, ...]
    block_rows: int = 32_768
    micro_batch_tuples: int = 8_388_608
    unfused: tuple[str, ...] = ()
    frequency_ghz: float | None = None

    def __post_init__(self) -> None:
        check_arguments(
            "ps.Configuration", elements=(self.elements, _ELEMENTS), block_rows=(self.block_rows, whole()),
            micro_batch_tuples=(self.micro_batch_tuples, whole()), unfused=(self.unfused, NAMES),
            frequency_ghz=(self.frequency_ghz, or_none(number())),
        )  # fmt: skip

    @classmethod
    def of(cls, app: Application | Graph, replicas: int = 1, *, slots: int = SLOTS) -> Configuration:
        """Every element of an application on as many replicas as it may have, up to `replicas`.

        `slots`: as many as `ps.start(slots=...)` is given.
        """
        check_arguments("Configuration.of", replicas=(replicas, whole(1)), slots=(slots, whole(1)))
        graph = graph_of(app, "Configuration.of")
        return default_configuration(pipeline_of(with_files_recorded(graph)), replicas, slots)

    def element(self, name: str) -> ElementConfiguration:
        """How an element runs."""
        for element in self.elements:
            if element.name == name:
                return element
        known = [e.name for e in self.elements]
        hint = did_you_mean(name, known)
        raise InputError(f"there is no element '{name}'; there are: {', '.join(known)}" + (f"; {hint}" if hint else ""))

    def with_replicas(self, name: str, replicas: int) -> Configuration:
        """The same with an element on another number of replicas, its slots dealt out anew as evenly as can be."""
        old = self.element(name)
        if not is_whole(replicas, 1):
            raise InputError(f"an element has at least one replica; got {shown(replicas)} for '{name}'")
        route = even_route(replicas, len(old.route)) if old.route else ()
        return self.with_element(replace(old, replicas=replicas, route=route))

    def with_threads(self, name: str, threads: int | ElasticThreads) -> Configuration:
        """The same with an element on another number of threads."""
        check_threads(name, threads)
        return self.with_element(replace(self.element(name), threads=threads))

    def with_unfused(self, graph: Application | Graph, unfused: Iterable[str], slots: int = SLOTS) -> Configuration:
        """The same with operators fused otherwise; an element that is cut in two has its replicas in both parts."""
        check_arguments("Configuration.with_unfused", unfused=(unfused, NAMES), slots=(slots, whole(1)))
        graph = graph_of(graph, "Configuration.with_unfused")
        unfused = (unfused,) if isinstance(unfused, str) else tuple(unfused)
        pipeline = pipeline_of(graph, unfused)
        before = pipeline_of(graph, self.unfused)
        known = {e.name: e for e in self.elements}
        elements = []
        for element in pipeline.elements:
            first = next((name for name in element.operators if name not in known), element.name)
            old = known.get(element.name) or known[before.element_of(first).name]
            number = 1 if element.scope == "stream" else old.replicas
            route = () if element.scope != "key" else old.route or even_route(number, slots)
            split = old.split if route else ()
            elements.append(ElementConfiguration(element.name, number, route, split, old.threads))
        return replace(self, elements=tuple(elements), unfused=tuple(sorted(unfused)))

    def with_element(self, element: ElementConfiguration) -> Configuration:
        """The same with one element's part replaced."""
        check_arguments("Configuration.with_element", element=(element, _ELEMENT))
        return replace(self, elements=tuple(element if e.name == element.name else e for e in self.elements))


def even_route(replicas: int, slots: int = SLOTS) -> tuple[int, ...]:
    """Slots in runs of about equal length, so that a replica's slots can be locked in one go."""
    return tuple(slot * replicas // slots for slot in range(slots))


def default_configuration(pipeline: Pipeline, replicas: int, slots: int = SLOTS) -> Configuration:
    """Every element on as many replicas as it may have, up to `replicas`."""
    elements = []
    for element in pipeline.elements:
        number = 1 if element.scope == "stream" else replicas
        elements.append(
            ElementConfiguration(
                element.name, number, even_route(number, slots) if element.keys and element.scope == "key" else ()
            )
        )
    return Configuration(tuple(elements))


def check_configuration(configuration: Configuration, pipeline: Pipeline) -> None:
    """Raises InputError where a configuration does not fit the application."""
    wanted, got = [e.name for e in pipeline.elements], [e.name for e in configuration.elements]
    if wanted != got:
        raise InputError(
            f"a configuration of this application has the elements {', '.join(wanted)}; got {', '.join(got)}"
        )
    for element, own in zip(pipeline.elements, configuration.elements, strict=True):
        if own.replicas < 1:
            raise InputError(f"an element has at least one replica; got {own.replicas} for '{own.name}'")
        if element.scope == "stream" and own.replicas != 1:
            raise InputError(
                f"element '{own.name}' has one replica, since its operators need the whole stream; got {own.replicas}"
            )
        if element.scope == "key" and own.replicas > 1 and not own.route:
            raise InputError(f"element '{own.name}' goes by key and needs a route for its {own.replicas} replicas")
        if own.route and not (min(own.route) >= 0 and max(own.route) < own.replicas):
            raise InputError(f"the route of element '{own.name}' names replicas from 0 to {own.replicas - 1}; "
                             f"got {min(own.route)} to {max(own.route)}")  # fmt: skip
        if own.split and not (min(own.split) >= 0 and max(own.split) < len(own.route)):
            raise InputError(f"the split slots of element '{own.name}' are among its {len(own.route)} slots; "
                             f"got {', '.join(map(str, own.split))}")  # fmt: skip
        check_threads(own.name, own.threads)
    if configuration.block_rows < 1 or configuration.micro_batch_tuples < 1:
        raise InputError("block_rows and micro_batch_tuples are at least 1")
    if configuration.frequency_ghz is not None and configuration.frequency_ghz <= 0:
        raise InputError(f"a frequency is above 0 GHz; got {configuration.frequency_ghz:g}")


def configuration_to_json(configuration: Configuration) -> dict[str, object]:
    """Plain values for a log; `configuration_from_json` reads them back."""
    return {
        "elements": [
            {"name": e.name, "replicas": e.replicas, "route": list(e.route), "split": list(e.split)}
            | threads_to_json(e.threads)
            for e in configuration.elements
        ],
        "block_rows": configuration.block_rows,
        "micro_batch_tuples": configuration.micro_batch_tuples,
        "unfused": list(configuration.unfused),
        "frequency_ghz": configuration.frequency_ghz,
    }


def configuration_from_json(body: Mapping[str, object]) -> Configuration:
    """What `configuration_to_json` wrote, by an older version too."""
    elements = body["elements"]
    assert isinstance(elements, list)
    frequency_ghz = body.get("frequency_ghz")
    return Configuration(
        tuple(
            ElementConfiguration(
                e["name"], e["replicas"], tuple(e["route"]), tuple(e.get("split", ())), threads_from_json(e)
            )
            for e in elements
        ),
        int(str(body["block_rows"])),
        int(str(body["micro_batch_tuples"])),
        tuple(body.get("unfused", ())),  # type: ignore[arg-type]
        None if frequency_ghz is None else float(str(frequency_ghz)),
    )
