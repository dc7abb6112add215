"""Objectives beside the makespan: what a schedule is worth, bounds, planners, Pareto, quantiles."""
