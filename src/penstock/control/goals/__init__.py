"""What users ask for: goals, prices, limits, and how soon a change has to pay.

May import what `control` may.  Begin with `goal.py`.
"""
