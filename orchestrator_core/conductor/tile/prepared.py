"""A graph made ready for tiles: what a tile cannot do as it is written, in terms of what it can."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.tile.apart import kept_apart
from orchestrator_core.conductor.tile.candidate import is_pairwise
from orchestrator_core.conductor.tile.canonical import canonical
from orchestrator_core.conductor.tile.cumulative.rewrite import block_of, in_blocks
from orchestrator_core.conductor.tile.cumulative.trees import with_trees
from orchestrator_core.conductor.tile.factors import with_factors_in_order
from orchestrator_core.conductor.tile.only_in_tiles import as_before
from orchestrator_core.conductor.tile.parted import parted
from orchestrator_core.conductor.tile.ranks.rewrite import with_ranks
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.single import chosen_by_position
from orchestrator_core.conductor.tile.skews.rewrite import with_skews
from orchestrator_core.conductor.tile.spread import spread_by_loops


@dataclass(frozen=True)
class Prepared:
    """Attributes:
    graph: in which regions are looked for. earlier: what it was made from, the last one first.
    """

    graph: Graph
    earlier: tuple[Graph, ...]

    @classmethod
    def of(cls, graph: Graph, settings: TileSettings) -> Prepared:
        large = functools.partial(is_pairwise, settings=settings)
        blocks = in_blocks(graph, large, block_of(settings.tile))
        simple = canonical(parted(chosen_by_position(blocks, large), large), large)
        simple = kept_apart(simple, large, settings.min_axis)
        simple = with_factors_in_order(spread_by_loops(simple, large))
        skewed = with_skews(simple, lambda each: each.size >= settings.min_elements)
        return cls(with_ranks(skewed, large), (simple, graph))

    def whole(self, graph: Graph) -> Graph:
        """As it can be run: what can only be done in tiles is as it was, where it is in none."""
        return as_before(graph, *self.earlier)

    def at_best(self, graph: Graph, goal: Goal) -> Graph:
        """And with what the algebra will make of it."""
        return _at_best(self.whole(graph), goal)

    def given_at_best(self, goal: Goal) -> Graph:
        """The same of what all was made from."""
        return _at_best(self.earlier[-1], goal)


def _at_best(graph: Graph, goal: Goal) -> Graph:
    is_for_time = goal.objective != "memory" and goal.permits("algebra")
    return with_trees(graph) if is_for_time else graph
