"""The trace as columns, and the interval algebra that the analyses are made of."""
