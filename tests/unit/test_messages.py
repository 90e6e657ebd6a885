"""Every message that a user can meet, listed by ast, in the form of the style guide: where; rule; got; hint."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from penstock import errors
from tests.checkout import ROOT

ERRORS = frozenset(name for name, own in vars(errors).items() if isinstance(own, type)) | {"Problem"}
VAGUE = re.compile(
    r"\b(told|kept|wish|beside|room|quiet|seat|slotted|straight|invalid|illegal|please|unfortunately|oops|failed to|"
    r"unable to|bad|unexpected error)\b|!(?!=)",
    re.IGNORECASE,
)
PROPER = ("Spark", "Kafka", "PostgreSQL", "Java", "JSON", "CSV", "Parquet", "Delta", "Python", "Penstock", "MODEL")
_SECOND_SENTENCE = re.compile(r"[a-z0-9'})][.?] +[A-Z]")
_GOT = re.compile(r"(?<!; )(?<!, and )(?<!, )(?<!and )(?<!^)\bgot\b(?! no\b)")
_PERCENT = re.compile(r"%(?:\.\d)?[sdrf]")
MOST_PARTS, MOST_CHARACTERS = 5, 420


@dataclass(frozen=True)
class Message:
    """What is raised, warned of or listed as a problem; `{...}` stands for what is put in."""

    place: str
    text: str

    def faults(self) -> list[str]:
        text = self.text.strip()
        found = {
            "ends with a period": text.endswith(".") and not text.endswith("..."),
            "has a second sentence": bool(_SECOND_SENTENCE.search(text)),
            "has a vague or house-made word": bool(VAGUE.search(re.sub(r"`[^`]*`|'[^']*'|\{[^}]*\}", "", text))),
            "begins with a capital": text[:1].isupper() and not text.startswith(PROPER),
            "says what it got before the rule": bool(_GOT.search(text)),
            "has too many parts": text.count("; ") >= MOST_PARTS,
            "is too long": len(text) > MOST_CHARACTERS,
            "has two spaces": "  " in text,
            "says too little": len(re.findall(r"[\w{}]+", text)) < 3,
        }
        return [fault for fault, is_so in found.items() if is_so]


def text_of(node: ast.AST) -> str | None:
    """A literal, with what is put in as `{...}`; None where it is made elsewhere."""
    match node:
        case ast.Constant(value=str() as text):
            return _PERCENT.sub("{...}", text)
        case ast.JoinedStr(values=values):
            return "".join(str(own.value) if isinstance(own, ast.Constant) else "{...}" for own in values)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = [text_of(left), text_of(right)]
            return None if parts == [None, None] else "".join("{...}" if part is None else part for part in parts)
    return None


def messages_in(tree: ast.Module, place: str) -> Iterator[Message]:
    """Of errors that are made, warnings, logged warnings, and what functions called `..._problems` list."""
    for node in ast.walk(tree):
        found: list[ast.AST] = []
        if isinstance(node, ast.Call) and node.args and _is_message(node.func):
            found = [_sentence(node)] if _name(node.func) == "Problem" else list(node.args[:1])
        elif isinstance(node, ast.FunctionDef) and "problem" in node.name:
            found = [
                own for part in ast.walk(node) if isinstance(part, ast.Return | ast.Yield) for own in _listed(part)
            ]
        for own in found:
            text = text_of(own)
            if text is not None and " " in text.strip():
                yield Message(f"{place}:{own.lineno}", text)  # type: ignore[attr-defined]


def _sentence(problem: ast.Call) -> ast.AST:
    """`Problem(where, sentence, hint)` as it is printed."""
    where, *others = [own for own in problem.args if not isinstance(own, ast.Starred)] or [ast.Constant("")]
    space, semicolon = ast.Constant(" "), ast.Constant("; ")
    text: ast.expr = where
    for between, part in zip((space, semicolon), others, strict=False):
        text = ast.BinOp(ast.BinOp(text, ast.Add(), between), ast.Add(), part)
    return ast.copy_location(text, problem)


def _listed(node: ast.Return | ast.Yield) -> list[ast.AST]:
    value = node.value
    if isinstance(value, ast.List | ast.Tuple):
        return list(value.elts)
    return [] if value is None else [value]


def _is_message(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute) and function.attr == "append":
        return "problem" in ast.unparse(function.value)
    return _name(function) in ERRORS | {"warn"} or _is_logged(function)


def _is_logged(function: ast.expr) -> bool:
    """Whether it logs what a user has to know: INFO lines are for those who look for them."""
    return (
        isinstance(function, ast.Attribute)
        and function.attr in {"warning", "error"}
        and "log" in ast.unparse(function.value).lower()
    )


def reasons_in(tree: ast.Module, place: str) -> Iterator[Message]:
    """Of decisions to hold, as the console and the journal show them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _name(node.func) == "Hold":
            text = text_of(node.args[0])
            if text is not None:
                yield Message(f"{place}:{node.lineno}", text)


