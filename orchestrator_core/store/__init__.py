"""Memory between runs: schedules that were planned, runs that happened. Data only, never code.

`base.Store` is the contract; `memory.MemoryStore` is its reference, `sql.ScheduleStore` keeps it in
SQLite or Postgres, `safe.SafeStore` turns every failure into an empty answer.
"""
