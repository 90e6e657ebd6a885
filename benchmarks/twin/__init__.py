"""`python -m benchmarks twin`: how well the twin, fitted to one journal, predicts other runs on local Spark.

May import all of penstock.  Begin with `twin.py`; `scenes.py` has the applications, `live_runs.py` measures them,
`predictions.py` simulates the same, `closed_loop.py` compares the controller's decisions.
"""
