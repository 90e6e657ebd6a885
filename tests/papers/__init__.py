"""The papers' rules as printed: one file per paper, one test per rule, each with its section, equation or line.

Simulations and pure functions only.  Where Penstock does something else by default, the test says what is printed.
"""
