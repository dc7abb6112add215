"""What JAX's experimental interpreters make of our operations: what they make of the original.

Taylor series (``jet``), checks at run time (``checkify``) and sparse arrays (``sparsify``) go
through a function operation by operation, and know JAX's own only. `jet` and `sparsify` refuse any
other; `checkify` lets it pass unchecked, which nobody would notice.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from orchestrator_core.conductor._jax.jaxprs import trace
from orchestrator_core.conductor._jax.types import aval_of

Function = Callable[..., list[Any]]

_ours: dict[Any, Function] = {}


def introduce(primitive: Any, original: Function) -> None:
    """Interpreters are to know this operation as what `original` does, a function of the same
    arrays and parameters that is made of JAX's own operations."""
    _ours[primitive] = original


def tell_interpreters() -> None:
    """Tell those that have been imported of our operations; the others need not be loaded."""
    for module, table, rule in _INTERPRETERS:
        rules = getattr(sys.modules.get(module), table, None)
        # Told once of one it has been told of all.
        if rules is not None and next(iter(_ours)) not in rules:
            for primitive, original in _ours.items():
                rules[primitive] = functools.partial(rule, original)


def _jet(original: Function, primals: Sequence[Any], series: Sequence[Any], **params: Any) -> Any:
    from jax.experimental import jet

    series_of: Any = jet.jet
    return series_of(functools.partial(original, **params), primals, series, factorial_scaled=False)


def _checkify(original: Function, error: Any, enabled: Any, *arrays: Any, **params: Any) -> Any:
    from jax._src import checkify

    jaxpr = trace(functools.partial(original, **params), [aval_of(each) for each in arrays])
    return checkify.checkify_jaxpr(jaxpr, enabled, error, *arrays)


def _sparsify(original: Function, environment: Any, *values: Any, **params: Any) -> Any:
    from jax.experimental.sparse import transform

    sparsify_raw: Any = transform.sparsify_raw
    return sparsify_raw(functools.partial(original, **params))(environment, *values)[0]


_INTERPRETERS = (
    ("jax.experimental.jet", "jet_rules", _jet),
    ("jax._src.checkify", "error_checks", _checkify),
    ("jax.experimental.sparse.transform", "sparse_rules_bcoo", _sparsify),
)
