"""Examples of docstrings on the documentation site."""

from __future__ import annotations

import pytest

pytest.importorskip("griffe")

from tools.fenced_examples import fenced


def test_an_example_is_a_block_of_code_and_text_stays_text() -> None:
    text = "Adds.\n\n>>> [x]['y']\n2\n\nMore.\n\n    >>> 1\n    1"
    assert fenced(text) == ("Adds.\n\n```pycon\n>>> [x]['y']\n2\n```\n\nMore.\n\n```pycon\n    >>> 1\n    1\n```")
    assert fenced("No example.") == "No example."
