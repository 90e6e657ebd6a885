"""penstock simulate and penstock search: the commands of the twin.

`command.py` has both, `what_if.py` capacity planning, `subject.py` what is simulated, `progress.py` bar and tables.

May import every room.  Begin with `command.py`.
"""
