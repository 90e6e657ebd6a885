"""`--set NAME=N`: what the user wants different from the Configuration that Penstock chose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.control.configuration import Configuration
from penstock.errors import InputError, did_you_mean
from penstock.plan.pipeline import Pipeline

_SIZES = ("block_rows", "micro_batch_tuples")
_FORMS = "--set takes ELEMENT.replicas=N, block_rows=N or micro_batch_tuples=N"


@dataclass(frozen=True, slots=True)
class Setting:
    """One wish: the replicas of an element, or (without an element) a size."""

    element: str | None
    field: str
    value: int


def settings_of(texts: Sequence[str], pipeline: Pipeline) -> tuple[Setting, ...]:
    """The settings; whatever is wrong with any of them is told together, before Spark starts."""
    found, problems = [], []
    for text in texts:
        try:
            found.append(_setting(text, pipeline))
        except InputError as error:
            problems.append(str(error))
    names = [f"{s.element}.{s.field}" if s.element else s.field for s in found]
    problems += [f"--set names '{name}' more than once" for name in dict.fromkeys(names) if names.count(name) > 1]
    if problems:
        raise InputError("\n".join(problems))
    return tuple(found)


def changed(configuration: Configuration, settings: Sequence[Setting]) -> Configuration:
    """The Configuration with all settings made."""
    for setting in settings:
        if setting.element is not None:
            configuration = configuration.with_replicas(setting.element, setting.value)
        elif setting.field == "block_rows":
            configuration = replace(configuration, block_rows=setting.value)
        else:
            configuration = replace(configuration, micro_batch_tuples=setting.value)
    return configuration


def _setting(text: str, pipeline: Pipeline) -> Setting:
    name, separator, value = (part.strip() for part in text.partition("="))
    if not separator:
        raise InputError(f"{_FORMS}; got '{text}'")
    element, field = _named(name, text, pipeline)
    number = re.fullmatch(r"\d(?:[\d_]*\d)?", value)
    if number is None or int(value) < 1:
        raise InputError(f"--set {name} is a whole number of at least 1; got '{value}'")
    if element is not None and int(value) > 1 and _is_single(element, pipeline):
        raise InputError(f"--set {name}: element '{element}' has one replica, since its operators need the whole "
                         f"stream; got {value}")  # fmt: skip
    return Setting(element, field, int(value))


def _named(name: str, text: str, pipeline: Pipeline) -> tuple[str | None, str]:
    """The element and the field that a name means."""
    elements = [element.name for element in pipeline.elements]
    if name in _SIZES:
        return None, name
    element, _, field = name.rpartition(".")
    if not element or field != "replicas":
        known = [*(f"{e}.replicas" for e in elements), *_SIZES]
        raise InputError(_with_hint(f"{_FORMS}; got '{text}'", name, known))
    if element not in elements:
        sentence = f"--set {name}: there is no element '{element}'; there are: {', '.join(elements)}"
        raise InputError(_with_hint(sentence, element, elements))
    return element, field


def _is_single(element: str, pipeline: Pipeline) -> bool:
    return next(e.scope for e in pipeline.elements if e.name == element) == "stream"


def _with_hint(sentence: str, name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known)
    return f"{sentence}; {hint}" if hint else sentence
