"""Hints where Prefect users look: the tags of a task.

    @task(tags={"orchestrator:gpu=1", "orchestrator:seconds=30"})
    train.with_options(tags={"orchestrator:memory=2GB"}).submit(data)
    with prefect.tags("orchestrator:workers=gpu"):
        score.submit(model)

They say what ``dask.annotate(orchestrator={...})`` says. Where several speak of one task, the
nearest counts: `dask.annotate` around the submission, then the task's own tags, then those of
`prefect.tags` around it, then `estimates` of the flow. A wrong hint is refused when the task is
submitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from prefect.context import TagsContext

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.dask.graphs.hints import (
    ANNOTATION,
    READERS,
    Hint,
    annotations_here,
    hint_of,
)
from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.graph.text import shown

PREFIX = "orchestrator:"
RESOURCE = "resource."
"""``orchestrator:resource.GPU=1``: so much of what workers call GPU."""

GPU = "GPU"
"""``orchestrator:gpu=1`` is short for ``orchestrator:resource.GPU=1``."""

UNSAID = Hint()

_FIELDS = tuple(field.name for field in fields(Hint) if field.name != "resources")


def submitted_hint(task: Any, estimate: Hint = UNSAID) -> Hint:
    """What is said of the task that is submitted here and now.

    Raises:
        InvalidInput: for a hint that makes no sense, naming the task, the hint, and what is
            possible.
    """
    own = task.tags
    context = TagsContext.get()
    around = context.current_tags - own if context is not None else ()
    stated = annotations_here().get(ANNOTATION)
    try:
        hint = nearest(_of_tags(frozenset(own)), _of_tags(frozenset(around)), estimate)
        return hint if stated is None else nearest(_annotated(stated), hint)
    except InvalidInput as error:
        raise InvalidInput(f"task {shown(task.name)}: {error}") from None


def resources_of(hint: Hint) -> dict[str, float]:
    """What a worker must have for a task that is submitted here and now: by the hint, and by
    ``dask.annotate(resources=...)``."""
    stated = annotations_here().get("resources")
    annotated = stated if isinstance(stated, Mapping) else {}
    return {**annotated, **hint.resources}


def workers_here() -> Sequence[Any]:
    """The workers to which ``dask.annotate(workers=...)`` binds what is submitted here; none where
    it may run anywhere."""
    here = annotations_here()
    workers = here.get("workers")
    if not isinstance(workers, (list, tuple, set)) or here.get("allow_other_workers"):
        return ()
    return list(workers)


def nearest(*hints: Hint) -> Hint:
    """One hint of several: of each word the first that says something; resources by name."""
    first, *others = hints
    for other in others:
        if other is not UNSAID:
            first = _over(first, other)
    return first


def _over(near: Hint, far: Hint) -> Hint:
    missing = {
        name: value
        for name in _FIELDS
        if getattr(near, name) is None and (value := getattr(far, name)) is not None
    }
    return replace(near, resources=Amounts({**far.resources, **near.resources}), **missing)


def _annotated(stated: object) -> Hint:
    try:
        return hint_of(stated)
    except InvalidInput as error:
        raise InvalidInput(f"dask.annotate({ANNOTATION}=...): {error}") from None


@lru_cache(maxsize=1024)
def _of_tags(tags: frozenset[str]) -> Hint:
    """The hint of these tags; those that are not for us are passed over."""
    ours = sorted(tag for tag in tags if isinstance(tag, str) and tag.startswith(PREFIX))
    if not ours:
        return UNSAID
    said: dict[str, Any] = {}
    for tag in ours:
        word, value = _read(tag)
        if word in said:
            raise InvalidInput(f"tag {shown(tag)}: another tag says something else of {word}")
        said[word] = value
    resources = {
        word.removeprefix(RESOURCE): said.pop(word) for word in list(said) if _is_resource(word)
    }
    return Hint(resources=Amounts(resources), **said)


def _read(tag: str) -> tuple[str, Any]:
    """Word and value of a tag."""
    word, equals, text = (part.strip() for part in tag.removeprefix(PREFIX).partition("="))
    word = f"{RESOURCE}{GPU}" if word.lower() == "gpu" else word
    if not equals:
        raise InvalidInput(f"tag {shown(tag)}: expected {PREFIX}NAME=VALUE; {_POSSIBLE}")
    try:
        if _is_resource(word):
            amount = _number(text)
            return word, next(iter(Amounts({word.removeprefix(RESOURCE): amount}).values()), 0.0)
        if word not in _WORDS:
            raise InvalidInput(f"there is no hint {shown(word)}; {_POSSIBLE}")
        return word, _WORDS[word](text)
    except InvalidInput as error:
        raise InvalidInput(f"tag {shown(tag)}: {error}") from None


def _is_resource(word: str) -> bool:
    return word.startswith(RESOURCE)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput("expected a number >= 0") from None


def _names(text: str) -> tuple[str, ...]:
    names: tuple[str, ...] = READERS["workers"]([name.strip() for name in text.split(",")])
    return names


_WORDS: Mapping[str, Callable[[str], Any]] = {
    **{word: read for word, read in READERS.items() if word != "resources"},
    "weight": lambda text: READERS["weight"](_number(text)),
    "workers": _names,
}
_POSSIBLE = f"there are gpu, {RESOURCE}NAME, {', '.join(_WORDS)}"