def helps_in(tree: ast.Module, place: str) -> Iterator[Message]:
    """Of options and arguments of the command line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in {"Option", "Argument"}:
            for text in (text_of(own.value) for own in node.keywords if own.arg == "help"):
                if text is not None:
                    yield Message(f"{place}:{node.lineno}", text)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@cache
def trees() -> tuple[tuple[ast.Module, str], ...]:
    """Every module of the package, with its path."""
    package = ROOT / "src" / "penstock"
    return tuple(
        (ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(package)))
        for path in sorted(package.rglob("*.py"))
    )


@cache
def messages() -> tuple[Message, ...]:
    return tuple(message for tree, place in trees() for message in messages_in(tree, place))


def test_every_message_is_in_the_form_of_the_style_guide() -> None:
    found = [f"{own.place}: {', '.join(own.faults())}: {own.text}" for own in messages() if own.faults()]
    assert not found, "\n".join(found)


def test_reasons_of_holds_have_no_vague_word() -> None:
    reasons = [own for tree, place in trees() for own in reasons_in(tree, place)]
    assert len(reasons) > 10
    assert not [own for own in reasons if VAGUE.search(own.text) or own.text.endswith(".")]


def test_help_of_options_is_made_of_sentences_without_a_vague_word() -> None:
    helps = [own for tree, place in trees() for own in helps_in(tree, place)]
    assert len(helps) > 60
    assert not [own for own in helps if VAGUE.search(own.text) or not own.text.endswith(".") or "; else" in own.text]


def test_logged_warnings_are_among_the_messages() -> None:
    program = """
_log.warning("rates are %s or more", rate)
_log.info("it's fine here")
"""
    assert [own.text for own in messages_in(ast.parse(program), "here.py")] == ["rates are {...} or more"]


def test_the_list_is_long() -> None:
    assert len(messages()) > 500
    assert len({own.place.split("/")[0] for own in messages()}) > 10


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a rate is above 0; got 3.", "ends with a period"),
        ("Spark died. Run it again", "has a second sentence"),
        ("was there a room for it; got none", "has a vague or house-made word"),
        ("Rates are above 0; got -1", "begins with a capital"),
        ("you got 3 where 4 are needed", "says what it got before the rule"),
        ("no rate", "says too little"),
    ],
)
def test_each_fault_is_seen(tmp_path: Path, text: str, fault: str) -> None:
    (message,) = messages_in(ast.parse(f"raise InputError({text!r})"), "here.py")
    assert message.faults() == [fault]


def test_problems_and_parts_that_are_put_in_are_seen() -> None:
    program = """
def _rate_problems(rate):
    problems = []
    problems.append(f"a rate is a number; got {rate}")
    warnings.warn("old name" + f" of {rate}", stacklevel=2)
    return [f"rates are {rate} or more"]
"""
    texts = sorted(own.text for own in messages_in(ast.parse(program), "here.py"))
    assert texts == ["a rate is a number; got {...}", "old name of {...}", "rates are {...} or more"]
