"""What operators cost: resource functions, how they are learned, and what any fusion of them would cost (MODEL).

Pure mathematics over frozen values: polynomials with covariance, the paper's two recovery algorithms, communication,
composition into elements, the highest rate, the choice of a fusion.  `penstock.costs` has the public names.

May import what `model` may.  Begin with `resource_function.py`, then `profile.py` and `prediction.py`.
"""
