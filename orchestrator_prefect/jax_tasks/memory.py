"""The memory of this process's devices, and on which of them a task runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

from prefect.logging import get_logger

from orchestrator_core.execute.dask.workers.shipped.declared import declared
from orchestrator_prefect.jax_tasks.admission import Admission, Nobody, Others
from orchestrator_prefect.jax_tasks.neighbours import Neighbours

_admissions: dict[Any, Admission] = {}
_lock = Lock()


def admission_to(device: Any) -> Admission:
    """The one of that device; its capacity is what the worker's owner says, or else JAX."""
    from orchestrator_core.conductor import devices

    with _lock:
        if device not in _admissions:
            capacity = declared().get("device_memory") or devices.memory_of(device) or "inf"
            taken = partial(devices.taken, device)
            _admissions[device] = Admission(float(capacity), taken, _others_on(device))
        return _admissions[device]


def _others_on(device: Any) -> Others:
    """The processes of this machine that use the device, too; a processor has none: its devices are
    each process's own."""
    from orchestrator_core.conductor import devices

    name = devices.name_of(device)
    if name is None:
        return Nobody()
    try:
        return Neighbours(name)
    except OSError as error:
        get_logger(__name__).warning("Other processes' use of %s is not seen: %s", name, error)
        return Nobody()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call runs.

    Attributes:
        devices: whose memory it takes.
        chosen: the one that it is sent to; None where JAX says where it runs.
    """

    devices: tuple[Any, ...]
    chosen: Any = None

    @contextmanager
    def admitted(self, call: Any, extra_bytes: int) -> Iterator[None]:
        """Within it, there is room for the arguments in `call` and so many bytes more."""
        from orchestrator_core.conductor.devices import missing

        with ExitStack() as all_of_them:
            for device in self.devices:
                nbytes = extra_bytes + missing(call, device)
                all_of_them.enter_context(admission_to(device).admitted(nbytes))
            yield


def place_for(call: Any) -> Place:
    """Where JAX's arrays in the arguments have to stay; or the device on which the fewest tasks
    run, of these the one that has most of the arguments."""
    from orchestrator_core.conductor import devices

    bound = devices.bound_to(call)
    if bound:
        return Place(bound)
    here = devices.here()
    if len(here) == 1:
        return Place((here[0],))

    def load(device: Any) -> tuple[int, int]:
        return admission_to(device).running, -devices.on(call, device)

    chosen = min(here, key=load)
    return Place((chosen,), chosen)
