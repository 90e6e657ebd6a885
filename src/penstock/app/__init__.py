"""What users write: applications, streams, operators, windows, and the reader of SPADE programs.

Each method of a `Stream` adds a frozen operator value to the workbook of its application.  Expressions are typed
against schemas at once, and mistakes are collected with the user's file and line; `Application.graph` raises all of
them together or gives the frozen `Graph` that every other room reads.

May import `sources`, `sinks` and the rooms below them.  Begin with `application.py`, then `stream.py`,
`operators.py` and `graph.py`.
"""
