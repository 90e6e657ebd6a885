"""How fast a threaded element is and what its threads do: rates, samples, timed calls.

May import what `element` may.  Begin with `rate.py` and `sampler.py`.
"""
