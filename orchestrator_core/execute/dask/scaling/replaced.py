"""Replaced: a method of the live scheduler together with the handler of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler


class Replaced:
    """``scheduler.name``, and the handler of that name, answered by ``answer(original, ...)``.

    Arguments are passed on as they come, by position or by keyword.
    """

    def __init__(self, scheduler: Scheduler, name: str, answer: Callable[..., Any]) -> None:
        self._scheduler: Any = scheduler
        self._name = name
        self._before = vars(scheduler).get(name)
        self._handler = scheduler.handlers.get(name)
        self._active = True
        original = getattr(scheduler, name)

        def replacement(*arguments: Any, **named: Any) -> Any:
            if not self._active:
                return original(*arguments, **named)
            return answer(original, *arguments, **named)

        self._replacement = replacement
        setattr(scheduler, name, replacement)
        if self._handler is not None:
            scheduler.handlers[name] = replacement

    def remove(self) -> None:
        """Put back what was there; where somebody replaced us since, only step aside."""
        self._active = False
        handlers = self._scheduler.handlers
        if self._handler is not None and handlers.get(self._name) is self._replacement:
            handlers[self._name] = self._handler
        if vars(self._scheduler).get(self._name) is not self._replacement:
            return
        if self._before is None:
            delattr(self._scheduler, self._name)
        else:
            setattr(self._scheduler, self._name, self._before)
