"""JAX arrays between processes: their memory travels beside the pickle, and is not copied into it.

What a Prefect task gives to Dask is a state with the result somewhere in it, so the array's own
pickle decides; Dask sends what that keeps out of it as it is. On one worker nothing is pickled: the
next task gets the same array.
"""

from __future__ import annotations

import copyreg
from typing import Any

_registered = False


def register() -> None:
    """From now on, this process pickles JAX arrays that way; loads JAX."""
    global _registered
    if not _registered:
        from orchestrator_core.conductor import packed

        for each in packed.classes():
            copyreg.pickle(each, reduced)
        _registered = True


def reduced(array: Any) -> Any:
    """What stands in a pickle for an array, as `__reduce__` gives it."""
    from orchestrator_core.conductor.packed import pack

    packed = pack(array)
    return array.__reduce_ex__(4) if packed is None else (rebuilt, packed)


def rebuilt(name: str, memory: Any) -> Any:
    """The array that was packed; where there is no JAX, NumPy's of the same type."""
    try:
        from orchestrator_core.conductor.packed import unpack
    except ImportError:
        return memory if name.startswith("key:") else memory.view(name)
    return unpack(name, memory)
