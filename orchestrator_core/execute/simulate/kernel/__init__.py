"""The simulated cluster as compiled code: arrays in, arrays out, no interpreter lock.

`job.py` is what is simulated and `state.py` what changes meanwhile; `events.py`, `lines.py` and
`sent.py` are what is to happen, what waits and what travels. `cluster.py` knows workers, `step.py`
goes from one thing that a policy must hear of to the next. A policy is a loop over such steps and
what it decides in each: `planned.py` and `unplanned.py`.
"""
