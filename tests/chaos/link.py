"""A link between workers that is slow, stalls or breaks: a proxy of TCP connections."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from random import Random

PIECE = 65536


@dataclass(frozen=True)
class Quality:
    """How bad a link is.

    Attributes:
        delay, jitter: seconds that each piece of data takes at least, and at random on top.
        stall: part of the pieces that take `pause` seconds more, as lost packets do.
        breaks: part of the pieces at which the connection breaks.
    """

    delay: float = 0.0
    jitter: float = 0.0
    stall: float = 0.0
    pause: float = 0.2
    breaks: float = 0.0


class Proxy:
    """Listens at `port` and passes on to `target`, both on this machine."""

    def __init__(self, quality: Quality, seed: int) -> None:
        self.quality = quality
        self.port, self.target = free_port(), free_port()
        self.broken = 0
        self._random = Random(seed)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", self.target)
            ways = [self._pump(reader, forth), self._pump(back, writer)]
            pumps = [asyncio.ensure_future(way) for way in ways]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            forth.close()
        except (OSError, asyncio.CancelledError):
            self.broken += 1
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        quality, random = self.quality, self._random
        while piece := await reader.read(PIECE):
            if random.random() < quality.breaks:
                self.broken += 1
                return
            seconds = quality.delay + quality.jitter * random.random()
            if random.random() < quality.stall:
                seconds += quality.pause
            await asyncio.sleep(seconds)
            writer.write(piece)
            await writer.drain()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
