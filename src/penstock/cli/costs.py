"""What penstock explain says about costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.app.graph import Graph
from penstock.cli.screen import show_table
from penstock.errors import InputError
from penstock.host.cores import own_cores
from penstock.model.costs.choosing.choice import rates_of
from penstock.model.costs.choosing.preferred import plan_of
from penstock.model.costs.composition import ElementPrediction
from penstock.model.costs.learning.operator_facts import OperatorFacts, facts_of, is_learned_key
from penstock.model.costs.prediction import Prediction
from penstock.model.costs.profile import Profile
from penstock.model.costs.store import CostStore, node_class, store_path
from penstock.plan.configuration import Configuration
from penstock.plan.elements.fusion import fuse
from penstock.plan.nodes import Node, nodes

PARTS = ("fixed", "envelopes", "operators", "send", "receive")
Fusion = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a plan is to run: on a node, next to neighbours that use so many of its cores."""

    node: Node | str | None = None
    neighbours_cores: float = 0.0


def profile_for(graph: Graph, file: Path | None, node: str | None = None) -> Profile:
    """The profile of a file, or of the store as one of its nodes has it."""
    if file is None:
        return _stored(graph, node)
    found = Profile.load(file)
    lacking = [own.name for own in graph.operators if own.name not in found.names]
    if lacking:
        raise InputError(f"{file} has no function for {', '.join(lacking)} of application '{graph.name}'")
    facts = facts_of(graph)
    for name, fact in facts.items():
        key = found.operator(name).key
        if key is not None and is_learned_key(key) and key != fact.key:
            raise InputError(
                f"{file} has the function of another operator '{name}': its parameters or its code have changed since; "
                "learn it again with penstock profile"
            )
    return in_graph(found, facts)


def in_graph(found: Profile, facts: Mapping[str, OperatorFacts]) -> Profile:
    """A profile as an application has its operators: their order, how they divide, and what a file may leave out."""
    operators = [found.operator(name) for name in facts]
    made = {stream for own in operators for stream in own.outputs}
    is_wired = all(stream in made for fact in facts.values() for stream in fact.inputs)
    completed = [
        replace(
            own, scope=fact.scope, by=fact.by, operator_class=own.operator_class or fact.operator_class,
            inputs=fact.inputs if is_wired and own.inputs is None else own.inputs,
        )
        for own, fact in zip(operators, facts.values(), strict=True)
    ]  # fmt: skip
    return replace(found, operators=tuple(completed))


def _stored(graph: Graph, node: str | None) -> Profile:
    """What the store knows; InputError where a function is lacking, or of another code version."""
    store = CostStore()
    found = store.profile(facts_of(graph), node or node_class())
    if found is None and node is not None:
        raise InputError(
            f"nobody measured application '{graph.name}' on the node '{node}', nor its operators' classes there (the "
            f"store is {store.path}); run penstock profile APP --node {node} there"
        )
    if found is None:
        raise InputError(
            f"application '{graph.name}' has not been profiled on this machine (the store is {store.path}); "
            "run penstock profile, or give what its operators cost with --profile FILE"
        )
    return found


def cost_explanation(
    graph: Graph,
    rate: float,
    nodes_file: Path | None,
    profile_file: Path | None,
    requested: Configuration | None = None,
    *,
    fuse_too: bool,
    node: str | None = None,
    neighbours_cores: float = 0.0,
) -> dict[str, Any]:
    """What a plan would use at a rate, as JSON; `fuse_too`: the chosen fusion next to none, all and the user's.

    `requested` is the user's Configuration; without it, the fusion is what the application asks for.  `node` names one
    of the profile's or the store's, and `neighbours_cores` of it are busy with something else.
    """
    profile = profile_for(graph, profile_file, node)
    machines = None if nodes_file is None else nodes(nodes_file)
    where = machines.groups[0] if machines is not None else node if profile_file is not None else None
    place = Place(where, neighbours_cores)
    rates = rates_of(profile, rate)
    planned = [list(own.operators) for own in plan_of(graph, requested).elements if own.operators]
    body: dict[str, Any] = {"rate_tuples_s": rate, "rates": rates, "store": str(profile_file or store_path())}
    body["node"] = where.name if isinstance(where, Node) else node
    body |= _prediction_body(profile, rates, planned, place)
    hosts = Node(place.node, cores=own_cores()) if isinstance(place.node, str) else machines
    choice = profile.choose(rates, hosts, neighbours_cores=neighbours_cores)
    body["needed"] = {"elements": [list(own) for own in choice.elements], "replicas": dict(choice.replicas),
                      "hosts": {name: list(own) for name, own in choice.hosts.items()},
                      "cpu_cores": choice.cpu_cores, "batch_time_s": choice.batch_time_s}  # fmt: skip
    if fuse_too:
        none = [[own.name] for own in profile.operators if own.operator_class != "sink"]
        compared: dict[str, Fusion] = {"chosen": choice.elements, "none": none}
        compared["all"] = [list(profile.names)]
        if requested is not None:
            compared["requested"] = planned
        elif graph.requests:
            compared["requested"] = [list(own.operators) for own in fuse(graph).elements]
        body["fusions"] = {name: _compared(profile, rates, own, place) for name, own in compared.items()}
    return body


