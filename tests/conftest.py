"""Settings of all tests: no deadlines, since a kernel's first call compiles it, and few examples a shape."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
settings.register_profile("quick", deadline=None, max_examples=15, suppress_health_check=_QUIET)
settings.register_profile("thorough", deadline=None, max_examples=500, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
