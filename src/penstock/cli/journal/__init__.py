"""`penstock journal`: a recorded run as tables, as JSON or as a picture.

May import every room.  Begin with `command.py`.
"""