def _prediction_body(profile: Profile, rates: Mapping[str, float], fusion: Fusion, place: Place) -> dict[str, Any]:
    own = profile.predict(rates, fusion, place.node, neighbours_cores=place.neighbours_cores)
    return {
        "elements": {name: _element_body(element) for name, element in own.elements.items()},
        "cpu_cores": own.cpu_cores,
        "driver_cpu_cores": own.driver_cpu_cores,
        "batch_time_s": own.batch_time_s,
        "max_rate_tuples_s": own.max_rate_tuples_s,
        "bottleneck": own.bottleneck,
    }


def _element_body(own: ElementPrediction) -> dict[str, Any]:
    return {
        "operators": list(own.operators), "cpu_cores": own.cpu_cores, "low": own.low, "high": own.high,
        "parts": dict(own.parts), "tuples_in_s": own.tuples_in_s, "tuples_out_s": own.tuples_out_s,
    }  # fmt: skip


def _compared(profile: Profile, rates: Mapping[str, float], fusion: Fusion, place: Place) -> dict[str, Any]:
    own: Prediction = profile.predict(rates, fusion, place.node, neighbours_cores=place.neighbours_cores)
    return {
        "elements": [list(group.operators) for group in own.elements.values()], "cpu_cores": own.cpu_cores,
        "batch_time_s": own.batch_time_s, "max_rate_tuples_s": own.max_rate_tuples_s,
    }  # fmt: skip


def show_costs(screen: Console, body: Mapping[str, Any]) -> None:
    """The explanation as tables."""
    table = Table("element", "operators")
    for name in ("cores", "98 % band", *PARTS, "tuples/s in", "out"):
        table.add_column(name, justify="right")
    for name, own in body["elements"].items():
        numbers = [f"{own['cpu_cores']:.4f}", f"{own['low']:.4f}-{own['high']:.4f}"]
        numbers += [f"{own['parts'][part]:.4f}" for part in PARTS]
        numbers += [f"{own['tuples_in_s']:,.0f}", f"{own['tuples_out_s']:,.0f}"]
        table.add_row(*map(escape, [name, ", ".join(own["operators"]), *numbers]))
    where = f" on {body['node']}" if body["node"] else ""
    show_table(screen, f"predicted at {body['rate_tuples_s']:,.0f} tuples/s{where}, one micro-batch per second", table)
    needed = body["needed"]
    for line in (
        f"driver {body['driver_cpu_cores']:.3f} cores, a batch takes {body['batch_time_s']:.3f} s",
        f"highest rate {body['max_rate_tuples_s']:,.0f} tuples/s; the bottleneck is {body['bottleneck']}",
        "needed: " + "; ".join(
            f"{' + '.join(own)} on {needed['replicas'][own[0]]} x {', '.join(needed['hosts'][own[0]])}"
            for own in needed["elements"]
        ),
        f"costs are from {body['store']}",
    ):  # fmt: skip
        screen.print(line, markup=False, soft_wrap=True)
    if "fusions" in body:
        fusions = Table("fusion", "elements")
        for name in ("cores", "batch", "highest rate"):
            fusions.add_column(name, justify="right")
        for name, own in body["fusions"].items():
            groups = " | ".join(" + ".join(group) for group in own["elements"])
            numbers = [f"{own['cpu_cores']:.4f}", f"{own['batch_time_s']:.3f} s", f"{own['max_rate_tuples_s']:,.0f}"]
            fusions.add_row(*map(escape, [name, groups, *numbers]))
        show_table(screen, "fusions", fusions)
