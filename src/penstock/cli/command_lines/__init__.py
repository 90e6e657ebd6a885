"""The command line of each command: its arguments, options and help text.

A command imports what it does when it runs, so that `penstock --help` is quick.  `penstock.cli.commands` lists them
all.  May import every room.  Begin with `run.py`.
"""
