"""Override: a method of one live object, replaced for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fault = Callable[[str, Exception], None]
"""Told where one of our own hooks failed, and how; does not raise."""


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


class Advised(Override):
    """A method whose replacement may leave the answer to the original, and may fail.

    ``answer(*arguments, **named)`` returns `NotImplemented` where it has nothing to say. If it
    raises, `fault` is told the name and the error, and the original answers, too: an error that is
    raised here would break the scheduler.
    """

    def __init__(self, owner: Any, name: str, answer: Callable[..., Any], fault: Fault) -> None:
        self._fault = fault
        super().__init__(owner, name, answer)

    def _replace(
        self, original: Callable[..., Any], answer: Callable[..., Any]
    ) -> Callable[..., Any]:
        def replacement(*arguments: Any, **named: Any) -> Any:
            if self._active:
                try:
                    found = answer(*arguments, **named)
                    if found is not NotImplemented:
                        return found
                except Exception as error:
                    self._fault(self._name, error)
            return original(*arguments, **named)

        return replacement
