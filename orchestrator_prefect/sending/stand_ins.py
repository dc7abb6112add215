"""Faces of Prefect's contexts that remember what they send.

`serialize()` of a stand-in answers with values that are pickled already; all else is that of the
context it stands for.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from prefect.context import FlowRunContext, SettingsContext

from orchestrator_prefect.flow_object import OptimizedFlow
from orchestrator_prefect.sending.pickled import Pickled

CHANGES = frozenset({"flow_run", "parameters"})
"""What may change while the flow runs, and is serialised for each task."""


class SettingsStandIn(SettingsContext):
    """The same settings, whose serialised form is remembered."""

    _pickled: Any = None

    @classmethod
    def of(cls, current: SettingsContext, server: str | None) -> SettingsStandIn:
        """Of these settings; where they name no server, `server` is what workers are told."""
        made = cls.model_construct(profile=current.profile, settings=current.settings)
        content = current.serialize()
        if server is not None and current.settings.api.url is None:
            settings = content["settings"]
            named = {"api": {**settings.get("api", {}), "url": server}}
            content = {**content, "settings": {**settings, **named}}
        made._pickled = Pickled(content)
        return made

    def serialize(self, include_secrets: bool = True) -> Any:
        return self._pickled if include_secrets else super().serialize(include_secrets=False)


class FlowRunStandIn(FlowRunContext):
    """The same run of a flow: its flow and where its results go are remembered, the rest is new."""

    _run: Any = None
    _pickled: Any = None

    @classmethod
    def of(cls, current: FlowRunContext) -> FlowRunStandIn:
        """Of this run, with which it shares all it has: what one of them is told, both know."""
        # Not constructed: Prefect completes the fields of its own class only, and later.
        made = copy(current)
        object.__setattr__(made, "__class__", cls)
        object.__setattr__(made, "__dict__", current.__dict__)
        assert isinstance(made, cls)
        content = current.serialize()
        if isinstance(content.get("flow"), OptimizedFlow):
            content["flow"] = content["flow"].plain()
        made._pickled = {
            name: Pickled(value) for name, value in content.items() if name not in CHANGES
        }
        made._run = current
        return made

    def serialize(self, include_secrets: bool = True) -> dict[str, Any]:
        if not include_secrets:
            return FlowRunContext.serialize(self._run, include_secrets=False)
        now: dict[str, Any] = self._run.model_dump(
            include=set(CHANGES), exclude_unset=True, context={"include_secrets": True}
        )
        return {**now, **self._pickled}
