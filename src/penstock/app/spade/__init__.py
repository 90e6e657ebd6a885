"""The SPADE reader: programs as MODEL's appendix prints them become applications.

`scan.py` makes tokens, `parse.py` a `Program`, `resolve.py` gives names their meaning, `translate.py` builds the
application.  May import what `app` may.  Begin with `load` below.
"""

from __future__ import annotations

from pathlib import Path

from penstock.app.application import Application
from penstock.app.spade.parse import parse
from penstock.app.spade.translate import translate
from penstock.arguments import PATH, TEXT, check_arguments, or_none
from penstock.errors import InputError

__all__ = ["load", "parse", "translate"]


def load(text: str, *, data_dir: str | Path | None = None, file: str = "program.spade") -> Application:
    """The application that a SPADE text writes down; `app.warnings` names the misprints that were repaired.

    >>> app = load('[Program] stream A(x:Long) := Source()["file:a.dat"]{} stream B(y:Double) := Functor(A)[x > 0]{x}')
    >>> print(app)
    application program
      A := Source -> x int64
      B := Functor(A) -> y float64
    """
    check_arguments("ps.spade.load", text=(text, TEXT), data_dir=(data_dir, or_none(PATH)), file=(file, TEXT))
    if "\n" not in text and text.lower().endswith(".spade"):
        raise InputError(
            f"ps.spade.load takes the text of a program; got '{text}'; write pathlib.Path(...).read_text()"
        )
    return translate(parse(text, file), data_dir)
