"""List heuristics: the first schedules."""
