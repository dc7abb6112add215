"""Windows: a large neighbourhood search that frees a few tasks at a time and solves by CP-SAT.

What stays fixed keeps its worker and its order, as a partial order schedule; its times stay free.
"""
