"""One replica at work: messages in, steps of its element, commits, messages out.

May import what `runtime` may.  Begin with `task.py`, then `element_worker.py`, which is kept between tasks.
"""
