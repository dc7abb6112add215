"""What a conducted function says of itself."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.explaining.section import rows_of
from orchestrator_core.conductor.explaining.words import SIZES, TIMES, change, ratio, where
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site
from tests.conductor.toys import exponentials, install, refusing

X = jnp.linspace(0.0, 1.0, 12).reshape(3, 4)


def layers(x: jax.Array) -> jax.Array:
    for _ in range(3):
        x = jnp.exp(x @ x.T) @ x
    return x.sum()


LINE = layers.__code__.co_firstlineno + 2


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, recurrence=refusing, tiling=exponentials)


@pytest.mark.usefixtures("toys")
def test_the_table() -> None:
    """As a person reads it: what was changed first, equal sites once, no line too long."""
    text = str(conduct(layers, memory="2GB", deny="loops").explain(X))
    lines = text.split("\n")
    assert lines[0] == "layers   (cpu; for time, at most 2 GB, without loops)"
    assert lines[1] == "3 of 9 sites changed"
    assert max(map(len, lines)) <= 100
    assert lines[3].startswith("the function")
    assert "decided by the rewrites in" in lines[3]
    first = lines.index(next(line for line in lines if line.startswith("✓")))
    changed = lines[first : first + 4]
    assert changed[0].split() == [
        *("✓", "tiling", "×", "3", f"test_explanation.py:{LINE}", "in", "layers"),
        *("6", "→", "3", "ms", "8", "→", "1", "MB"),
    ]
    assert [line.split(maxsplit=1) for line in changed[1:]] == [
        ["found", "an exponential"],
        ["now", "another exponential"],
        ["why", "it is a toy"],
    ]
    assert sum(line.startswith("·") for line in lines) == 1
    assert lines[-1].split(maxsplit=1) == ["left", "as it is: nothing would be gained"]


@pytest.mark.usefixtures("toys")
def test_derivatives_and_batches_have_sections_once_they_ran() -> None:
    conducted = conduct(layers)
    jax.jit(jax.grad(conducted)).lower(X)
    assert [each.what for each in conducted.explain().sections] == ["with its pullback"]
    jax.jit(jax.vmap(conducted)).lower(X[None])
    whats = [each.what for each in conducted.explain().sections]
    assert whats == ["with its pullback", "its batch"]


@pytest.mark.usefixtures("toys")
def test_derivatives_by_some_arrays_say_by_which() -> None:
    conducted = conduct(lambda x, y: layers(x) * y + layers(y))
    for places in (0, (0, 1), 1):
        jax.jit(jax.grad(lambda *a: conducted(*a).sum(), places)).lower(X, X)
    assert [each.what for each in conducted.explain().sections] == [
        "with its pullback by array 0 of 2",
        "with its pullback",
        "with its pullback by array 1 of 2",
    ]


@pytest.mark.parametrize(
    ("function", "args", "reason"),
    [
        (lambda x: x if x.sum() > 0 else -x, (X,), "TracerBoolConversionError"),
        (lambda x: jnp.nonzero(x)[0], (X,), "ConcretizationTypeError"),
        (lambda x, y: x, (X, bytearray(b"ab")), "neither an array nor can it be compared"),
        (lambda x: jax.debug.print("{}", x), (X,), "side effects"),
        (len, ("text",), "no arrays"),
        (lambda x: set(x), (X,), "cannot trace"),
    ],
    ids=["branch", "dynamic-shape", "bytearray", "effect", "no-jax", "no-trace"],
)
def test_what_runs_as_it_was_has_a_reason(function: Any, args: Any, reason: str) -> None:
    explanation = conduct(function).explain(*args)
    assert reason in explanation.reason
    assert "it runs as it was" in str(explanation)
    assert explanation.sections == ()


def test_before_the_first_call_there_is_nothing_to_say() -> None:
    said = str(conduct(jnp.sin).explain())
    assert "nothing is known yet: call it" in said
    assert "it runs as it was" not in said
    # A function without arguments can be explained at once.
    assert "nothing is known yet" not in str(conduct(lambda: jnp.ones(3)).explain())


def test_the_last_call_is_explained() -> None:
    conducted = conduct(jnp.sin)
    conducted(X)
    assert "nothing was found" in str(conducted.explain())


def test_a_while_loop_says_why_it_stays() -> None:
    def halved(x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda x: x.max() > 0.1, lambda x: x / 2, x)

    (section,) = conduct(halved).explain(X).sections
    (site,) = (site for site in section.sites if site.found == "a while loop")
    assert site.chosen == AS_IT_IS
    assert "known only once it has run" in site.reason
    assert site.source.startswith(__file__)


def causal(q: Any, k: Any, v: Any) -> Any:
    at = jnp.arange(q.shape[0])
    return jax.nn.softmax(jnp.where(at[:, None] >= at, q @ k.T, -jnp.inf)) @ v


def with_weights(q: Any, k: Any, v: Any) -> Any:
    """They are written as a whole, by tiles."""
    weights = jax.nn.softmax(jnp.exp(jnp.tanh(q @ k.T)))
    return jnp.sin(weights) @ v, weights


def test_the_whole_is_predicted_by_what_its_passes_take() -> None:
    given = [jax.ShapeDtypeStruct((4096, 64), "float32")] * 3
    (section,) = conduct(causal).explain(*given).sections
    (site,) = [each for each in section.sites if each.rewrite == "tiling"]
    assert section.before is not None
    assert section.after is not None
    assert site.before is not None
    assert site.after is not None
    less = site.before.seconds - site.after.seconds
    assert section.before.seconds - section.after.seconds == pytest.approx(less, rel=0.1)


def averaged(x: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = 0.9 * h + x
        return h, h

    return jax.lax.scan(step, jnp.zeros(x.shape[1]), x)[1]


def test_the_whole_is_predicted_by_what_its_loops_mostly_take() -> None:
    """On a GPU all steps at once, unless a number is not finite: then one after another, as before,
    which is no part of the account."""
    given = jax.ShapeDtypeStruct((2048, 64), "float32")
    with on_device(known_device("NVIDIA H200", "gpu")):
        (section,) = conduct(averaged, allow="recurrence").explain(given).sections
    (site,) = section.sites
    assert site.is_changed
    assert section.after is not None
    assert site.after is not None
    assert section.after.seconds == pytest.approx(site.after.seconds, rel=0.2)


def test_what_tiles_write_as_a_whole_is_priced() -> None:
    given = [jax.ShapeDtypeStruct((1024, 16), "float32")] * 3
    (section,) = conduct(with_weights, objective="memory").explain(*given).sections
    assert any(each.is_changed for each in section.sites if each.rewrite == "tiling")
    assert section.after is not None


@pytest.mark.usefixtures("toys")
def test_as_json() -> None:
    plain = json.loads(conduct(layers).explain(X).to_json())
    assert plain["function"] == "layers"
    (section,) = plain["sections"]
    site = section["sites"][-1]
    assert site["chosen"] == "another exponential"
    assert site["before"] == {"seconds": 2e-3, "temp_bytes": 8_000_000}


@pytest.mark.parametrize(
    "function",
    [layers, jax.jit(layers), partial(partial(layers)), partial(jax.jit(layers))],
    ids=["plain", "jit", "partial", "partial of jit"],
)
def test_a_function_is_called_what_its_module_calls_it(function: Any) -> None:
    assert str(conduct(function).explain(X)).startswith("layers ")


@pytest.mark.usefixtures("toys")
def test_in_a_notebook_nothing_of_the_program_is_markup() -> None:
    def evil(x: jax.Array) -> jax.Array:
        return jnp.exp(x)

    evil.__qualname__ = "<script>"
    html = conduct(evil).explain(X)._repr_html_()
    assert "<script>" not in html
    assert "another exponential" in html


def site(**given: Any) -> Site:
    return Site(
        **{"rewrite": "tiling", "source": "", "found": "f", "chosen": "c", "reason": "", **given}
    )


def test_equal_sites_are_one_row_with_all_their_seconds() -> None:
    first = site(before=Price(1.0, 10), after=Price(0.5, 4), measured=(1.0, 0.5))
    second = site(before=Price(2.0, 30), after=Price(0.5, 2), measured=(2.0, 0.5))
    left = site(chosen=AS_IT_IS)
    rows = rows_of([left, first, second])
    assert [row.count for row in rows] == [2, 1]
    assert rows[0].site.before == Price(3.0, 30)
    assert rows[0].site.after == Price(1.0, 4)
    assert rows[0].site.measured == (3.0, 1.0)
    assert rows[1].site is not left or rows[1].site.before is None


@pytest.mark.parametrize(
    ("before", "after", "units", "text"),
    [
        (0.210, 0.032, TIMES, "210 → 32 ms"),
        (1.2, 0.032, TIMES, "1.2 s → 32 ms"),
        (90.0, 30.0, TIMES, "1.5 min → 30 s"),
        (0.0, 2e-7, TIMES, "0 → 200 ns"),
        (0.001, 0.001, TIMES, "1 ms"),
        (805_306_368, 17_000_000, SIZES, "805 → 17 MB"),
        (0, 8_000_000, SIZES, "0 B → 8 MB"),
        (999.9, 1000, SIZES, "1 kB"),
    ],
)
def test_figures(before: float, after: float, units: Any, text: str) -> None:
    assert change(before, after, units) == text


def test_ratios_of_what_became_less() -> None:
    assert ratio(805.0, 17.0) == "47.4×"
    assert ratio(1.0, 1.0) == ratio(1.0, 2.0) == ratio(0.0, 0.0) == ratio(1.0, 0.0) == ""


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("/a/b/model.py:41 (Block.__call__)", ("model.py:41", "__call__")),
        ("/a/model.py:41:7 (f.<locals>.body)", ("model.py:41", "body")),
        (r"C:\code\model.py:3 (<lambda>)", ("model.py:3", "")),
        ("", ("", "")),
    ],
)
def test_places(source: str, place: tuple[str, str]) -> None:
    assert where(source) == place
