"""For `make docs`: examples in docstrings become blocks of code, where Markdown would take `[x]['y']` for a link."""

from __future__ import annotations

from typing import Any

import griffe


class FencedExamples(griffe.Extension):
    """Puts a fence around each example, from its `>>>` to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """
    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2").split("\\n")
    ['Adds.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    lines: list[str] = []
    is_open = False
    for line in [*text.split("\n"), ""]:
        if not is_open and line.lstrip().startswith(">>>"):
            lines.append("```pycon")
            is_open = True
        elif is_open and not line.strip():
            lines.append("```")
            is_open = False
        lines.append(line)
    return "\n".join(lines[:-1])
