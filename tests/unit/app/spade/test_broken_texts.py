"""Whatever is done to a text, the reader either reads it or says what is wrong: it never breaks itself."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.app.spade import load
from penstock.app.spade.parse import parse
from penstock.errors import ApplicationError, SpadeSyntaxError
from tests.checkout import ROOT

TEXTS = [file.read_text() for file in sorted((ROOT / "examples" / "spade").glob("*"))]
PIECES = [
    "",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    '"',
    "<",
    ">",
    ";",
    ",",
    ":=",
    "->",
    " 5 ",
    " stream ",
    "$",
    "\\",
    "#",
    "\n",
    "é",
]


@st.composite
def broken_texts(draw: st.DrawFn) -> str:
    """A printed program with a piece cut out and another put in its place."""
    text = draw(st.sampled_from(TEXTS))
    start = draw(st.integers(0, len(text)))
    stop = min(len(text), start + draw(st.integers(0, 30)))
    return text[:start] + draw(st.sampled_from(PIECES)) + text[stop:]


def refusal(text: str) -> SpadeSyntaxError | ApplicationError | None:
    try:
        load(text)
    except (SpadeSyntaxError, ApplicationError) as error:
        return error
    return None


@given(broken_texts())
@settings(max_examples=150, deadline=None)
def test_a_broken_program_is_read_or_refused_with_a_place_inside_of_it(text: str) -> None:
    error = refusal(text)
    if isinstance(error, SpadeSyntaxError):
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    elif error is not None:
        assert all("program.spade:" in str(problem) for problem in error.problems)


@given(st.sampled_from(TEXTS), st.data())
@settings(max_examples=50, deadline=None)
def test_blanks_and_comments_between_lines_change_only_places(text: str, data: st.DataObject) -> None:
    lines = text.split("\n")
    place = data.draw(st.integers(0, len(lines)))
    longer = "\n".join([*lines[:place], "  # a comment, with [brackets] {and} (more", *lines[place:]])
    one, other = parse(text), parse(longer)
    assert [operation.kind for operation in one.operations] == [operation.kind for operation in other.operations]
    assert [[s.text.split() for s in o.outputs] for o in one.operations] == [
        [s.text.split() for s in o.outputs] for o in other.operations
    ]


@given(st.sampled_from(TEXTS), st.data())
@settings(max_examples=50, deadline=None)
def test_an_expression_is_the_text_at_its_place(text: str, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(parse(text).operations))
    for snippet in (*operation.parameters, *operation.outputs):
        rest = "\n".join(text.split("\n")[snippet.line - 1 :])[snippet.column - 1 :]
        assert rest.startswith(snippet.text)


def test_a_syntax_error_survives_a_pickle() -> None:
    error = SpadeSyntaxError("expected ')'", line=3, column=7, file="a.spade")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.column) == (str(error), 3, 7)
