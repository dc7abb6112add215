"""Variable reduction: fewer tasks to plan, then back to all of them.

`matching` says which tasks may be merged without making a cycle, `coarsen` repeats that until few
are left, `contract` makes the smaller instance, and `coarse_search` plans it and comes back.
"""
