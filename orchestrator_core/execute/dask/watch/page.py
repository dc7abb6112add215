"""One more page on the scheduler's dashboard: ``/orchestrator``, the plan under what happens.

It is a route of our own on the scheduler's HTTP server, so that it is there without Bokeh too. The
page loads nothing but its own data.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

from tornado import web
from tornado.routing import PathMatches

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.dask.watch.status import Status

PATH = "/orchestrator"
WEB = Path(__file__).with_name("web")

PARTS = (
    "page", "feed", "words", "cards", "lanes", "chart", "areas", "margins", "legend", "pointing",
    "start",
)  # fmt: skip
"""The files of the page's script, in ``web/``; they share one scope, in this order."""

HEALTH = re.compile(r"^(.*)/health\$?$")
"""A route that every scheduler has: what stands before it is the prefix of all routes."""


class Page:
    """Puts the page on a scheduler, and takes it off again."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._server: Any = None
        self._application: web.Application | None = None

    def install(self) -> None:
        self._server = self._status.session.scheduler.http_application
        prefix, given = _prefix(self._server), {"status": self._status}
        self._application = web.Application(
            [
                (rf"{prefix}{PATH}/?", PageHandler),
                (rf"{prefix}{PATH}/data\.json", DataHandler, given),
            ]
        )
        self._server.add_application(self._application)

    def uninstall(self) -> None:
        """From now on the routes are not found; may be called twice."""
        if self._server is not None and self._application in self._server.applications:
            self._server.applications.remove(self._application)


class PageHandler(web.RequestHandler):
    """The page itself; the same for all."""

    def get(self) -> None:
        html, policy = _page()
        self.set_header("Content-Security-Policy", policy)
        self.set_header("Cache-Control", "no-cache")
        self.write(html)


class DataHandler(web.RequestHandler):
    """What has changed since the page asked last; see `Status.gantt` for the arguments."""

    def initialize(self, status: Status) -> None:
        self._status = status

    def get(self) -> None:
        data = {"status": self._status.picture(), "gantt": self._gantt()}
        self.set_header("Content-Type", "application/json")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")
        self.write(json.dumps(_finite(data), allow_nan=False))

    def _gantt(self) -> dict[str, Any] | None:
        """The run that was asked for, else the newest; None if there is none."""
        numbers = {name: self._number(name) for name in ("planned", "recorded", "version")}
        run_id = self.get_query_argument("run", None)
        try:
            gantt = self._status.gantt(run_id, **numbers)
        except InvalidInput:
            return None
        return gantt

    def _number(self, name: str) -> int:
        text = self.get_query_argument(name, "0")
        if not text.isdecimal() or len(text) > 9:
            raise web.HTTPError(400, reason=f"{name} must be a number of rows")
        return int(text)


@cache
def _page() -> tuple[str, str]:
    """The page with its style and script inside, and the policy that allows nothing else."""
    html, style = _read("page.html"), _read("page.css")
    script = "\n".join(_read(f"{part}.js") for part in PARTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return html.replace("/*style*/", style).replace("/*script*/", script), policy


def _read(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")


def _prefix(application: web.Application) -> str:
    """What the scheduler was told to put before all routes, as a pattern; mostly nothing."""
    for rule in application.wildcard_router.rules:
        if isinstance(rule.matcher, PathMatches):
            found = HEALTH.match(rule.matcher.regex.pattern)
            if found:
                return found[1]
    return ""


def _finite(value: Any) -> Any:
    """JSON knows no infinity: such numbers become null."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
