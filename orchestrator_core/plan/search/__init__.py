"""Local search: better schedules."""
