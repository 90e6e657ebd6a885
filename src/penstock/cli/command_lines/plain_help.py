"""`--help` as plain text: nothing is cut at 80 columns, and examples can be copied as they stand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from penstock.errors import InputError, did_you_mean

WIDTH = 80
HELP_NAMES = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}
_EXAMPLE = re.compile(r"^- `([^`]+)`$")
Row = tuple[str, str]


class PlainCommand(TyperCommand):
    """A command: what it does, examples, arguments, then options by what they are about."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        arguments = [own for own in self.get_params(ctx) if own.param_type_name == "argument"]
        _write_usage(ctx, formatter, [_name_of(own) for own in arguments])
        _write_text(formatter, self.help)
        rows = [(_name_of(own), _help_of(own, ctx)) for own in arguments]
        _write_rows(formatter, "Arguments", rows)
        _write_options(self, ctx, formatter)
        _write_text(formatter, self.epilog)


class PlainGroup(TyperGroup):
    """Commands by what they are for, each with its whole sentence."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = [own for own in self.list_commands(ctx) if not self.commands[own].hidden]
            hint = did_you_mean(name, known) or f"see {ctx.command_path} --help"
            raise InputError(f"{ctx.command_path} has no command '{name}'; it has: {', '.join(known)}; {hint}")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_usage(ctx, formatter, ["COMMAND"])
        _write_text(formatter, self.help)
        shown = [own for name in self.list_commands(ctx) if (own := self.get_command(ctx, name)) and not own.hidden]
        _write_sections(formatter, "Commands", [(own, (own.name or "", _first_paragraph(own.help))) for own in shown])
        _write_options(self, ctx, formatter)


def _write_usage(ctx: Any, formatter: Any, pieces: Sequence[str]) -> None:
    formatter.write_usage(ctx.command_path, " ".join([*pieces, "[OPTIONS]"]))


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    options = [own for own in command.get_params(ctx) if own.param_type_name != "argument"]
    records = [(own, own.get_help_record(ctx)) for own in options]
    _write_sections(formatter, "Options", [(own, record) for own, record in records if record is not None])


def _write_sections(formatter: Any, default: str, rows: Sequence[tuple[Any, Row]]) -> None:
    """Sections by `rich_help_panel`, in the order of their first rows."""
    sections: dict[str, list[Row]] = {}
    for own, row in rows:
        panel = getattr(own, "rich_help_panel", None)
        sections.setdefault(panel if isinstance(panel, str) else default, []).append(row)
    for title, found in sections.items():
        _write_rows(formatter, title, found)


def _write_rows(formatter: Any, title: str, rows: Sequence[Row]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows, col_max=26)


def _write_text(formatter: Any, text: str | None) -> None:
    """Paragraphs; one that ends with a colon is the title of the list behind it."""
    title = None
    for is_list, found in groupby(_paragraphs(text), lambda own: own.startswith("- ")):
        paragraphs = list(found)
        if is_list:
            with formatter.section((title or "Examples").removesuffix(":")):
                _write_list(formatter, paragraphs)
            title = None
            continue
        title = paragraphs.pop() if paragraphs[-1].endswith(":") else None
        for own in paragraphs:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(own.replace("`", ""))


def _write_list(formatter: Any, items: Sequence[str]) -> None:
    """Examples as lines that a shell takes; other lists as names with what they mean."""
    examples = [found[1] for own in items if (found := _EXAMPLE.match(own))]
    for example in examples:
        formatter.write("".join(f"{' ' * formatter.current_indent}{line}\n" for line in _lines(example)))
    if not examples:
        formatter.write_dl([_named(own) for own in items], col_max=26)


def _named(item: str) -> tuple[str, str]:
    name, _, rest = item.removeprefix("- ").partition(": ")
    return name.strip("`"), rest


def _lines(command: str, width: int = WIDTH - 6) -> Iterator[str]:
    """A command line that a shell takes, broken before an option where it is long.

    >>> list(_lines("penstock run app.py --goal throughput --policy ds2", width=40))
    ['penstock run app.py --goal throughput \\\\', '    --policy ds2']
    """
    first, *options = re.split(r" (?=--?[a-z])", command)
    line = first
    for option in options:
        if len(line) + len(option) + 1 > width:
            yield f"{line} \\"
            line = f"    {option}"
        else:
            line += f" {option}"
    yield line


def _paragraphs(text: str | None) -> list[str]:
    found = inspect.cleandoc(text or "").split("\n\n")
    return [" ".join(own.split()) for own in found if own.strip()]


def _first_paragraph(text: str | None) -> str:
    return (_paragraphs(text) or [""])[0]


def _name_of(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _help_of(argument: Any, ctx: typer.Context) -> str:
    record = argument.get_help_record(ctx)
    return "" if record is None else re.sub(r"\s*\[required\]$", "", record[1])
