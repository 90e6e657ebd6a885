"""Which tests start a cluster."""

import os

import pytest

needs_cluster = pytest.mark.skipif(
    "PENSTOCK_CLUSTER" not in os.environ, reason="starts a cluster of three JVMs; run it with `make cluster`"
)
