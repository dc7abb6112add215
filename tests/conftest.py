"""Settings for all tests: property tests give the same examples on every run and every machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "orchestrator",
    derandomize=True,
    deadline=None,
    max_examples=50,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("orchestrator")
