"""The pool behind `elastic_map`: one partition's calls of a Python function, on threads or an event loop.

It knows iterators of Arrow batches and no Spark.  May import what `element` may.  Begin with `stream.py`;
`level_keeper.py` finds how many calls run at once.
"""
