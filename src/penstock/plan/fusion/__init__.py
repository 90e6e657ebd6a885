"""Which operators run together: the pipeline of elements, by default or as somebody asks for.

May import what `plan` may.  Begin with `pipeline_element.py` (what comes out), then `grouped.py` (elements as somebody
asks for).
"""
