"""What workers say about themselves; the scheduler asks them, nothing is left on them.

The question is pickled by value, so that workers need not have this project installed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator_core.execute.dask.workers.asking import answers
from orchestrator_core.execute.dask.workers.shipped.processor import shortened
from orchestrator_core.execute.dask.workers.shipped.telling import tell
from orchestrator_core.execute.dask.workers.shipping import shipped

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

GIBIBYTE = 2**30

SHARE = 0.75
"""Part of an accelerator's memory that JAX gives to a process whose owner says nothing."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A GPU: its name in short, and bytes of memory, 0 where not known."""

    name: str
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Description:
    """What a worker says about itself; None or empty where it says nothing.

    Attributes:
        kind: workers of one kind are alike. speed: reference seconds done in a second, > 0.
        price: cost of an hour, >= 0. These three its owner has declared.
        processor: the model in short. accelerators: the GPUs that it may use.
        round_seconds: processor time for a fixed loop, > 0.
        declared_device_memory: bytes of each of its accelerators that tasks may use, as its owner
            says.
    """

    kind: str | None = None
    speed: float | None = None
    price: float | None = None
    processor: str = ""
    accelerators: tuple[Accelerator, ...] = ()
    round_seconds: float | None = None
    declared_device_memory: float | None = None

    @property
    def device_memory(self) -> float:
        """Bytes of all its accelerators together that tasks may use; 0 where nothing is known."""
        if self.declared_device_memory is not None:
            return self.declared_device_memory * max(1, len(self.accelerators))
        return SHARE * sum(one.memory for one in self.accelerators)


UNKNOWN = Description()


async def ask(scheduler: Scheduler, addresses: list[str]) -> dict[str, Description]:
    """What the workers at these addresses say, by address; the silent are left out."""
    said = await answers(scheduler, addresses, "run", function=shipped(tell))
    return {
        address: understand(_opened(answer["result"]))
        for address, answer in said.items()
        if isinstance(answer, Mapping) and answer.get("status") == "OK"
    }


def understand(said: object) -> Description:
    """The description in a worker's answer; what makes no sense is ignored."""
    if not isinstance(said, Mapping):
        return UNKNOWN
    kind, model = said.get("kind"), said.get("processor")
    price = _number(said.get("price"))
    return Description(
        kind=str(kind) if kind else None,
        speed=_positive(said.get("speed")),
        price=price if price is not None and price >= 0 else None,
        processor=shortened(model) if isinstance(model, str) else "",
        accelerators=_accelerators(said.get("accelerators")),
        round_seconds=_positive(said.get("round_seconds")),
        declared_device_memory=_positive(said.get("device_memory")),
    )


def kind_of(state: WorkerState, said: Description = UNKNOWN) -> str:
    """What its owner calls it, or else a kind from what is known of its size and hardware.

    Such as ``4t-16g``, or with more known ``8t-64g-GPU1-h100-80gb-hbm3-epyc-7763``. Measured speed
    is no part of it: two workers of equal hardware could fall on both sides of a rounding. Declared
    speed is: costs are learned by kind, and who says that it is faster than its like is another
    kind from its first task on.
    """
    if said.kind:
        return said.kind
    parts = [f"{state.nthreads}t"]
    if state.memory_limit:
        parts.append(f"{state.memory_limit / GIBIBYTE:.0f}g")
    parts += [f"{name}{amount:g}" for name, amount in sorted(state.resources.items())]
    parts += _counted(one.name for one in said.accelerators)
    if said.processor:
        parts.append(said.processor)
    if said.speed not in (None, 1.0):
        parts.append(f"speed{said.speed:g}")
    return "-".join(parts)


def _counted(names: Iterable[str]) -> list[str]:
    """``h100`` for one, ``2xh100`` for two."""
    counts = Counter(name for name in names if name)
    return [f"{n}x{name}" if n > 1 else name for name, n in sorted(counts.items())]


def _accelerators(said: object) -> tuple[Accelerator, ...]:
    if not isinstance(said, list | tuple):
        return ()
    return tuple(
        Accelerator(
            name=shortened(str(one.get("name", ""))).removeprefix("nvidia-"),
            memory=int(_positive(one.get("memory")) or 0),
        )
        for one in said
        if isinstance(one, Mapping)
    )


def _opened(result: object) -> object:
    """What a worker sent; the scheduler's own connections leave results packed."""
    from distributed.protocol.serialize import Serialized, deserialize

    if isinstance(result, Serialized):
        return deserialize(result.header, result.frames)  # type: ignore[no-untyped-call]
    return result


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _positive(value: object) -> float | None:
    number = _number(value)
    return number if number is not None and number > 0 else None
