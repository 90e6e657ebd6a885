"""The threaded element: queues in front of chosen operators, and threads that take blocks from them.

The results equal those of `Element`, in the same order.  May import what `element` may.  Begin with
`threaded_element.py` and `runtime.py`; `element_threads.py` is what tasks and the engine use.
"""
