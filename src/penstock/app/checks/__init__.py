"""Checks of one operator at a time: keys, merged inputs, windows, sources, sinks.

Each check notes its mistakes in the workbook and raises nothing.  May import what `app` may.  Begin with
`window_checks.py`.
"""
