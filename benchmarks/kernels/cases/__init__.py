"""The cases of `kernels`, each with its limit: functors, windows, joins, the whole of VWAP.

May import all of penstock.  Begin with `kernel_cases.py`.
"""
