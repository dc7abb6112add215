"""What workers say about themselves; the scheduler asks them, nothing is left on them.

The question is pickled by value, so that workers need not have this project installed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

GIBIBYTE = 2**30


@dataclass(frozen=True, slots=True)
class Description:
    """What a worker says about itself; None where it says nothing.

    Attributes:
        kind: workers of one kind are alike. speed: reference seconds done in a second, > 0.
        price: cost of an hour, >= 0.
    """

    kind: str | None = None
    speed: float | None = None
    price: float | None = None


UNKNOWN = Description()


def say() -> dict[str, Any]:
    """Runs in the worker's process: its kind, speed and price, from environment or Dask config."""
    import os

    import dask.config

    configured = dask.config.get("orchestrator.worker", default=None) or {}
    said = {}
    for key in ("kind", "speed", "price"):
        value = os.environ.get(f"ORCHESTRATOR_WORKER_{key.upper()}") or configured.get(key)
        if value is not None:
            said[key] = value
    return said


async def ask(scheduler: Scheduler, addresses: list[str]) -> dict[str, Description]:
    """What the workers at these addresses say, by address; the silent are left out."""
    answers = await scheduler.broadcast(
        msg={"op": "run", "function": _by_value()}, workers=addresses, on_error="ignore"
    )
    return {
        address: understand(_opened(answer["result"]))
        for address, answer in answers.items()
        if isinstance(answer, Mapping) and answer.get("status") == "OK"
    }


def understand(said: object) -> Description:
    """The description in a worker's answer; what makes no sense is ignored."""
    if not isinstance(said, Mapping):
        return UNKNOWN
    kind = said.get("kind")
    speed, price = _number(said.get("speed")), _number(said.get("price"))
    return Description(
        kind=str(kind) if kind else None,
        speed=speed if speed is not None and speed > 0 else None,
        price=price if price is not None and price >= 0 else None,
    )


def default_kind(state: WorkerState) -> str:
    """A kind from what the scheduler sees: ``4t-16g``, or with resources ``8t-64g-GPU1``."""
    parts = [f"{state.nthreads}t"]
    if state.memory_limit:
        parts.append(f"{state.memory_limit / GIBIBYTE:.0f}g")
    parts += [f"{name}{amount:g}" for name, amount in sorted(state.resources.items())]
    return "-".join(parts)


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


def _by_value() -> bytes:
    import cloudpickle  # type: ignore[import-untyped]

    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        question: bytes = cloudpickle.dumps(say)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    return question
