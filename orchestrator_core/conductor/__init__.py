"""The conductor: any JAX function in, the same function faster or smaller out.

    function -> graph -> facts -> rewrites with proofs -> guard -> function

Needs only JAX, NumPy and SciPy.
"""

from orchestrator_core.conductor.conduct import conduct, off, opaque
from orchestrator_core.conductor.conducted import Conducted
from orchestrator_core.conductor.explaining.explanation import Explanation
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.site import Price, Site

__all__ = ["Conducted", "Explanation", "Goal", "Price", "Site", "conduct", "off", "opaque"]
