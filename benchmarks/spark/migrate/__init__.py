"""`migrate`: three to four replicas over two hosts under load, by every way to move slots.

May import all of penstock.  Begin with `migrate.py`.
"""
