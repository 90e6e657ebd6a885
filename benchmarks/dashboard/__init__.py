"""What the dashboard costs the run that it shows.

May import the package and what benchmarks share.  Begin with `dashboard.py`.
"""
