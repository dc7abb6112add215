"""Does Prefect's own server import? Some versions of it break with a newer fastapi."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from orchestrator_core.cli.health.check import Check, bad, good
from orchestrator_core.cli.health.probe import ProbeFailed, probe

NAME = "Prefect server"
NEWEST_FASTAPI = (0, 150)
"""With a newer one `prefect.server` does not import."""

MEND = "type: pip install 'fastapi>=0.139,<=0.150'"
_IMPORT = "import json, prefect.server.api.server; print(json.dumps(True))"


def check_prefect_server(deep: bool) -> Check:
    """By the versions; with `deep` by importing it in a fresh interpreter."""
    try:
        fastapi, prefect = version("fastapi"), version("prefect")
    except PackageNotFoundError as error:
        return bad(NAME, f"{error.name} is not installed", MEND)
    pair = f"prefect {prefect} with fastapi {fastapi}"
    if _release(fastapi) > NEWEST_FASTAPI:
        return bad(NAME, f"{pair} does not import", MEND)
    if not deep:
        return good(NAME, f"{pair} fits (by version; --deep imports it)")
    try:
        probe(_IMPORT)
    except ProbeFailed as failure:
        return bad(NAME, f"{pair} does not import: {failure}", MEND)
    return good(NAME, f"{pair} imports")


def _release(text: str) -> tuple[int, ...]:
    parts = text.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)
