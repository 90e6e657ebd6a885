"""A policy as users write it: a name, or a name with parameters (`th-node:horizon=3,switching=no`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.control.policy_parameters import (
    ASCENDING,
    PARAMETERS_BY_POLICY,
    POLICY_NAMES,
    ParameterValue,
    PolicyParameter,
)
from penstock.errors import InputError, did_you_mean


@dataclass(frozen=True, slots=True)
class PolicyText:
    """The name, the parameters that were given, and the text with these in their usual order."""

    name: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    text: str = ""


def policy_text(text: str) -> PolicyText:
    """What a text says; all its mistakes are reported together.

    >>> policy_text("th-node:switching=no,horizon=3")
    PolicyText(name='th-node', parameters={'horizon': 3, 'switching': False}, text='th-node:horizon=3,switching=no')
    """
    name, separator, rest = text.partition(":")
    name = name.strip()
    if name not in PARAMETERS_BY_POLICY:
        sentence = f"there is no policy '{name}'; there are: {', '.join(POLICY_NAMES)}"
        raise InputError(_with_hint(sentence, name, POLICY_NAMES))
    if not separator:
        return PolicyText(name, text=name)
    known = PARAMETERS_BY_POLICY[name]
    values, words, problems = given_parameters(f"policy '{name}'", known, rest)
    if not problems:
        problems += _order_problems(name, words)
    if problems:
        raise InputError("\n".join(problems))
    given = ",".join(f"{own.name}={words[own.name]}" for own in known if own.name in words)
    return PolicyText(name, values, f"{name}:{given}")


def policy_problems(text: str) -> list[str]:
    """What is wrong with a text, a sentence each."""
    try:
        policy_text(text)
    except InputError as error:
        return str(error).splitlines()
    return []


def given_parameters(
    what: str, known: Sequence[PolicyParameter], text: str
) -> tuple[dict[str, ParameterValue], dict[str, str], list[str]]:
    """The values of NAME=VALUE,... by name, the words they came from, and a sentence for each mistake.

    `what` takes the known parameters, and is named in the sentences.
    """
    words, problems = _words(what, known, text)
    given = [(own, own.value(words[own.name])) for own in known if own.name in words]
    problems += [_broken(what, own, words[own.name]) for own, value in given if value is None]
    return {own.name: value for own, value in given if value is not None}, words, problems


def _words(what: str, known: Sequence[PolicyParameter], text: str) -> tuple[dict[str, str], list[str]]:
    """NAME=VALUE by name, and a sentence for each word that names no parameter."""
    names = [own.name for own in known]
    found: dict[str, str] = {}
    problems = []
    for word in text.split(","):
        key, separator, value = (part.strip() for part in word.partition("="))
        if not separator or key not in names:
            sentence = f"{what} takes {', '.join(f'{own}=...' for own in names)}; got '{word.strip()}'"
            problems.append(_with_hint(sentence, key, names))
        elif key in found:
            problems.append(f"{key} of {what} is given once; got it again as '{word.strip()}'")
        else:
            found[key] = value
    return found, problems


def _broken(what: str, parameter: PolicyParameter, text: str) -> str:
    hint = did_you_mean(text, parameter.words) if parameter.words else None
    sentence = f"{parameter.name} of {what} is {parameter.rule}; got '{text}'"
    return f"{sentence}; {hint}" if hint else sentence


def _order_problems(name: str, words: Mapping[str, str]) -> list[str]:
    """Bounds of which the lower one is above the upper one would let a policy go up and down for ever."""
    if name not in ASCENDING:
        return []
    low, high = (float(words.get(own.name, own.default)) for own in _ascending(name))
    lower, upper = ASCENDING[name]
    return [] if low <= high else [f"{lower} of policy '{name}' is at most {upper}, {high:g}; got {low:g}"]


def _ascending(name: str) -> list[PolicyParameter]:
    by_name = {own.name: own for own in PARAMETERS_BY_POLICY[name]}
    return [by_name[own] for own in ASCENDING[name]]


def _with_hint(sentence: str, word: str, known: Sequence[str]) -> str:
    hint = did_you_mean(word, known)
    return f"{sentence}; {hint}" if hint else sentence
