"""`--set NAME=VALUE`: what the user wants different from the Configuration that Penstock chose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.cli.options.setting_forms import SETTING_FORMS
from penstock.control.threads.threads_option import threads_of
from penstock.errors import InputError, did_you_mean
from penstock.plan.configuration import Configuration
from penstock.plan.elements.pipeline import Pipeline, pipeline_of
from penstock.plan.fusion.groups import Fused, Groups, complete_groups
from penstock.plan.fusion.requested import requested_fusion
from penstock.plan.thread_setting import ElasticThreads, check_threads

_SIZES = ("block_rows", "micro_batch_tuples")
_UNFUSED = "unfused"
_FUSION = "fusion"
_FIELDS = ("replicas", "threads")
_FORMS = f"--set takes {SETTING_FORMS}"


@dataclass(frozen=True, slots=True)
class RequestedConfiguration:
    """All requests: operators that begin an element of their own, replicas and threads by element, sizes by name.

    `fusion` has the operators of each element, None where nobody says.
    """

    unfused: tuple[str, ...]
    replicas: dict[str, int]
    sizes: dict[str, int]
    threads: dict[str, int | ElasticThreads] = field(default_factory=dict)
    fusion: Groups | None = None

    def fused(self, graph: Graph) -> Fused:
        """How operators become elements."""
        if self.fusion is not None:
            return Fused((), complete_groups(graph, self.fusion))
        return Fused(self.unfused) if self.unfused else requested_fusion(graph)


def settings_of(texts: Sequence[str], graph: Graph) -> RequestedConfiguration:
    """The settings; all mistakes are reported together, before Spark starts."""
    parts = [tuple(part.strip() for part in text.partition("=")) for text in texts]
    names = [name for name, separator, _ in parts if separator]
    problems = [f"--set names '{name}' more than once" for name in dict.fromkeys(names) if names.count(name) > 1]
    unfused = [word.strip() for name, _, value in parts if name == _UNFUSED for word in value.split(",")]
    problems += [problem for word in unfused if (problem := _unfused_problem(word, graph))]
    fusions = [value for name, separator, value in parts if name == _FUSION and separator]
    if fusions and unfused:
        problems.append("--set takes fusion=... or unfused=..., not both")
    found = RequestedConfiguration(tuple(unfused), {}, {}, fusion=_fusion(fusions[0]) if fusions else None)
    pipeline = pipeline_of(graph)
    try:
        pipeline = pipeline if problems else pipeline_of(graph, found.fused(graph))
    except InputError as error:
        problems.append(f"--set fusion: {error}")
    for text, (name, separator, value) in zip(texts, parts, strict=True):
        try:
            if not separator:
                raise InputError(f"{_FORMS}; got '{text}'")
            if name not in (_UNFUSED, _FUSION):
                _add(found, name, value, pipeline)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return found


def changed(configuration: Configuration, settings: RequestedConfiguration, graph: Graph) -> Configuration:
    """The Configuration with all settings made."""
    if settings.unfused:
        configuration = configuration.with_unfused(graph, settings.unfused)
    if settings.fusion is not None:
        configuration = configuration.with_fusion(graph, settings.fusion)
    for element, replicas in settings.replicas.items():
        configuration = configuration.with_replicas(element, replicas)
    for element, threads in settings.threads.items():
        configuration = configuration.with_threads(element, threads)
    return replace(
        configuration,
        block_rows=settings.sizes.get("block_rows", configuration.block_rows),
        micro_batch_tuples=settings.sizes.get("micro_batch_tuples", configuration.micro_batch_tuples),
    )


def _fusion(value: str) -> Groups:
    """`a+b,c`: an element with a and b, another with c."""
    return tuple(tuple(name.strip() for name in element.split("+")) for element in value.split(","))


def _unfused_problem(name: str, graph: Graph) -> str | None:
    known = [operator.name for operator in graph.operators if not isinstance(operator, Source)]
    if name in known:
        return None
    return _with_hint(f"--set unfused: there is no operator '{name}'; there are: {', '.join(known)}", name, known)


def _add(found: RequestedConfiguration, name: str, value: str, pipeline: Pipeline) -> None:
    """Notes one setting of replicas, threads or a size."""
    element = None if name in _SIZES else _element(name, value, pipeline)
    if element is not None and name.endswith(".threads"):
        if element in found.threads:
            raise InputError(f"--set {name}: the threads of element '{element}' are named more than once")
        found.threads[element] = _threads(name, value, element)
        return
    if not re.fullmatch(r"\d(?:[\d_]*\d)?", value) or int(value) < 1:
        raise InputError(f"--set {name} is a whole number of at least 1; got '{value}'")
    if element is None:
        found.sizes[name] = int(value)
    elif element in found.replicas:
        raise InputError(f"--set {name}: the replicas of element '{element}' are named more than once")
    else:
        found.replicas[element] = int(value)


def _threads(name: str, value: str, element: str) -> int | ElasticThreads:
    try:
        threads = threads_of(value)
    except InputError as error:
        raise InputError(f"--set {name}: {error}") from error
    check_threads(element, threads)
    return threads


def _element(name: str, value: str, pipeline: Pipeline) -> str:
    """The element whose replicas or threads a name means, by its own name or that of an operator in it."""
    operators = [operator for element in pipeline.elements for operator in element.operators]
    operator, _, own_field = name.rpartition(".")
    if not operator or own_field not in _FIELDS:
        known = [*(f"{o}.{own}" for o in operators for own in _FIELDS), *_SIZES, _UNFUSED, _FUSION]
        raise InputError(_with_hint(f"{_FORMS}; got '{name}={value}'", name, known))
    found = next((e for e in pipeline.elements if operator == e.name or operator in e.operators), None)
    if found is None:
        sentence = f"--set {name}: there is no operator '{operator}'; there are: {', '.join(operators)}"
        raise InputError(_with_hint(sentence, operator, operators))
    if found.scope == "stream" and own_field == "replicas" and value != "1":
        raise InputError(f"--set {name}: element '{found.name}' has one replica, since its operators need the whole "
                         f"stream; got {value}")  # fmt: skip
    return found.name


def _with_hint(sentence: str, name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known)
    return f"{sentence}; {hint}" if hint else sentence
