"""Carrying out a plan on the scheduler: where tasks go, in which order, and when they wait."""
