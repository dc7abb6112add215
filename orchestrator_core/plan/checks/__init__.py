"""The rules of `check_schedule`, one function each. Know the instance and the schedule only."""
