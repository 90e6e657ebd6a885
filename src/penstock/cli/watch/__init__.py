"""`penstock watch`, `report` and `compare`: runs looked at live and afterwards.

May import every room.  Begin with `command.py`.
"""
