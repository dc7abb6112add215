"""A plan's certificate is checked where the plan is made, and from text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import orchestrator_core as oc
from orchestrator_core.plan.bounds.certificate import Certificate
from tests.plan.papers import topcuoglu


def test_the_certificate_of_a_plan_proves_its_bound() -> None:
    result = oc.plan(topcuoglu(), oc.Budget(iterations=1), ["heft"])
    assert result.certificate is not None
    again = Certificate.from_json(result.certificate.to_json())
    proven = oc.check_certificate(topcuoglu(), again)
    assert proven == pytest.approx(result.certificate.bound)
    assert 0 < proven <= result.lower_bound * (1 + 1e-9) <= proven + 1  # rounded up to a second


def test_one_that_says_more_than_it_proves_is_refused() -> None:
    certificate = oc.plan(topcuoglu(), oc.Budget(iterations=1), ["heft"]).certificate
    assert certificate is not None
    with pytest.raises(oc.InvalidCertificate):
        oc.check_certificate(topcuoglu(), replace(certificate, bound=certificate.bound + 1))


def test_what_is_none_is_refused_in_words() -> None:
    nothing: Any = None
    with pytest.raises(oc.InvalidInput, match="certificate=None: expected a Cert"):
        oc.check_certificate(topcuoglu(), nothing)
