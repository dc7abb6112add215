"""The crew: planners at work in a process of their own, beside the caller's.

What may hang, crash or run out of memory (solvers) runs there and costs only that process. It is
kept alive between plans, since starting it takes a second.
"""
