"""Regions of a graph, one after another, each put into tiles if that gains."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from time import monotonic

from orchestrator_core.conductor.cost import peak
from orchestrator_core.conductor.facts.axes import ROLES
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.alike import Shared
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.refused import Refused
from orchestrator_core.conductor.rewrite import SPENT
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site
from orchestrator_core.conductor.tile.candidate import (
    Candidate,
    best,
    is_pairwise,
    reader_of_whole,
    refusal,
    regions_of,
)
from orchestrator_core.conductor.tile.choose import form_of, smallest_form
from orchestrator_core.conductor.tile.emission import Emission
from orchestrator_core.conductor.tile.finishing import finish_nodes
from orchestrator_core.conductor.tile.form import Form
from orchestrator_core.conductor.tile.prepared import Prepared
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.together import (
    Kind,
    Waiting,
    kinds_of,
    lower_together,
    wants_memory,
)
from orchestrator_core.conductor.tile.verdict import Judge, Verdict


class Rewriter:
    """Attributes:
    graph: with all that was put into tiles so far. sites: what was decided, and why.
    """

    def __init__(
        self, prepared: Prepared, goal: Goal, settings: TileSettings, emission: Emission
    ) -> None:
        self.graph, self.sites = prepared.graph, list[Site]()
        self._prepared, self._goal, self._settings = prepared, goal, settings
        self._emission = emission
        self._prices, self._shared = emission.prices(), Shared()
        self._judge = Judge(prepared, goal, settings.always, emission.trial)
        self._flow = Dataflow(self.graph)
        self._seen, self._waiting = set[Value](), list[Waiting]()

    def try_each(self) -> None:
        """What gains alone, within the goal's budget."""
        until = monotonic() + self._goal.budget_s
        for seed in self._seeds():
            if seed not in self._seen and self._flow.node_of(seed) is not None:
                if monotonic() > until:
                    self.sites.append(self._left(seed, SPENT))
                    break
                self._seen.add(seed)
                self._try_at(seed)

    def _seeds(self) -> list[Value]:
        """Values that are large and pairwise, the largest first."""
        made = [value for node in self.graph.nodes for value in node.outputs]
        large = [v for v in made if is_pairwise(v, self._settings) and not self._flow.is_cheap(v)]
        return sorted(large, key=lambda value: -value.size)

    def _try_at(self, seed: Value) -> None:
        try:
            regions = regions_of(self._flow, seed, self._settings)
            self._seen.update(value for region in regions for value in region.owned)
            candidates = best(regions, self._goal)
            if candidates:
                self.sites.append(self._tried(candidates[0]))
            elif why := reader_of_whole(regions):
                self.sites.append(self._left(seed, f"it is needed as a whole: {why}"))
        except Refused as refused:
            self.sites.append(self._left(seed, str(refused)))
        except Exception as error:  # this site stays as it is
            self.sites.append(Site.failed(self._emission.name, *_found(seed, self._flow), error))

    def _tried(self, candidate: Candidate) -> Site:
        seed = candidate.region.seed
        known = self._goal.decided(self._emission.name, *_found(seed, self._flow))
        if known is not None and not known.is_changed:
            return known
        why = refusal(candidate, self._settings)
        if why:
            return self._left(seed, why)
        settings = _pinned(self._settings, known)
        form = form_of(candidate, self._goal, settings, self._prices)
        after = self._with(self.graph, candidate, form)
        if self._is_too_large(after):
            # What else is held beside its passes, the form does not know.
            form = smallest_form(candidate, settings, self._prices)
            after = self._with(self.graph, candidate, form)
        if known is None:
            verdict = self._judge.verdict(candidate, form, self.graph, after)
        else:
            verdict = Verdict.pinned(known)
        if not verdict.why:
            self.graph, self._flow = after, Dataflow(after)
        elif known is None:
            self._waiting.append(Waiting(seed, len(self.sites), form.looks))
        return self._site(candidate, form, verdict)

    def _is_too_large(self, graph: Graph) -> bool:
        limit = self._goal.memory
        return limit is not None and peak(self._prepared.whole(graph)) > limit

    def _with(self, graph: Graph, candidate: Candidate, form: Form) -> Graph:
        passes = {
            level: self._shared.of(self._emission.node(runner, form.prices[level]), runner)
            for level, runner in form.passes.items()
        }
        nodes = [*passes.values(), *finish_nodes(candidate, form, passes, self._shared)]
        replaced = {value for node in nodes for value in node.outputs}
        kept = [node for node in graph.nodes if replaced.isdisjoint(node.outputs)]
        return graph.with_nodes([*kept, *nodes])

    def try_together(self) -> None:
        """What gains nothing alone, at last; see `together`."""
        if not self._waiting:
            return
        without = peak(self._prepared.whole(self.graph))
        if not wants_memory(self._goal, without):
            return
        kinds = kinds_of(self._waiting)

        def temp_bytes(chosen: Sequence[Kind]) -> int:
            return peak(self._prepared.whole(self._with_all(chosen)[0]))

        chosen = lower_together(kinds, temp_bytes, without)
        self.graph, forms = self._with_all(chosen)
        for each, candidate, form in forms:
            self.sites[each.at] = self._joint(self.sites[each.at], candidate, form)

    def _joint(self, alone: Site, candidate: Candidate, form: Form) -> Site:
        assert alone.after is not None
        now = Price(alone.after.seconds, peak(self._prepared.whole(self.graph)))
        made = self._site(candidate, form, Verdict(alone.before, now, ""))
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
            regions = regions_of(flow, each.seed, self._settings) if is_there else []
            found = best(regions, self._goal)
            if found and not refusal(found[0], self._settings):
                form = form_of(found[0], self._goal, self._settings, self._prices)
                graph = self._with(graph, found[0], form)
                forms.append((each, found[0], form))
        return graph, forms

    def _left(self, seed: Value, why: str) -> Site:
        return Site(self._emission.name, *_found(seed, self._flow), AS_IT_IS, why)

    def _site(self, candidate: Candidate, form: Form, verdict: Verdict) -> Site:
        source, found = _found(candidate.region.seed, candidate.region.flow)
        saved = len(candidate.region.owned) - len(candidate.region.stored)
        reason = verdict.why or f"{saved} values of that size are not kept"
        chosen = AS_IT_IS if verdict.why else self._emission.words(form)
        settings = dict(form.size)
        name = self._emission.name
        return Site(
            name,
            source,
            found,
            chosen,
            reason,
            verdict.was,
            verdict.now,
            settings,
            verdict.measured,
        )


def _pinned(settings: TileSettings, known: Site | None) -> TileSettings:
    """With the tile of a pinned plan."""
    sizes = known.settings if known is not None else {}
    if not set(ROLES) <= set(sizes):
        return settings
    i, j = (int(sizes[role]) for role in ROLES)
    return dataclasses.replace(settings, shape=(i, j))


def _found(seed: Value, flow: Dataflow) -> tuple[str, str]:
    node = flow.node_of(seed)
    shape = " x ".join(map(str, seed.shape))
    return (node.source if node else "", f"pairwise computation of {shape}")
