"""The port of a rule: what comes after a policy, and what the rules of a loop have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision


class Rule(Protocol):
    """A function of a control step and a decision, with a name that the journal shows."""

    @property
    def name(self) -> str: ...

    def __call__(self, seen: ControlStep, decision: Decision) -> Decision:
        """The decision, or what the rule makes of it."""
        ...


@runtime_checkable
class RememberingRule(Protocol):
    """A rule that goes by earlier steps, too: `after` gives the rule for the next step."""

    @property
    def name(self) -> str: ...

    def __call__(self, seen: ControlStep, decision: Decision) -> Decision: ...

    def after(self, seen: ControlStep, decision: Decision) -> Self:
        """The rule once it was asked about this decision in this step."""
        ...

    def resuming(self, before: Rule) -> Self:
        """This rule, with what one of another loop remembers."""
        ...


@dataclass(frozen=True, slots=True)
class NamedRule:
    """A rule that is a plain function."""

    name: str
    function: Callable[[ControlStep, Decision], Decision]

    def __call__(self, seen: ControlStep, decision: Decision) -> Decision:
        return self.function(seen, decision)


@dataclass(frozen=True, slots=True)
class RuleChange:
    """What one rule made of a decision."""

    rule: str
    before: Decision
    after: Decision


@dataclass(frozen=True, slots=True)
class Ruled:
    """The decision after all rules, what each of them changed, and the rules for the next step."""

    decision: Decision
    changes: tuple[RuleChange, ...]
    rules: tuple[Rule, ...]


def ruled(rules: Iterable[Rule], seen: ControlStep, decision: Decision) -> Ruled:
    """Applies rules in their order; each sees what the one before it made of the decision."""
    changes, following = [], []
    for rule in rules:
        before, decision = decision, rule(seen, decision)
        if decision != before:
            changes.append(RuleChange(rule.name, before, decision))
        following.append(rule.after(seen, before) if isinstance(rule, RememberingRule) else rule)
    return Ruled(decision, tuple(changes), tuple(following))


def resumed(rules: Iterable[Rule], before: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules of another loop; those that remember go on from what their namesakes have seen."""
    known = {rule.name: rule for rule in before}
    return tuple(
        rule.resuming(known[rule.name]) if isinstance(rule, RememberingRule) and rule.name in known else rule
        for rule in rules
    )
