"""Model-predictive control (PROACTIVE, section 3): the default policy and its solvers.

May import what `control` may.  Begin with `policy.py`; `problem.py` states the optimisation, `learning.py` what is
learned from each step, `live.py` what differs on a running cluster.
"""
