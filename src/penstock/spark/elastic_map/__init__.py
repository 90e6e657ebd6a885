"""`penstock.elastic_map`: a Python function over a DataFrame, on as many threads at once as pay.

The pool itself is `element.pool`.  May import what `spark` may.  Begin with `elastic_map.py`.
"""
