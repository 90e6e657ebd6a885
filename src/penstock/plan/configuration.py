"""The Configuration: everything that can be changed while an application runs, as one frozen value.

What looks at a recorded run imports this module, and must not wait for all that an application is made of: methods
that need one import it themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.arguments import (
    NAMES,
    TEXT,
    check_arguments,
    checked_calls,
    is_whole,
    kind,
    many,
    number,
    or_none,
    shown,
    whole,
)
from penstock.errors import InputError, did_you_mean
from penstock.plan.thread_setting import ElasticThreads, check_threads, threads_from_json, threads_to_json

if TYPE_CHECKING:
    from penstock.app.application import Application
    from penstock.app.graph import Graph
    from penstock.plan.elements.pipeline import Pipeline, PipelineElement
    from penstock.plan.fusion.groups import Fused, Groups

SLOTS = 512
SLOTS_MAX = 32_768  # every batch has a plan and a manifest with all of them
MOST_REPLICAS = 65_536
MOST_TUPLES = 1 << 40  # of a block or a micro-batch: a source's sequence has no more
_NUMBERS = many("a tuple of whole numbers", whole())
_GROUPS = many("lists of operator names, one for each element", NAMES)


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


@checked_calls("Configuration")
@dataclass(frozen=True, slots=True)
class Configuration:
    """Replicas and routes of every element, and the sizes of blocks and micro-batches.

    `micro_batch_tuples` is the cap: the most tuples of one micro-batch.  `unfused` names operators that begin an
    element of their own although they could be fused with the one before.  `fusion` lists the operators of each
    element; None is the default fusion.  `frequency_ghz` is set on the cores in use; None leaves them alone.
    `Configuration.of(app)` makes one; the methods `with_...` return a changed copy.

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
    fusion: Groups | None = None

    def __post_init__(self) -> None:
        check_arguments(
            "ps.Configuration", elements=(self.elements, _ELEMENTS), block_rows=(self.block_rows, whole()),
            micro_batch_tuples=(self.micro_batch_tuples, whole()), unfused=(self.unfused, NAMES),
            frequency_ghz=(self.frequency_ghz, or_none(number())), fusion=(self.fusion, or_none(_GROUPS)),
        )  # fmt: skip

    @classmethod
    def of(cls, app: Application | Graph, replicas: int = 1, *, slots: int = SLOTS) -> Configuration:
        """Every element of an application on as many replicas as it may have, up to `replicas`.

        `slots`: as many as `ps.start(slots=...)` is given.
        """
        from penstock.app.application import graph_of
        from penstock.plan.elements.pipeline import pipeline_of, with_files_recorded
        from penstock.plan.fusion.requested import requested_fusion

        check_arguments("Configuration.of", replicas=(replicas, whole(1)), slots=(slots, whole(1, SLOTS_MAX)))
        graph = with_files_recorded(graph_of(app, "Configuration.of"))
        fused = requested_fusion(graph)
        made = default_configuration(pipeline_of(graph, fused), replicas, slots)
        return replace(made, fusion=fused.groups)

    @property
    def fused(self) -> Fused:
        """How operators become elements."""
        from penstock.plan.fusion.groups import Fused

        return Fused(self.unfused, self.fusion)

    def element(self, name: str) -> ElementConfiguration:
        """How an element runs."""
        for element in self.elements:
            if element.name == name:
                return element
        known = [e.name for e in self.elements]
        hint = did_you_mean(name, known)
        raise InputError(f"there is no element '{name}'; there are: {', '.join(known)}" + (f"; {hint}" if hint else ""))

    def with_replicas(self, name: str, replicas: int) -> Configuration:
        """A copy with another number of replicas for one element, its slots spread evenly over them."""
        old = self.element(name)
        if not is_whole(replicas, 1):
            raise InputError(f"an element has at least one replica; got {shown(replicas)} for '{name}'")
        route = even_route(replicas, len(old.route)) if old.route else ()
        return self.with_element(replace(old, replicas=replicas, route=route))

    def with_threads(self, name: str, threads: int | ElasticThreads) -> Configuration:
        """A copy with another number of threads for one element."""
        check_threads(name, threads)
        return self.with_element(replace(self.element(name), threads=threads))

    def with_unfused(self, graph: Application | Graph, unfused: Iterable[str], slots: int = SLOTS) -> Configuration:
        """A copy in which these operators begin elements; both parts of a split element keep its replicas."""
        from penstock.app.application import graph_of
        from penstock.plan.fusion.groups import Fused

        check_arguments("Configuration.with_unfused", unfused=(unfused, NAMES), slots=(slots, whole(1, SLOTS_MAX)))
        graph = graph_of(graph, "Configuration.with_unfused")
        unfused = (unfused,) if isinstance(unfused, str) else tuple(unfused)
        return self._with_fused(graph, Fused(tuple(sorted(unfused))), slots)

    def with_fusion(
        self, graph: Application | Graph, fusion: Iterable[Iterable[str]] | None, slots: int = SLOTS
    ) -> Configuration:
        """A copy with other elements, as lists of operator names; None is the default fusion.

        A source that is not named is an element with the other such sources, a sink that is not named is in the element
        of the operator it reads, and any other operator is an element of its own.
        """
        from penstock.app.application import graph_of
        from penstock.plan.elements.pipeline import with_files_recorded
        from penstock.plan.fusion.groups import Fused, complete_groups

        check_arguments(
            "Configuration.with_fusion", fusion=(fusion, or_none(_GROUPS)), slots=(slots, whole(1, SLOTS_MAX))
        )  # fmt: skip
        graph = with_files_recorded(graph_of(graph, "Configuration.with_fusion"))
        groups = None if fusion is None else complete_groups(graph, fusion)
        return self._with_fused(graph, Fused((), groups), slots)

    def _with_fused(self, graph: Graph, fused: Fused, slots: int) -> Configuration:
        from penstock.plan.elements.pipeline import pipeline_of

        pipeline, before = pipeline_of(graph, fused), pipeline_of(graph, self.fused)
        known = {e.name: e for e in self.elements}
        elements = []
        for element in pipeline.elements:
            old = known.get(element.name) or known[_element_before(element, before)]
            free = old if element.scope == "stream" else _freest(element, before, known, old)
            number = 1 if element.scope == "stream" else free.replicas
            route = () if element.scope != "key" else free.route or even_route(number, slots)
            split = old.split if route and old.route == route else ()
            elements.append(ElementConfiguration(element.name, number, route, split, old.threads))
        return replace(self, elements=tuple(elements), unfused=fused.unfused, fusion=fused.groups)

    def with_element(self, element: ElementConfiguration) -> Configuration:
        """A copy with the configuration of one element replaced."""
        check_arguments("Configuration.with_element", element=(element, _ELEMENT))
        return replace(self, elements=tuple(element if e.name == element.name else e for e in self.elements))


