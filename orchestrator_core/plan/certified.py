"""check_certificate: does a plan's certificate prove its bound? By code that no solver shares."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.text import shown
from orchestrator_core.plan.bounds.certificate import Certificate
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.given import check_instance

HOLDER = "plan(instance).certificate is one, or None where the bound's method has none to give"


def check_certificate(instance: Instance, certificate: Certificate) -> float:
    """Seconds that no schedule of the instance is shorter than, derived anew from the certificate,
    such as `PlanResult.certificate`.

    Raises:
        InvalidCertificate: if it proves less than it says, or refers to what is not there.
        InvalidInput: if it is no certificate.
    """
    check_instance(instance)
    if not isinstance(certificate, Certificate):
        raise InvalidInput(f"certificate={shown(certificate)}: expected a Certificate; {HOLDER}")
    return verify(instance, certificate)
