"""Settings of all tests: no deadlines, since a kernel's first call compiles it, and few examples a shape."""

from __future__ import annotations

import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
settings.register_profile("quick", deadline=None, max_examples=15, suppress_health_check=_QUIET)
settings.register_profile("few", deadline=None, max_examples=5, suppress_health_check=_QUIET)  # `make check`
settings.register_profile("thorough", deadline=None, max_examples=500, suppress_health_check=_QUIET)
# The same examples each time, so that CI fails for the change that it is given; `make test` draws new ones.
settings.register_profile("ci", settings.get_profile("quick"), derandomize=True)
# What somebody has profiled on this machine must not choose the fusions of tests.
os.environ["PENSTOCK_COSTS"] = os.path.join(tempfile.gettempdir(), f"penstock-tests-{os.getpid()}", "costs.sqlite")
# No session of a test leaves a process behind that makes an archive of classes.
os.environ["PENSTOCK_CLASS_ARCHIVE"] = "off"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves tests that take half a minute and more to `make long`."""
    if os.environ.get("PENSTOCK_LONG"):
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="takes long; `make long` runs it"))
