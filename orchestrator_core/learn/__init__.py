"""Stage 5, learn: be less wrong next time. Runs in, a cost model out; no store, no planner."""
