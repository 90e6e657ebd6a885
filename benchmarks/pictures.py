"""What the pictures of benchmarks share: a figure of a given size, and axes without what a reader does not need."""

from __future__ import annotations

from typing import Any


def figure_of(width_inches: float, height_inches: float) -> Any:
    """A figure whose parts keep clear of one another."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_inches, height_inches), layout="constrained")


def plain(axes: Any, title: str = "", x: str = "", y: str = "", *, size: int = 8) -> None:
    """Axes with a title and names, in letters of a given size and one more for the title, and no frame."""
    axes.set_title(title, fontsize=size + 1)
    axes.set_xlabel(x, fontsize=size)
    axes.set_ylabel(y, fontsize=size)
    axes.tick_params(labelsize=size - 1)
    axes.spines[["top", "right"]].set_visible(False)
