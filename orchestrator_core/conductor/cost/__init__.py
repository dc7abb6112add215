"""What programs cost on a device: work, seconds, and bytes of temporary values.

from orchestrator_core.conductor.cost import price, this_device, work_of

price(graph).seconds < price(other).seconds
"""

from orchestrator_core.conductor.cost.current_device import on_device, this_device
from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.liveness import peak
from orchestrator_core.conductor.cost.roofline import price, seconds, seconds_of_work
from orchestrator_core.conductor.cost.totals import is_priced, work_of, work_of_node
from orchestrator_core.conductor.cost.work import Work

__all__ = [
    "Device",
    "Work",
    "is_priced",
    "on_device",
    "peak",
    "price",
    "seconds",
    "seconds_of_work",
    "this_device",
    "work_of",
    "work_of_node",
]
