"""The dashboard: a small web server in a process of its own, which reads a run's journal and never its driver.

It needs the packages of the extra `dashboard`.  The page itself is in `static`, plain files that a browser takes as
they are.

May import what `watch` may.  Begin with `server.py`.
"""
