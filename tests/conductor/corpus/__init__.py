"""Functions of public kinds, and the judge that says whether they are conducted rightly.

`attention`: attention as many people write it. `pairwise`: other computations over all pairs.
`near_misses`: what looks like attention and is not, or meets numbers that break a careless rewrite.
`transforms`: what JAX makes of a function. `judge`: a conducted result against the original and
against a float64 evaluation.
"""
