"""Branch and bound on which edges are cut: whether two tasks share a worker or data travels.

Where transfers are long, what makes schedules long is a chain of such choices: to run after one
another on one worker, or to pay for the way. Bounds that look at one join at a time do not see the
chain. Here each edge is either kept or cut, and what that means for heads, tails and workers is
derived; then tasks are put on workers, and those of a worker in order. So the tree ends in
contradictions, or in a schedule.
"""
