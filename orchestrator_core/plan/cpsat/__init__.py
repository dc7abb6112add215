"""CP-SAT: improves and proves where tasks x workers is small (stage 3).

In the order of reading: `ticks` and `units` turn seconds and amounts into integers, `expand` the
instance into what the model is about, `model` (with `transfers`, `memory` and `symmetry`) states
it, `hint` warms it up, `solve` runs it, `rough` reads its solution, `left_shift` gives that exact
seconds, and `best` keeps it. All this is done by a process of its own, of which `child` is the main
function: `planner` asks it through `process` in the words of `wire`, and never imports ortools.
"""
