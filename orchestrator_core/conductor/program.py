"""Programs: a function at the shapes and types of one call, as it was and as it runs now."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.guard.guard import given_up, guarded, mended
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.placing import why_placed
from orchestrator_core.conductor.planning.planned import Planned
from orchestrator_core.conductor.planning.planner import Planner
from orchestrator_core.conductor.site import Site

log = logging.getLogger("orchestrator.conductor")


@_jax.held_weakly
class Program:
    """A function of flat arrays. Derivatives and batches of it are programs of their own. Threads
    may share it.

    Attributes:
        jaxpr: the original, closed, without what nobody needs. goal: what it is rewritten for.
        planner: who decides. what: in words, for whom it stands beside the function, such as ``its
            pullback``.
    """

    def __init__(
        self, jaxpr: Any, goal: Goal, planner: Planner | None = None, what: str = ""
    ) -> None:
        self.jaxpr, self.goal, self.what = _jax.live(jaxpr), goal, what
        self.planner = planner or Planner()
        self._lock = threading.RLock()
        self._planned: Planned | None = None
        self._others: dict[Any, Any] = {}

    @property
    def avals(self) -> list[Any]:
        """Of what it takes."""
        return list(self.jaxpr.in_avals)

    @property
    def out_avals(self) -> list[Any]:
        return list(self.jaxpr.out_avals)

    @functools.cached_property
    def why_placed(self) -> str:
        """Why JAX has to see it as it was, on whichever devices that is; empty if it need not."""
        return why_placed(self.jaxpr)

    @property
    def smooth(self) -> list[bool]:
        """Which of the outputs can have a derivative."""
        return [_jax.is_smooth(aval) for aval in self.out_avals]

    @property
    def cotangent_avals(self) -> list[Any]:
        """Of the cotangents of the smooth outputs."""
        return [aval.to_tangent_aval() for aval in self.out_avals if _jax.is_smooth(aval)]

    @property
    def planned(self) -> Planned:
        """What was decided; on first need it is."""
        with self._lock:
            if self._planned is None:
                self._planned = self.planner.plan(self.jaxpr, self.goal)
            return self._planned

    def check(self, arrays: Sequence[Any]) -> bool:
        """Puts back what does not stand the checks of the goal, with the arrays of a call. Was
        anything put back?"""
        with self._lock:
            before = self.planned
            self._planned = guarded(read(self.jaxpr), before, self.goal, arrays)
            return self._planned.graph is not before.graph

    @property
    def is_planned(self) -> bool:
        return self._planned is not None

    @property
    def graph(self) -> Graph:
        """As it runs now."""
        return self.planned.graph

    @property
    def sites(self) -> list[Site]:
        return list(self.planned.sites)

    def run(self, *arrays: Any) -> list[Any]:
        """As it runs now. Where nothing was changed XLA is given what it was given before, since
        the same written otherwise may be fused otherwise: a loop took 1.4 times as long."""
        planned = self.planned
        if not planned.is_changed:
            return self.original(*arrays)
        try:
            return evaluate(planned.graph, arrays)
        except Exception as error:
            return evaluate(self._mended(planned, error).graph, arrays)

    def _mended(self, failed: Planned, error: Exception) -> Planned:
        """A rewrite that has failed costs time, and never a call."""
        _report(error)
        with self._lock:
            if self._planned is failed:
                self._planned = mended(read(self.jaxpr), failed, self.goal, error)
            return self.planned

    def give_up(self, error: Exception) -> None:
        """The same where what runs is part of this program, and others run in its place."""
        _report(error)
        with self._lock:
            self._planned = given_up(read(self.jaxpr), self.planned, error)

    def lowered(self, platform: str) -> bytes | None:
        """What `run` is lowered to for one device, where another process has left it, or where it
        is worth leaving to others; else None. Of GPUs nothing is left: what their kernels are
        lowered to may be of use in one process only."""
        planned = self.planned
        if planned.kept is None or not planned.is_changed or platform != "cpu":
            return None
        return planned.kept.lowered(lambda: _jax.lowered(self.run, self.avals, platform))

    def original(self, *arrays: Any) -> list[Any]:
        """As it was."""
        return list(jax.core.eval_jaxpr(*_jax.inner(self.jaxpr), *arrays))

    def other(self, key: Any, function: Any, avals: Sequence[Any], what: str) -> Program:
        """The program of a function that is made of this one's original; made once for each key."""

        def make() -> Program:
            return Program(_jax.trace(function, avals), self.goal, self.planner, what)

        made: Program = self.kept(key, make)
        return made

    def batched(self, axes: tuple[int | None, ...], avals: Sequence[Any]) -> Program:
        """The program of the same for each element; all outputs have the elements first.

        Args:
            axes: of the inputs, along which they have the elements. avals: with all elements.
        """
        key, run = ("batch", axes, tuple(avals)), jax.vmap(self.original, axes)
        return self.other(key, run, avals, "its batch")

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """What belongs to this program; made once for each key."""
        with self._lock:
            if key not in self._others:
                self._others[key] = make()
            return self._others[key]

    def family(self) -> Iterator[Program]:
        """This program, and all that were made of it, each before its own."""
        yield self
        with self._lock:
            others = list(self._others.values())
        for other in others:
            if isinstance(other, Program):
                yield from other.family()


def _report(error: Exception) -> None:
    log.warning("a rewrite failed and is put back; please report it", exc_info=error)
