"""Pictures in the terminal: the live console and graphs in box characters.

May import what `watch` may.  Begin with `live_console.py`.
"""
