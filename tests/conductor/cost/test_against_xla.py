"""Work and peak memory are those of the program that XLA compiles, on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.cost import loops as cost_loops
from orchestrator_core.conductor.cost import peak, work_of
from orchestrator_core.conductor.ir.read import read

Model = tuple[Callable[..., Any], list[Any]]


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, "float32")


def mlp_loss(x: Any, y: Any, weights: Any) -> Any:
    for w, b in weights:
        x = jnp.tanh(x @ w + b)
    return ((x - y) ** 2).mean()


WEIGHTS = [(f32(128, 256), f32(256)), (f32(256, 256), f32(256)), (f32(256, 64), f32(64))]


def mlp() -> Model:
    return lambda *args: jax.value_and_grad(mlp_loss, 2)(*args), [
        f32(192, 128),
        f32(192, 64),
        WEIGHTS,
    ]


def adam() -> Model:
    def step(x: Any, y: Any, weights: Any, m: Any, v: Any) -> Any:
        gradient = jax.grad(mlp_loss, 2)(x, y, weights)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, gradient)
        new = jax.tree.map(lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), weights, m, v)
        return new, m, v

    return step, [f32(192, 128), f32(192, 64), WEIGHTS, WEIGHTS, WEIGHTS]


def attention(q: Any, k: Any, v: Any, *, is_masked: bool) -> Any:
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / 8
    if is_masked:
        mask = jnp.tril(jnp.ones(scores.shape[1:], bool))
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1), v)


def causal_attention() -> Model:
    def loss(*args: Any) -> Any:
        return (attention(*args, is_masked=True) ** 2).sum()

    return jax.value_and_grad(loss, (0, 1, 2)), [f32(2, 256, 64)] * 3


def plain_attention() -> Model:
    """So many rows that YNNPACK computes it as one."""
    return lambda *args: attention(*args, is_masked=False), [f32(2, 2048, 16)] * 3


def norm(x: Any, scale: Any) -> Any:
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale


def block(x: Any, p: Any) -> Any:
    batch, length, width = x.shape
    q, k, v = jnp.split(norm(x, p["g1"]) @ p["qkv"], 3, -1)
    heads = [t.reshape(batch, length, 2, width // 2).transpose(0, 2, 1, 3) for t in (q, k, v)]
    mixed = jax.vmap(lambda *args: attention(*args, is_masked=True))(*heads)
    x = x + mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ p["o"]
    return perceptron(x, p)


def perceptron(x: Any, p: Any) -> Any:
    return x + jax.nn.gelu(norm(x, p["g2"]) @ p["up"]) @ p["down"]


def block_weights(*lead: int) -> dict[str, Any]:
    shapes = {"g1": (64,), "qkv": (64, 192), "o": (64, 64), "g2": (64,)}
    shapes |= {"up": (64, 256), "down": (256, 64)}
    return {name: f32(*lead, *shape) for name, shape in shapes.items()}


def transformer() -> Model:
    def loss(x: Any, layers: Any) -> Any:
        for p in layers:
            x = block(x, p)
        return (x**2).mean()

    return jax.value_and_grad(loss, 1), [f32(2, 128, 64), [block_weights()]]


def scanned_layers() -> Model:
    def loss(x: Any, layers: Any) -> Any:
        return (jax.lax.scan(lambda x, p: (perceptron(x, p), None), x, layers)[0] ** 2).mean()

    return jax.value_and_grad(loss, 1), [f32(2, 128, 64), block_weights(3)]


def convnet() -> Model:
    def function(x: Any, first: Any, second: Any) -> Any:
        for w in (first, second):
            x = jax.nn.relu(
                jax.lax.conv_general_dilated(
                    x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
                )
            )
        return x

    return jax.grad(lambda *args: (function(*args) ** 2).sum(), (1, 2)), [
        f32(4, 32, 32, 3),
        f32(3, 3, 3, 16),
        f32(3, 3, 16, 32),
    ]


def recurrent() -> Model:
    def loss(x: Any, h: Any, w: Any, u: Any) -> Any:
        def body(h: Any, x: Any) -> Any:
            h = jnp.tanh(x @ w + h @ u)
            return h, h

        return (jax.lax.scan(body, h, x)[1] ** 2).sum()

    return jax.grad(loss, (2, 3)), [f32(96, 64, 128), f32(64, 128), f32(128, 128), f32(128, 128)]


def chunks() -> Model:
    def function(q: Any, k: Any, v: Any) -> Any:
        def one(part: Any) -> Any:
            scores = part @ k.T / 8
            return jax.nn.softmax(jnp.where(scores > 0, scores, -1e9)) @ v

        return jax.lax.map(one, q.reshape(4, -1, 32)).reshape(q.shape)

    return function, [f32(1024, 32)] * 3


def newton() -> Model:
    def function(a: Any) -> Any:
        def body(state: Any) -> Any:
            x, count = state
            return 1.5 * x - 0.5 * x @ x @ x, count + 1

        start = a / jnp.linalg.norm(a)
        return jax.lax.while_loop(lambda state: state[1] < 10, body, (start, 0))[0]

    return function, [f32(192, 192)]


def checkpointed() -> Model:
    def loss(x: Any, weights: Any) -> Any:
        for w in weights:
            x = jax.checkpoint(lambda x, w: jnp.tanh(x @ w))(x, w)
        return (x**2).sum()

    return jax.grad(loss, 1), [f32(256, 128), [f32(128, 128)] * 3]


def batch_of_two() -> Model:
    def loss(*args: Any) -> Any:
        return (jax.vmap(lambda *one: attention(*one, is_masked=True))(*args) ** 2).sum()

    return jax.value_and_grad(loss, (0, 1, 2)), [f32(2, 4, 256, 64)] * 3


def channels_first() -> Model:
    def function(x: Any, *weights: Any) -> Any:
        for w in weights:
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME"))
        return x

    return function, [f32(4, 16, 16, 16), f32(32, 16, 3, 3), f32(32, 32, 3, 3)]


def n_bodies() -> Model:
    def energy(x: Any) -> Any:
        apart = x[:, None] - x[None]
        return (1 / jnp.sqrt((apart**2).sum(-1) + 1e-3)).sum()

    return jax.value_and_grad(energy), [f32(256, 3)]


def contrastive() -> Model:
    """Diagonals are taken in one way on a TPU and in another elsewhere."""

    def loss(a: Any, b: Any) -> Any:
        s = a @ b.T
        both = (jax.nn.log_softmax(s, 0), jax.nn.log_softmax(s, 1))
        return -sum(jnp.diagonal(each) for each in both).mean()

    return jax.value_and_grad(loss, (0, 1)), [f32(256, 32)] * 2


def selective_scan() -> Model:
    def loss(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
        def body(h: Any, each: Any) -> Any:
            x, dt, b, c = each
            h = jnp.exp(dt[:, None] * a) * h + (dt * x)[:, None] * b[None]
            return h, (h * c[None]).sum(-1)

        return (jax.lax.scan(body, jnp.zeros(a.shape), (x, dt, b, c))[1] ** 2).sum()

    times, state = f32(64, 128), f32(128, 16)
    given = [times, times, state, f32(64, 16), f32(64, 16)]
    return jax.grad(loss, (0, 1, 2, 3, 4)), given


MODELS = [
    mlp,
    adam,
    causal_attention,
    plain_attention,
    transformer,
    scanned_layers,
    convnet,
    recurrent,
    chunks,
    newton,
    checkpointed,
    batch_of_two,
    channels_first,
    n_bodies,
    contrastive,
    selective_scan,
]

STACKING = (scanned_layers, recurrent, selective_scan)
"""XLA counts all of an array that a loop stacks into, in each step; we what a step writes."""

COPIES = (n_bodies, contrastive)
"""XLA keeps an array of ones and one of zeros that nobody has written."""


@pytest.mark.parametrize("model", MODELS)
def test_work_and_memory_are_those_of_the_compiled_program(
    model: Callable[[], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    function, args = model()
    compiled = jax.jit(function).lower(*args).compile()
    leaves, tree = jax.tree.flatten(args)
    graph = read(
        jax.make_jaxpr(lambda *x: jax.tree.leaves(function(*jax.tree.unflatten(tree, x))))(*leaves)
    )
    # Of a loop XLA's analysis counts one step.
    monkeypatch.setattr(cost_loops, "trips", lambda _: 1)
    work, said = work_of(graph, "cpu"), compiled.cost_analysis()
    assert work.flops == pytest.approx(said["flops"], rel=0.1)
    if model not in (*STACKING, *COPIES):
        assert work.nbytes == pytest.approx(said["bytes accessed"], rel=0.1)
    temporary = compiled.memory_analysis().temp_size_in_bytes
    if model is not n_bodies:
        assert peak(graph, "cpu") == pytest.approx(temporary, rel=0.15, abs=8192)


def narrow(dtype: str, *shapes: tuple[int, ...]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, a, b: jnp.tanh(x @ a) @ b, [(256, 512), (512, 1024), (1024, 512)]),
        (lambda x, a, b: (x @ a) @ (x @ b).T, [(256, 512), (512, 256), (512, 256)]),
        (lambda x, y: x @ y, [(4, 128, 256), (4, 256, 128)]),
        (lambda x, y: jnp.matmul(x, y, preferred_element_type="float32"), [(256, 512), (512, 64)]),
        (lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"), [(4, 16, 32, 32), (32, 16, 3, 3)]),
    ],
    ids=["layers", "one operand of two", "batches", "of 32 bits", "a convolution"],
)
def test_products_of_16_bits_are_of_32_bits_on_a_cpu(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], dtype: str
) -> None:
    args = narrow(dtype, *shapes)
    compiled = jax.jit(function).lower(*args).compile()
    graph = read(jax.make_jaxpr(function)(*args))
    said = compiled.cost_analysis()["bytes accessed"]
    assert work_of(graph, "cpu").nbytes == pytest.approx(said, rel=0.05)
    temporary = compiled.memory_analysis().temp_size_in_bytes
    assert peak(graph, "cpu") == pytest.approx(temporary, rel=0.05)


def places() -> Any:
    """Of each row its own, computed."""
    return (7 * jnp.arange(256)[:, None] + jnp.arange(256)) % 256


def looked_up(x: Any) -> Any:
    return jax.vmap(lambda row, at: row[at])(x, places())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.sin(jnp.cumsum(jnp.tanh(x), 1)).sum(1),
        lambda x: jnp.sin(jnp.sort(jnp.tanh(x), 1)).sum(1),
        lambda x: jnp.where(jax.random.bernoulli(jax.random.key(0), 0.9, x.shape), x, 0).sum(1),
        lambda x: (x > 0).sum(1),
        lambda x: (lambda y: (jnp.argmax(y, 1), jnp.argmin(y, 0)))(jnp.round(x @ x)),
        lambda x: (lambda k: k @ x[0] + x[0] @ k)(jnp.exp(x @ x)),
        lambda x: (lambda y: y[1:] @ y[:-1].T)(jnp.concatenate([x, 2 * x])),
        lambda x: looked_up(jnp.sin(x)) @ x + looked_up(x),
        lambda x: jax.vmap(lambda y, at, add: y.at[at].add(add))(x + 1, places(), x) * x,
        lambda x: jnp.sort(jnp.sort(x, 0)[None].transpose(0, 2, 1)[0] * 2, 0),
        lambda x: jnp.stack([x[:, ::2] * 2, jnp.exp(x[:, 1::2])], -1).reshape(x.shape) + 1,
    ],
    ids=[
        *("running", "sorted", "drawn", "counted", "by place", "flat", "joined"),
        *("looked up by row", "added at places by row", "transposed among more axes"),
        "stacked",
    ],
)
def test_peak_memory_is_that_of_the_compiled_program(function: Callable[..., Any]) -> None:
    x = f32(256, 256)
    temporary = jax.jit(function).lower(x).compile().memory_analysis().temp_size_in_bytes
    graph = read(jax.make_jaxpr(lambda x: jax.tree.leaves(function(x)))(x))
    assert peak(graph, "cpu") == pytest.approx(temporary, rel=0.15, abs=8192)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        pytest.param(lambda x, y: 1 + jnp.outer(x, y), [(256,), (16,)], id="column times row"),
        pytest.param(lambda x, y: jnp.sin(x @ y), [(256, 1), (1, 16)], id="one element summed"),
        pytest.param(
            lambda x, y: 1 + jnp.einsum("ib,bj->bij", x, y), [(256, 8), (8, 16)], id="in batches"
        ),
        pytest.param(
            lambda x, y: jnp.outer(x, y) + jnp.outer(y, x) + jnp.outer(x * x, y),
            [(64,), (64,)],
            id="several, added",
        ),
        pytest.param(
            lambda x, y: 1 + jnp.einsum("bi,bi->b", x, y), [(8, 256), (8, 256)], id="of vectors"
        ),
        pytest.param(lambda x, y: 1 + x @ y, [(256, 16), (16,)], id="matrix times vector"),
    ],
)
def test_thin_products_are_what_the_compiler_makes_of_them(
    function: Callable[..., Any], shapes: list[tuple[int, ...]]
) -> None:
    """A multiplication that is fused, one with a sum, and a product."""
    args = [f32(*shape) for shape in shapes]
    said = jax.jit(function).lower(*args).compile().cost_analysis()
    work = work_of(read(jax.make_jaxpr(lambda *x: jax.tree.leaves(function(*x)))(*args)), "cpu")
    assert work.flops == said["flops"]
    assert work.nbytes == pytest.approx(said["bytes accessed"], rel=0.05)


@pytest.mark.parametrize("length", [64, 1024])
@pytest.mark.parametrize("many", [1, 2], ids=["sum", "affine"])
def test_a_parallel_scan_is_as_many_kernels_as_the_compiler_makes(length: int, many: int) -> None:
    """A level is computed within others as long as the code does not have too many copies of it."""

    def combined(left: Any, right: Any) -> Any:
        scaled = [each * right[0] for each in left]
        return [scaled[0], *(a + b for a, b in zip(scaled[1:], right[1:], strict=True))]

    def function(*xs: Any) -> Any:
        if many == 1:
            return jax.lax.associative_scan(jnp.add, xs[0] + xs[0])
        return jax.lax.associative_scan(combined, list(xs))[1]

    args = [f32(length, 64)] * many
    compiled = jax.jit(function).lower(*args).compile()
    graph = read(jax.make_jaxpr(function)(*args))
    entry = compiled.as_text().split("ENTRY")[1]
    assert work_of(graph, "cpu").kernels == pytest.approx(entry.count("fusion("), rel=0.2)
    assert work_of(graph, "cpu").flops == pytest.approx(compiled.cost_analysis()["flops"], rel=0.15)


@pytest.mark.parametrize("groups", [1, 8, 64], ids=["whole", "in groups", "depthwise"])
def test_derivatives_of_convolutions_are_what_the_compiler_makes_of_them(groups: int) -> None:
    """That by the weights of a depthwise one has 64 times the operations that are needed."""

    def function(x: Any, w: Any) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        made = jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=groups
        )
        return (made**2).sum()

    args = f32(4, 16, 16, 64), f32(3, 3, 64 // groups, 64)
    gradient = jax.grad(function, (0, 1))
    compiled = jax.jit(gradient).lower(*args).compile()
    graph = read(jax.make_jaxpr(gradient)(*args))
    assert work_of(graph, "cpu").flops == pytest.approx(compiled.cost_analysis()["flops"], rel=0.05)
    temporary = compiled.memory_analysis().temp_size_in_bytes
    assert peak(graph, "cpu") == pytest.approx(temporary, rel=0.1)


@pytest.mark.parametrize(
    ("operation", "first"), [(jax.lax.max, -jnp.inf), (jax.lax.add, 0.0)], ids=["max", "sum"]
)
@pytest.mark.parametrize("side", [2, 3], ids=["side by side", "overlapping, filled up"])
def test_derivatives_of_pooling_are_what_the_compiler_makes_of_them(
    operation: Any, first: float, side: int
) -> None:
    """Indices are carried along with the largest, of an array that is filled up where windows reach
    beyond it; what sums are spread over is not filled up."""

    def function(x: Any) -> Any:
        window = (1, side, side, 1)
        return (jax.lax.reduce_window(x, first, operation, window, (1, 2, 2, 1), "SAME") ** 2).sum()

    x = f32(4, 32, 32, 16)
    gradient = jax.grad(function)
    compiled = jax.jit(gradient).lower(x).compile()
    graph = read(jax.make_jaxpr(gradient)(x))
    assert work_of(graph, "cpu").flops == pytest.approx(compiled.cost_analysis()["flops"], rel=0.15)
    temporary = compiled.memory_analysis().temp_size_in_bytes
    assert peak(graph, "cpu") == pytest.approx(temporary, rel=0.1, abs=1024)


@pytest.mark.parametrize(
    "step",
    [
        jax.nn.silu,
        jax.nn.gelu,
        jnp.tanh,
        lambda x: jnp.exp(-((jnp.where(x > 0, x, 0.1 * x)) ** 2)),
        lambda x: jnp.tanh(jnp.exp(-x * x)) * x,
    ],
    ids=["silu", "gelu", "tanh", "bell", "product"],
)
def test_derivatives_of_deep_chains_are_as_many_kernels_as_the_compiler_makes(step: Any) -> None:
    """What reads two arrays is kept where one of its readers waits for another by way of what is
    dear and read twice: without that, all eight layers were one kernel that kept nothing."""

    def function(x: Any) -> Any:
        for _ in range(8):
            x = step(x)
        return (x**2).sum()

    x = f32(256, 256)
    compiled = jax.jit(jax.grad(function)).lower(x).compile()
    graph = read(jax.make_jaxpr(jax.grad(function))(x))
    kernels = compiled.as_text().split("ENTRY")[1].count("fusion(")
    assert work_of(graph, "cpu").kernels == kernels
    temporary = compiled.memory_analysis().temp_size_in_bytes
    assert peak(graph, "cpu") == pytest.approx(temporary, rel=0.05)
