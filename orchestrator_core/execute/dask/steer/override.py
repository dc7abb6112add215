"""Override: a method of one live object, replaced for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed.scheduler import TaskState


class Override:
    """A method of one live object, replaced by ``answer(original, *arguments, **named)``."""

    def __init__(self, owner: Any, name: str, answer: Callable[..., Any]) -> None:
        self._owner, self._name = owner, name
        self._before = vars(owner).get(name)
        self._active = True
        self._replacement = self._replace(getattr(owner, name), answer)
        setattr(owner, name, self._replacement)

    def _replace(
        self, original: Callable[..., Any], answer: Callable[..., Any]
    ) -> Callable[..., Any]:
        def replacement(*arguments: Any, **named: Any) -> Any:
            if self._active:
                return answer(original, *arguments, **named)
            return original(*arguments, **named)

        return replacement

    def remove(self) -> None:
        """Put back what was there; where somebody replaced us since, only step aside."""
        self._active = False
        if vars(self._owner).get(self._name) is not self._replacement:
            return
        if self._before is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._before)


class TaskOverride(Override):
    """The same for a method of one argument `ts`, which is called for each task."""

    def _replace(
        self, original: Callable[..., Any], answer: Callable[..., Any]
    ) -> Callable[..., Any]:
        def replacement(ts: TaskState) -> Any:
            return answer(original, ts) if self._active else original(ts)

        return replacement
