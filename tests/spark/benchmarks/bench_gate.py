"""The mark of tests that run a bench on Spark in small: each starts sessions of its own, for half a minute to two."""

import os

import pytest

small_bench = pytest.mark.skipif(
    "PENSTOCK_BENCHES" not in os.environ, reason="takes a minute or two; run it with `make benches`"
)
