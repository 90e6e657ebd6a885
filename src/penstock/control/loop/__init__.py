"""The loop of the application level: observe, decide, guard, act, record.

May import what `control` may.  Begin with `loop.py`; `control_request.py` checks what a user asks for,
`named_policies.py` makes the policy, `observed_steps.py` sums micro-batches up into control steps.
"""
