"""The workers: who they are, what they say and measure, and the links between them."""
