"""What makes two traces the same program, found without reading either into a graph.

Equal for traces of which a plan of one holds for the other, within this process; what is to outlive
it goes by `signature`, or by the name that `lasting` gives.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from typing import Any, cast

import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.read import body_of, is_barred
from orchestrator_core.conductor.ir.same import Same
from orchestrator_core.conductor.ir.value import as_printed

PLAIN = frozenset({str, int, bool, bytes, type(None)})

MOST_TYPES = 2**14
"""Types of values that are remembered."""


class Fingerprint:
    """Parts and their hash, which a tuple would reckon anew whenever somebody asks.

    Attributes:
        held: bytes of the constants that that of a whole trace keeps in memory.
    """

    __slots__ = ("_hash", "held", "parts")

    def __init__(self, *parts: Hashable) -> None:
        self.parts, self.held, self._hash = parts, 0, hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fingerprint):
            return NotImplemented
        return self is other or (self._hash == other._hash and self.parts == other.parts)


def fingerprint(jaxpr: Any) -> Fingerprint:
    """Of a closed jaxpr: operations, their parameters, types and settings, who reads what, source
    lines, and which objects its constants and functions are."""
    writer = _Writer()
    found = writer.of(jaxpr)
    found.held = writer.held
    return found


class _Writer:
    """Writes jaxprs down, with numbers for variables; a body that is called again only once."""

    def __init__(self) -> None:
        self._bodies: dict[int, Fingerprint] = {}
        self.held = 0

    def of(self, jaxpr: Any) -> Fingerprint:
        found = self._bodies.get(id(jaxpr))
        if found is None:
            found = self._bodies[id(jaxpr)] = self._written(*_jax.inner(jaxpr))
        return found

    def _written(self, jaxpr: Any, constants: list[Any]) -> Fingerprint:
        taken = (*jaxpr.invars, *jaxpr.constvars)
        numbers = {each: k for k, each in enumerate(taken)}

        def name(each: Any) -> Hashable:
            return _literal(each) if isinstance(each, _jax.Literal) else numbers[each]

        parts: list[Hashable] = [len(jaxpr.invars), *(_type(each.aval) for each in taken)]
        parts += map(Same, constants)
        self.held += sum(int(getattr(each, "nbytes", 0)) for each in constants)
        for equation in jaxpr.eqns:
            parts += map(name, equation.invars)
            parts += self._done(equation)
            for each in equation.outvars:
                numbers[each] = len(numbers)
                parts.append(_type(each.aval))
        return Fingerprint(*parts, *map(name, jaxpr.outvars))

    def _done(self, equation: Any) -> tuple[Hashable, ...]:
        """What an equation does. Of a call that is opened only the body counts: functions that
        belong to its derivative are new ones in each trace."""
        body = body_of(equation)
        if body is not None:
            return self.of(body), is_barred(equation)
        params = equation.params
        return (
            equation.primitive,
            *(self._param(params[key]) for key in params),
            _jax.settings(equation),
            _jax.source_of(equation),
        )

    def _param(self, value: Any) -> Hashable:
        if type(value) in PLAIN:
            return cast(Hashable, value)
        if isinstance(value, tuple | list):
            return _jax.generator(value) or tuple(map(self._param, value))
        if isinstance(value, Mapping):
            return tuple((key, self._param(each)) for key, each in value.items())
        if isinstance(value, float | complex | np.generic):
            return repr(value)  # of zeros the sign counts
        return self.of(value) if _jax.is_jaxpr(value) else Same.unless_hashable(value)


def _literal(literal: Any) -> Hashable:
    """As Python prints it, which tells zeros by their sign, and finds no number equal to another
    type's."""
    return repr(as_printed(literal.val)), _type(literal.aval)


class TypeOf:
    """Stands for a type of values."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval


@functools.lru_cache(maxsize=MOST_TYPES)
def _type(aval: Any) -> TypeOf:
    """The same object for equal types; of one that was forgotten since, another."""
    return TypeOf(aval)
