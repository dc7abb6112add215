"""The name of this rewrite, as in `allow` and `deny`."""

NAME = "recurrence"
