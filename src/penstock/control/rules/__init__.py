"""Rules that hold for every policy, one module each: pace, frequency, limits, useful replicas, pause, guard.

A rule is a function of a control step and a decision, with a name that the journal shows.  May import what `control`
may.  Begin with `rule.py`, the port, and `application_rules.py`, their order.
"""
