"""What a loop keeps for another loop, recomputed where that is cheaper or smaller."""
