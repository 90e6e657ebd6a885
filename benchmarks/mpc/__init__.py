"""`mpc`: how long MPC takes to decide, and its optimum beside exhaustive search and branch and bound.

May import all of penstock.  Begin with `mpc.py`.
"""
