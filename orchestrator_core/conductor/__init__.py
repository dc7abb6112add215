"""The conductor: any JAX function in, the same function faster or smaller out.

    function -> graph -> facts -> rewrites with proofs -> guard -> function

Needs only JAX, NumPy and SciPy.
"""

from orchestrator_core.conductor.conduct import Conducted, conduct, off, opaque
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.site import Price, Site

__all__ = ["Conducted", "Goal", "Price", "Site", "conduct", "off", "opaque"]
