"""What a micro-batch does, without Spark: tasks and messages, moving slots, the driver's records.

`spark` starts and schedules; this room computes, commits and plans, so its tests need no JVM.

May import `element` and the rooms below it.  Begin with `replica/task.py` for a task, `migration/migration.py` for
which Configuration is in force.
"""
