"""Looking at runs: the live console, pictures and figures, all drawn from Observations.

It reads frozen values alone, so a recorded run looks like a live one.

May import `runtime` and the rooms below it; it needs `control`, `measure` and `plan`.  Begin with `timeline.py` and
`gauges.py`.
"""
