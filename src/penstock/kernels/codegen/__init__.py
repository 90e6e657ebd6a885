"""Source text compiled by numba and cached on disk.

May import what `kernels` may.  Begin with `generated.py`.
"""
