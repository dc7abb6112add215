"""Setting: what can be set, what it means, and what may be said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.text import shown

Level = Literal["call", "decorator", "environment", "Dask", "Prefect", "pyproject", "default"]

LEVELS: tuple[Level, ...] = get_args(Level)
"""Where settings come from, the nearest first."""

FLOWS: tuple[Level, ...] = LEVELS
CLUSTER: tuple[Level, ...] = ("call", "environment", "Dask", "pyproject", "default")
WORKER: tuple[Level, ...] = ("environment", "Dask", "default")
MACHINE: tuple[Level, ...] = ("environment", "default")
"""Where settings of flows, of the plugin on a scheduler, of a worker and of a machine may stand."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Something that can be set.

    Attributes:
        name: in Python and in a file. meaning: one line for people.
        read: gives the value of what was said, or raises `InvalidInput` with what it is not.
        variable: of the environment; ``ORCHESTRATOR_`` and the name in capitals, if "".
        levels: where it may stand.
        is_secret: may it hold a password?
        is_switch: does the environment beat the code?
        is_path: may it be a path? In a file, it counts from that file's folder.
        in_code: what stands for it in code, where text does not; empty where text does, too. A
            variable of the environment is text, whatever it means.
    """

    name: str
    meaning: str
    read: Callable[[object], Any]
    default: Any = None
    variable: str = ""
    levels: tuple[Level, ...] = FLOWS
    is_secret: bool = False
    is_switch: bool = False
    is_path: bool = False
    in_code: str = ""

    def __post_init__(self) -> None:
        if not self.variable:
            object.__setattr__(self, "variable", f"ORCHESTRATOR_{self.name.upper()}")


def checked_in_code(setting: Setting, value: object, where: str) -> Any:
    """The value that code states, in which a number or a decision is no text.

    Raises:
        InvalidInput: as `checked`.
    """
    found = checked(setting, value, where)
    if setting.in_code and isinstance(value, str):
        raise InvalidInput(f"{where} = {shown(value)} is text; give {setting.in_code}")
    return found


def checked(setting: Setting, value: object, where: str) -> Any:
    """The value that was said there.

    Raises:
        InvalidInput: if it is none, naming where, what was found and what is possible.
    """
    try:
        return setting.read(value)
    except InvalidInput as error:
        said = "" if setting.is_secret else f" = {shown(value)}"
        raise InvalidInput(f"{where}{said} {error}") from None
