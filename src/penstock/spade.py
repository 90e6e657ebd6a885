"""SPADE programs as applications: `ps.spade.load(text)`.

>>> print(load('[Program] stream A(x:Long) := Source()["file:a.dat"]{} stream B(y:Double) := Functor(A)[x > 0]{x}'))
application program
  A := Source -> x int64
  B := Functor(A) -> y float64
"""

from __future__ import annotations

from penstock.app.spade import load

__all__ = ["load"]
