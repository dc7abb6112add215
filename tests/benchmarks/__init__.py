"""Benchmarks: figures about speed and size, apart from the tests. `./dev bench` runs them."""
