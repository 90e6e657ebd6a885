"""Decisions: which Configuration an application gets next, and why.

Policies are pure functions of a frozen state and of what was measured.  The loop asks a policy, applies the rules that
no policy may break, and records each turn.  `control.threads` has the policies inside an element.  The simulator and
a running query stand behind the same ports, `Plant` and `ElementPort`.

May import `model` and the rooms below it, but neither `operators` nor `element`: `element` asks it, never the other
way round.  Begin with `policy.py` and `plant.py`, then `loop/loop.py`.
"""
