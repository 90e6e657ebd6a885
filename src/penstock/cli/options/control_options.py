"""`--goal`, `--policy`, `--price`, `--payback`, `--limit`, `--passive`: what a user asks of control by options."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from penstock.cli.options.policy_option import policy_of_option
from penstock.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from penstock.control.goals.goal import Goal, Price
    from penstock.control.goals.limits import Limits

GOALS = "'throughput', 'latency p95_ms=500' or 'latency mean_ms=300'"
_YES = {"yes": True, "no": False}
_HOW = "--policy, --price, --payback, --limit and --passive"


@dataclass(frozen=True, slots=True)
class ControlOptions:
    """The texts as they were given."""

    goal: str | None = None
    policy: str | None = None
    prices: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    passive: bool = False
    payback: str | None = None

    @property
    def arguments(self) -> list[str]:
        """The words that give them again."""
        named = [("--goal", self.goal), ("--policy", self.policy), *(("--price", p) for p in self.prices),
                 ("--payback", self.payback), *(("--limit", limit) for limit in self.limits)]  # fmt: skip
        words = [word for name, value in named if value is not None for word in (name, value)]
        return [*words, "--passive"] if self.passive else words


def control_arguments(options: ControlOptions) -> dict[str, Any]:
    """The keyword arguments of `start`; all mistakes are reported together."""
    from penstock.control.loop.control_request import DEFAULT_POLICY, control_request

    problems: list[str] = []
    found = {
        "goal": _noted(problems, lambda: goal_of(options.goal)),
        "price": _noted(problems, lambda: price_of(options.prices)),
        "limits": _noted(problems, lambda: limits_of(options.limits)),
        "policy": _noted(problems, lambda: policy_of_option(options.policy or DEFAULT_POLICY)) or DEFAULT_POLICY,
        "passive": options.passive,
        "payback": payback_of(options.payback),
    }
    if options.goal is None and options != ControlOptions():
        problems.append(f"{_HOW} say how to reach a goal; give --goal {GOALS}")
        found |= {"goal": _any_goal()}  # the rest is checked all the same
    elif found["goal"] is None and options.goal is not None:
        found["goal"] = _any_goal()
    _noted(problems, lambda: control_request(**found))
    if problems:
        raise InputError("\n".join(problems))
    return found


def goal_of(text: str | None) -> Goal | None:
    """
    >>> goal_of("latency p95_ms=500").p95_s
    0.5
    """
    from penstock.control.goals.goal import latency, throughput

    if text is None:
        return None
    kind, _, rest = text.strip().partition(" ")
    makers: dict[str, tuple[Callable[..., Goal], tuple[str, ...]]] = {
        "throughput": (throughput, ("served_ratio",)),
        "latency": (latency, ("p95_ms", "mean_ms")),
    }
    if kind not in makers:
        raise InputError(_with_hint(f"--goal is {GOALS}; got '{text}'", kind, list(makers)))
    maker, names = makers[kind]
    return maker(**_numbers(rest.split(), names, f"--goal {kind}"))


def price_of(texts: Sequence[str]) -> Price | None:
    """
    >>> price_of(["core_hour=0.04", "kwh=0.3"])
    Price(core_hour=0.04, kwh=0.3)
    """
    from penstock.control.goals.goal import Price

    words = [word for text in texts for word in text.split()]
    return Price(**_numbers(words, ("core_hour", "kwh"), "--price")) if words else None


def payback_of(text: str | None) -> str | float | None:
    """A word, or seconds; what is neither is refused where the request is checked.

    >>> payback_of("calm"), payback_of("7.5")
    ('calm', 7.5)
    """
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def limits_of(texts: Sequence[str]) -> Limits | None:
    """
    >>> limits_of(["max_replicas=8"]).max_replicas
    8
    """
    from penstock.control.goals.limits import Limits

    words = [word for text in texts for word in text.split()]
    if not words:
        return None
    names = tuple(field.name for field in fields(Limits))
    problems = _repeats(words, "--limit")
    found: dict[str, Any] = {}
    for word in words:
        _noted(problems, lambda word=word: found.update(_limit(word, names)))  # type: ignore[misc]
    if problems:
        raise InputError("\n".join(problems))
    return Limits(**found)


def _limit(word: str, names: tuple[str, ...]) -> dict[str, Any]:
    name, value = _named(word, names, "--limit")
    if name == "frequencies_ghz":
        return {name: tuple(_number(part, f"--limit {name}") for part in value.split(","))}
    if name == "max_imbalance":
        return {name: _number(value, f"--limit {name}")}
    if name == "frequency_dry_run":
        if value not in _YES:
            raise InputError(f"--limit {name} is yes or no; got '{value}'")
        return {name: _YES[value]}
    number = _number(value.replace("_", ""), f"--limit {name}")
    if number != int(number):
        raise InputError(f"--limit {name} is a whole number; got '{value}'")
    return {name: int(number)}


def _numbers(words: Sequence[str], names: tuple[str, ...], option: str) -> dict[str, float]:
    """NAME=NUMBER words; all mistakes together."""
    problems = _repeats(words, option)
    found: dict[str, float] = {}
    for word in words:
        try:
            name, value = _named(word, names, option)
            found[name] = _number(value, f"{option} {name}")
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return found


def _repeats(words: Sequence[str], option: str) -> list[str]:
    """A sentence for each name that is given more than once: nobody can tell which was meant."""
    names = [word.partition("=")[0] for word in words]
    return [f"{option} names '{name}' more than once" for name in dict.fromkeys(names) if names.count(name) > 1]


def _named(word: str, names: tuple[str, ...], option: str) -> tuple[str, str]:
    name, separator, value = word.partition("=")
    if not separator or name not in names:
        sentence = f"{option} takes {', '.join(f'{own}=...' for own in names)}; got '{word}'"
        raise InputError(_with_hint(sentence, name, names))
    return name, value


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{what} is a number; got '{text}'")
    return number


def _noted(problems: list[str], make: Callable[[], Any]) -> Any:
    """What `make` gives; what it raises is noted."""
    try:
        return make()
    except InputError as error:
        problems += str(error).splitlines()
        return None


def _any_goal() -> Goal:
    from penstock.control.goals.goal import throughput

    return throughput()


def _with_hint(sentence: str, name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known)
    return f"{sentence}; {hint}" if hint else sentence
