"""The rewrite ``tiling``: pairwise regions of a graph become passes over tiles."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost import peak, price
from orchestrator_core.conductor.facts.axes import ROLES, full_shape
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.alike import Shared
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.rewrite import in_bodies
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site
from orchestrator_core.conductor.tile.canonical import canonical
from orchestrator_core.conductor.tile.careful import careful
from orchestrator_core.conductor.tile.choose import (
    Candidate,
    Form,
    best,
    form_of,
    is_pairwise,
    reader_of_whole,
    refusal,
    regions_of,
)
from orchestrator_core.conductor.tile.cumulative.aligned import runnings_of
from orchestrator_core.conductor.tile.cumulative.rewrite import block_of, in_blocks
from orchestrator_core.conductor.tile.cumulative.trees import with_trees
from orchestrator_core.conductor.tile.finishing import finish_nodes
from orchestrator_core.conductor.tile.gain import of_site, refusal_of
from orchestrator_core.conductor.tile.only_in_tiles import as_before
from orchestrator_core.conductor.tile.parted import parted
from orchestrator_core.conductor.tile.price import PassPrice, Prices
from orchestrator_core.conductor.tile.ranks.rewrite import with_ranks
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.settings import TileSettings, settings_for
from orchestrator_core.conductor.tile.single import chosen_by_position
from orchestrator_core.conductor.tile.skews.rewrite import with_skews
from orchestrator_core.conductor.tile.spread import spread_by_loops
from orchestrator_core.conductor.tile.strips import in_strips
from orchestrator_core.conductor.tile.together import (
    Kind,
    Waiting,
    kinds_of,
    lower_together,
    wants_memory,
)

NAME = "tiling"


def tile(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """All regions that are worth it, in the graph and in the bodies of its loops."""
    settings = settings_for(goal)
    return in_bodies(functools.partial(tiled, settings=settings), graph, goal)


def tiled(
    graph: Graph, goal: Goal, settings: TileSettings, emission: Emission | None = None
) -> tuple[Graph, list[Site]]:
    """All regions of one graph that are worth it.

    Args:
        emission: what passes become; None for loops over tiles.
    """
    rewriter = _Rewriter(graph, goal, settings, emission or LOOPS)
    for seed in rewriter.seeds():
        rewriter.try_at(seed)
    rewriter.try_together()
    changed = any(site.is_changed for site in rewriter.sites)
    made = rewriter.whole(rewriter.graph)
    return in_strips(made, settings) if changed else graph, rewriter.sites


@dataclass(frozen=True)
class Emission:
    """What passes become.

    Attributes:
        name: of the rewrite. prices: a new list of what passes cost. node: of a pass and its price.
        words: what a form is.
    """

    name: str
    prices: Callable[[], Prices]
    node: Callable[[Runner, PassPrice], Node]
    words: Callable[[Form], str]


@dataclass(frozen=True)
class _Verdict:
    """The price of a site as it is and in tiles, and why it stays; empty if it does not."""

    was: Price | None
    now: Price | None
    why: str


class _Rewriter:
    def __init__(
        self, graph: Graph, goal: Goal, settings: TileSettings, emission: Emission
    ) -> None:
        self.goal, self.settings, self.emission = goal, settings, emission
        large = functools.partial(is_pairwise, settings=settings)
        blocks = in_blocks(graph, large, block_of(settings.tile))
        simple = canonical(parted(chosen_by_position(blocks, large), large), large)
        simple = spread_by_loops(simple, large)
        self.earlier = (simple, graph)
        skewed = with_skews(simple, lambda each: each.size >= settings.min_elements)
        self.graph = with_ranks(skewed, large)
        self.flow = Dataflow(self.graph)
        self.prices, self.shared = emission.prices(), Shared()
        self.verdicts: dict[object, _Verdict] = {}
        self.sites: list[Site] = []
        self.seen: set[Value] = set()
        self.waiting: list[Waiting] = []

    def seeds(self) -> list[Value]:
        """Values that are large and pairwise, the largest first."""
        made = [value for node in self.graph.nodes for value in node.outputs]
        large = [v for v in made if is_pairwise(v, self.settings) and not self.flow.is_cheap(v)]
        return sorted(large, key=lambda value: -value.size)

    def try_at(self, seed: Value) -> None:
        if seed in self.seen or self.flow.node_of(seed) is None:
            return
        self.seen.add(seed)
        try:
            regions = regions_of(self.flow, seed, self.settings)
            self.seen.update(value for region in regions for value in region.owned)
            candidates = best(regions, self.goal)
            if candidates:
                self.sites.append(self._tried(candidates[0]))
            elif why := reader_of_whole(regions):
                self.sites.append(self._left(seed, f"it is needed as a whole: {why}"))
        except Exception as error:  # this site stays as it is
            self.sites.append(self._left(seed, f"{type(error).__name__}: {error}"))

    def _tried(self, candidate: Candidate) -> Site:
        seed = candidate.region.seed
        known = self.goal.decided(self.emission.name, *_found(seed, self.flow))
        if known is not None and not known.is_changed:
            return known
        why = refusal(candidate, self.settings)
        if why:
            return self._left(seed, why)
        form = form_of(candidate, self.goal, _pinned(self.settings, known), self.prices)
        after = self._with(self.graph, candidate, form)
        verdict = self._verdict(candidate, form, after) if known is None else _decided(known)
        if not verdict.why:
            self.graph, self.flow = after, Dataflow(after)
        elif known is None:
            self.waiting.append(Waiting(seed, len(self.sites), _looks(form)))
        return self._site(candidate, form, verdict)

    def _verdict(self, candidate: Candidate, form: Form, after: Graph) -> _Verdict:
        """What the change gains. Of forms that look the same, as those of many layers, only the
        first is priced."""
        key = _looks(form)
        if key not in self.verdicts:
            was, now = price(self._at_best(self.graph)), price(self._at_best(after))
            ours = of_site(was, now, form)
            facts = candidate.region.has_coordinates, candidate.rows_of_skews is not None
            why = "" if self.settings.always else refusal_of(*ours, self.goal, *facts)
            self.verdicts[key] = _Verdict(*ours, why)
        return self.verdicts[key]

    def _with(self, graph: Graph, candidate: Candidate, form: Form) -> Graph:
        passes = {
            level: self.shared.of(self.emission.node(runner, form.prices[level]), runner)
            for level, runner in form.passes.items()
        }
        nodes = [*passes.values(), *finish_nodes(candidate, form, passes, self.shared)]
        replaced = {value for node in nodes for value in node.outputs}
        kept = [node for node in graph.nodes if replaced.isdisjoint(node.outputs)]
        return graph.with_nodes([*kept, *nodes])

    def try_together(self) -> None:
        """What gains nothing alone, at last; see `together`."""
        if not self.waiting:
            return
        without = peak(self.whole(self.graph))
        if not wants_memory(self.goal, without):
            return
        kinds = kinds_of(self.waiting)

        def temp_bytes(chosen: Sequence[Kind]) -> int:
            return peak(self.whole(self._with_all(chosen)[0]))

        chosen = lower_together(kinds, temp_bytes, without)
        self.graph, forms = self._with_all(chosen)
        for each, candidate, form in forms:
            self.sites[each.at] = self._joint(self.sites[each.at], candidate, form)

    def _joint(self, alone: Site, candidate: Candidate, form: Form) -> Site:
        assert alone.after is not None
        now = Price(alone.after.seconds, peak(self.whole(self.graph)))
        made = self._site(candidate, form, _Verdict(alone.before, now, ""))
        return dataclasses.replace(
            made, reason=f"{made.reason}; it gains only together with others"
        )

    def _with_all(
        self, kinds: Sequence[Kind]
    ) -> tuple[Graph, list[tuple[Waiting, Candidate, Form]]]:
        """The graph with all regions of some kinds as well, one after another."""
        graph, forms = self.graph, []
        for each in sorted(itertools.chain(*kinds), key=lambda each: each.at):
            flow = Dataflow(graph)
            is_there = each.seed in graph.producer
            regions = regions_of(flow, each.seed, self.settings) if is_there else []
            found = best(regions, self.goal)
            if found and not refusal(found[0], self.settings):
                form = form_of(found[0], self.goal, self.settings, self.prices)
                graph = self._with(graph, found[0], form)
                forms.append((each, found[0], form))
        return graph, forms

    def whole(self, graph: Graph) -> Graph:
        """As it can be run: what can only be done in tiles is as it was, where it is in none."""
        return as_before(graph, *self.earlier)

    def _at_best(self, graph: Graph) -> Graph:
        """With what the algebra will make of it."""
        is_for_time = self.goal.objective != "memory" and self.goal.permits("algebra")
        return with_trees(self.whole(graph)) if is_for_time else self.whole(graph)

    def _left(self, seed: Value, why: str) -> Site:
        return Site(self.emission.name, *_found(seed, self.flow), AS_IT_IS, why)

    def _site(self, candidate: Candidate, form: Form, verdict: _Verdict) -> Site:
        source, found = _found(candidate.region.seed, candidate.region.flow)
        saved = len(candidate.region.owned) - len(candidate.region.stored)
        reason = verdict.why or f"{saved} values of that size are not kept"
        chosen = AS_IT_IS if verdict.why else self.emission.words(form)
        settings = dict(form.size)
        name = self.emission.name
        return Site(name, source, found, chosen, reason, verdict.was, verdict.now, settings)


def _looks(form: Form) -> tuple[object, ...]:
    return tuple(runner.looks for runner in form.passes.values())


def _pinned(settings: TileSettings, known: Site | None) -> TileSettings:
    """With the tile of a pinned plan."""
    sizes = known.settings if known is not None else {}
    if not set(ROLES) <= set(sizes):
        return settings
    i, j = (int(sizes[role]) for role in ROLES)
    return dataclasses.replace(settings, shape=(i, j))


def _decided(known: Site) -> _Verdict:
    return _Verdict(known.before, known.after, "")


def _pass_node(runner: Runner, price: PassPrice) -> Node:
    outputs = tuple(
        Value(_jax.ShapedArray(full_shape(a.spec), a.dtype)) for a in runner.accumulators
    )
    params = {"runner": runner, "work": price.work, "seconds": price.seconds}
    return Node("tiled_pass", runner.one.recipe.values, outputs, careful(runner), params)


def _found(seed: Value, flow: Dataflow) -> tuple[str, str]:
    node = flow.node_of(seed)
    shape = " x ".join(map(str, seed.shape))
    return (node.source if node else "", f"pairwise computation of {shape}")


def _words(form: Form) -> str:
    """Such as: 2 passes of 512 x 512 tiles, 28 of 64 tiles may be skipped."""
    count, size = len(form.passes), form.size
    tiles = sum(price.tiles for price in form.prices.values())
    skipped = sum(price.skipped for price in form.prices.values())
    said = f"{count} pass{'es' if count > 1 else ''} of {size['i']} x {size['j']} tiles"
    said += f", {skipped} of {tiles} tiles may be skipped" if skipped else ""
    return said + "".join(f", running sums in blocks of {each}" for each in sorted(_blocks(form)))


def _blocks(form: Form) -> set[int]:
    """Elements of those that running sums along tiles are made from."""
    return {
        node.params["running"].block
        for runner in form.passes.values()
        for node, _ in runnings_of(runner.one)
    }


LOOPS = Emission(NAME, Prices, _pass_node, _words)
"""Loops over tiles, as XLA runs them."""
