"""A process of its own in which runs are written and learned from: a scheduler has no time to."""
