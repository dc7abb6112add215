"""Names for fingerprints that are the same in every process.

Of constants the elements count, not which objects they are. What cannot be written down in full,
such as a function that is called back or an operation that is not JAX's own, leaves the whole
without a name.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import sys
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.fingerprint import PLAIN, Fingerprint, TypeOf
from orchestrator_core.conductor.ir.same import Same

MOST_BYTES = 2**24
"""Of all constants: what takes longer to read than to plan has no name."""

TOLD = (
    "jax._src.core.JaxprEqnContext",
    "jax._src.lax",
    "jax._src.layout",
    "jax._src.mesh",
    "jax._src.named_sharding",
    "jax._src.partition_spec",
    "jax._src.sharding",
    "jax.sharding",
    "jaxlib",
)
"""Of JAX: objects of these modules, and of these classes, print all that they say."""


class Nameless(Exception):
    """Something in it has no name that another process would understand."""


def lasting(fingerprint: Fingerprint) -> str:
    """Raises `Nameless` if there is no such name."""
    try:
        return _Namer().of(fingerprint)
    except Nameless:
        raise
    except Exception as error:  # an array that was given away, or whatever printing may raise
        raise Nameless(str(error)) from error


class _Namer:
    def __init__(self) -> None:
        self._known: dict[Any, str] = {}
        self._bytes_left = MOST_BYTES

    def of(self, fingerprint: Fingerprint) -> str:
        text = "\n".join(map(self._part, fingerprint.parts))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _part(self, part: Any) -> str:
        if type(part) in PLAIN:
            return repr(part)
        if type(part) is tuple:  # 1 and True are equal, and so are tuples of them
            return f"({','.join(map(self._part, part))})"
        found = self._known.get(part)
        if found is None:
            found = self._known[part] = self._new(part)
        return found

    def _new(self, part: Any) -> str:
        if isinstance(part, TypeOf):
            return _of_type(part.aval)
        if isinstance(part, Fingerprint):
            return self.of(part)
        if isinstance(part, Same):
            return self._of_array(part.value)
        return _of_operation(part) if isinstance(part, _jax.Primitive) else _of_parameter(part)

    def _of_array(self, value: Any) -> str:
        if not isinstance(value, np.ndarray | np.generic | jax.Array):
            raise Nameless(type(value).__name__)
        self._bytes_left -= value.nbytes
        if self._bytes_left < 0 or not isinstance(value.dtype, np.dtype) or value.dtype.hasobject:
            raise Nameless("a constant")
        elements = np.asarray(value)
        digest = hashlib.blake2b(elements.tobytes(), digest_size=16).hexdigest()
        return f"{elements.dtype}{elements.shape}{digest}"


def _of_type(aval: Any) -> str:
    if not isinstance(aval, _jax.ShapedArray):
        raise Nameless(type(aval).__name__)
    generator = _jax.generator_of(aval.dtype)
    if _jax.is_extended(aval.dtype) and not generator:
        raise Nameless(str(aval))
    return _printed(f"{aval}{generator}")


def _of_operation(primitive: Any) -> str:
    if primitive not in _of_jax() and primitive not in _of_jax(len(sys.modules)):
        raise Nameless(primitive.name)
    return f"<{primitive.name}>"


@functools.lru_cache(maxsize=2)
def _of_jax(_modules: int = 0) -> frozenset[Any]:
    """The operations of those modules of JAX that were loaded so far."""
    modules = [each for name, each in list(sys.modules.items()) if name.split(".")[0] == "jax"]
    values = [value for each in modules for value in list(vars(each).values())]
    return frozenset(value for value in values if isinstance(value, _jax.Primitive))


def _of_parameter(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return value.__name__
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if callable(value) or not kind.startswith(TOLD):
        raise Nameless(kind)
    return _printed(f"{kind}{value!r}")


def _printed(text: str) -> str:
    if " at 0x" in text:
        raise Nameless(text)
    return text
