"""`python -m benchmarks model`: how well the CPU of fusions that never ran is predicted, on local Spark.

May import all of penstock.  Begin with `model.py`; `cases.py` has the applications, `case_run.py` measures
them, `errors.py` compares.
"""