def _element_before(element: PipelineElement, before: Pipeline) -> str:
    """The element that an element's first operator was in."""
    first = next((name for name in element.operators), None)
    return before.elements[0].name if first is None else before.element_of(first).name


def _freest(
    element: PipelineElement, before: Pipeline, known: Mapping[str, ElementConfiguration], old: ElementConfiguration
) -> ElementConfiguration:
    """What had most replicas of the elements that an element's operators come from, those by key first.

    An operator that leaves an element of one replica has as many as the application's other elements then.
    """
    homes = [before.element_of(name) for name in element.operators]
    own = [known[home.name] for home in homes if home.scope == element.scope]
    others = [known[home.name] for home in before.elements if home.scope != "stream"]
    return max([*own, *([] if own else others)], key=lambda e: e.replicas, default=old)


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
        if own.replicas > MOST_REPLICAS:
            raise InputError(f"an element has at most {MOST_REPLICAS:,} replicas; got {own.replicas} for '{own.name}'")
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
    sizes = configuration.block_rows, configuration.micro_batch_tuples
    if min(sizes) < 1 or max(sizes) > MOST_TUPLES:
        raise InputError(f"block_rows and micro_batch_tuples are from 1 to {MOST_TUPLES:,}; "
                         f"got {sizes[0]} and {sizes[1]}")  # fmt: skip
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
    } | ({} if configuration.fusion is None else {"fusion": [list(group) for group in configuration.fusion]})


def configuration_from_json(body: Mapping[str, object]) -> Configuration:
    """What `configuration_to_json` wrote, by an older version too; InputError where it is something else."""
    try:
        elements: Any = body["elements"]
        unfused: Any = body.get("unfused", ())
        fusion: Any = body.get("fusion")
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
            tuple(unfused),
            None if frequency_ghz is None else float(str(frequency_ghz)),
            None if fusion is None else tuple(tuple(group) for group in fusion),
        )
    except InputError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"a Configuration cannot be read from {shown(body)}: {error!r}") from error
