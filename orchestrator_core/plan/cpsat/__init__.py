"""CP-SAT: improves and proves (stage 3).

In the order of reading: `ticks` and `units` turn seconds and amounts into integers, `kinds` merges
interchangeable workers, `reach` says what bounds exclude, `expand` turns the instance into what the
model is about, `model` (with `occupations`, `capacity`, `transfers`, `memory`, `implied` and
`symmetry`) states it, `hint` warms it up, `thread` searches beside the caller, `solve` goes from
coarse ticks to fine ones, `rough` reads a solution, `left_shift` gives that exact seconds, and
`best` keeps it. `planner` offers all this to the portfolio. `sub_dags` does with `sweep` and
`sub_dag` what is too large for one model: bounds from exact windows. Modules of planners import
ortools only once they plan, `importing` does so cheaply.
"""
