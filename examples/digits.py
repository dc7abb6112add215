"""Which model reads handwritten digits best? Real work on data that ships with scikit-learn.

    python examples/digits.py

Run it twice: the first run is observed, the second is planned from what the first one taught.
Needs scikit-learn and jax (`pip install "jax>=0.10.2" scikit-learn`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from prefect import task
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from orchestrator_prefect import optimized_flow

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Training images, test images, training labels, test labels."""

MODELS = {
    "nearest neighbours": KNeighborsClassifier(3),
    "support vectors": SVC(gamma=0.02),
    "random forest": RandomForestClassifier(100, random_state=0),
    "logistic regression": LogisticRegression(max_iter=300),
}


@task
def load() -> tuple[np.ndarray, np.ndarray]:
    """1797 images of 8 x 8 pixels, values 0 to 1, and their digits."""
    images, digits = load_digits(return_X_y=True)
    return images / 16.0, digits


@task
def pixels(images: np.ndarray) -> np.ndarray:
    """The images as they are."""
    return images


@task
def edges(images: np.ndarray) -> np.ndarray:
    """The images and their differences to the right and downwards."""
    grid = images.reshape(-1, 8, 8)
    right, down = np.diff(grid, axis=2), np.diff(grid, axis=1)
    return np.concatenate([images, right.reshape(len(grid), -1), down.reshape(len(grid), -1)], 1)


@task
def split(features: np.ndarray, data: tuple[np.ndarray, np.ndarray]) -> Split:
    return tuple(train_test_split(features, data[1], test_size=0.25, random_state=0))


@task
def train(model: Any, split: Split) -> float:
    """The share of test images that the model reads right."""
    images, test_images, digits, test_digits = split
    return float(model.fit(images, digits).score(test_images, test_digits))


@task
def train_with_jax(split: Split, steps: int = 300) -> float:
    """The same for a small neural network, trained by gradient descent in JAX."""
    import jax
    import jax.numpy as jnp

    images, test_images, digits, test_digits = (jnp.asarray(part) for part in split)
    first, second = jax.random.split(jax.random.key(0))
    weights = (
        jax.random.normal(first, (images.shape[1], 64)) * 0.1,
        jax.random.normal(second, (64, 10)) * 0.1,
    )

    def scores(weights: Any, images: Any) -> Any:
        return jax.nn.relu(images @ weights[0]) @ weights[1]

    def loss(weights: Any) -> Any:
        chosen = jax.nn.log_softmax(scores(weights, images))
        return -jnp.take_along_axis(chosen, digits[:, None], axis=1).mean()

    @jax.jit
    def step(weights: Any) -> Any:
        return jax.tree.map(lambda w, g: w - 0.5 * g, weights, jax.grad(loss)(weights))

    for _ in range(steps):
        weights = step(weights)
    return float((scores(weights, test_images).argmax(1) == test_digits).mean())


@task
def select(names: list[str], shares: list[float]) -> tuple[str, float]:
    """The best model and its share of right answers."""
    best = int(np.argmax(shares))
    return names[best], shares[best]


@optimized_flow
def digits() -> tuple[str, float]:
    """Featurise twice, train five models on each, select the best."""
    data = load.submit()
    images = data.result()[0]
    names, shares = [], []
    for featurise in (pixels, edges):
        parts = split.submit(featurise.submit(images), data)
        for name, model in MODELS.items():
            names.append(f"{name} on {featurise.name}")
            shares.append(train.with_options(name=f"train {name}").submit(model, parts))
        names.append(f"network on {featurise.name}")
        shares.append(train_with_jax.submit(parts))
    return select.submit(names, shares).result()


if __name__ == "__main__":
    name, share = digits()
    print(f"best: {name}, {share:.1%} of the test images read right")
