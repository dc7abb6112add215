"""What loggers say, while a test listens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


@contextmanager
def listening(
    names: Iterable[str], note: Callable[[logging.LogRecord], None], level: int = logging.INFO
) -> Iterator[None]:
    """Within it, `note` gets each record of these loggers from a level on."""

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record)

    listener = Listener(level)
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.addHandler(listener)
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger, before in levels.items():
            logger.removeHandler(listener)
            logger.setLevel(before)
