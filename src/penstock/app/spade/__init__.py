"""The SPADE reader: programs as MODEL's appendix prints them become applications.

`scan.py` makes tokens, `parse.py` a `Program`, `resolve.py` gives names their meaning, `translate.py` builds the
application.  May import what `app` may.  Begin with `load` below.
"""

from __future__ import annotations

from pathlib import Path

from penstock.app.application import Application
from penstock.app.spade.parse import parse
from penstock.app.spade.translate import translate

__all__ = ["load", "parse", "translate"]


def load(text: str, *, data_dir: str | Path | None = None, file: str = "program.spade") -> Application:
    """The application that a SPADE text writes down; `app.warnings` names the misprints that were repaired.

    >>> app = load('[Program] stream A(x:Long) := Source()["file:a.dat"]{} stream B(y:Double) := Functor(A)[x > 0]{x}')
    >>> print(app)
    application program
      A := Source -> x int64
      B := Functor(A) -> y double
    """
    return translate(parse(text, file), data_dir)
