"""What is lost where terms are added one after another."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

LONG = 256
"""Steps from which on a sum hands on what it has lost (W. Kahan, "Further remarks on reducing
truncation errors", 1965). One after another, terms are added to ever more beside which they are
small: ten thousand equal ones were off by 1e-4 in 32 bits."""


def lost_in(one: Any, other: Any, total: Any) -> Any:
    """What rounding has taken from a sum of two, exactly (D. Knuth, "The Art of Computer
    Programming", 2, 4.2.2); of what is not finite nothing."""
    added = total - one
    lost = (one - (total - added)) + (other - added)
    return jnp.where(jnp.isfinite(lost), lost, jnp.zeros_like(lost))
