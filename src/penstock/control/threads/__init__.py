"""Threads inside an element: the ports, and the policies that find how many threads and which queues.

Pure: no clock, no thread.  `element` runs what is decided here.  May import what `control` may.  Begin with
`thread_policy.py` and `elastic_operator.py`, then `thread_control.py`.
"""
