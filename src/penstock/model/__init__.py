"""Mathematics: forecasts, throughput, latency, power, the start of executors, what operators cost.

Pure functions and frozen values, with the papers' equations named beside them.

May import `measure` and the rooms below it; forecasts need `errors` alone.  Begin with
`throughput.py` and `latency.py`, then `forecasters/protocol.py` and
`costs/profile.py`.
"""
