"""The forms in which a loop can run, each proven for it, and the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from orchestrator_core.conductor.cost import price, this_device
from orchestrator_core.conductor.facts.recurrent import systems_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels.claims import is_claimed
from orchestrator_core.conductor.recurrence.blocks import in_blocks, is_for_blocks
from orchestrator_core.conductor.recurrence.convolution import in_frequencies
from orchestrator_core.conductor.recurrence.fission import fission, left
from orchestrator_core.conductor.recurrence.invariant import is_for_convolution
from orchestrator_core.conductor.recurrence.linear_loops import is_smooth
from orchestrator_core.conductor.recurrence.matmuls import in_matmuls, is_for_matmuls
from orchestrator_core.conductor.recurrence.parallel import in_parallel, is_parallel
from orchestrator_core.conductor.recurrence.readings import readings
from orchestrator_core.conductor.site import Price

LONG = 64
"""Steps from which on it is asked whether they need to come one after another."""

GAIN = 0.8
"""Another form than a plain loop must take less than this part of its time, by prediction."""

CPU_GAIN = 0.2
"""The same on a CPU, where XLA makes one function of a small loop with all of its kernels: a step
takes a fifth of what its kernels would one by one (measured, EPYC, 2026; states of 8 to 256 kB).
"""

NAMES = {
    "matmuls": "matrix products in chunks",
    "convolution": "convolutions by Fourier transforms",
    "blocks": "all blocks of steps at once",
    "parallel": "parallel scans",
}
"""The other forms, as plans and people call them. Where every right form is asked for, the first
that is right is taken."""

BY_PRODUCTS = ("matmuls", "convolution")
"""Those that have to know how a loop reads its states."""

IDLE = "one step after another leaves the device idle"

REASONS = {
    "matmuls": "states are larger than what goes in and out",
    "convolution": "all steps do the same, and states are larger than what goes in and out",
    "blocks": IDLE,
    "parallel": IDLE,
}


@dataclass(frozen=True)
class Form:
    """Attributes:
    name: as a pinned plan remembers it. chosen: and in words for people; empty of a loop as it is.
    build: makes the graph of the loop alone, guarded or as it mostly runs.
    reason: why it is chosen if it is. against: what others would cost, where a loop stays one.
    """

    name: str
    chosen: str
    build: Callable[..., Graph]
    reason: str
    against: str = ""

    @cached_property
    def graph(self) -> Graph:
        """Of the loop alone."""
        return self.build(is_guarded=True)

    @cached_property
    def price(self) -> Price:
        """As it mostly runs."""
        return price(self.build(is_guarded=False))


def alone(node: Node) -> Graph:
    """A graph of nothing but this node."""
    inputs = dict.fromkeys(each for each in node.inputs if isinstance(each, Value))
    return Graph(tuple(inputs), tuple(node.outputs), (node,), {})


def chosen(node: Node, goal: Goal, wanted: str | None) -> Form:
    """The form that a pinned plan wants, if it is right; else the one with the least price."""
    plain = _plain(node, goal)
    if wanted == plain.name or goal.is_strict or goal.objective == "memory":
        return plain
    loop = left(plain.graph, node)
    if loop is not None and is_claimed(loop, goal):
        return plain
    others = list(_others(plain, node, goal))
    pinned = [form for form in others if form.name == wanted]
    if wanted is not None:
        return next(iter(pinned), plain)
    if goal.always:
        return next(iter(others), plain)
    fitting = [form for form in others if _fits(form, plain, goal)]
    best = min(fitting, key=lambda form: form.price.seconds, default=plain)
    gain = CPU_GAIN if this_device().platform == "cpu" else GAIN
    if best.price.seconds < gain * plain.price.seconds:
        return best
    return replace(plain, against=_against(others, plain, gain))


def _fits(form: Form, plain: Form, goal: Goal) -> bool:
    """Does it keep to the memory that is given, or at least take no more than a plain loop?"""
    if goal.memory is None:
        return True
    return form.price.temp_bytes <= max(goal.memory, plain.price.temp_bytes)


def _against(others: Sequence[Form], plain: Form, gain: float) -> str:
    """What other forms would cost, in words; and what is asked of one that would cost less."""
    if not others:
        return ""
    costs = ", ".join(f"{NAMES[form.name]} {1e3 * form.price.seconds:.3g} ms" for form in others)
    said = f"{costs}, where it takes {1e3 * plain.price.seconds:.3g} ms"
    if min(form.price.seconds for form in others) >= plain.price.seconds:
        return said
    return f"{said}; less than {gain:.2g} of that is asked, as forecasts may be off"


def _plain(node: Node, goal: Goal) -> Form:
    """One step after another; what need not be in it is done for all steps at once."""
    before = alone(node)
    after, done = fission(before, node, this_device(), goal)
    if not goal.always and price(after).seconds > price(before).seconds:
        after, done = before, []
    said = ", ".join(["a plain loop", *done]) if done else ""

    def build(*, is_guarded: bool) -> Graph:
        return after

    return Form("plain", said, build, "in each step alone that is dear")


def _others(plain: Form, node: Node, goal: Goal) -> Iterator[Form]:
    """All forms that are right, with what is taken out of the loop for all steps at once."""
    made = [*_read_by_products(alone(node), node), *_in_other_order(plain, node, goal)]
    for name, build, said in made:
        form = Form(name, NAMES[name] + said, build, REASONS[name])
        try:
            form.price  # noqa: B018 - what cannot be built is no form
        except (NotImplementedError, ValueError, TypeError):
            continue
        yield form


def is_read_by_products(node: Node) -> bool:
    """Is there a form in which no array of all states is made?"""
    return next(_read_by_products(alone(node), node), None) is not None


Built = tuple[str, Callable[..., Graph], str]
"""A form's name, how it is built, and what else is said of it."""


def _read_by_products(graph: Graph, node: Node) -> Iterator[Built]:
    """Forms in which no array of all states is made."""
    scan = Scan.of(node)
    if scan.length < LONG or not is_smooth(scan, systems_of(scan)):
        return
    found = readings(scan)
    if found is not None and is_for_matmuls(found):
        yield "matmuls", partial(in_matmuls, graph, node, found), ""
    if found is not None and is_for_convolution(found):
        yield "convolution", partial(in_frequencies, graph, node, found), ""


def _in_other_order(plain: Form, node: Node, goal: Goal) -> Iterator[Built]:
    """Forms for devices that a step of this loop leaves idle. A CPU's cores do a step in less than
    a microsecond, and most of what other forms save there is lost to what they move."""
    loop = left(plain.graph, node)
    if loop is None or Scan.of(loop).length < LONG:
        return
    scan = Scan.of(loop)
    if this_device().busy(_elements(scan)) == 1 and not goal.always:
        return
    systems, said = systems_of(scan), plain.chosen.removeprefix("a plain loop")
    if is_for_blocks(scan, systems):
        yield "blocks", partial(in_blocks, plain.graph, loop, systems), said
    if is_parallel(scan, systems):
        yield "parallel", partial(in_parallel, plain.graph, loop, systems), said


def _elements(scan: Scan) -> int:
    """That a step makes in one kernel, at most; none if it only hands on what it is given."""
    made = (output.size for node in scan.body.nodes for output in node.outputs)
    return max(made, default=0)
