"""What happens in a simulated run, and what a policy is told of."""

from __future__ import annotations

OVER, READY, DONE, ARRIVAL, WAKE, SETTLE = 0, 1, 2, 3, 4, 5
"""What a policy is told of; `s.number[ABOUT]` says of whom.

    READY       all inputs of the unit are done, and its release is past
    DONE        the unit has ended
    ARRIVAL     the transfer has reached its destination
    WAKE        the policy has noted this moment itself, with whatever number
    SETTLE      all that happens at this moment has happened
    OVER        nothing more will happen
"""

ENCODING_DONE = 6
"""Of no concern to a policy: the source of the transfer has its thread back."""
