"""Tuples as columns: blocks, columns, schemas, positions, punctuations, dead letters.

A `Block` is some tuples of one stream, in order, over Arrow memory that kernels read without copying.  A position says
where a tuple stands in the total order of all streams.  An envelope is a block as bytes, on its way between elements.

May import `host` and `errors`.  Begin with `block.py` and `column.py`, then `position.py`.
"""
