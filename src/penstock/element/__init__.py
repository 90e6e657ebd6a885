"""What happens inside one processing element: operators fused into function calls, or run on threads.

`Element` runs its operators once per step, in program order.  `Engine` is the in-process engine: intake, steps and an
element, on one thread, several, or as many as a policy finds.  Nothing here knows Spark.

May import `policies`, `control` and the rooms below them.  Begin with `element.py`, then `engine.py`.
"""
