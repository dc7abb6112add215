"""Models as their papers give them, written plainly: what a conductor shall make faster.

Each module has `parameters(seed)` and a function of parameters and inputs, at sizes for tests.
"""
