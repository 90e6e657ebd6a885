"""Figures without a window system, and files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.host.extras import require

SUFFIXES = (".svg", ".png")


def check_picture(path: Path | None) -> None:
    """Raises a PenstockError where a `--picture` cannot be drawn, so that a command says it before it works."""
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"--picture is a file that ends in {' or '.join(SUFFIXES)}; got {path}")
    require("--picture", "plot")


def new_figure(width_inches: float, height_inches: float) -> tuple[Any, Any]:
    """A figure of a given size with one axes over all of it, one unit per inch, nothing drawn."""
    figure = blank_figure(width_inches, height_inches)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    return figure, axes


def blank_figure(width_inches: float, height_inches: float) -> Any:
    """A figure that no global state of matplotlib knows, so that nothing must be closed."""
    require("a picture", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_inches, height_inches), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, path: Path, *, dots_per_inch: int = 160) -> Path:
    """Writes the figure in the format that the file's ending says; the same figure gives the same bytes."""
    import matplotlib as mpl

    format_ = path.suffix.lower().lstrip(".")
    metadata: dict[str, Any] = {"Date": None} if format_ == "svg" else {}
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with mpl.rc_context({"svg.hashsalt": "penstock"}):
                figure.savefig(draft, format=format_, dpi=dots_per_inch, metadata=metadata)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return path
