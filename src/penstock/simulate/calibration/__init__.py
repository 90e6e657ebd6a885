"""What an application costs, out of a journal of one of its runs or out of a profile, and how well that fits.

`fit.py` has the value and picks the way; `journal_fit.py` and `profile_fit.py` are the two ways.

May import what `simulate` may.  It reads `events` and `micro_batch`.  Begin with `fit.py`.
"""
