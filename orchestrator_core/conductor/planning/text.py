"""Plans as plain data, for JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

import jax
import jaxlib.version

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.site import Price, Site
from orchestrator_core.errors import InvalidFormat

FORMAT = "orchestrator.conductor.plan/1"


def plan_of(
    function: str, goal: Goal, programs: Iterable[tuple[str, str, Iterable[Site]]]
) -> dict[str, Any]:
    """A plan.

    Args:
        programs: of each graph what it is, its signature, and what was found in it.
    """
    return {
        "format": FORMAT,
        "function": function,
        "goal": goal_to_plain(goal),
        "made_with": made_with(),
        "programs": [
            {"what": what, "signature": digest, "sites": [site_to_plain(s) for s in sites]}
            for what, digest, sites in programs
        ],
    }


def made_with() -> dict[str, str]:
    """Versions and device, as far as decisions depend on them."""
    device = jax.devices()[0]
    return {
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "device": " ".join(dict.fromkeys((device.platform, device.device_kind))),
    }


def decisions(plan: Mapping[str, Any] | str | bytes) -> dict[str, tuple[Site, ...]]:
    """What a plan says of each graph, by signature.

    Raises:
        InvalidFormat: if it is no plan.
    """
    try:
        plain = json.loads(plan) if isinstance(plan, str | bytes) else plan
        if plain["format"] != FORMAT:
            raise InvalidFormat(f"a plan of format {plain['format']!r}; expected {FORMAT!r}")
        return {
            str(each["signature"]): tuple(site_from_plain(site) for site in each["sites"])
            for each in plain["programs"]
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidFormat):
            raise
        raise InvalidFormat(
            f"this is no plan: {type(error).__name__}: {error}; expected what `.plan` gave"
        ) from None


def goal_to_plain(goal: Goal) -> dict[str, Any]:
    """What was asked for; not what was pinned."""
    plain = {each.name: getattr(goal, each.name) for each in fields(goal) if each.name != "pinned"}
    return {k: sorted(v) if isinstance(v, frozenset) else v for k, v in plain.items()}


def site_to_plain(site: Site) -> dict[str, Any]:
    return {**asdict(site), "settings": _plain(site.settings)}


def site_from_plain(plain: Mapping[str, Any]) -> Site:
    """Raises KeyError, TypeError or ValueError if it is none."""
    rewrite, source, found, chosen, reason = (
        str(plain[name]) for name in ("rewrite", "source", "found", "chosen", "reason")
    )
    before, after, measured = (plain.get(name) for name in ("before", "after", "measured"))
    return Site(
        rewrite,
        source,
        found,
        chosen,
        reason,
        None if before is None else Price(**before),
        None if after is None else Price(**after),
        dict(plain.get("settings") or {}),
        None if measured is None else _pair(measured),
        place=_place(plain.get("place")),
    )


def _pair(numbers: Any) -> tuple[float, float]:
    first, second = numbers
    return float(first), float(second)


def _place(number: Any) -> int | None:
    if number is not None and type(number) is not int:
        raise TypeError(f"place {number!r} is no whole number")
    return number


def _plain(value: Any) -> Any:
    """Of tuples lists, as JSON gives them back."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value
