"""How fast a node runs operators of each class, relative to the node that functions are normalised to (MODEL, 3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.arguments import is_number, shown
from penstock.errors import InputError, did_you_mean
from penstock.model.costs.composition import COMMUNICATION_CLASS, Speed
from penstock.model.costs.profile import OperatorCost, Profile
from penstock.plan.nodes import Node, Nodes


def speed_on(profile: Profile, node: Node | Nodes | str | Mapping[str, float] | None) -> Speed:
    """The speeds of a node; InputError for one that nobody measured.

    None is the node that the profile was learned on, a name one whose speeds the profile has.  A `Node` without speeds
    of its own has those that were learned of its name, where they are known; one of a file that gives no speed has no
    others.  The overhead that was learned belongs to the profile's own node, and is scaled to another by the speeds of
    class 'communication'.
    """
    if isinstance(node, Nodes):
        node = _only(node)
    if isinstance(node, Node):
        node = _known(profile, node)
    own_overhead = profile.speed.get(COMMUNICATION_CLASS, 1.0)
    if node is None or (isinstance(node, str) and node == profile.node):
        return _of_table(profile.speed, 1.0)
    if isinstance(node, Node):
        known = node
        return lambda own: known.speed_of(own) / (own_overhead if own == COMMUNICATION_CLASS else 1.0)
    if isinstance(node, str):
        if node not in profile.speeds_by_node:
            raise InputError(_unmeasured(profile, node))
        node = profile.speeds_by_node[node]
    return _of_measured(profile, _checked(node), own_overhead)


def _only(nodes: Nodes) -> Node:
    if len(nodes.groups) > 1:
        names = ", ".join(group.name for group in nodes.groups)
        raise InputError(f"a prediction is for one group of nodes; got {names}; give one of nodes.groups")
    return nodes.groups[0]


def speeds_on(profile: Profile, nodes: Nodes) -> list[Speed]:
    """The speeds of each group of nodes; one sentence for each that nobody measured."""
    found, problems = list[Speed](), list[str]()
    for group in nodes.groups:
        try:
            found.append(speed_on(profile, group))
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return found


def _known(profile: Profile, node: Node) -> Node | str:
    """The node with all speeds that its file leaves to what was measured, or its name; InputError where some lack."""
    if node.speed == 1.0 and not node.speed_by_class and _knows(profile, node.name):
        return node.name
    if node.gives_speed:
        return node
    own = dict.fromkeys((each.operator_class or "" for each in profile.operators), 1.0) | dict(profile.speed)
    learned = own if node.name == profile.node else profile.speeds_by_node.get(node.name, {})
    speeds = {**learned, **node.speed_by_class}
    lacking = sorted({own.operator_class or own.name for own in _costly(profile)} - set(speeds))
    if lacking:
        raise InputError(
            f"node '{node.name}': its speed for {', '.join(lacking)} is unknown, since nobody measured it and its file "
            f"gives none; it has: {', '.join(speeds) or 'none'}; profile an application there with the same store, or "
            "give the node's speed (1: as fast as where functions were learned)"
        )
    return replace(node, speed_by_class=speeds)


def _costly(profile: Profile) -> list[OperatorCost]:
    return [own for own in profile.operators if any(term.coefficient for term in own.cpu.terms)]


def _knows(profile: Profile, name: str) -> bool:
    return name == profile.node or name in profile.speeds_by_node


def is_normal(profile: Profile) -> bool:
    """Whether its functions are those of its own node, at speed 1: what is measured there may refine them."""
    return all(speed == 1.0 for speed in profile.speed.values())


def _of_table(speeds: Mapping[str, float], overhead: float) -> Speed:
    return lambda own: overhead if own == COMMUNICATION_CLASS else speeds.get(own or "", 1.0)


def _of_measured(profile: Profile, speeds: Mapping[str, float], own_overhead: float) -> Speed:
    """A table of another node has each class that the profile's operators have."""
    lacking = sorted({own.operator_class for own in _costly(profile) if own.operator_class} - set(speeds))
    if lacking:
        raise InputError(
            f"nobody measured how fast the node runs operators of class {', '.join(lacking)}; "
            f"it has: {', '.join(speeds) or 'none'}; give them in the profile"
        )
    return _of_table(speeds, speeds.get(COMMUNICATION_CLASS, 1.0) / own_overhead)


def _checked(speeds: object) -> Mapping[str, float]:
    if not isinstance(speeds, Mapping) or not all(is_number(own) and own > 0 for own in speeds.values()):
        raise InputError(
            "a node is one of ps.costs.nodes(...), its name, or a table of speeds above 0 by operator class; "
            f"got {shown(speeds)}"
        )
    return speeds


def _unmeasured(profile: Profile, name: str) -> str:
    known = [own for own in (profile.node, *profile.speeds_by_node) if own]
    hint = did_you_mean(name, known)
    return (
        f"nobody measured the node '{name}'; the profile has: {', '.join(known) or 'its own node alone'}; "
        "profile an application there with the same store, or give its speeds in nodes.toml"
        + (f"; {hint}" if hint else "")
    )


def contention_of(alone_cores: float, shared_cores: float, neighbours_cores: float) -> float:
    """The learned factor: by how much each busy core of neighbours raises an element's CPU (Figures 21 and 25)."""
    return max(shared_cores / alone_cores - 1.0, 0.0) / neighbours_cores
